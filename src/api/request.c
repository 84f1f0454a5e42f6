#include "api/request.h"
#include "api/fields.h"
#include "api/value.h"
#include "base/alloc.h"
#include "decode/draw/sampler.h"
#include <string.h>

fr_api_defaults fr_api_usual(uint64_t seed) {
    return (fr_api_defaults){.sampling = {.temperature = (float)FR_USUAL_TEMPERATURE,
                                          .top_k = FR_USUAL_TOP_K,
                                          .top_p = (float)FR_USUAL_TOP_P,
                                          .min_p = (float)FR_USUAL_MIN_P,
                                          .repeat_penalty = 1,
                                          .repeat_last_n = FR_USUAL_REPEAT_LAST_N,
                                          .seed = seed},
                             .n_predict = -1};
}

static fr_status find_kind(fr_api_request *r, fr_error *err) {
    const bool messages = fr_api_member(r->root, "messages");
    const bool prompt = fr_api_member(r->root, "prompt");
    if (r->kind == FR_API_ANY && messages && prompt)
        return fr_fail(err, FR_EARG, "prompt: expected no \"messages\" beside it");
    if (r->kind == FR_API_ANY && !messages && !prompt)
        return fr_fail(err, FR_EARG, "messages: expected these, or a \"prompt\"");
    if (r->kind == FR_API_ANY) r->kind = messages ? FR_API_CHAT : FR_API_COMPLETION;
    if (r->kind == FR_API_CHAT && !messages)
        return fr_fail(err, FR_EARG, "messages: expected a list");
    if (r->kind == FR_API_COMPLETION && !prompt)
        return fr_fail(err, FR_EARG, "prompt: expected a string or a list of token ids");
    return FR_OK;
}

fr_status fr_api_parse_value(fr_api_request *r, fr_api_kind kind, json_t *body,
                             const fr_api_defaults *defaults, fr_error *err) {
    *r = (fr_api_request){.root = body,
                          .kind = kind,
                          .sampling = defaults->sampling,
                          .n_predict = defaults->n_predict,
                          .ignore_eos = defaults->ignore_eos,
                          .no_thinking = defaults->no_thinking,
                          .n = 1,
                          .cache_prompt = true,
                          .several_calls = true,
                          .id_slot = -1};
    if (!json_is_object(r->root)) return fr_fail(err, FR_EARG, "the body: expected a JSON object");
    fr_status st = find_kind(r, err);
    if (!st) st = fr_api_read_fields(r, err);
    if (!st) st = fr_api_read_settings(r, err);
    if (!st && !r->seed_given) r->sampling.seed = defaults->sampling.seed;
    return st ? st : fr_api_refuse(r, err);
}

fr_status fr_api_parse(fr_api_request *r, fr_api_kind kind, const char *json, size_t bytes,
                       const fr_api_defaults *defaults, fr_error *err) {
    fr_error why = {0};
    json_t *body = fr_json_load(json, bytes, &why);
    if (body) return fr_api_parse_value(r, kind, body, defaults, err);
    *r = (fr_api_request){0};
    return fr_fail(err, why.code, "%s", why.text);
}

void fr_api_close(fr_api_request *r) {
    for (int i = 0; i < r->n_prompts; i++)
        fr_ids_free(&r->prompt[i]);
    fr_free(r->prompt);
    fr_ids_free(&r->shown);
    fr_ids_free(&r->stop_tokens);
    fr_ids_free(&r->prediction);
    fr_free(r->stop);
    fr_free(r->bias);
    json_decref(r->root);
    *r = (fr_api_request){0};
}

int fr_api_choices(const fr_api_request *r) {
    return r->n_prompts * r->n;
}

// A 0 in fr_sampling means the default, but a 0 in a request means 0.
static fr_sampling to_engine(const fr_api_request *r, int choice) {
    const fr_api_sampling *s = &r->sampling;
    const bool best = s->top_p <= 0; // less than any probability: the best token alone
    return (fr_sampling){.size = sizeof(fr_sampling),
                         .temperature = s->temperature,
                         .top_k = best           ? 1
                                  : s->top_k > 0 ? s->top_k
                                                 : 0,
                         .top_p = s->top_p,
                         .min_p = s->min_p,
                         .repeat_penalty = s->repeat_last_n ? s->repeat_penalty : 1,
                         .repeat_last_n = s->repeat_last_n,
                         .frequency_penalty = s->frequency_penalty,
                         .presence_penalty = s->presence_penalty,
                         .bias = r->bias,
                         .n_bias = (int)r->n_bias,
                         .seed = s->seed + (uint64_t)(choice % r->n)};
}

void fr_api_ask(const fr_api_request *r, int choice, fr_request *request, fr_sampling *sampling) {
    const fr_ids *prompt = &r->prompt[choice / r->n];
    const int n_top = r->n_probs > r->top_logprobs ? r->n_probs : r->top_logprobs;
    *sampling = to_engine(r, choice);
    *request = (fr_request){.size = sizeof *request,
                            .prompt = prompt->data,
                            .n_prompt = (int)prompt->n,
                            .n_predict = r->n_predict,
                            .sampling = sampling,
                            .stop = r->stop && *r->stop ? r->stop : NULL,
                            .ignore_eos = r->ignore_eos,
                            .logprobs = r->logprobs || r->n_probs,
                            .prompt_logprobs = r->echo && r->logprobs,
                            .top_logprobs = n_top,
                            .drawn_logprobs = r->post_sampling,
                            .n_prediction = (int)r->prediction.n,
                            .prediction = r->prediction.data,
                            .shown = r->shown.data,
                            .n_shown = r->shown.n,
                            .stop_tokens = r->stop_tokens.data,
                            .n_stop_tokens = r->stop_tokens.n};
}
