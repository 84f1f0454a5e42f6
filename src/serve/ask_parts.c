// ask_parts.c — members of answers besides their text: the reason for their end, usage, timings,
// log probabilities.
#include "api/logprobs.h"
#include "base/clock.h"
#include "decode/counts.h"
#include "serve/ask.h"

const char *fr_ask_finish(const fr_choice *c) {
    if (c->copy.end != FR_JOB_STOP) return "length";
    return c->answer.n_calls ? "tool_calls" : "stop";
}

const char *fr_ask_stop_string(const fr_choice *c) {
    return c->copy.stopped_by < 0 ? NULL : c->request.stop[c->copy.stopped_by];
}

int fr_ask_thought(const fr_ask *ask, const fr_choice *c) {
    return fr_api_thought_tokens(&c->answer, ask->server->api.tokenizer, &ask->request.shown,
                                 c->copy.tokens, c->copy.n_tokens);
}

json_t *fr_ask_usage(const fr_ask *ask) {
    int prompt = 0, cached = 0, written = 0, thought = 0;
    for (int i = 0; i < ask->n; i++) {
        const fr_job_copy *t = &ask->choice[i].copy;
        written += t->n_tokens;
        thought += fr_ask_thought(ask, &ask->choice[i]);
        if (i % ask->request.n) continue; // a prompt counts once
        prompt += ask->choice[i].request.n_prompt;
        cached += t->stats.prompt_reused;
    }
    return json_pack("{s:i, s:i, s:i, s:{s:i}, s:{s:i, s:i, s:i}}", "prompt_tokens", prompt,
                     "completion_tokens", written, "total_tokens", prompt + written,
                     "prompt_tokens_details", "cached_tokens", cached, "completion_tokens_details",
                     "reasoning_tokens", thought, "accepted_prediction_tokens", 0,
                     "rejected_prediction_tokens", 0);
}

static double per(double a, double b) {
    return b > 0 ? a / b : 0;
}

// Seconds of a job's parts, also while it is at work.
static double reading_of(const fr_job_copy *t) {
    if (t->first_token > 0) return t->first_token - t->started;
    return (t->ended > 0 ? t->ended : fr_seconds()) - t->started;
}

static double writing_of(const fr_job_copy *t) {
    if (t->first_token <= 0) return 0;
    return (t->ended > 0 ? t->ended : fr_seconds()) - t->first_token;
}

// Seconds that plain decoding of the same tokens would take. They are predicted from the measured
// cost of passes, and corrected by the ratio of measured to predicted time of these passes. 0:
// unknown.
static double plain_seconds(const fr_stats *s) {
    const double took = fr_pass_seconds(s->seconds_by_rows);
    return s->predicted > 0 ? s->predicted_plain * took / s->predicted : 0;
}

static json_t *timings(const fr_job_copy *t, int reused, int read, double prompt, double wrote) {
    const fr_stats *s = &t->stats;
    const int later = t->n_tokens - t->n_first; // the first come with the prompt's last pass
    int64_t accepted = 0;
    for (int i = 0; i < FR_MAX_DEPTH; i++)
        accepted += s->accepted[i];
    json_t *doc =
        json_pack("{s:i, s:i, s:f, s:f, s:f, s:i, s:f, s:f, s:f, s:I, s:I, s:I}", "cache_n", reused,
                  "prompt_n", read, "prompt_ms", prompt, "prompt_per_token_ms", per(prompt, read),
                  "prompt_per_second", per(1e3 * read, prompt), "predicted_n", t->n_tokens,
                  "predicted_ms", wrote, "predicted_per_token_ms", per(wrote, later),
                  "predicted_per_second", per(1e3 * later, wrote), "draft_n",
                  (json_int_t)(s->rows - s->passes > 0 ? s->rows - s->passes : 0),
                  "draft_n_accepted", (json_int_t)accepted, "passes", (json_int_t)s->passes);
    if (doc && plain_seconds(s) > 0)
        json_object_set_new(doc, "plain_ms", json_real(1e3 * plain_seconds(s)));
    return doc;
}

json_t *fr_ask_timings(const fr_choice *c) {
    const fr_job_copy *t = &c->copy;
    const bool ended = t->state == FR_JOB_ENDED;
    const int reused = ended ? t->stats.prompt_reused : t->n_reused;
    const int known = ended         ? t->stats.prompt_tokens
                      : t->n_tokens ? c->request.n_prompt
                                    : t->n_read;
    return timings(t, reused, known - reused, 1e3 * reading_of(t), 1e3 * writing_of(t));
}

void fr_ask_add_seed(const fr_ask *ask, json_t *doc) {
    json_object_set_new(doc, "seed", json_integer((json_int_t)ask->request.sampling.seed));
}

void fr_ask_add_progress(json_t *doc, const fr_choice *c, int n_read) {
    const fr_job_copy *t = &c->copy;
    const int read = n_read - t->n_reused;
    const double ms = read > 0 ? 1e3 * reading_of(t) : 0; // before the first pass nothing is
    if (!doc) return;
    json_object_set_new(doc, "prompt_progress",
                        json_pack("{s:i, s:i, s:i, s:f}", "total", c->request.n_prompt, "cache",
                                  t->n_reused, "processed", n_read, "time_ms", ms));
    json_object_set_new(doc, "timings", timings(&(fr_job_copy){0}, t->n_reused, read, ms, 0));
}

void fr_ask_add_prompt(const fr_ask *ask, const fr_choice *c, fr_buffer *text) {
    const int index = (int)(c - ask->choice);
    fr_error never;
    fr_api_prompt_text(&ask->request, &ask->server->api, index / ask->request.n, text, &never);
}

// Of a prompt and the answer after it.
static json_t *echoed_logprobs(const fr_ask *ask, const fr_choice *c) {
    fr_buffer text = {0};
    fr_ask_add_prompt(ask, c, &text);
    json_t *list = fr_api_echoed_logprobs(&(fr_api_scored){.tokenizer = ask->server->api.tokenizer,
                                                           .token = c->request.prompt,
                                                           .score = c->copy.prompt_logprobs,
                                                           .n = c->request.n_prompt,
                                                           .n_top = ask->request.top_logprobs,
                                                           .echoed = &text},
                                          &(fr_api_scored){.token = c->copy.tokens,
                                                           .score = c->copy.logprobs,
                                                           .n = c->copy.n_tokens});
    fr_buffer_free(&text);
    return list;
}

static int prompt_characters(const fr_ask *ask, const fr_choice *c) {
    fr_buffer text = {0};
    fr_ask_add_prompt(ask, c, &text);
    const int n = fr_api_text_characters(text.data, text.n);
    fr_buffer_free(&text);
    return n;
}

// Characters of the text in front of a token, as text completions count them. What an earlier event
// has counted is not counted again.
static int offset_of(const fr_ask *ask, fr_choice *c, int token) {
    if (!c->n_counted && ask->request.echo) c->characters = prompt_characters(ask, c);
    if (token > c->n_counted) {
        c->characters += fr_api_characters(ask->server->api.tokenizer,
                                           c->copy.tokens + c->n_counted, token - c->n_counted);
        c->n_counted = token;
    }
    return c->characters;
}

json_t *fr_ask_logprobs(const fr_ask *ask, fr_choice *c, int from) {
    if (ask->request.logprobs && ask->request.kind == FR_API_COMPLETION &&
        c->copy.prompt_logprobs && !from)
        return echoed_logprobs(ask, c);
    fr_api_scored s = {.tokenizer = ask->server->api.tokenizer,
                       .token = c->copy.tokens + from,
                       .score = c->copy.logprobs + from,
                       .n = c->copy.n_tokens - from,
                       .n_top = ask->request.top_logprobs,
                       .drawn = ask->request.post_sampling};
    if (!ask->request.logprobs || s.n < 1) return json_null();
    if (ask->request.kind == FR_API_CHAT) return fr_api_chat_logprobs(&s);
    s.offset = offset_of(ask, c, from);
    return fr_api_text_logprobs(&s);
}
