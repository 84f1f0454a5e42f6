// messages.c — checks a JSON conversation and turns it into a chat request: messages with their
// calls first, then tools, then the flags.
#include "json/messages.h"
#include "base/alloc.h"
#include <string.h>

// Everything a request points at is a piece of one list, freed together.
struct fr_json_piece {
    struct fr_json_piece *next;
    _Alignas(max_align_t) unsigned char bytes[];
};

// Where in the document something is, for sentences: "message 2, tool call 1".
typedef struct place {
    const char *what;
    size_t index;
    const char *inner;
    size_t inner_index;
} place;

enum { MAX_CALLS = 4096, MAX_FIELDS = 4096 };

static fr_status wrong(fr_error *err, const place *at, const char *why) {
    if (at->inner)
        return fr_fail(err, FR_EARG, "%s %zu, %s %zu: %s", at->what, at->index + 1, at->inner,
                       at->inner_index + 1, why);
    return fr_fail(err, FR_EARG, "%s %zu: %s", at->what, at->index + 1, why);
}

static void *take(fr_json_chat *chat, size_t count, size_t size, fr_error *err) {
    size_t bytes;
    struct fr_json_piece *piece = NULL;
    if (fr_mul_size(count, size, &bytes) && fr_add_size(bytes, sizeof *piece, &bytes))
        piece = fr_alloc_zero(bytes);
    if (!piece) {
        fr_fail(err, FR_ENOMEM, "messages: %zu pieces of %zu bytes", count, size);
        return NULL;
    }
    piece->next = chat->pieces;
    chat->pieces = piece;
    return piece->bytes;
}

static fr_status keep(fr_json_chat *chat, const char *data, size_t bytes, fr_chat_str *out,
                      fr_error *err) {
    char *copy = take(chat, bytes + 1, 1, err);
    if (!copy) return FR_ENOMEM;
    if (bytes) memcpy(copy, data, bytes);
    *out = (fr_chat_str){copy, bytes};
    return FR_OK;
}

static fr_status keep_text(fr_json_chat *chat, const json_t *text, fr_chat_str *out,
                           fr_error *err) {
    return keep(chat, json_string_value(text), json_string_length(text), out, err);
}

// The JSON of a value, `tojson` form.
static fr_status keep_json(fr_json_chat *chat, const json_t *value, fr_chat_str *out,
                           fr_error *err) {
    fr_chat_text text = {0};
    fr_status st = fr_json_dump(&text, value, err);
    if (!st) st = keep(chat, text.text.data, text.text.n, out, err);
    fr_chat_text_close(&text);
    return st;
}

// A member that may be missing or null, and else is a string.
static fr_status optional_text(fr_json_chat *chat, const json_t *object, const char *key,
                               const place *at, fr_chat_str *out, fr_error *err) {
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value)) return FR_OK;
    if (fr_json_is_text(value)) return keep_text(chat, value, out, err);
    char why[64];
    snprintf(why, sizeof why, "\"%s\": expected a string", key);
    return wrong(err, at, why);
}

// ---- messages ------------------------------------------------------------------------------

// The texts of a list of parts, joined by newlines.
static fr_status parse_parts(fr_json_chat *chat, const json_t *parts, place at, fr_chat_str *out,
                             fr_error *err) {
    fr_chat_text text = {0};
    fr_status st = FR_OK;
    at.inner = "content part";
    for (size_t i = 0; i < json_array_size(parts) && !st; i++) {
        const json_t *part = json_array_get(parts, i);
        const json_t *type = json_object_get(part, "type"), *body = json_object_get(part, "text");
        at.inner_index = i;
        if (!json_is_object(part) || !json_is_string(type) ||
            strcmp(json_string_value(type), "text"))
            st = wrong(err, &at,
                       "expected {\"type\": \"text\", \"text\": …}: only text is supported");
        else if (!fr_json_is_text(body))
            st = wrong(err, &at, "\"text\": expected a string");
        if (!st && i) st = fr_chat_text_add(&text, "\n", 1, err);
        if (!st)
            st = fr_chat_text_add(&text, json_string_value(body), json_string_length(body), err);
    }
    if (!st) st = keep(chat, text.text.data, text.text.n, out, err);
    fr_chat_text_close(&text);
    return st;
}

static fr_status parse_content(fr_json_chat *chat, const json_t *content, const place *at,
                               fr_chat_str *out, fr_error *err) {
    if (!content || json_is_null(content)) return FR_OK;
    if (fr_json_is_text(content)) return keep_text(chat, content, out, err);
    if (json_is_array(content)) return parse_parts(chat, content, *at, out, err);
    return wrong(err, at, "\"content\": expected a string, null or a list of text parts");
}

// The object in a string of arguments, which is how the API sends them. NULL without a sentence:
// the arguments are no such string, they are used as they are.
static json_t *arguments_in_string(const json_t *arguments) {
    if (!fr_json_is_text(arguments)) return NULL;
    json_t *held = fr_json_load(json_string_value(arguments), json_string_length(arguments), NULL);
    if (held && !json_is_object(held)) {
        json_decref(held);
        held = NULL;
    }
    return held;
}

static fr_status parse_arguments(fr_json_chat *chat, const json_t *function, fr_tool_call *call,
                                 fr_error *err) {
    const json_t *given = json_object_get(function, "arguments");
    fr_status st = FR_OK;
    if (!given) {
        st = keep(chat, "{}", 2, &call->arguments, err);
        return st ? st : keep_json(chat, function, &call->function, err);
    }
    if (fr_json_is_text(given)) st = keep_text(chat, given, &call->arguments_text, err);
    json_t *held = arguments_in_string(given);
    json_t *whole = held ? json_copy((json_t *)function) : NULL;
    if (held && (!whole || json_object_set(whole, "arguments", held)))
        st = fr_fail(err, FR_ENOMEM, "messages: a tool call's arguments");
    if (!st) st = keep_json(chat, held ? held : given, &call->arguments, err);
    if (!st) st = keep_json(chat, whole ? whole : function, &call->function, err);
    json_decref(whole);
    json_decref(held);
    return st;
}

static fr_status parse_call(fr_json_chat *chat, const json_t *json, const place *at,
                            fr_tool_call *call, fr_error *err) {
    if (!json_is_object(json)) return wrong(err, at, "expected an object");
    const json_t *function = json_object_get(json, "function");
    if (!function) function = json;
    if (!json_is_object(function)) return wrong(err, at, "\"function\": expected an object");
    if (!fr_json_is_text(json_object_get(function, "name")))
        return wrong(err, at, "\"name\": expected a string");
    fr_status st = optional_text(chat, function, "name", at, &call->name, err);
    if (!st) st = optional_text(chat, json, "id", at, &call->id, err);
    return st ? st : parse_arguments(chat, function, call, err);
}

static fr_status parse_calls(fr_json_chat *chat, const json_t *calls, place at, fr_message *message,
                             fr_error *err) {
    if (!calls || json_is_null(calls)) return FR_OK;
    if (!json_is_array(calls)) return wrong(err, &at, "\"tool_calls\": expected a list");
    const size_t n = json_array_size(calls);
    if (n > MAX_CALLS) return wrong(err, &at, "\"tool_calls\": too many");
    fr_tool_call *out = n ? take(chat, n, sizeof *out, err) : NULL;
    if (n && !out) return FR_ENOMEM;
    at.inner = "tool call";
    for (size_t i = 0; i < n; i++) {
        at.inner_index = i;
        const fr_status st = parse_call(chat, json_array_get(calls, i), &at, &out[i], err);
        if (st) return st;
    }
    message->tool_calls = out;
    message->n_tool_calls = (int)n;
    return FR_OK;
}

static fr_status parse_message(fr_json_chat *chat, const json_t *json, const place *at,
                               fr_message *m, fr_error *err) {
    if (!json_is_object(json)) return wrong(err, at, "expected an object");
    if (!fr_json_is_text(json_object_get(json, "role")))
        return wrong(err, at, "\"role\": expected a string");
    fr_status st = optional_text(chat, json, "role", at, &m->role, err);
    if (!st) st = parse_content(chat, json_object_get(json, "content"), at, &m->content, err);
    if (!st) st = optional_text(chat, json, "reasoning_content", at, &m->reasoning, err);
    if (!st) st = optional_text(chat, json, "name", at, &m->name, err);
    if (!st) st = optional_text(chat, json, "tool_call_id", at, &m->tool_call_id, err);
    return st ? st : parse_calls(chat, json_object_get(json, "tool_calls"), *at, m, err);
}

static fr_status parse_messages(fr_json_chat *chat, const json_t *messages, fr_error *err) {
    const size_t n = json_array_size(messages);
    if (!json_is_array(messages) || !n)
        return fr_fail(err, FR_EARG, "\"messages\": expected a list of at least one message");
    if (n > FR_JSON_MAX_MESSAGES)
        return fr_fail(err, FR_EARG, "\"messages\": %zu, expected at most %d", n,
                       FR_JSON_MAX_MESSAGES);
    fr_message *out = take(chat, n, sizeof *out, err);
    if (!out) return FR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const place at = {.what = "message", .index = i};
        const fr_status st = parse_message(chat, json_array_get(messages, i), &at, &out[i], err);
        if (st) return st;
    }
    chat->request.messages = out;
    chat->request.n_messages = (int)n;
    return FR_OK;
}

// ---- tools ---------------------------------------------------------------------------------

static fr_status parse_fields(fr_json_chat *chat, json_t *function, const place *at, fr_tool *tool,
                              fr_error *err) {
    const size_t n = json_object_size(function);
    if (!n) return FR_OK;
    if (n > MAX_FIELDS) return wrong(err, at, "\"function\": too many members");
    fr_tool_field *out = take(chat, n, sizeof *out, err), *field = out;
    if (!out) return FR_ENOMEM;
    for (void *it = json_object_iter(function); it; it = json_object_iter_next(function, it)) {
        const char *key = json_object_iter_key(it);
        const json_t *value = json_object_iter_value(it);
        field->is_string = fr_json_is_text(value);
        fr_status st = keep(chat, key, strlen(key), &field->key, err);
        if (!st)
            st = field->is_string ? keep_text(chat, value, &field->value, err)
                                  : keep_json(chat, value, &field->value, err);
        if (st) return st;
        field++;
    }
    tool->fields = out;
    tool->n_fields = (int)n;
    return FR_OK;
}

static fr_status parse_tools(fr_json_chat *chat, const json_t *tools, fr_error *err) {
    if (!tools || json_is_null(tools)) return FR_OK;
    const size_t n = json_array_size(tools);
    if (!json_is_array(tools)) return fr_fail(err, FR_EARG, "\"tools\": expected a list");
    if (n > FR_JSON_MAX_TOOLS)
        return fr_fail(err, FR_EARG, "\"tools\": %zu, expected at most %d", n, FR_JSON_MAX_TOOLS);
    fr_tool *out = n ? take(chat, n, sizeof *out, err) : NULL;
    if (n && !out) return FR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const place at = {.what = "tool", .index = i};
        const json_t *tool = json_array_get(tools, i);
        json_t *function = json_object_get(tool, "function");
        if (!json_is_object(tool)) return wrong(err, &at, "expected an object");
        if (function && !json_is_object(function))
            return wrong(err, &at, "\"function\": expected an object");
        fr_status st = keep_json(chat, tool, &out[i].json, err);
        if (!st) st = parse_fields(chat, function, &at, &out[i], err);
        if (st) return st;
    }
    chat->request.tools = out;
    chat->request.n_tools = (int)n;
    return FR_OK;
}

// ---- all -----------------------------------------------------------------------------------

static fr_status optional_flag(const json_t *root, const char *key, bool *out, fr_error *err) {
    const json_t *value = json_object_get(root, key);
    if (!value || json_is_null(value)) return FR_OK;
    if (!json_is_boolean(value))
        return fr_fail(err, FR_EARG, "\"%s\": expected true or false", key);
    *out = json_is_true(value);
    return FR_OK;
}

fr_status fr_json_chat_from(fr_json_chat *out, const json_t *root, fr_error *err) {
    bool thinking = true;
    *out = (fr_json_chat){.request.add_generation_prompt = true};
    if (json_is_array(root)) return parse_messages(out, root, err);
    if (!json_is_object(root))
        return fr_fail(err, FR_EARG, "messages: expected a list, or an object with \"messages\"");
    fr_status st = parse_messages(out, json_object_get(root, "messages"), err);
    if (!st) st = parse_tools(out, json_object_get(root, "tools"), err);
    if (!st)
        st = optional_flag(root, "add_generation_prompt", &out->request.add_generation_prompt, err);
    if (!st) st = optional_flag(root, "enable_thinking", &thinking, err);
    out->request.no_thinking = !thinking;
    return st;
}

fr_status fr_json_chat_parse(fr_json_chat *out, const char *json, size_t bytes, fr_error *err) {
    fr_error failure = {0};
    *out = (fr_json_chat){0};
    json_t *root = fr_json_load(json, bytes, &failure);
    if (!root) return fr_fail(err, failure.code, "%s", failure.text);
    const fr_status st = fr_json_chat_from(out, root, err);
    json_decref(root);
    return st;
}

void fr_json_chat_close(fr_json_chat *chat) {
    while (chat->pieces) {
        struct fr_json_piece *next = chat->pieces->next;
        fr_free(chat->pieces);
        chat->pieces = next;
    }
    *chat = (fr_json_chat){0};
}
