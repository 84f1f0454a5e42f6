// blocks.c — Anthropic's messages as those of a chat. A message of blocks becomes one of text
// parts, thinking and calls. Results of tools in it become messages of their own, in front of it.
#include "api/translate.h"
#include "api/value.h"
#include <string.h>

typedef struct reader {
    const json_t *given;
    json_t *messages;
    const json_t *role; // of the current message
    json_t *at;         // the message that it becomes, which is not in the list yet; owned
    const fr_watch *watch;
    fr_error *err;
    size_t message, block; // numbers of the current ones
    size_t last_text;      // number of the message's last block of text; 0: the first one, or none
} reader;

// ---------------------------------------------------------------- the current message

static fr_status begin(reader *r) {
    r->at = json_pack("{s:O}", "role", r->role);
    return r->at ? FR_OK : fr_fail(r->err, FR_ENOMEM, "no memory for the messages");
}

// Adds the current message to the list if it has content, or if nothing else represents it
// (`alone`).
static fr_status finish(reader *r, bool alone) {
    fr_status st = FR_OK;
    const bool says = json_object_size(r->at) > 1;
    if (says || alone) {
        if (!json_object_get(r->at, "content"))
            st = fr_api_set(r->at, "content", json_null(), r->err);
        if (!st) st = fr_api_append(r->messages, json_incref(r->at), r->err);
    }
    json_decref(r->at);
    r->at = NULL;
    return st;
}

// A member of the current block that has to be a string. NULL: FR_EARG, in r->err.
static const json_t *text_member(const reader *r, const json_t *block, const char *name) {
    const json_t *value = fr_api_member(block, name);
    if (fr_json_is_text(value)) return value;
    fr_api_wrong(r->err, value, "a string", "messages[%zu].content[%zu].%s", r->message, r->block,
                 name);
    return NULL;
}

static fr_status add_use(const reader *r, const json_t *block) {
    const json_t *id = text_member(r, block, "id"),
                 *name = id ? text_member(r, block, "name") : NULL;
    json_t *input = json_object_get(block, "input");
    fr_buffer text = {0};
    if (!name) return FR_EARG;
    if (!json_is_object(input))
        return fr_api_wrong(r->err, input, "an object", "messages[%zu].content[%zu].input",
                            r->message, r->block);
    fr_status st = fr_json_dump(&text, input, r->err);
    if (!st) st = fr_api_add_call(r->at, id, name, json_stringn(text.data, text.n), r->err);
    fr_buffer_free(&text);
    return st;
}

// ---------------------------------------------------------------- documents

static fr_status add_line(fr_buffer *text, const json_t *line, fr_error *err) {
    if (!json_string_length(line)) return FR_OK;
    const fr_status st = text->n ? fr_buffer_add(text, "\n", 1, err) : FR_OK;
    return st ? st : fr_buffer_add(text, json_string_value(line), json_string_length(line), err);
}

static bool is_text_block(const json_t *block) {
    return fr_api_is(fr_api_member(block, "type"), "text") &&
           fr_json_is_text(fr_api_member(block, "text"));
}

static fr_status add_lines(fr_buffer *text, const json_t *blocks, bool *all, fr_error *err) {
    fr_status st = FR_OK;
    for (size_t i = 0; i < json_array_size(blocks) && !st; i++) {
        const json_t *block = json_array_get(blocks, i);
        *all &= is_text_block(block);
        st = add_line(text, fr_api_member(block, "text"), err);
    }
    return st;
}

// The text of a document or of a search result. *all: it has nothing but text.
static fr_status add_document(fr_buffer *text, const json_t *block, bool *all, fr_error *err) {
    const json_t *type = fr_api_member(block, "type"), *source = fr_api_member(block, "source");
    const json_t *inner = fr_api_member(source, "content");
    fr_status st = add_line(text, fr_api_member(block, "title"), err);
    if (!st) st = add_line(text, fr_api_member(block, "context"), err);
    *all = true;
    if (st) return st;
    if (fr_api_is(type, "search_result")) {
        st = add_line(text, source, err);
        return st ? st : add_lines(text, fr_api_member(block, "content"), all, err);
    }
    if (fr_api_is(fr_api_member(source, "type"), "text") &&
        fr_json_is_text(fr_api_member(source, "data")))
        return add_line(text, fr_api_member(source, "data"), err);
    *all = fr_api_is(fr_api_member(source, "type"), "content");
    return fr_json_is_text(inner) ? add_line(text, inner, err) : add_lines(text, inner, all, err);
}

// A block of any kind as a text. NULL and FR_OK: it is no text.
static fr_status text_of(const reader *r, const json_t *block, json_t **out) {
    const json_t *type = fr_api_member(block, "type"), *tool = fr_api_member(block, "tool_name");
    fr_buffer text = {0};
    bool all = false;
    fr_status st = FR_OK;
    *out = NULL;
    if (is_text_block(block)) {
        *out = json_incref(json_object_get(block, "text"));
        return FR_OK;
    }
    if (fr_api_is(type, "tool_reference") && fr_json_is_text(tool)) {
        *out = json_incref((json_t *)(uintptr_t)tool);
        return FR_OK;
    }
    if (fr_api_is(type, "document") || fr_api_is(type, "search_result"))
        st = add_document(&text, block, &all, r->err);
    if (!st && all && !(*out = json_stringn(text.data ? text.data : "", text.n)))
        st = fr_fail(r->err, FR_ENOMEM, "no memory for the messages");
    fr_buffer_free(&text);
    return st;
}

// ---------------------------------------------------------------- results

// Whether a text or another message follows the current result.
static bool is_followed(const reader *r) {
    return r->message + 1 < json_array_size(r->given) || r->block < r->last_text;
}

static fr_status add_given_part(const reader *r, const json_t *block, size_t i, json_t *result) {
    json_t *text;
    fr_status st = text_of(r, block, &text);
    if (st) return st;
    if (text) {
        st = fr_api_add_part(result, text, r->err);
        json_decref(text);
        return st;
    }
    if (is_followed(r))
        return fr_api_append(json_object_get(result, "content"), fr_api_left_out_part(block),
                             r->err);
    const char *type = fr_api_text(fr_api_member(block, "type"));
    return fr_fail(r->err, FR_EARG,
                   "messages[%zu].content[%zu].content[%zu]: only text is read here, found %.40s",
                   r->message, r->block, i, type ? type : "something else");
}

// The content of a result: nothing, a text, or a list of blocks.
static fr_status add_given(const reader *r, const json_t *content, json_t *result) {
    fr_status st;
    if (!content || fr_json_is_text(content))
        return fr_api_set(result, "content",
                          content ? json_incref((json_t *)(uintptr_t)content) : json_string(""),
                          r->err);
    if (!json_is_array(content))
        return fr_api_wrong(r->err, content, "a string or a list of blocks",
                            "messages[%zu].content[%zu].content", r->message, r->block);
    st = fr_api_set(result, "content", json_array(), r->err);
    for (size_t i = 0; i < json_array_size(content) && !st; i++)
        if (!(st = fr_api_go_on(r->watch, i, r->err)))
            st = add_given_part(r, json_array_get(content, i), i, result);
    return st;
}

static fr_status add_result(const reader *r, const json_t *block) {
    const json_t *id = text_member(r, block, "tool_use_id");
    if (!id) return FR_EARG;
    json_t *result = json_pack("{s:s, s:O}", "role", "tool", "tool_call_id", id);
    const fr_status st = fr_api_append(r->messages, result, r->err);
    return st ? st : add_given(r, fr_api_member(block, "content"), result);
}

// The result of a tool that Anthropic ran. It is in the assistant's own message, after its call.
// Its form differs, and becomes JSON.
static fr_status add_own_result(reader *r, const json_t *block) {
    const json_t *id = text_member(r, block, "tool_use_id"),
                 *content = fr_api_member(block, "content");
    fr_buffer text = {0};
    fr_status st = id ? finish(r, false) : FR_EARG;
    if (!st && !fr_json_is_text(content) && content) st = fr_json_dump(&text, content, r->err);
    if (!st)
        st = fr_api_append(
            r->messages,
            json_pack("{s:s, s:O, s:o}", "role", "tool", "tool_call_id", id, "content",
                      fr_json_is_text(content) ? json_incref((json_t *)(uintptr_t)content)
                                               : json_stringn(text.data ? text.data : "", text.n)),
            r->err);
    fr_buffer_free(&text);
    return st ? st : begin(r);
}

// ---------------------------------------------------------------- blocks

static bool ends_in(const json_t *type, const char *end) {
    const size_t n = json_string_length(type), of = strlen(end);
    return n > of && !memcmp(json_string_value(type) + n - of, end, of);
}

static fr_status add_text(const reader *r, const json_t *block) {
    json_t *text;
    fr_status st = text_of(r, block, &text);
    if (st) return st;
    if (!text && fr_api_is(fr_api_member(block, "type"), "text"))
        return text_member(r, block, "text") ? FR_OK : FR_EARG;
    if (!text)
        return fr_api_wrong(r->err, fr_api_member(block, "type"),
                            "text, thinking, tool_use or tool_result",
                            "messages[%zu].content[%zu].type", r->message, r->block);
    st = fr_api_add_part(r->at, text, r->err);
    json_decref(text);
    return st;
}

static fr_status add_block(reader *r, const json_t *block) {
    const json_t *type = fr_api_member(block, "type"), *thought;
    const bool assistant = fr_api_is(r->role, "assistant");
    if (fr_api_is(r->role, "system")) return add_text(r, block);
    if (fr_api_is(type, "tool_use")) return add_use(r, block);
    if (fr_api_is(type, "tool_result")) return add_result(r, block);
    if (fr_api_is(type, "redacted_thinking")) return FR_OK; // it is encrypted
    if (assistant && (fr_api_is(type, "server_tool_use") || fr_api_is(type, "mcp_tool_use")))
        return add_use(r, block);
    if (assistant && ends_in(type, "_tool_result")) return add_own_result(r, block);
    if (!fr_api_is(type, "thinking")) return add_text(r, block);
    thought = text_member(r, block, "thinking");
    return thought ? fr_api_add_thinking(r->at, thought, r->err) : FR_EARG;
}

static fr_status add_message(reader *r, const json_t *given) {
    json_t *content = json_object_get(given, "content");
    const size_t before = json_array_size(r->messages);
    r->role = fr_api_member(given, "role");
    if (!fr_api_is(r->role, "user") && !fr_api_is(r->role, "assistant") &&
        !fr_api_is(r->role, "system"))
        return fr_api_wrong(r->err, r->role, "user, assistant or system", "messages[%zu].role",
                            r->message);
    if (!fr_json_is_text(content) && !json_is_array(content))
        return fr_api_wrong(r->err, content, "a string or a list of blocks",
                            "messages[%zu].content", r->message);
    r->last_text = json_array_size(content);
    while (r->last_text && !is_text_block(json_array_get(content, r->last_text)))
        r->last_text--;
    fr_status st = begin(r);
    if (!st && json_is_string(content))
        st = fr_api_set(r->at, "content", json_incref(content), r->err);
    for (r->block = 0; r->block < json_array_size(content) && !st; r->block++)
        if (!(st = fr_api_go_on(r->watch, r->block, r->err)))
            st = add_block(r, json_array_get(content, r->block));
    // A message of results alone adds no other message.
    if (!st) st = finish(r, !json_array_size(content) && json_array_size(r->messages) == before);
    return st;
}

fr_status fr_api_read_blocks(const json_t *given, json_t *messages, const fr_watch *watch,
                             fr_error *err) {
    reader r = {.given = given, .messages = messages, .watch = watch, .err = err};
    fr_status st = FR_OK;
    for (; r.message < json_array_size(given) && !st; r.message++)
        if (!(st = fr_api_go_on(watch, r.message, err)))
            st = add_message(&r, json_array_get(given, r.message));
    json_decref(r.at);
    return st ? st : fr_api_join_thinking(messages, err);
}
