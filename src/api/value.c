#include "api/value.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const json_t *fr_api_member(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    return json_is_null(value) ? NULL : value;
}

// A value as a sentence shows it: short ones as they are.
static void show(char *to, size_t room, const json_t *value) {
    enum { SHOWN = 40 };
    fr_buffer text = {0};
    const bool many = json_is_object(value) || json_is_array(value);
    if (many || json_string_length(value) > SHOWN)
        snprintf(to, room, "%s",
                 json_is_object(value)  ? "an object"
                 : json_is_array(value) ? "a list"
                                        : "a longer text");
    else if (value && !fr_json_dump(&text, value, NULL))
        snprintf(to, room, "%s", text.data);
    else
        snprintf(to, room, "nothing");
    fr_buffer_free(&text);
}

fr_status fr_api_wrong(fr_error *err, const json_t *value, const char *expected, const char *path,
                       ...) {
    char found[96], where[160];
    va_list args;
    va_start(args, path);
    vsnprintf(where, sizeof where, path, args);
    va_end(args);
    show(found, sizeof found, value);
    return fr_fail(err, FR_EARG, "%s: expected %s, found %s", where, expected, found);
}

bool fr_api_number(const json_t *value, bool whole, double *out) {
    size_t n;
    const char *digits = fr_json_digits(value, &n);
    if (digits) // beyond 64 bits: out of every range
        *out = *digits == '-' ? -1e300 : 1e300;
    else if (json_is_number(value))
        *out = json_number_value(value);
    else
        return false;
    return !whole || *out == floor(*out);
}

fr_status fr_api_token_id(const json_t *value, int n_vocab, const char *list, size_t i, int32_t *id,
                          fr_error *err) {
    char expected[64];
    double x;
    if (fr_api_number(value, true, &x) && x >= 0 && x < n_vocab) {
        *id = (int32_t)x;
        return FR_OK;
    }
    snprintf(expected, sizeof expected, "a token id below %d", n_vocab);
    return fr_api_wrong(err, value, expected, "%s[%zu]", list, i);
}

fr_status fr_api_token_ids(const json_t *list, int n_vocab, const char *path, fr_ids *ids,
                           fr_error *err) {
    fr_status st = FR_OK;
    for (size_t i = 0; i < json_array_size(list) && !st; i++) {
        int32_t id;
        st = fr_api_token_id(json_array_get(list, i), n_vocab, path, i, &id, err);
        if (!st) st = fr_ids_push(ids, id, err);
    }
    return st;
}

const char *fr_api_text(const json_t *value) {
    if (!fr_json_is_text(value)) return NULL;
    const char *text = json_string_value(value);
    return strlen(text) == json_string_length(value) ? text : NULL;
}

bool fr_api_is(const json_t *value, const char *text) {
    return json_is_string(value) && !strcmp(json_string_value(value), text);
}
