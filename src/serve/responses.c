// responses.c — answers as OpenAI's responses, of which nothing is kept.
#include "api/call_ids.h"
#include "api/value.h"
#include "serve/blocks.h"
#include "serve/repeated.h"
#include <stdio.h>
#include <string.h>

// ---------------------------------------------------------------- items of the output

static json_t *text_part(json_t *text) {
    return json_pack("{s:s, s:o, s:[], s:[]}", "type", "output_text", "text", text, "annotations",
                     "logprobs");
}

static json_t *thinking_part(json_t *text) {
    return json_pack("{s:s, s:o}", "type", "reasoning_text", "text", text);
}

typedef struct item_id {
    char text[64];
} item_id;

static item_id id_of(const fr_ask *ask, const char *prefix, int n) {
    item_id id;
    snprintf(id.text, sizeof id.text, "%s_%s_%d", prefix, ask->tag, n);
    return id;
}

// `content` is stolen.
static json_t *message_item(const fr_ask *ask, int n, const char *status, json_t *content) {
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "id", id_of(ask, "msg", n).text, "type",
                     "message", "status", status, "role", "assistant", "content", content);
}

static json_t *thinking_item(const fr_ask *ask, int n, json_t *content) {
    return json_pack("{s:s, s:s, s:[], s:o}", "id", id_of(ask, "rs", n).text, "type", "reasoning",
                     "summary", "content", content);
}

// Whether the call is one of a custom tool, which takes a text.
static bool is_custom(const fr_ask *ask, const fr_api_call *call) {
    const json_t *space, *tool = fr_api_response_tool(ask->body, call->name, &space);
    return fr_api_is(fr_api_member(tool, "type"), "custom");
}

// What a call has as its input: its arguments, or of a custom tool's the text in them.
static json_t *input_of(const fr_ask *ask, const fr_api_call *call) {
    fr_error never;
    json_t *arguments = is_custom(ask, call)
                            ? fr_json_load(call->arguments, strlen(call->arguments), &never)
                            : NULL,
           *input = json_object_get(arguments, "input");
    input = fr_json_is_text(input) ? json_incref(input) : json_string(call->arguments);
    json_decref(arguments);
    return input;
}

static json_t *call_item(const fr_ask *ask, const fr_choice *c, int n, int i, bool filled) {
    const fr_api_call *call = &c->answer.call[i];
    const json_t *space;
    const bool custom = is_custom(ask, call);
    json_t *item =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "id", id_of(ask, custom ? "ctc" : "fc", n).text,
                  "type", custom ? "custom_tool_call" : "function_call", "status",
                  filled ? "completed" : "in_progress", "call_id",
                  fr_api_new_call_id(ask->tag, 0, i).text, "name", call->name,
                  custom ? "input" : "arguments", filled ? input_of(ask, call) : json_string(""));
    if (fr_api_response_tool(ask->body, call->name, &space) && fr_json_is_text(space))
        json_object_set(item, "namespace", (json_t *)(uintptr_t)space);
    return item;
}

static bool is_complete(const fr_choice *c) {
    return c->copy.end == FR_JOB_STOP;
}

// The status of the current message: it is complete if another block follows.
static const char *status_of(const fr_choice *c) {
    const bool cut = c->copy.state == FR_JOB_ENDED && !is_complete(c);
    return cut && fr_blocks_are_sent(c) ? "incomplete" : "completed";
}

// ---------------------------------------------------------------- the response

static json_t *usage_of(const fr_ask *ask, const fr_choice *c) {
    return json_pack("{s:i, s:{s:i}, s:i, s:{s:i}, s:i}", "input_tokens", c->request.n_prompt,
                     "input_tokens_details", "cached_tokens", c->copy.n_reused, "output_tokens",
                     c->copy.n_tokens, "output_tokens_details", "reasoning_tokens",
                     fr_ask_thought(ask, c), "total_tokens",
                     c->request.n_prompt + c->copy.n_tokens);
}

// status NULL: that of the choice, which has ended. `output` is stolen.
static json_t *response(const fr_ask *ask, const char *status, json_t *output) {
    const fr_choice *c = &ask->choice[0];
    const fr_api_sampling *s = &ask->request.sampling;
    const bool whole = !status, cut = whole && !is_complete(c);
    if (whole) status = cut ? "incomplete" : "completed";
    json_t *doc = json_pack(
        "{s:s, s:s, s:I, s:s, s:n, s:o, s:s, s:o, s:b, s:f, s:f, s:I}", "id", ask->id, "object",
        "response", "created_at", (json_int_t)ask->created, "status", status, "error",
        "incomplete_details", cut ? json_pack("{s:s}", "reason", "max_output_tokens") : json_null(),
        "model", ask->server->name, "output", output, "store", 0, "temperature",
        (double)s->temperature, "top_p", (double)s->top_p, "seed", (json_int_t)s->seed);
    fr_repeat_asked(ask->body, doc);
    json_object_set_new(doc, "usage", whole ? usage_of(ask, c) : json_null());
    if (whole) json_object_set_new(doc, "timings", fr_ask_timings(c));
    return doc;
}

// ---------------------------------------------------------------- streamed

// Numbers the event, which is stolen.
static void send(fr_choice *c, json_t *event, json_t *events) {
    json_object_set_new(event, "sequence_number", json_integer(c->n_events++));
    json_array_append_new(events, event);
}

static bool is_custom_block(const fr_ask *ask, const fr_choice *c) {
    return c->block == FR_BLOCK_CALL && is_custom(ask, &c->answer.call[c->call]);
}

static item_id block_id(const fr_ask *ask, const fr_choice *c) {
    return id_of(ask,
                 c->block == FR_BLOCK_THINKING ? "rs"
                 : c->block == FR_BLOCK_TEXT   ? "msg"
                 : is_custom_block(ask, c)     ? "ctc"
                                               : "fc",
                 c->n_block);
}

static json_t *block_part(const fr_choice *c, json_t *text) {
    return c->block == FR_BLOCK_THINKING ? thinking_part(text) : text_part(text);
}

// The current block as an item, with its text or without.
static json_t *block_item(const fr_ask *ask, const fr_choice *c, bool filled) {
    if (c->block == FR_BLOCK_CALL) return call_item(ask, c, c->n_block, c->call, filled);
    json_t *content = json_array();
    if (filled) json_array_append_new(content, block_part(c, fr_blocks_text(c)));
    return c->block == FR_BLOCK_THINKING
               ? thinking_item(ask, c->n_block, content)
               : message_item(ask, c->n_block, filled ? status_of(c) : "in_progress", content);
}

static void send_item(const fr_ask *ask, fr_choice *c, const char *type, bool filled,
                      json_t *events) {
    json_t *item = block_item(ask, c, filled);
    if (filled && !c->items) c->items = json_array();
    if (filled) json_array_append(c->items, item);
    send(c, json_pack("{s:s, s:i, s:o}", "type", type, "output_index", c->n_block, "item", item),
         events);
}

static void send_part(const fr_ask *ask, fr_choice *c, const char *type, json_t *text,
                      json_t *events) {
    send(c,
         json_pack("{s:s, s:s, s:i, s:i, s:o}", "type", type, "item_id", block_id(ask, c).text,
                   "output_index", c->n_block, "content_index", 0, "part", block_part(c, text)),
         events);
}

// A piece of the block's text, or all of it, under the member's name; `text` is stolen.
static void send_text(const fr_ask *ask, fr_choice *c, const char *type, const char *member,
                      json_t *text, json_t *events) {
    json_t *event = json_pack("{s:s, s:s, s:i, s:o}", "type", type, "item_id",
                              block_id(ask, c).text, "output_index", c->n_block, member, text);
    if (c->block != FR_BLOCK_CALL) json_object_set_new(event, "content_index", json_integer(0));
    if (c->block == FR_BLOCK_TEXT) json_object_set_new(event, "logprobs", json_array());
    send(c, event, events);
}

static void open_block(const fr_ask *ask, fr_choice *c, json_t *events) {
    send_item(ask, c, "response.output_item.added", false, events);
    if (c->block != FR_BLOCK_CALL)
        send_part(ask, c, "response.content_part.added", json_string(""), events);
}

static void add_to_block(const fr_ask *ask, fr_choice *c, json_t *text, json_t *events) {
    static const char *const types[] = {[FR_BLOCK_THINKING] = "response.reasoning_text.delta",
                                        [FR_BLOCK_TEXT] = "response.output_text.delta",
                                        [FR_BLOCK_CALL] = "response.function_call_arguments.delta"};
    const bool custom = is_custom_block(ask, c);
    if (custom) {
        json_decref(text);
        text = input_of(ask, &c->answer.call[c->call]);
    }
    send_text(ask, c, custom ? "response.custom_tool_call_input.delta" : types[c->block], "delta",
              text, events);
    if (ask->request.timings_per_token) // llama.cpp's
        json_object_set_new(fr_last_event(events), "timings", fr_ask_timings(c));
}

static void close_block(const fr_ask *ask, fr_choice *c, json_t *events) {
    static const char *const types[] = {[FR_BLOCK_THINKING] = "response.reasoning_text.done",
                                        [FR_BLOCK_TEXT] = "response.output_text.done",
                                        [FR_BLOCK_CALL] = "response.function_call_arguments.done"};
    if (c->block == FR_BLOCK_CALL) {
        const bool custom = is_custom_block(ask, c);
        send_text(ask, c, custom ? "response.custom_tool_call_input.done" : types[c->block],
                  custom ? "input" : "arguments", input_of(ask, &c->answer.call[c->call]), events);
    } else {
        send_text(ask, c, types[c->block], "text", fr_blocks_text(c), events);
        send_part(ask, c, "response.content_part.done", fr_blocks_text(c), events);
    }
    send_item(ask, c, "response.output_item.done", true, events);
}

static void send_response(const fr_ask *ask, fr_choice *c, const char *type, const char *status,
                          json_t *events) {
    json_t *output = status || !c->items ? json_array() : json_incref(c->items);
    send(c, json_pack("{s:s, s:o}", "type", type, "response", response(ask, status, output)),
         events);
}

static void begin(const fr_ask *ask, int index, json_t *events) {
    fr_choice *c = &ask->choice[index];
    send_response(ask, c, "response.created", "in_progress", events);
    send_response(ask, c, "response.in_progress", "in_progress", events);
}

// Once more that it is in progress, without what the stream has begun with.
static void alive(const fr_ask *ask, int index, json_t *events) {
    json_t *brief = json_pack("{s:s, s:s, s:I, s:s, s:s, s:[]}", "id", ask->id, "object",
                              "response", "created_at", (json_int_t)ask->created, "status",
                              "in_progress", "model", ask->server->name, "output");
    send(&ask->choice[index],
         json_pack("{s:s, s:o}", "type", "response.in_progress", "response", brief), events);
}

static void progress(const fr_ask *ask, int index, int n_read, json_t *events) {
    alive(ask, index, events);
    fr_ask_add_progress(fr_last_event(events), &ask->choice[index], n_read);
}

static const fr_blocks words = {open_block, add_to_block, close_block, .never_empty = true};

static void part(const fr_ask *ask, const fr_part *p, json_t *events) {
    fr_choice *c = &ask->choice[p->index];
    fr_blocks_send(ask, c, &words, p->last, events);
    if (!p->last) return;
    send_response(ask, c, is_complete(c) ? "response.completed" : "response.incomplete", NULL,
                  events);
    json_object_set_new(fr_last_event(events), "timings", fr_ask_timings(c));
}

// The items are those of the stream.
static json_t *whole(const fr_ask *ask) {
    fr_choice *c = &ask->choice[0];
    json_t *unsent = json_array();
    fr_blocks_send(ask, c, &words, true, unsent);
    json_decref(unsent);
    return response(ask, NULL, c->items ? json_incref(c->items) : json_array());
}

static json_t *fault(const fr_ask *ask, int index, const fr_error *err) {
    return json_pack("{s:s, s:s, s:o, s:n, s:i}", "type", "error", "code", fr_error_type(err),
                     "message", fr_json_string(err->text), "param", "sequence_number",
                     ask->choice[index].n_events);
}

const fr_dialect fr_dialect_responses = {
    .ask = {FR_API_CHAT, "resp_", fr_api_from_responses, fr_api_own_of_responses},
    .names_events = true,
    .whole = whole,
    .begin = begin,
    .begins_at_once = true,
    .part = part,
    .progress = progress,
    .alive = alive,
    .fault = fault};
