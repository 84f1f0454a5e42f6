// openai.c — answers as OpenAI's chat and text completions, with llama.cpp's timings beside them.
#include "serve/dialect.h"
#include <string.h>

static json_t *text_of(const fr_job *job) {
    return fr_json_text(job->text.data ? job->text.data : "", job->text.n);
}

// The members that all documents have; `choices` is stolen.
static json_t *document(const fr_ask *ask, const char *object, json_t *choices) {
    return json_pack("{s:s, s:s, s:I, s:s, s:s, s:o}", "id", ask->id, "object", object, "created",
                     (json_int_t)ask->created, "model", ask->server->name, "system_fingerprint",
                     FR_VERSION, "choices", choices);
}

static json_t *with_usage(const fr_ask *ask, json_t *doc) {
    json_object_set_new(doc, "usage", fr_ask_usage(ask));
    json_object_set_new(doc, "timings", fr_ask_timings(&ask->choice[0]));
    json_object_set_new(doc, "seed", json_integer((json_int_t)ask->request.sampling.seed));
    return doc;
}

// ---------------------------------------------------------------- chat

static json_t *whole_chat(const fr_ask *ask) {
    json_t *choices = json_array();
    for (int i = 0; i < ask->n; i++) {
        const fr_choice *c = &ask->choice[i];
        json_array_append_new(choices,
                              json_pack("{s:i, s:{s:s, s:o}, s:o, s:s}", "index", i, "message",
                                        "role", "assistant", "content", text_of(&c->job),
                                        "logprobs", fr_ask_logprobs(ask, c, 0), "finish_reason",
                                        fr_ask_finish(&c->job)));
    }
    return with_usage(ask, document(ask, "chat.completion", choices));
}

static void add_chunk(const fr_ask *ask, int index, json_t *delta, json_t *logprobs,
                      const char *finish, json_t *events) {
    json_t *choice = json_pack("{s:i, s:o, s:o, s:s?}", "index", index, "delta", delta, "logprobs",
                               logprobs, "finish_reason", finish);
    json_array_append_new(events, document(ask, "chat.completion.chunk", json_pack("[o]", choice)));
}

static void chat_part(const fr_ask *ask, const fr_part *p, json_t *events) {
    const fr_choice *c = &ask->choice[p->index];
    if (p->first)
        add_chunk(ask, p->index, json_pack("{s:s, s:n}", "role", "assistant", "content"),
                  json_null(), NULL, events);
    if (p->bytes || (p->last && c->job.n_tokens > p->from && ask->request.logprobs))
        add_chunk(ask, p->index, json_pack("{s:o}", "content", fr_json_text(p->text, p->bytes)),
                  fr_ask_logprobs(ask, c, p->from), NULL, events);
    if (!p->last) return;
    add_chunk(ask, p->index, json_object(), json_null(), fr_ask_finish(&c->job), events);
    json_t *end = json_array_get(events, json_array_size(events) - 1);
    json_object_set_new(end, "timings", fr_ask_timings(c));
}

static json_t *chat_end(const fr_ask *ask) {
    if (!ask->request.include_usage) return NULL;
    return with_usage(ask, document(ask, "chat.completion.chunk", json_array()));
}

const fr_dialect fr_dialect_chat = {.kind = FR_API_CHAT,
                                    .id_prefix = "chatcmpl-",
                                    .says_done = true,
                                    .whole = whole_chat,
                                    .part = chat_part,
                                    .end = chat_end};

// ---------------------------------------------------------------- text

// The prompt that an echo begins with.
static void add_prompt(const fr_ask *ask, int index, fr_buffer *text) {
    fr_error never;
    if (ask->request.echo)
        fr_api_prompt_text(&ask->request, &ask->server->api, index / ask->request.n, text, &never);
}

static json_t *whole_text(const fr_ask *ask) {
    json_t *choices = json_array();
    for (int i = 0; i < ask->n; i++) {
        const fr_choice *c = &ask->choice[i];
        fr_buffer text = {0};
        fr_error never;
        add_prompt(ask, i, &text);
        if (c->job.text.n) fr_buffer_add(&text, c->job.text.data, c->job.text.n, &never);
        json_array_append_new(choices, json_pack("{s:i, s:o, s:o, s:s}", "index", i, "text",
                                                 fr_json_text(text.data ? text.data : "", text.n),
                                                 "logprobs", fr_ask_logprobs(ask, c, 0),
                                                 "finish_reason", fr_ask_finish(&c->job)));
        fr_buffer_free(&text);
    }
    return with_usage(ask, document(ask, "text_completion", choices));
}

static void text_part(const fr_ask *ask, const fr_part *p, json_t *events) {
    const fr_choice *c = &ask->choice[p->index];
    fr_buffer text = {0};
    fr_error never;
    if (p->first) add_prompt(ask, p->index, &text);
    if (p->bytes) fr_buffer_add(&text, p->text, p->bytes, &never);
    json_t *choice = json_pack("{s:i, s:o, s:o, s:s?}", "index", p->index, "text",
                               fr_json_text(text.data ? text.data : "", text.n), "logprobs",
                               fr_ask_logprobs(ask, c, p->from), "finish_reason",
                               p->last ? fr_ask_finish(&c->job) : NULL);
    json_array_append_new(events, document(ask, "text_completion", json_pack("[o]", choice)));
    fr_buffer_free(&text);
}

static json_t *text_end(const fr_ask *ask) {
    if (!ask->request.include_usage) return NULL;
    return with_usage(ask, document(ask, "text_completion", json_array()));
}

const fr_dialect fr_dialect_text = {.kind = FR_API_COMPLETION,
                                    .id_prefix = "cmpl-",
                                    .says_done = true,
                                    .whole = whole_text,
                                    .part = text_part,
                                    .end = text_end};
