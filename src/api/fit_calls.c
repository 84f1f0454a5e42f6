// fit_calls.c — messages with calls for templates that take one call in a message, or no text
// beside it. Such a message becomes several, each followed by the result of its call.
#include "api/call_ids.h"
#include "api/fit.h"
#include "api/translate.h"
#include "api/value.h"
#include <stdlib.h>
#include <string.h>

typedef struct fitter {
    const json_t *messages;
    json_t *list;
    unsigned lacks;
    fr_error *err;
} fitter;

static bool is_tool(const json_t *message) {
    return fr_api_is(fr_api_member(message, "role"), "tool");
}

static bool says_something(const json_t *message) {
    const json_t *content = fr_api_member(message, "content");
    return json_is_array(content) ? json_array_size(content) : json_string_length(content);
}

// A message of the assistant's with one call and nothing else.
static fr_status add_call(const fitter *f, json_t *call) {
    return fr_api_append(
        f->list, json_pack("{s:s, s:n, s:[O]}", "role", "assistant", "content", "tool_calls", call),
        f->err);
}

// The message without its calls, or with one of them.
static fr_status add_with(const fitter *f, json_t *message, json_t *call) {
    json_t *own = fr_json_copy(message);
    const fr_status st = fr_api_append(f->list, own, f->err);
    if (st) return st;
    json_object_del(own, "tool_calls");
    return call ? fr_api_set(own, "tool_calls", json_pack("[O]", call), f->err) : FR_OK;
}

typedef struct results { // those after a message with calls
    size_t from, n;      // messages[from, from + n)
    json_t *by_id;       // for each id the number of the first result, from 0
    bool *added;         // [n]
} results;

static fr_status find_results(const fitter *f, size_t from, results *r) {
    *r = (results){.from = from, .by_id = json_object()};
    while (is_tool(json_array_get(f->messages, from + r->n)))
        r->n++;
    r->added = calloc(r->n + 1, sizeof *r->added);
    bool bad = !r->by_id || !r->added;
    for (size_t i = r->n; i-- > 0 && !bad;) {
        const json_t *id = fr_api_member(json_array_get(f->messages, from + i), "tool_call_id");
        if (fr_json_is_text(id))
            bad = json_object_setn_new(r->by_id, json_string_value(id), json_string_length(id),
                                       json_integer((json_int_t)i));
    }
    return bad ? fr_fail(f->err, FR_ENOMEM, "messages: no memory") : FR_OK;
}

static fr_status add_result(const fitter *f, results *r, size_t i) {
    if (i >= r->n || r->added[i]) return FR_OK;
    r->added[i] = true;
    return fr_api_append(f->list, json_incref(json_array_get(f->messages, r->from + i)), f->err);
}

// The result of call number k: the one of its id, or, where it has none, the one at its place.
static fr_status add_result_of(const fitter *f, results *r, const json_t *call, size_t k) {
    const json_t *id = fr_api_member(call, "id"), *found;
    if (!fr_json_is_text(id)) return add_result(f, r, k);
    found = json_object_getn(r->by_id, json_string_value(id), json_string_length(id));
    return found ? add_result(f, r, (size_t)json_integer_value(found)) : FR_OK;
}

// A message for each call, and its result after it. *next: the message after all of these.
static fr_status add_split(const fitter *f, json_t *message, size_t at, size_t *next) {
    const json_t *calls = fr_api_member(message, "tool_calls");
    const bool apart = f->lacks & FR_LACKS_TEXT_BESIDE_CALLS && says_something(message);
    results r;
    fr_status st = find_results(f, at + 1, &r);
    if (!st && apart) st = add_with(f, message, NULL);
    for (size_t k = 0; k < json_array_size(calls) && !st; k++) {
        json_t *call = json_array_get(calls, k);
        st = k || apart ? add_call(f, call) : add_with(f, message, call);
        if (!st) st = add_result_of(f, &r, call, k);
    }
    for (size_t i = 0; i < r.n && !st; i++)
        st = add_result(f, &r, i);
    *next = at + 1 + r.n;
    json_decref(r.by_id);
    free(r.added);
    return st;
}

// The text first, then a message with all calls.
static fr_status add_apart(const fitter *f, json_t *message) {
    const fr_status st = add_with(f, message, NULL);
    return st ? st
              : fr_api_append(f->list,
                              json_pack("{s:s, s:n, s:O}", "role", "assistant", "content",
                                        "tool_calls", fr_api_member(message, "tool_calls")),
                              f->err);
}

static fr_status add_message(const fitter *f, size_t at, size_t *next) {
    json_t *message = json_array_get(f->messages, at);
    const size_t n = json_array_size(fr_api_member(message, "tool_calls"));
    *next = at + 1;
    if (n > 1 && f->lacks & FR_LACKS_SEVERAL_CALLS) return add_split(f, message, at, next);
    if (n && f->lacks & FR_LACKS_TEXT_BESIDE_CALLS && says_something(message))
        return add_apart(f, message);
    return fr_api_append(f->list, json_incref(message), f->err);
}

static fr_status split(json_t *root, unsigned lacks, fr_error *err) {
    const fitter f = {fr_api_member(root, "messages"), json_array(), lacks, err};
    fr_status st = FR_OK;
    for (size_t i = 0; i < json_array_size(f.messages) && !st;)
        st = add_message(&f, i, &i);
    if (!st) st = fr_api_set(root, "messages", json_incref(f.list), err);
    json_decref(f.list);
    return st;
}

fr_status fr_api_fit_calls(json_t *root, const fr_chat_takes *takes, fr_error *err) {
    const unsigned ids = FR_LACKS_FOREIGN_IDS | FR_LACKS_MISSING_IDS,
                   shape = FR_LACKS_SEVERAL_CALLS | FR_LACKS_TEXT_BESIDE_CALLS;
    fr_status st = takes->lacks & ids
                       ? fr_api_map_call_ids(root, takes->lacks & FR_LACKS_FOREIGN_IDS, err)
                       : FR_OK;
    return st || !(takes->lacks & shape) ? st : split(root, takes->lacks, err);
}
