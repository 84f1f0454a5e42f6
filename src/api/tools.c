// tools.c — tools as text, for templates without tools. The tools become part of the system's
// message. Calls and results have the marks of Hermes, which answers are parsed by too (answer.h).
// If a template writes tools but no calls or results, only these become text.
#include "api/fields.h"
#include "api/fit.h"
#include "api/translate.h"
#include "api/value.h"
#include <string.h>

static fr_status add(fr_buffer *text, const char *bytes, fr_error *err) {
    return fr_buffer_add(text, bytes, strlen(bytes), err);
}

// Appends the text of a message, a line for each part.
static fr_status add_content(fr_buffer *text, const json_t *message, fr_error *err) {
    return fr_api_add_content(text, message, "\n", err);
}

static fr_status add_tools(fr_buffer *text, const json_t *tools, fr_error *err) {
    fr_status st =
        add(text, "You can call these functions, each described by a line of JSON:\n", err);
    for (size_t i = 0; i < json_array_size(tools) && !st; i++) {
        const json_t *tool = json_array_get(tools, i), *function = fr_api_member(tool, "function");
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
static fr_status add_arguments(fr_buffer *text, const json_t *arguments, fr_error *err) {
    if (!arguments || fr_api_is(arguments, "")) return add(text, "{}", err);
    if (!fr_json_is_text(arguments)) return fr_json_dump(text, arguments, err);
    return fr_buffer_add(text, json_string_value(arguments), json_string_length(arguments), err);
}

// Name and arguments are in a call's function, or in the call itself.
static fr_status add_calls(fr_buffer *text, const json_t *calls, fr_error *err) {
    fr_status st = FR_OK;
    for (size_t i = 0; i < json_array_size(calls) && !st; i++) {
        const json_t *call = json_array_get(calls, i), *function = fr_api_member(call, "function");
        if (!function) function = call;
        st = add(text, text->n ? "\n<tool_call>\n{\"name\": " : "<tool_call>\n{\"name\": ", err);
        if (!st) st = fr_json_dump(text, fr_api_member(function, "name"), err);
        if (!st) st = add(text, ", \"arguments\": ", err);
        if (!st) st = add_arguments(text, fr_api_member(function, "arguments"), err);
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

// The new messages. Consecutive results, and the user's text after them, are one message, because
// many templates refuse two messages of one role in a row.
typedef struct writer {
    json_t *list;
    bool calls, results; // become text
    fr_buffer given;     // results that are not in the list yet
    fr_error *err;
} writer;

static fr_status end_results(writer *w) {
    if (!w->given.n) return FR_OK;
    const fr_status st = add_message(w->list, "user", &w->given, w->err);
    w->given.n = 0;
    return st;
}

static fr_status add_result(writer *w, const json_t *message) {
    fr_status st = w->given.n ? add(&w->given, "\n", w->err) : FR_OK;
    if (!st) st = add(&w->given, "<tool_response>\n", w->err);
    if (!st) st = add_content(&w->given, message, w->err);
    return st ? st : add(&w->given, "\n</tool_response>", w->err);
}

static fr_status add_caller(writer *w, const json_t *message) {
    fr_buffer text = {0};
    fr_status st = add_content(&text, message, w->err);
    if (!st) st = add_calls(&text, fr_api_member(message, "tool_calls"), w->err);
    if (!st) st = add_message(w->list, "assistant", &text, w->err);
    fr_buffer_free(&text);
    return st;
}

static fr_status add_as_text(writer *w, json_t *message) {
    fr_status st = FR_OK;
    if (w->results && is_role(message, "tool")) return add_result(w, message);
    if (w->given.n && is_role(message, "user")) {
        st = add(&w->given, "\n", w->err);
        if (!st) st = add_content(&w->given, message, w->err);
        return st ? st : end_results(w);
    }
    st = end_results(w);
    if (st) return st;
    return w->calls && json_array_size(fr_api_member(message, "tool_calls"))
               ? add_caller(w, message)
               : fr_api_append(w->list, json_incref(message), w->err);
}

// The system's message, if there is one, and the tools after its text.
static fr_status add_system(json_t *list, const json_t *first, const json_t *tools, fr_error *err) {
    fr_buffer text = {0};
    fr_status st = is_role(first, "system") ? add_content(&text, first, err) : FR_OK;
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

fr_status fr_api_fit_tools(json_t *root, const fr_chat_takes *takes, fr_error *err) {
    const json_t *messages = fr_api_member(root, "messages"), *tools = fr_api_member(root, "tools");
    const bool offers = json_array_size(tools) && !takes->tools;
    writer w = {.calls = !takes->tools || takes->lacks & FR_LACKS_CALLS,
                .results = !takes->tools || takes->lacks & FR_LACKS_RESULTS,
                .err = err};
    if (!offers && !((w.calls || w.results) && has_calls(messages))) return FR_OK;
    w.list = json_array();
    const json_t *first = json_array_get(messages, 0);
    fr_status st = offers ? add_system(w.list, first, tools, err) : FR_OK;
    for (size_t i = offers && is_role(first, "system"); i < json_array_size(messages) && !st; i++)
        st = add_as_text(&w, json_array_get(messages, i));
    if (!st) st = end_results(&w);
    if (!st) st = fr_api_set(root, "messages", json_incref(w.list), err);
    fr_buffer_free(&w.given);
    json_decref(w.list);
    if (!takes->tools) json_object_del(root, "tools");
    return st;
}
