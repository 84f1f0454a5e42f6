// llama.c — answers as llama.cpp's own /completion gives them.
#include "api/logprobs.h"
#include "serve/dialect.h"
#include <math.h>
#include <string.h>

static json_t *ids_of(const fr_job_copy *t, int from, int to) {
    json_t *list = json_array();
    for (int i = from; i < to; i++)
        json_array_append_new(list, json_integer(t->tokens[i]));
    return list;
}

static json_t *bias_of(int32_t token, float bias) {
    return json_pack("{s:o, s:i}", "bias", isfinite(bias) ? json_real((double)bias) : json_null(),
                     "token", token);
}

// How much of a request's lists the documents of all choices repeat. A body may have megabytes and
// request a hundred answers.
enum { REPEATED_BIASES = 4096, REPEATED_STOPS = 64 << 10 }; // biases; bytes of stop strings

// The bias of the request, and the bias against end tokens with ignore_eos.
static json_t *biases_of(const fr_ask *ask) {
    const fr_text_info *t = fr_text_describe(ask->server->text);
    const size_t most = REPEATED_BIASES / (size_t)ask->n;
    json_t *list = json_array();
    for (size_t i = 0; i < ask->request.n_bias && i < most; i++)
        json_array_append_new(list, bias_of(ask->request.bias[i].token, ask->request.bias[i].bias));
    for (int i = 0; i < t->n_ends && ask->request.ignore_eos; i++)
        json_array_append_new(list, bias_of(t->ends[i], -INFINITY));
    return list;
}

// llama.cpp's samplers that are not there, as they are when they are off.
static void add_others(json_t *settings) {
    json_t *off = json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:f, s:f, s:f, s:f, s:i, s:i, s:f, s:f, s:i, s:i, "
        "s:i, s:s, s:[]}",
        "dynatemp_range", 0.0, "dynatemp_exponent", 1.0, "typical_p", 1.0, "xtc_probability", 0.0,
        "xtc_threshold", 0.1, "dry_multiplier", 0.0, "mirostat", 0, "mirostat_tau", 5.0,
        "mirostat_eta", 0.1, "adaptive_target", -1.0, "adaptive_decay", 0.9, "n_keep", 0,
        "n_discard", 0, "top_n_sigma", -1.0, "dry_base", 1.75, "dry_allowed_length", 2,
        "dry_penalty_last_n", 0, "min_keep", 0, "grammar", "", "lora");
    json_object_update(settings, off);
    json_decref(off);
}

static json_t *stops_of(const fr_ask *ask) {
    size_t room = REPEATED_STOPS / (size_t)ask->n;
    json_t *list = json_array();
    for (const char **at = ask->request.stop; at && *at && strlen(*at) <= room; at++) {
        room -= strlen(*at);
        json_array_append_new(list, json_string(*at));
    }
    return list;
}

static json_t *settings_of(const fr_ask *ask, const fr_choice *c) {
    const fr_api_request *r = &ask->request;
    const fr_api_sampling *s = &r->sampling;
    json_t *settings = json_pack(
        "{s:i, s:i, s:i, s:I, s:f, s:i, s:f, s:f, s:f, s:i, s:f, s:f, s:o, s:b, s:b, s:i, s:b, "
        "s:b, s:o}",
        "n_ctx", ask->server->n_ctx, "n_predict", r->n_predict, "max_tokens", r->n_predict, "seed",
        (json_int_t)c->sampling.seed, "temperature", (double)s->temperature, "top_k", s->top_k,
        "top_p", (double)s->top_p, "min_p", (double)s->min_p, "repeat_penalty",
        (double)s->repeat_penalty, "repeat_last_n", s->repeat_last_n, "frequency_penalty",
        (double)s->frequency_penalty, "presence_penalty", (double)s->presence_penalty, "stop",
        stops_of(ask), "ignore_eos", r->ignore_eos, "stream", r->stream, "n_probs", r->n_probs,
        "post_sampling_probs", r->post_sampling, "timings_per_token", r->timings_per_token,
        "logit_bias", biases_of(ask));
    if (settings) add_others(settings);
    return settings;
}

static json_t *prompt_of(const fr_ask *ask, int index) {
    fr_buffer text = {0};
    fr_ask_add_prompt(ask, &ask->choice[index], &text);
    json_t *prompt = fr_json_text(text.data ? text.data : "", text.n);
    fr_buffer_free(&text);
    return prompt;
}

static json_t *probabilities(const fr_ask *ask, const fr_job_copy *t, int from, int to) {
    const fr_api_scored s = {.tokenizer = ask->server->api.tokenizer,
                             .token = t->tokens + from,
                             .score = t->logprobs + from,
                             .n = to - from,
                             .n_top = ask->request.n_probs,
                             .drawn = ask->request.post_sampling};
    return s.n ? fr_api_llama_logprobs(&s) : json_array();
}

static const char *stop_type(const fr_job_copy *t) {
    if (t->end != FR_JOB_STOP) return "limit";
    return t->stopped_by < 0 ? "eos" : "word";
}

// The context was full before the answer was.
static bool is_truncated(const fr_ask *ask, const fr_job_copy *t) {
    return t->end == FR_JOB_LENGTH && !t->cut &&
           (ask->request.n_predict < 0 || t->n_tokens < ask->request.n_predict);
}

// Members that are known at the end.
static json_t *ended(const fr_ask *ask, int index, json_t *content, json_t *tokens) {
    const fr_choice *c = &ask->choice[index];
    const char *stop = fr_ask_stop_string(c);
    const fr_job_copy *t = &c->copy;
    return json_pack(
        "{s:i, s:o, s:o, s:i, s:b, s:s, s:i, s:i, s:o, s:o, s:b, s:b, s:s, s:s, s:i, s:o}", "index",
        index, "content", content, "tokens", tokens, "id_slot", t->context, "stop", 1, "model",
        ask->server->name, "tokens_predicted", t->n_tokens, "tokens_evaluated", c->request.n_prompt,
        "generation_settings", settings_of(ask, c), "prompt", prompt_of(ask, index), "has_new_line",
        t->text.n && memchr(t->text.data, '\n', t->text.n) != NULL, "truncated",
        is_truncated(ask, t), "stop_type", stop_type(t), "stopping_word", stop ? stop : "",
        "tokens_cached", c->request.n_prompt + t->n_tokens - (t->n_tokens > 0), "timings",
        fr_ask_timings(c));
}

// Member "a/b" of a document is b of a.
static json_t *member_at(const json_t *doc, const char *path) {
    const json_t *at = doc;
    while (at && *path) {
        const size_t n = strcspn(path, "/");
        at = json_object_getn(at, path, n);
        path += n + (path[n] == '/');
    }
    return (json_t *)(uintptr_t)at;
}

// Reduces a document to the members that the request wants, if it lists any. Takes the document.
static json_t *wanted_of(const fr_ask *ask, json_t *doc) {
    const json_t *fields = json_object_get(ask->request.root, "response_fields");
    if (!doc || !json_array_size(fields)) return doc;
    json_t *some = json_object();
    for (size_t i = 0; i < json_array_size(fields); i++) {
        const char *path = json_string_value(json_array_get(fields, i));
        json_t *member = path ? member_at(doc, path) : NULL;
        if (member) json_object_set(some, path, member);
    }
    json_decref(doc);
    return some;
}

json_t *fr_llama_document(const fr_ask *ask, int index) {
    const fr_job_copy *t = &ask->choice[index].copy;
    json_t *doc = ended(ask, index, fr_json_text(t->text.data ? t->text.data : "", t->text.n),
                        ask->request.return_tokens ? ids_of(t, 0, t->n_tokens) : json_array());
    if (doc && ask->request.n_probs)
        json_object_set_new(doc, "completion_probabilities", probabilities(ask, t, 0, t->n_tokens));
    return doc;
}

static json_t *whole(const fr_ask *ask) {
    json_t *list = json_array();
    for (int i = 0; i < ask->n; i++)
        json_array_append_new(list, wanted_of(ask, fr_llama_document(ask, i)));
    if (ask->n > 1) return list;
    json_t *only = json_incref(json_array_get(list, 0));
    json_decref(list);
    return only;
}

// ---------------------------------------------------------------- streams

// Tokens [from, to) and their text, or none yet.
static void add_event(const fr_ask *ask, const fr_part *p, int from, int to, json_t *content,
                      json_t *events) {
    const fr_choice *c = &ask->choice[p->index];
    json_t *doc =
        json_pack("{s:i, s:o, s:o, s:b, s:i, s:i, s:i}", "index", p->index, "content", content,
                  "tokens", ids_of(&c->copy, from, to), "stop", 0, "id_slot", c->copy.context,
                  "tokens_predicted", to, "tokens_evaluated", c->request.n_prompt);
    if (doc && ask->request.n_probs)
        json_object_set_new(doc, "completion_probabilities",
                            probabilities(ask, &c->copy, from, to));
    if (doc && ask->request.timings_per_token)
        json_object_set_new(doc, "timings", fr_ask_timings(c));
    if (doc && p->first && from == p->from) fr_ask_add_seed(ask, doc);
    json_array_append_new(events, doc);
}

// Whether the part's text can be split by tokens of whole characters. A pass may give several
// tokens, but clients that want probabilities expect one token an event.
static bool is_by_token(const fr_ask *ask, const fr_part *p) {
    const fr_job_copy *t = &ask->choice[p->index].copy;
    size_t at = 0, n;
    for (int i = p->from; i < t->n_tokens; i++) {
        const char *bytes = fr_text_token(ask->server->text, t->tokens[i], &n);
        if (!bytes || at + n > p->bytes || memcmp(bytes, p->text + at, n)) return false;
        json_t *text = json_stringn(bytes, n);
        json_decref(text);
        if (!text) return false;
        at += n;
    }
    return at == p->bytes;
}

static void add_tokens(const fr_ask *ask, const fr_part *p, json_t *events) {
    const fr_job_copy *t = &ask->choice[p->index].copy;
    size_t n;
    for (int i = p->from; i < t->n_tokens; i++) {
        const char *bytes = fr_text_token(ask->server->text, t->tokens[i], &n);
        add_event(ask, p, i, i + 1, fr_json_text(bytes, n), events);
    }
}

static void part(const fr_ask *ask, const fr_part *p, json_t *events) {
    const int to = ask->choice[p->index].copy.n_tokens;
    // An end token has no text, but its id and its probability may be wanted.
    const bool tells_tokens = ask->request.n_probs || ask->request.return_tokens;
    if (ask->request.n_probs && to > p->from + 1 && is_by_token(ask, p))
        add_tokens(ask, p, events);
    else if (p->bytes || !p->last || (tells_tokens && to > p->from))
        add_event(ask, p, p->from, to, fr_json_text(p->text, p->bytes), events);
    if (!p->last) return;
    json_t *doc = ended(ask, p->index, json_string(""), json_array());
    json_array_append_new(events, wanted_of(ask, doc));
}

static void alive(const fr_ask *ask, int index, json_t *events) {
    json_t *doc = json_pack("{s:i, s:s, s:[], s:b, s:i, s:i, s:i}", "index", index, "content", "",
                            "tokens", "stop", 0, "id_slot", ask->choice[index].copy.context,
                            "tokens_predicted", ask->choice[index].copy.n_tokens,
                            "tokens_evaluated", ask->choice[index].request.n_prompt);
    fr_ask_add_seed(ask, doc);
    json_array_append_new(events, doc);
}

static void progress(const fr_ask *ask, int index, int n_read, json_t *events) {
    alive(ask, index, events);
    fr_ask_add_progress(fr_last_event(events), &ask->choice[index], n_read);
}

const fr_dialect fr_dialect_llama = {.ask = {FR_API_COMPLETION, "cmpl-", NULL, NULL},
                                     .whole = whole,
                                     .part = part,
                                     .progress = progress,
                                     .alive = alive};
