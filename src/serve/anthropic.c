// anthropic.c — answers as Anthropic's messages.
#include "api/call_ids.h"
#include "serve/blocks.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- common to both forms

static const char *stop_reason(const fr_choice *c) {
    if (c->copy.end != FR_JOB_STOP) return "max_tokens";
    if (c->answer.n_calls) return "tool_use";
    return fr_ask_stop_string(c) ? "stop_sequence" : "end_turn";
}

// Reused tokens are counted apart.
static json_t *usage_of(const fr_choice *c) {
    return json_pack("{s:i, s:i, s:i, s:i}", "input_tokens", c->request.n_prompt - c->copy.n_reused,
                     "cache_creation_input_tokens", 0, "cache_read_input_tokens", c->copy.n_reused,
                     "output_tokens", c->copy.n_tokens);
}

// `content` is stolen.
static json_t *message(const fr_ask *ask, json_t *content, const char *reason, const char *stop,
                       json_t *usage) {
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s?, s:s?, s:o, s:I}", "id", ask->id, "type",
                     "message", "role", "assistant", "model", ask->server->name, "content", content,
                     "stop_reason", reason, "stop_sequence", stop, "usage", usage, "seed",
                     (json_int_t)ask->request.sampling.seed);
}

// The arguments, which are an object.
static json_t *input_of(const fr_api_call *call) {
    fr_error never;
    return fr_json_load(call->arguments, strlen(call->arguments), &never);
}

static json_t *call_of(const fr_ask *ask, const fr_choice *c, int i, bool filled) {
    const fr_api_call *call = &c->answer.call[i];
    return json_pack("{s:s, s:s, s:s, s:o}", "type", "tool_use", "id",
                     fr_api_new_call_id(ask->tag, 0, i).text, "name", call->name, "input",
                     filled ? input_of(call) : json_object());
}

// ---------------------------------------------------------------- whole

// Blocks are listed once they are whole.
static void begin_whole(const fr_ask *ask, fr_choice *c, json_t *content) {
    (void)ask, (void)c, (void)content;
}

static void skip_piece(const fr_ask *ask, fr_choice *c, json_t *text, json_t *content) {
    (void)ask, (void)c, (void)content;
    json_decref(text);
}

static void list_block(const fr_ask *ask, fr_choice *c, json_t *content) {
    json_t *block;
    if (c->block == FR_BLOCK_THINKING)
        block = json_pack("{s:s, s:o, s:s}", "type", "thinking", "thinking", fr_blocks_text(c),
                          "signature", "");
    else if (c->block == FR_BLOCK_TEXT)
        block = json_pack("{s:s, s:o}", "type", "text", "text", fr_blocks_text(c));
    else
        block = call_of(ask, c, c->call, true);
    json_array_append_new(content, block);
}

static json_t *whole(const fr_ask *ask) {
    static const fr_blocks words = {begin_whole, skip_piece, list_block, false};
    fr_choice *c = &ask->choice[0];
    json_t *content = json_array();
    fr_blocks_send(ask, c, &words, true, content);
    return message(ask, content, stop_reason(c), fr_ask_stop_string(c), usage_of(c));
}

// ---------------------------------------------------------------- streamed

static void open_block(const fr_ask *ask, fr_choice *c, json_t *events) {
    json_t *block;
    if (c->block == FR_BLOCK_THINKING)
        block = json_pack("{s:s, s:s, s:s}", "type", "thinking", "thinking", "", "signature", "");
    else if (c->block == FR_BLOCK_TEXT)
        block = json_pack("{s:s, s:s}", "type", "text", "text", "");
    else
        block = call_of(ask, c, c->call, false);
    json_array_append_new(events, json_pack("{s:s, s:i, s:o}", "type", "content_block_start",
                                            "index", c->n_block, "content_block", block));
}

static void add_delta(const fr_choice *c, const char *type, const char *member, json_t *text,
                      json_t *events) {
    json_array_append_new(events,
                          json_pack("{s:s, s:i, s:{s:s, s:o}}", "type", "content_block_delta",
                                    "index", c->n_block, "delta", "type", type, member, text));
}

static void add_to_block(const fr_ask *ask, fr_choice *c, json_t *text, json_t *events) {
    (void)ask;
    if (c->block == FR_BLOCK_THINKING) {
        add_delta(c, "thinking_delta", "thinking", text, events);
    } else if (c->block == FR_BLOCK_TEXT) {
        add_delta(c, "text_delta", "text", text, events);
    } else {
        json_decref(text);
        add_delta(c, "input_json_delta", "partial_json",
                  json_string(c->answer.call[c->call].arguments), events);
    }
}

static void close_block(const fr_ask *ask, fr_choice *c, json_t *events) {
    (void)ask;
    if (c->block == FR_BLOCK_THINKING)
        add_delta(c, "signature_delta", "signature", json_string(""), events);
    json_array_append_new(
        events, json_pack("{s:s, s:i}", "type", "content_block_stop", "index", c->n_block));
}

static void begin(const fr_ask *ask, int index, json_t *events) {
    json_t *empty = message(ask, json_array(), NULL, NULL, usage_of(&ask->choice[index]));
    json_array_append_new(events,
                          json_pack("{s:s, s:o}", "type", "message_start", "message", empty));
}

static void alive(const fr_ask *ask, int index, json_t *events) {
    (void)ask, (void)index;
    json_array_append_new(events, json_pack("{s:s}", "type", "ping"));
}

static void part(const fr_ask *ask, const fr_part *p, json_t *events) {
    static const fr_blocks words = {open_block, add_to_block, close_block, false};
    fr_choice *c = &ask->choice[p->index];
    fr_blocks_send(ask, c, &words, p->last, events);
    if (!p->last) return;
    json_array_append_new(events, json_pack("{s:s, s:{s:s, s:s?}, s:o}", "type", "message_delta",
                                            "delta", "stop_reason", stop_reason(c), "stop_sequence",
                                            fr_ask_stop_string(c), "usage", usage_of(c)));
    json_array_append_new(events, json_pack("{s:s}", "type", "message_stop"));
}

const fr_dialect fr_dialect_anthropic = {
    .ask = {FR_API_CHAT, "msg_", fr_api_from_anthropic, fr_api_own_of_anthropic},
    .names_events = true,
    .whole = whole,
    .begin = begin,
    .begins_at_once = true,
    .part = part,
    .alive = alive};
