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

const char *fr_api_text(const json_t *value) {
    if (!fr_json_is_text(value)) return NULL;
    const char *text = json_string_value(value);
    return strlen(text) == json_string_length(value) ? text : NULL;
}

bool fr_api_is(const json_t *value, const char *text) {
    return json_is_string(value) && !strcmp(json_string_value(value), text);
}
