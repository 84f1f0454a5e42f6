#include "json/template_values.h"
#include <string.h>

static fr_jinja_value convert(fr_jinja_values *v, const json_t *value, int depth);

static fr_jinja_value convert_object(fr_jinja_values *v, const json_t *object, int depth) {
    const fr_jinja_value out = fr_jinja_dict(v);
    json_t *o = (json_t *)object; // Jansson's iterators want it so; nothing is changed
    for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
        const char *key = json_object_iter_key(it);
        fr_jinja_put(v, out, key, strlen(key), convert(v, json_object_iter_value(it), depth + 1));
    }
    return out;
}

static fr_jinja_value convert_array(fr_jinja_values *v, const json_t *array, int depth) {
    const fr_jinja_value out = fr_jinja_list(v);
    for (size_t i = 0; i < json_array_size(array); i++)
        fr_jinja_append(v, out, convert(v, json_array_get(array, i), depth + 1));
    return out;
}

static fr_jinja_value convert_string(fr_jinja_values *v, const json_t *value) {
    size_t n;
    const char *digits = fr_json_digits(value, &n);
    if (digits) return fr_jinja_digits(v, digits, n);
    return fr_jinja_string(v, json_string_value(value), json_string_length(value), FR_MARK_MESSAGE);
}

static fr_jinja_value convert(fr_jinja_values *v, const json_t *value, int depth) {
    if (depth > FR_JSON_MAX_DEPTH || !fr_jinja_values_go_on(v)) return fr_jinja_none();
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return convert_object(v, value, depth);
    case JSON_ARRAY:
        return convert_array(v, value, depth);
    case JSON_STRING:
        return convert_string(v, value);
    case JSON_INTEGER:
        return fr_jinja_int(json_integer_value(value));
    case JSON_REAL:
        return fr_jinja_float(json_real_value(value));
    case JSON_TRUE:
    case JSON_FALSE:
        return fr_jinja_bool(json_is_true(value));
    case JSON_NULL:
        break;
    }
    return fr_jinja_none();
}

fr_jinja_value fr_json_template_value(fr_jinja_values *v, const json_t *value) {
    return convert(v, value, 0);
}
