// call_ids.c — ids for calls: new ones, and those of histories that began elsewhere.
#include "api/call_ids.h"
#include "api/translate.h"
#include "api/value.h"
#include <stdio.h>
#include <string.h>

static const char LETTERS[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
enum { N_LETTERS = sizeof LETTERS - 1 };

// FNV-1a, then the finalizer of splitmix64.
static uint64_t hash(const char *text, size_t n, uint64_t salt) {
    uint64_t h = 0xcbf29ce484222325u ^ salt;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

static fr_api_call_id spelled(uint64_t number) {
    fr_api_call_id id = {""};
    for (int i = 0; i < FR_API_ID_LETTERS; i++, number /= N_LETTERS)
        id.text[i] = LETTERS[number % N_LETTERS];
    return id;
}

fr_api_call_id fr_api_new_call_id(const char *tag, int choice, int i) {
    fr_api_call_id id = spelled(hash(tag, tag ? strlen(tag) : 0, (uint64_t)choice));
    id.text[FR_API_ID_LETTERS - 1] = LETTERS[i % N_LETTERS];
    return id;
}

// ---------------------------------------------------------------- of a conversation

typedef struct ids {
    json_t *given;   // the new id of each foreign one; owned
    json_t *taken;   // keys: ids in use; owned
    json_t *waiting; // ids of the last message's calls, for results without one; owned
    size_t answered; // results since then
    bool foreign;
    fr_error *err;
} ids;

static fr_status no_memory(const ids *m) {
    return fr_fail(m->err, FR_ENOMEM, "messages: no memory");
}

static bool is_fine(const json_t *id) {
    const char *text = json_string_value(id);
    if (!fr_json_is_text(id) || json_string_length(id) != FR_API_ID_LETTERS) return false;
    for (int i = 0; i < FR_API_ID_LETTERS; i++)
        if (!text[i] || !strchr(LETTERS, text[i])) return false;
    return true;
}

static fr_status take(const ids *m, const char *id) {
    return json_object_set_new(m->taken, id, json_true()) ? no_memory(m) : FR_OK;
}

// The ids that stay are collected first, so that no other one becomes the same.
static fr_status take_fine(const ids *m, const json_t *messages) {
    fr_status st = FR_OK;
    for (size_t i = 0; i < json_array_size(messages) && !st; i++) {
        const json_t *message = json_array_get(messages, i);
        const json_t *calls = fr_api_member(message, "tool_calls"),
                     *own = fr_api_member(message, "tool_call_id");
        if (is_fine(own)) st = take(m, json_string_value(own));
        for (size_t k = 0; k < json_array_size(calls) && !st; k++) {
            const json_t *id = fr_api_member(json_array_get(calls, k), "id");
            if (is_fine(id)) st = take(m, json_string_value(id));
        }
    }
    return st;
}

// An id that is not in use yet, made from a text. NULL: FR_ENOMEM, in m->err.
static json_t *made_of(const ids *m, const char *text, size_t n) {
    fr_api_call_id id;
    uint64_t salt = 0;
    do
        id = spelled(hash(text, n, salt++));
    while (json_object_get(m->taken, id.text));
    json_t *made = take(m, id.text) ? NULL : json_string(id.text);
    if (!made) no_memory(m);
    return made;
}

static json_t *of_place(const ids *m, size_t message, size_t call) {
    char place[64];
    const int n = snprintf(place, sizeof place, "%zu.%zu", message, call);
    return made_of(m, place, (size_t)n);
}

// The id that replaces `id`, as a new reference. NULL: FR_ENOMEM, in m->err.
static json_t *mapped(const ids *m, json_t *id) {
    const char *text = json_string_value(id);
    const size_t n = json_string_length(id);
    if (!m->foreign || is_fine(id)) return json_incref(id);
    json_t *known = json_object_getn(m->given, text, n);
    if (known) return json_incref(known);
    json_t *made = made_of(m, text, n);
    if (made && json_object_setn(m->given, text, n, made)) {
        no_memory(m);
        json_decref(made);
        return NULL;
    }
    return made;
}

// A new reference to the id for a place; `own` may be missing. NULL: FR_ENOMEM, in m->err.
static json_t *id_for(const ids *m, json_t *own, size_t message, size_t call) {
    if (fr_json_is_text(own) && json_string_length(own)) return mapped(m, own);
    return of_place(m, message, call);
}

// Takes the id, which may be NULL.
static fr_status set_id(const ids *m, json_t *object, const char *name, json_t *id) {
    return id ? fr_api_set(object, name, id, m->err) : FR_ENOMEM;
}

static fr_status map_calls(ids *m, json_t *message, size_t at) {
    const json_t *calls = json_object_get(message, "tool_calls");
    json_t *own = json_array();
    fr_status st = fr_api_set(message, "tool_calls", own, m->err);
    json_array_clear(m->waiting);
    m->answered = 0;
    for (size_t k = 0; k < json_array_size(calls) && !st; k++) {
        json_t *call = fr_json_copy(json_array_get(calls, k));
        if ((st = fr_api_append(own, call, m->err))) break;
        json_t *id = id_for(m, json_object_get(call, "id"), at, k);
        st = set_id(m, call, "id", id);
        if (!st) st = fr_api_append(m->waiting, json_incref(id), m->err);
    }
    return st;
}

static fr_status map_result(ids *m, json_t *message, size_t at) {
    json_t *own = json_object_get(message, "tool_call_id");
    json_t *next = json_array_get(m->waiting, m->answered++);
    const bool missing = !fr_json_is_text(own) || !json_string_length(own);
    json_t *id = missing && next ? json_incref(next) : id_for(m, own, at, 0);
    return set_id(m, message, "tool_call_id", id);
}

static fr_status map_message(ids *m, json_t *list, json_t *given, size_t at) {
    const bool calls = json_array_size(fr_api_member(given, "tool_calls"));
    const bool result = fr_api_is(fr_api_member(given, "role"), "tool");
    if (!calls && !result) return fr_api_append(list, json_incref(given), m->err);
    json_t *message = fr_json_copy(given);
    fr_status st = fr_api_append(list, message, m->err);
    if (!st && calls) st = map_calls(m, message, at);
    if (!st && result) st = map_result(m, message, at);
    return st;
}

fr_status fr_api_map_call_ids(json_t *root, bool foreign, fr_error *err) {
    const json_t *messages = fr_api_member(root, "messages");
    ids m = {json_object(), json_object(), json_array(), 0, foreign, err};
    json_t *list = json_array();
    fr_status st = m.given && m.taken && m.waiting && list ? FR_OK : no_memory(&m);
    if (!st) st = take_fine(&m, messages);
    for (size_t i = 0; i < json_array_size(messages) && !st; i++)
        st = map_message(&m, list, json_array_get(messages, i), i);
    if (!st) st = fr_api_set(root, "messages", json_incref(list), err);
    json_decref(list);
    json_decref(m.given);
    json_decref(m.taken);
    json_decref(m.waiting);
    return st;
}
