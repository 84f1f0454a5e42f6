// llama.c — answers as llama.cpp's own /completion gives them.
#include "api/logprobs.h"
#include "serve/dialect.h"
#include <string.h>

static json_t *ids_of(const fr_job *job, int from) {
    json_t *list = json_array();
    for (int i = from; i < job->n_tokens; i++)
        json_array_append_new(list, json_integer(job->tokens[i]));
    return list;
}

static json_t *settings_of(const fr_ask *ask, const fr_choice *c) {
    const fr_api_sampling *s = &ask->request.sampling;
    json_t *stop = json_array();
    for (const char **at = ask->request.stop; at && *at; at++)
        json_array_append_new(stop, json_string(*at));
    return json_pack("{s:i, s:i, s:I, s:f, s:i, s:f, s:f, s:f, s:i, s:f, s:f, s:o, s:b, s:b}",
                     "n_ctx", ask->server->n_ctx, "n_predict", ask->request.n_predict, "seed",
                     (json_int_t)c->sampling.seed, "temperature", (double)s->temperature, "top_k",
                     s->top_k, "top_p", (double)s->top_p, "min_p", (double)s->min_p,
                     "repeat_penalty", (double)s->repeat_penalty, "repeat_last_n", s->repeat_last_n,
                     "frequency_penalty", (double)s->frequency_penalty, "presence_penalty",
                     (double)s->presence_penalty, "stop", stop, "ignore_eos",
                     ask->request.ignore_eos, "stream", ask->request.stream);
}

static json_t *prompt_of(const fr_ask *ask, int index) {
    fr_buffer text = {0};
    fr_error never;
    fr_api_prompt_text(&ask->request, &ask->server->api, index / ask->request.n, &text, &never);
    json_t *prompt = fr_json_text(text.data ? text.data : "", text.n);
    fr_buffer_free(&text);
    return prompt;
}

static json_t *probabilities(const fr_ask *ask, const fr_job *job, int from) {
    const fr_api_scored s = {.tokenizer = ask->server->api.tokenizer,
                             .token = job->tokens + from,
                             .score = job->logprobs + from,
                             .n = job->n_tokens - from,
                             .n_top = ask->request.n_probs};
    return s.n ? fr_api_llama_logprobs(&s) : json_array();
}

static const char *stop_type(const fr_job *job) {
    if (job->end != FR_JOB_STOP) return "limit";
    return job->stopped_by < 0 ? "eos" : "word";
}

// What is known once it has ended.
static json_t *ended(const fr_ask *ask, int index, json_t *content, json_t *tokens) {
    const fr_choice *c = &ask->choice[index];
    const char *stop = fr_ask_stop_string(c);
    const fr_job *job = &c->job;
    return json_pack(
        "{s:i, s:o, s:o, s:i, s:b, s:s, s:i, s:i, s:o, s:o, s:b, s:b, s:s, s:s, s:i, s:o}", "index",
        index, "content", content, "tokens", tokens, "id_slot", job->context, "stop", 1, "model",
        ask->server->name, "tokens_predicted", job->n_tokens, "tokens_evaluated",
        c->request.n_prompt, "generation_settings", settings_of(ask, c), "prompt",
        prompt_of(ask, index), "has_new_line",
        job->text.n && memchr(job->text.data, '\n', job->text.n) != NULL, "truncated", 0,
        "stop_type", stop_type(job), "stopping_word", stop ? stop : "", "tokens_cached",
        c->request.n_prompt + job->n_tokens - (job->n_tokens > 0), "timings", fr_ask_timings(c));
}

static json_t *whole(const fr_ask *ask) {
    json_t *list = json_array();
    for (int i = 0; i < ask->n; i++) {
        const fr_job *job = &ask->choice[i].job;
        json_t *doc = ended(ask, i, fr_json_text(job->text.data ? job->text.data : "", job->text.n),
                            ask->request.return_tokens ? ids_of(job, 0) : json_array());
        if (doc && ask->request.n_probs)
            json_object_set_new(doc, "completion_probabilities", probabilities(ask, job, 0));
        json_array_append_new(list, doc);
    }
    if (ask->n > 1) return list;
    json_t *only = json_incref(json_array_get(list, 0));
    json_decref(list);
    return only;
}

static void part(const fr_ask *ask, const fr_part *p, json_t *events) {
    const fr_choice *c = &ask->choice[p->index];
    if (p->bytes || !p->last) {
        json_t *doc = json_pack("{s:i, s:o, s:o, s:b, s:i, s:i, s:i}", "index", p->index, "content",
                                fr_json_text(p->text, p->bytes), "tokens", ids_of(&c->job, p->from),
                                "stop", 0, "id_slot", c->job.context, "tokens_predicted",
                                c->job.n_tokens, "tokens_evaluated", c->request.n_prompt);
        if (doc && ask->request.n_probs)
            json_object_set_new(doc, "completion_probabilities",
                                probabilities(ask, &c->job, p->from));
        json_array_append_new(events, doc);
    }
    if (p->last) json_array_append_new(events, ended(ask, p->index, json_string(""), json_array()));
}

const fr_dialect fr_dialect_llama = {
    .ask = {FR_API_COMPLETION, "cmpl-", NULL}, .whole = whole, .part = part};
