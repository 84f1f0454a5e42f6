// message_check.c — checks the types of a conversation's messages, tools and documents. Each
// error begins with the path of the wrong value.
#include "json/message_check.h"
#include <stdio.h>
#include <string.h>

// messages[2].tool_calls[1].function
typedef struct place {
    const char *what;
    size_t index;
    const char *inner; // or NULL
    size_t inner_index;
    bool function;
} place;

enum { MAX_CALLS = 4096 };

// member NULL: the value at the place itself is wrong.
static fr_status wrong(fr_error *err, const place *at, const char *member, const char *why) {
    char inner[48] = "";
    if (at->inner) snprintf(inner, sizeof inner, ".%s[%zu]", at->inner, at->inner_index);
    return fr_fail(err, FR_EARG, "%s[%zu]%s%s%s%s: %s", at->what, at->index, inner,
                   at->function ? ".function" : "", member ? "." : "", member ? member : "", why);
}

static bool is_there(const json_t *value) {
    return value && !json_is_null(value);
}

// A member that may be missing or null, and else is a string.
static fr_status optional_text(const json_t *object, const char *key, const place *at,
                               fr_error *err) {
    const json_t *value = json_object_get(object, key);
    return !is_there(value) || fr_json_is_text(value) ? FR_OK
                                                      : wrong(err, at, key, "expected a string");
}

// ---- messages

static fr_status check_content(const json_t *content, place at, fr_error *err) {
    if (is_there(content) && !fr_json_is_text(content) && !json_is_array(content))
        return wrong(err, &at, "content", "expected a string, null or a list of text parts");
    at.inner = "content";
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i), *type = json_object_get(part, "type");
        at.inner_index = i;
        if (!json_is_string(type) || strcmp(json_string_value(type), "text"))
            return wrong(err, &at, NULL,
                         "expected {\"type\": \"text\", \"text\": …}: only text is supported");
        if (!fr_json_is_text(json_object_get(part, "text")))
            return wrong(err, &at, "text", "expected a string");
    }
    return FR_OK;
}

// Name and arguments stand in its function, or in the call itself.
static fr_status check_call(const json_t *call, place at, fr_error *err) {
    const json_t *function = json_object_get(call, "function");
    if (!json_is_object(call)) return wrong(err, &at, NULL, "expected an object");
    const fr_status st = optional_text(call, "id", &at, err);
    if (st) return st;
    at.function = is_there(function);
    if (at.function && !json_is_object(function))
        return wrong(err, &at, NULL, "expected an object");
    return fr_json_is_text(json_object_get(at.function ? function : call, "name"))
               ? FR_OK
               : wrong(err, &at, "name", "expected a string");
}

static fr_status check_calls(const json_t *calls, place at, fr_error *err) {
    fr_status st = FR_OK;
    if (!is_there(calls)) return FR_OK;
    if (!json_is_array(calls)) return wrong(err, &at, "tool_calls", "expected a list");
    if (json_array_size(calls) > MAX_CALLS) return wrong(err, &at, "tool_calls", "too many");
    at.inner = "tool_calls";
    for (size_t i = 0; i < json_array_size(calls) && !st; i++) {
        at.inner_index = i;
        st = check_call(json_array_get(calls, i), at, err);
    }
    return st;
}

fr_status fr_json_check_message(const json_t *message, size_t index, fr_error *err) {
    static const char *const texts[] = {"reasoning_content", "name", "tool_call_id"};
    const place at = {.what = "messages", .index = index};
    if (!json_is_object(message)) return wrong(err, &at, NULL, "expected an object");
    if (!fr_json_is_text(json_object_get(message, "role")))
        return wrong(err, &at, "role", "expected a string");
    fr_status st = FR_OK;
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !st; i++)
        st = optional_text(message, texts[i], &at, err);
    if (!st) st = check_content(json_object_get(message, "content"), at, err);
    return st ? st : check_calls(json_object_get(message, "tool_calls"), at, err);
}

fr_status fr_json_check_messages(const json_t *messages, fr_error *err) {
    const size_t n = json_array_size(messages);
    fr_status st = FR_OK;
    if (!json_is_array(messages)) return fr_fail(err, FR_EARG, "messages: expected a list");
    if (n > FR_JSON_MAX_MESSAGES)
        return fr_fail(err, FR_EARG, "messages: %zu, expected at most %d", n, FR_JSON_MAX_MESSAGES);
    for (size_t i = 0; i < n && !st; i++)
        st = fr_json_check_message(json_array_get(messages, i), i, err);
    return st;
}

// ---- tools and documents

fr_status fr_json_check_tools(const json_t *tools, fr_error *err) {
    const size_t n = json_array_size(tools);
    if (!is_there(tools)) return FR_OK;
    if (!json_is_array(tools)) return fr_fail(err, FR_EARG, "tools: expected a list");
    if (n > FR_JSON_MAX_TOOLS)
        return fr_fail(err, FR_EARG, "tools: %zu, expected at most %d", n, FR_JSON_MAX_TOOLS);
    for (size_t i = 0; i < n; i++) {
        const place at = {.what = "tools", .index = i};
        const json_t *tool = json_array_get(tools, i),
                     *function = json_object_get(tool, "function");
        if (!json_is_object(tool)) return wrong(err, &at, NULL, "expected an object");
        if (is_there(function) && !json_is_object(function))
            return wrong(err, &at, "function", "expected an object");
    }
    return FR_OK;
}

fr_status fr_json_check_documents(const json_t *list, const char *what, fr_error *err) {
    if (!is_there(list)) return FR_OK;
    if (!json_is_array(list)) return fr_fail(err, FR_EARG, "%s: expected a list", what);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const place at = {.what = what, .index = i};
        if (!json_is_object(json_array_get(list, i)))
            return wrong(err, &at, NULL, "expected an object");
    }
    return FR_OK;
}
