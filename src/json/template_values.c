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

// ---- tools

static void put(fr_jinja_values *v, fr_jinja_value to, const char *key, fr_jinja_value item) {
    fr_jinja_put(v, to, key, strlen(key), item);
}

static bool is_there(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return value && !json_is_null(value);
}

// An object without its null members. inner: replaces "function"; NULL: nothing does.
static fr_jinja_value without_null(fr_jinja_values *v, const json_t *object,
                                   const fr_jinja_value *inner) {
    const fr_jinja_value out = fr_jinja_dict(v);
    json_t *o = (json_t *)object;
    for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
        const char *key = json_object_iter_key(it);
        if (!is_there(object, key)) continue;
        const bool is_inner = inner && !strcmp(key, "function");
        put(v, out, key, is_inner ? *inner : convert(v, json_object_iter_value(it), 0));
    }
    return out;
}

static void add_missing(fr_jinja_values *v, const json_t *function, bool bare, bool empty,
                        fr_jinja_value out) {
    const json_t *with = json_object_get(function, "parameters");
    const bool none = !is_there(function, "parameters");
    if (bare && !is_there(function, "description"))
        put(v, out, "description", fr_jinja_string(v, "", 0, FR_MARK_MESSAGE));
    if (json_is_object(json_object_get(with, "properties")) || !(none ? bare : empty)) return;
    const fr_jinja_value parameters = without_null(v, with, NULL);
    if (!is_there(with, "type"))
        put(v, parameters, "type", fr_jinja_string(v, "object", 6, FR_MARK_MESSAGE));
    put(v, parameters, "properties", fr_jinja_dict(v));
    put(v, out, "parameters", parameters);
}

fr_jinja_value fr_json_tool_value(fr_jinja_values *v, const json_t *tool, bool bare, bool empty) {
    const json_t *function = json_object_get(tool, "function");
    const bool nested = json_is_object(function);
    if (!nested) function = tool;
    const fr_jinja_value described = without_null(v, function, NULL);
    add_missing(v, function, bare, empty, described);
    return nested ? without_null(v, tool, &described) : described;
}
