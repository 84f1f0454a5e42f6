// openai.c — answers as OpenAI's chat and text completions, with llama.cpp's timings beside them.
#include "api/call_ids.h"
#include "serve/dialect.h"
#include <stdio.h>
#include <string.h>

// The members that all documents have; `choices` is stolen.
static json_t *document(const fr_ask *ask, const char *object, json_t *choices) {
    return json_pack("{s:s, s:s, s:I, s:s, s:s, s:o}", "id", ask->id, "object", object, "created",
                     (json_int_t)ask->created, "model", ask->server->name, "system_fingerprint",
                     "b" FR_VERSION, "choices", choices);
}

// One chunk of a stream. Usage, if wanted, is in a chunk of its own after the last.
static json_t *chunk(const fr_ask *ask, const char *object, json_t *choice) {
    json_t *doc = document(ask, object, json_pack("[o]", choice));
    if (doc && ask->request.include_usage) json_object_set_new(doc, "usage", json_null());
    return doc;
}

static json_t *with_usage(const fr_ask *ask, json_t *doc) {
    json_object_set_new(doc, "usage", fr_ask_usage(ask));
    json_object_set_new(doc, "timings", fr_ask_timings(&ask->choice[0]));
    fr_ask_add_seed(ask, doc);
    return doc;
}

// ---------------------------------------------------------------- chat

static json_t *call_json(const fr_ask *ask, int choice, int i, bool streamed) {
    const fr_api_call *call = &ask->choice[choice].answer.call[i];
    json_t *json =
        json_pack("{s:s, s:s, s:{s:s, s:s}}", "id", fr_api_new_call_id(ask->tag, choice, i).text,
                  "type", "function", "function", "name", call->name, "arguments", call->arguments);
    if (streamed) json_object_set_new(json, "index", json_integer(i));
    return json;
}

static json_t *calls_json(const fr_ask *ask, int choice, int from, bool streamed) {
    json_t *list = json_array();
    for (int i = from; i < ask->choice[choice].answer.n_calls; i++)
        json_array_append_new(list, call_json(ask, choice, i, streamed));
    return list;
}

static json_t *text_of(const fr_buffer *text) {
    return fr_json_text(text->data ? text->data : "", text->n);
}

static json_t *message_json(const fr_ask *ask, int choice) {
    const fr_api_answer *a = &ask->choice[choice].answer;
    json_t *message = json_pack("{s:s, s:o}", "role", "assistant", "content",
                                a->n_calls && !a->content.n ? json_null() : text_of(&a->content));
    if (a->thinking.n) json_object_set_new(message, "reasoning_content", text_of(&a->thinking));
    if (a->n_calls) json_object_set_new(message, "tool_calls", calls_json(ask, choice, 0, false));
    return message;
}

// Adds the drafted pieces to a choice, if the request wants them.
static void add_pieces(fr_choice *c, json_t *choice) {
    if (c->pieces && choice)
        json_object_set_new(choice, "pieces", c->pieces);
    else
        json_decref(c->pieces);
    c->pieces = NULL;
}

static json_t *whole_chat(const fr_ask *ask) {
    json_t *choices = json_array();
    for (int i = 0; i < ask->n; i++) {
        fr_choice *c = &ask->choice[i];
        json_t *choice =
            json_pack("{s:i, s:o, s:o, s:s}", "index", i, "message", message_json(ask, i),
                      "logprobs", fr_ask_logprobs(ask, c, 0), "finish_reason", fr_ask_finish(c));
        add_pieces(c, choice);
        json_array_append_new(choices, choice);
    }
    json_t *doc = with_usage(ask, document(ask, "chat.completion", choices));
    if (doc && (ask->request.verbose || ask->server->verbose))
        json_object_set_new(doc, "__verbose", fr_llama_document(ask, 0));
    return doc;
}

static void add_chunk(const fr_ask *ask, int index, json_t *delta, json_t *logprobs,
                      const char *finish, json_t *events) {
    json_t *choice = json_pack("{s:i, s:o, s:o, s:s?}", "index", index, "delta", delta, "logprobs",
                               logprobs, "finish_reason", finish);
    json_array_append_new(events, chunk(ask, "chat.completion.chunk", choice));
}

// What the answer has beyond what was sent: thinking, content, calls; {} where that is nothing.
static json_t *news_of(const fr_ask *ask, int choice) {
    fr_choice *c = &ask->choice[choice];
    const fr_api_answer *a = &c->answer;
    json_t *delta = json_object();
    if (a->thinking.n > c->thought)
        json_object_set_new(
            delta, "reasoning_content",
            fr_json_text(a->thinking.data + c->thought, a->thinking.n - c->thought));
    if (a->content.n > c->said)
        json_object_set_new(delta, "content",
                            fr_json_text(a->content.data + c->said, a->content.n - c->said));
    if (a->n_calls > c->called)
        json_object_set_new(delta, "tool_calls", calls_json(ask, choice, c->called, true));
    c->thought = a->thinking.n;
    c->said = a->content.n;
    c->called = a->n_calls;
    return delta;
}

// To the last of the events.
static void add_timings(const fr_choice *c, json_t *events) {
    json_object_set_new(fr_last_event(events), "timings", fr_ask_timings(c));
}

static void chat_begin(const fr_ask *ask, int index, json_t *events) {
    add_chunk(ask, index, json_pack("{s:s, s:n}", "role", "assistant", "content"), json_null(),
              NULL, events);
    fr_ask_add_seed(ask,
                    fr_last_event(events)); // a cut stream can be requested again with it
}

static void chat_part(const fr_ask *ask, const fr_part *p, json_t *events) {
    fr_choice *c = &ask->choice[p->index];
    json_t *delta = news_of(ask, p->index), *logprobs = fr_ask_logprobs(ask, c, p->from);
    if (json_object_size(delta) || !json_is_null(logprobs)) {
        add_chunk(ask, p->index, delta, logprobs, NULL, events);
        add_pieces(c, json_array_get(json_object_get(fr_last_event(events), "choices"), 0));
        if (ask->request.timings_per_token) add_timings(c, events);
    } else {
        json_decref(delta);
        json_decref(logprobs);
    }
    if (!p->last) return;
    add_chunk(ask, p->index, json_object(), json_null(), fr_ask_finish(c), events);
    add_timings(c, events);
    fr_ask_add_seed(ask, fr_last_event(events));
}

static void chat_alive(const fr_ask *ask, int index, json_t *events) {
    add_chunk(ask, index, json_object(), json_null(), NULL, events);
    fr_ask_add_seed(ask, fr_last_event(events));
}

static void chat_progress(const fr_ask *ask, int index, int n_read, json_t *events) {
    chat_alive(ask, index, events);
    fr_ask_add_progress(fr_last_event(events), &ask->choice[index], n_read);
}

static json_t *chat_end(const fr_ask *ask) {
    if (!ask->request.include_usage) return NULL;
    return with_usage(ask, document(ask, "chat.completion.chunk", json_array()));
}

const fr_dialect fr_dialect_chat = {.ask = {FR_API_CHAT, "chatcmpl-", NULL, NULL},
                                    .says_done = true,
                                    .whole = whole_chat,
                                    .begin = chat_begin,
                                    .part = chat_part,
                                    .progress = chat_progress,
                                    .alive = chat_alive,
                                    .end = chat_end};

// ---------------------------------------------------------------- text

// The prompt that an echo begins with.
static void add_prompt(const fr_ask *ask, int index, fr_buffer *text) {
    if (ask->request.echo) fr_ask_add_prompt(ask, &ask->choice[index], text);
}

static json_t *whole_text(const fr_ask *ask) {
    json_t *choices = json_array();
    for (int i = 0; i < ask->n; i++) {
        fr_choice *c = &ask->choice[i];
        fr_buffer text = {0};
        fr_error never;
        add_prompt(ask, i, &text);
        if (c->copy.text.n) fr_buffer_add(&text, c->copy.text.data, c->copy.text.n, &never);
        json_array_append_new(choices,
                              json_pack("{s:i, s:o, s:o, s:s}", "index", i, "text", text_of(&text),
                                        "logprobs", fr_ask_logprobs(ask, c, 0), "finish_reason",
                                        fr_ask_finish(c)));
        fr_buffer_free(&text);
    }
    return with_usage(ask, document(ask, "text_completion", choices));
}

static void add_text_chunk(const fr_ask *ask, int index, json_t *text, json_t *logprobs,
                           const char *finish, json_t *events) {
    json_t *choice = json_pack("{s:i, s:o, s:o, s:s?}", "index", index, "text", text, "logprobs",
                               logprobs, "finish_reason", finish);
    json_array_append_new(events, chunk(ask, "text_completion", choice));
}

static void text_part(const fr_ask *ask, const fr_part *p, json_t *events) {
    fr_choice *c = &ask->choice[p->index];
    fr_buffer text = {0};
    fr_error never;
    if (p->first) add_prompt(ask, p->index, &text);
    if (p->bytes) fr_buffer_add(&text, p->text, p->bytes, &never);
    add_text_chunk(ask, p->index, text_of(&text), fr_ask_logprobs(ask, c, p->from),
                   p->last ? fr_ask_finish(c) : NULL, events);
    if (p->last || ask->request.timings_per_token) add_timings(c, events);
    if (p->first || p->last) fr_ask_add_seed(ask, fr_last_event(events));
    fr_buffer_free(&text);
}

static void text_alive(const fr_ask *ask, int index, json_t *events) {
    add_text_chunk(ask, index, json_string(""), json_null(), NULL, events);
    fr_ask_add_seed(ask, fr_last_event(events));
}

static void text_progress(const fr_ask *ask, int index, int n_read, json_t *events) {
    text_alive(ask, index, events);
    fr_ask_add_progress(fr_last_event(events), &ask->choice[index], n_read);
}

static json_t *text_end(const fr_ask *ask) {
    if (!ask->request.include_usage) return NULL;
    return with_usage(ask, document(ask, "text_completion", json_array()));
}

const fr_dialect fr_dialect_text = {.ask = {FR_API_COMPLETION, "cmpl-", NULL, NULL},
                                    .says_done = true,
                                    .whole = whole_text,
                                    .part = text_part,
                                    .progress = text_progress,
                                    .alive = text_alive,
                                    .end = text_end};
