// plain.c — checks a conversation's messages and renames their members to one set of names.
// Errors name the message by its place in the request.
#include "api/call_ids.h"
#include "api/fit.h"
#include "api/translate.h"
#include "api/value.h"
#include "json/messages.h"
#include <string.h>

enum { MAX_ROLES = 8 }; // that are not in common use, in one conversation

typedef struct reader {
    const fr_chat_template *chat;
    const json_t *messages;
    json_t *list;
    json_t *roles;  // keys: those of them that the template takes
    json_t *last;   // id of the last "function_call"; borrowed from the list
    size_t at;      // the current message
    size_t results; // where the results begin that no other message follows
    fr_error *err;
} reader;

static fr_status no_memory(const reader *r) {
    return fr_fail(r->err, FR_ENOMEM, "messages: no memory");
}

static bool is_role(const json_t *message, const char *role) {
    return fr_api_is(fr_api_member(message, "role"), role);
}

static bool is_result(const json_t *message) {
    return is_role(message, "tool") || is_role(message, "function");
}

// ---------------------------------------------------------------- function_call

// An id that is made of the place.
static json_t *id_here(const reader *r) {
    return json_string(fr_api_new_call_id("function_call", (int)r->at, 0).text);
}

static fr_status rename_call(reader *r, json_t *message) {
    const json_t *given = fr_api_member(message, "function_call"),
                 *name = fr_api_member(given, "name");
    if (!given || fr_api_member(message, "tool_calls")) return FR_OK;
    if (!fr_json_is_text(name))
        return fr_api_wrong(r->err, name, "a string", "messages[%zu].function_call.name", r->at);
    json_t *id = id_here(r);
    json_t *calls = json_pack("[{s:o, s:s, s:O}]", "id", id, "type", "function", "function", given);
    const fr_status st = fr_api_set(message, "tool_calls", calls, r->err);
    if (st) return st;
    r->last = json_object_get(json_array_get(calls, 0), "id");
    json_object_del(message, "function_call");
    return FR_OK;
}

static fr_status rename_result(const reader *r, json_t *message) {
    const fr_status st = fr_api_set(message, "role", json_string("tool"), r->err);
    if (st || fr_api_member(message, "tool_call_id")) return st;
    return fr_api_set(message, "tool_call_id", r->last ? json_incref(r->last) : id_here(r), r->err);
}

// ---------------------------------------------------------------- a system's lines

// Bytes of a line that Claude Code puts in front for gateways. It holds a number that every request
// has anew, so that the cache would match nothing after it.
static size_t billing_line(const char *text, size_t n) {
    static const char head[] = "x-anthropic-billing-header:";
    const char *end = memchr(text, '\n', n);
    if (n < sizeof head - 1 || memcmp(text, head, sizeof head - 1)) return 0;
    return end ? (size_t)(end - text) + 1 : n;
}

// The part, or the rest of it that stays; NULL with FR_OK: nothing stays.
static fr_status without_billing(const reader *r, json_t *part, json_t **out) {
    json_t *text = json_is_string(part) ? part : json_object_get(part, "text");
    const size_t n = json_string_length(text),
                 line = n ? billing_line(json_string_value(text), n) : 0;
    *out = NULL;
    if (line && line == n) return FR_OK;
    if (!line) {
        *out = json_incref(part);
        return FR_OK;
    }
    json_t *rest = json_stringn(json_string_value(text) + line, n - line);
    *out = json_is_string(part) ? rest : json_pack("{s:s, s:o}", "type", "text", "text", rest);
    return *out ? FR_OK : no_memory(r);
}

static fr_status leave_billing_out(const reader *r, json_t *message) {
    json_t *content = json_object_get(message, "content"), *own = NULL, *parts;
    fr_status st = FR_OK;
    if (fr_json_is_text(content)) {
        st = without_billing(r, content, &own);
        return st ? st : fr_api_set(message, "content", own ? own : json_string(""), r->err);
    }
    if (!json_is_array(content)) return FR_OK;
    parts = json_array();
    for (size_t i = 0; i < json_array_size(content) && !st; i++) {
        st = without_billing(r, json_array_get(content, i), &own);
        if (!st && own) st = fr_api_append(parts, own, r->err);
    }
    if (!st) return fr_api_set(message, "content", parts, r->err);
    json_decref(parts);
    return st;
}

static bool says_nothing(const json_t *message) {
    const json_t *content = fr_api_member(message, "content");
    return json_is_array(content) ? !json_array_size(content) : !json_string_length(content);
}

// ---------------------------------------------------------------- results

// Of a result that another message follows. In the last ones a picture is refused by the check.
static fr_status replace_pictures(const reader *r, json_t *message) {
    json_t *content = json_object_get(message, "content");
    if (!json_is_array(content) || r->at >= r->results) return FR_OK;
    json_t *parts = json_array();
    fr_status st = FR_OK;
    for (size_t i = 0; i < json_array_size(content) && !st; i++) {
        json_t *part = json_array_get(content, i);
        const bool text = fr_api_is(fr_api_member(part, "type"), "text");
        st = fr_api_append(parts, text ? json_incref(part) : fr_api_left_out_part(part), r->err);
    }
    if (!st) return fr_api_set(message, "content", parts, r->err);
    json_decref(parts);
    return st;
}

// ---------------------------------------------------------------- roles

// A message whose role the template leaves out would be lost without an error.
static fr_status check_role(const reader *r, const json_t *role) {
    static const char *const known[] = {"system", "user", "assistant", "tool"};
    bool yes;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (fr_api_is(role, known[i])) return FR_OK;
    const char *name = json_string_value(role);
    const size_t n = json_string_length(role);
    if (json_object_getn(r->roles, name, n)) return FR_OK;
    if (json_object_size(r->roles) == MAX_ROLES)
        return fr_fail(r->err, FR_EARG, "messages[%zu].role: expected at most %d other roles",
                       r->at, MAX_ROLES);
    fr_status st = fr_chat_takes_role(r->chat, name, n, &yes, r->err);
    if (!st && !yes)
        return fr_api_wrong(r->err, role, "one that the chat template takes", "messages[%zu].role",
                            r->at);
    if (!st && json_object_setn_new(r->roles, name, n, json_true())) st = no_memory(r);
    return st;
}

// ---------------------------------------------------------------- all

static fr_status rename_role(reader *r, json_t *message) {
    if (is_role(message, "function")) return rename_result(r, message);
    if (is_role(message, "developer"))
        return fr_api_set(message, "role", json_string("system"), r->err);
    return FR_OK;
}

static fr_status add_message(const reader *r, json_t *message) {
    if (!is_role(message, "system") || says_nothing(message))
        return fr_api_append(r->list, json_incref(message), r->err);
    const fr_status st = leave_billing_out(r, message);
    return st || says_nothing(message) ? st : fr_api_append(r->list, json_incref(message), r->err);
}

static fr_status read_message(reader *r, const json_t *given) {
    // Without a role there is nothing to rename; the check reports the error.
    if (!fr_json_is_text(json_object_get(given, "role")))
        return fr_json_check_message(given, r->at, r->err);
    json_t *message = fr_json_copy(given);
    fr_status st = message ? rename_role(r, message) : no_memory(r);
    if (!st) st = check_role(r, json_object_get(message, "role"));
    if (!st && is_role(message, "assistant")) st = rename_call(r, message);
    if (!st && is_role(message, "tool")) st = replace_pictures(r, message);
    if (!st) st = fr_json_check_message(message, r->at, r->err);
    if (!st) st = add_message(r, message);
    json_decref(message);
    return st;
}

static fr_status read_messages(reader *r) {
    const size_t n = json_array_size(r->messages);
    fr_status st = FR_OK;
    r->results = n;
    while (r->results && is_result(json_array_get(r->messages, r->results - 1)))
        r->results--;
    if (n > FR_JSON_MAX_MESSAGES)
        return fr_fail(r->err, FR_EARG, "messages: %zu, expected at most %d", n,
                       FR_JSON_MAX_MESSAGES);
    for (; r->at < n && !st; r->at++)
        st = read_message(r, json_array_get(r->messages, r->at));
    return st;
}

fr_status fr_api_fit_names(json_t *root, const fr_chat_template *chat, fr_error *err) {
    reader r = {.chat = chat,
                .messages = json_object_get(root, "messages"),
                .list = json_array(),
                .roles = json_object(),
                .err = err};
    fr_status st = r.list && r.roles ? read_messages(&r) : no_memory(&r);
    if (!st) st = fr_json_check_tools(json_object_get(root, "tools"), err);
    if (!st) st = fr_api_set(root, "messages", json_incref(r.list), err);
    json_decref(r.list);
    json_decref(r.roles);
    return st;
}
