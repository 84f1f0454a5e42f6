// typed.c — JSON values of arguments that are written as plain text. The text of a string is the
// string. Of other types it is JSON, or as Python prints a value, which some templates do.
//
// - The schema allows strings alone: the text as it is.
// - It allows other types: what the text says, if that has one of them; else the text as it is.
// - It names no type, or there is none: what the text says in JSON, but a string is the text itself.
#include "api/take.h"
#include <string.h>

enum { STRING = 1, NUMBER = 2, BOOLEAN = 4, OBJECT = 8, ARRAY = 16, NOTHING = 32 };

static unsigned type_named(const json_t *type) {
    static const struct {
        const char *name;
        unsigned type;
    } types[] = {{"string", STRING}, {"number", NUMBER}, {"integer", NUMBER}, {"boolean", BOOLEAN},
                 {"object", OBJECT}, {"array", ARRAY},   {"null", NOTHING}};
    const char *name = json_string_value(type);
    for (size_t i = 0; name && i < sizeof types / sizeof *types; i++)
        if (!strcmp(name, types[i].name)) return types[i].type;
    return 0;
}

static unsigned type_of(const json_t *value) {
    if (fr_json_is_text(value)) return STRING;
    if (json_is_object(value)) return OBJECT;
    if (json_is_array(value)) return ARRAY;
    if (json_is_boolean(value)) return BOOLEAN;
    return json_is_null(value) ? NOTHING : NUMBER; // an integer of many digits is a marked string
}

static unsigned types_of(const json_t *schema, bool nested);

// Of schemas of which one has to fit, whose own members of that kind are left out. 0: one of them
// allows anything.
static unsigned types_of_any(const json_t *list) {
    unsigned all = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const unsigned types = types_of(json_array_get(list, i), true);
        if (!types) return 0;
        all |= types;
    }
    return all;
}

// The types that the schema allows; 0: it does not say.
static unsigned types_of(const json_t *schema, bool nested) {
    const json_t *type = json_object_get(schema, "type"), *values = json_object_get(schema, "enum"),
                 *value = json_object_get(schema, "const");
    unsigned types = type_named(type);
    for (size_t i = 0; i < json_array_size(type); i++)
        types |= type_named(json_array_get(type, i));
    if (types && json_is_true(json_object_get(schema, "nullable"))) types |= NOTHING; // OpenAPI's
    if (types || type) return types;
    for (size_t i = 0; i < json_array_size(values); i++)
        types |= type_of(json_array_get(values, i));
    if (value) types |= type_of(value);
    if (!types && !nested) types = types_of_any(json_object_get(schema, "anyOf"));
    if (!types && !nested) types = types_of_any(json_object_get(schema, "oneOf"));
    return types;
}

static const json_t *schema_of(const json_t *offered, const char *name, size_t name_bytes,
                               const char *key, size_t key_bytes) {
    for (size_t i = 0; i < json_array_size(offered); i++) {
        const json_t *tool = json_object_get(json_array_get(offered, i), "function");
        const json_t *its = json_object_get(tool, "name");
        if (json_string_length(its) != name_bytes || !json_is_string(its) ||
            memcmp(json_string_value(its), name, name_bytes) != 0)
            continue;
        const json_t *all = json_object_get(json_object_get(tool, "parameters"), "properties");
        return json_object_getn(all, key, key_bytes);
    }
    return NULL;
}

json_t *fr_typed_value(const json_t *offered, const char *name, size_t name_bytes, const char *key,
                       size_t key_bytes, const char *text, size_t n, bool *no_memory) {
    const unsigned types = types_of(schema_of(offered, name, name_bytes, key, key_bytes), false);
    json_t *value = NULL;
    if (types != STRING) value = fr_call_json(text, n, no_memory);
    if (!value && types & ~(unsigned)STRING)
        value = fr_literal_json(FR_LITERAL_PYTHON, text, n, no_memory);
    const bool fits =
        value && !fr_json_is_text(value) && (!types || !(types & STRING) || types & type_of(value));
    if (fits) return value;
    json_decref(value);
    value = *no_memory ? NULL : fr_json_text(text, n);
    *no_memory |= !value;
    return value;
}
