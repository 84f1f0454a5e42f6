// tools.c — tools for templates that know none: they are told in the system's message, calls and
// what they gave are told as text in the marks of Hermes, which answers are read by too (answer.h).
// So are calls or results alone where a template shows tools but not these.
#include "api/fields.h"
#include "api/fit.h"
#include "api/translate.h"
#include "api/value.h"
#include <string.h>

static fr_status add(fr_buffer *text, const char *bytes, fr_error *err) {
    return fr_buffer_add(text, bytes, strlen(bytes), err);
}

// Appends the text of message `at`; parts one a line.
static fr_status add_content(fr_buffer *text, const json_t *message, size_t at, fr_error *err) {
    return fr_api_add_content(text, message, at, "\n", "a string, null or a list of text parts",
                              err);
}

static fr_status add_tools(fr_buffer *text, const json_t *tools, fr_error *err) {
    fr_status st =
        add(text, "You can call these functions, each described by a line of JSON:\n", err);
    for (size_t i = 0; i < json_array_size(tools) && !st; i++) {
        const json_t *tool = json_array_get(tools, i), *function = fr_api_member(tool, "function");
        if (!json_is_object(tool)) return fr_api_wrong(err, tool, "an object", "tools[%zu]", i);
        st = fr_json_dump(text, function ? function : tool, err);
        if (!st) st = add(text, "\n", err);
    }
    if (st) return st;
    return add(text,
               "To call one, answer with its name and arguments as JSON between these marks:\n"
               "<tool_call>\n{\"name\": \"the name\", \"arguments\": {}}\n</tool_call>\n"
               "What it gave comes back between <tool_response> and </tool_response>. Where no "
               "function helps, just answer.",
               err);
}

// Arguments may be an object or a string that holds one.
static fr_status add_calls(fr_buffer *text, const json_t *calls, fr_error *err) {
    fr_status st = FR_OK;
    for (size_t i = 0; i < json_array_size(calls) && !st; i++) {
        const json_t *function = fr_api_member(json_array_get(calls, i), "function");
        const json_t *name = fr_api_member(function, "name");
        const json_t *arguments = fr_api_member(function, "arguments");
        const bool none = !arguments || fr_api_is(arguments, "");
        if (!fr_json_is_text(name))
            return fr_api_wrong(err, name, "a string", "messages: tool_calls[%zu].function.name",
                                i);
        st = add(text, text->n ? "\n<tool_call>\n{\"name\": " : "<tool_call>\n{\"name\": ", err);
        if (!st) st = fr_json_dump(text, name, err);
        if (!st) st = add(text, ", \"arguments\": ", err);
        if (!st && none)
            st = add(text, "{}", err);
        else if (!st && fr_json_is_text(arguments))
            st = fr_buffer_add(text, json_string_value(arguments), json_string_length(arguments),
                               err);
        else if (!st)
            st = fr_json_dump(text, arguments, err);
        if (!st) st = add(text, "}\n</tool_call>", err);
    }
    return st;
}

static fr_status add_message(json_t *list, const char *role, const fr_buffer *text, fr_error *err) {
    return fr_api_append(list,
                         json_pack("{s:s, s:o}", "role", role, "content",
                                   json_stringn(text->data ? text->data : "", text->n)),
                         err);
}

static bool is_role(const json_t *message, const char *role) {
    return fr_api_is(fr_api_member(message, "role"), role);
}

// What is told so far. Results that follow each other, and what the user says behind them, are one
// message: many templates take no two of one role in a row.
typedef struct told {
    json_t *list;
    bool calls, results; // are told as text
    fr_buffer given;     // results that are not in the list yet
} told;

static fr_status end_results(told *t, fr_error *err) {
    if (!t->given.n) return FR_OK;
    const fr_status st = add_message(t->list, "user", &t->given, err);
    t->given.n = 0;
    return st;
}

static fr_status add_result(told *t, const json_t *message, size_t at, fr_error *err) {
    fr_status st = t->given.n ? add(&t->given, "\n", err) : FR_OK;
    if (!st) st = add(&t->given, "<tool_response>\n", err);
    if (!st) st = add_content(&t->given, message, at, err);
    return st ? st : add(&t->given, "\n</tool_response>", err);
}

static fr_status add_caller(told *t, const json_t *message, size_t at, fr_error *err) {
    fr_buffer text = {0};
    fr_status st = add_content(&text, message, at, err);
    if (!st) st = add_calls(&text, fr_api_member(message, "tool_calls"), err);
    if (!st) st = add_message(t->list, "assistant", &text, err);
    fr_buffer_free(&text);
    return st;
}

static fr_status retell(told *t, json_t *message, size_t at, fr_error *err) {
    fr_status st = FR_OK;
    if (t->results && is_role(message, "tool")) return add_result(t, message, at, err);
    if (t->given.n && is_role(message, "user")) {
        st = add(&t->given, "\n", err);
        if (!st) st = add_content(&t->given, message, at, err);
        return st ? st : end_results(t, err);
    }
    st = end_results(t, err);
    if (st) return st;
    return t->calls && json_array_size(fr_api_member(message, "tool_calls"))
               ? add_caller(t, message, at, err)
               : fr_api_append(t->list, json_incref(message), err);
}

// The system's message, if there is one, with the tools behind it.
static fr_status tell_tools(json_t *list, const json_t *first, const json_t *tools, fr_error *err) {
    fr_buffer text = {0};
    fr_status st = is_role(first, "system") ? add_content(&text, first, 0, err) : FR_OK;
    if (!st && text.n) st = add(&text, "\n\n", err);
    if (!st) st = add_tools(&text, tools, err);
    if (!st) st = add_message(list, "system", &text, err);
    fr_buffer_free(&text);
    return st;
}

static bool has_calls(const json_t *messages) {
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i);
        if (is_role(message, "tool") || json_array_size(fr_api_member(message, "tool_calls")))
            return true;
    }
    return false;
}

fr_status fr_api_tell_tools(json_t *root, const fr_chat_takes *takes, fr_error *err) {
    const json_t *messages = fr_api_member(root, "messages"), *tools = fr_api_member(root, "tools");
    const bool offers = json_array_size(tools) && !takes->tools;
    told t = {.calls = !takes->tools || takes->lacks & FR_LACKS_CALLS,
              .results = !takes->tools || takes->lacks & FR_LACKS_RESULTS};
    if (!offers && !((t.calls || t.results) && has_calls(messages))) return FR_OK;
    t.list = json_array();
    const json_t *first = json_array_get(messages, 0);
    fr_status st = offers ? tell_tools(t.list, first, tools, err) : FR_OK;
    for (size_t i = offers && is_role(first, "system"); i < json_array_size(messages) && !st; i++)
        st = retell(&t, json_array_get(messages, i), i, err);
    if (!st) st = end_results(&t, err);
    if (!st) st = fr_api_set(root, "messages", json_incref(t.list), err);
    fr_buffer_free(&t.given);
    json_decref(t.list);
    if (!takes->tools) json_object_del(root, "tools");
    return st;
}
