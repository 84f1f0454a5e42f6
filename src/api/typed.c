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

static unsigned types_of(const json_t *root, const json_t *schema, bool nested);

// The schema that a reference within the tool's parameters, the root, leads to; NULL: none.
static const json_t *resolved(const json_t *root, const json_t *schema) {
    static const char *const places[][2] = {{"#/$defs/", "$defs"},
                                            {"#/definitions/", "definitions"}};
    enum { MOST_STEPS = 8 };
    for (int step = 0; step < MOST_STEPS; step++) {
        const char *ref = json_string_value(json_object_get(schema, "$ref"));
        if (!ref) return schema;
        schema = NULL;
        for (int i = 0; i < 2; i++)
            if (!strncmp(ref, places[i][0], strlen(places[i][0])))
                schema = json_object_get(json_object_get(root, places[i][1]),
                                         ref + strlen(places[i][0]));
    }
    return NULL;
}

// Of schemas of which one has to fit, whose own members of that kind are left out. 0: one of them
// allows anything.
static unsigned types_of_any(const json_t *root, const json_t *list) {
    unsigned all = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const unsigned types = types_of(root, json_array_get(list, i), true);
        if (!types) return 0;
        all |= types;
    }
    return all;
}

// Of schemas that all have to fit.
static unsigned types_of_all(const json_t *root, const json_t *list) {
    unsigned all = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const unsigned types = types_of(root, json_array_get(list, i), true);
        if (types) all = all ? all & types : types;
    }
    return all;
}

// The types that the schema allows; 0: it does not say.
static unsigned types_of(const json_t *root, const json_t *schema, bool nested) {
    schema = resolved(root, schema);
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
    if (!types && !nested) types = types_of_any(root, json_object_get(schema, "anyOf"));
    if (!types && !nested) types = types_of_any(root, json_object_get(schema, "oneOf"));
    if (!types && !nested) types = types_of_all(root, json_object_get(schema, "allOf"));
    return types;
}

// The parameters of the tool of that name.
static const json_t *parameters_of(const json_t *offered, const char *name, size_t name_bytes) {
    for (size_t i = 0; i < json_array_size(offered); i++) {
        const json_t *tool = json_object_get(json_array_get(offered, i), "function");
        const json_t *its = json_object_get(tool, "name");
        if (json_string_length(its) != name_bytes || !json_is_string(its) ||
            memcmp(json_string_value(its), name, name_bytes) != 0)
            continue;
        return json_object_get(tool, "parameters");
    }
    return NULL;
}

json_t *fr_typed_value(const json_t *offered, const char *name, size_t name_bytes, const char *key,
                       size_t key_bytes, const char *text, size_t n, bool *no_memory) {
    const json_t *root = parameters_of(offered, name, name_bytes);
    const json_t *all = json_object_get(root, "properties");
    const unsigned types = types_of(root, json_object_getn(all, key, key_bytes), false);
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
