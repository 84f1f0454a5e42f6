// The JSON type of a value that is written as plain text comes from the tool's parameters.
#include "api/take.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static json_t *typed(const char *schema, const char *text) {
    bool no_memory = false;
    json_t *its = json_loads(schema, 0, NULL);
    if (!its) fail_msg("%s", schema);
    json_t *tools = json_pack("[{s:{s:s}},{s:{s:s,s:{s:{s:o}}}}]", "function", "name", "other",
                              "function", "name", "f", "parameters", "properties", "key", its);
    json_t *value = fr_typed_value(tools, "f", 1, "key", 3, text, strlen(text), &no_memory);
    assert_false(no_memory);
    json_decref(tools);
    return value;
}

static void a_parameters_schema_gives_the_type(void **state) {
    (void)state;
    static const struct {
        const char *schema, *text, *json;
    } cases[] = {
        {"{\"type\":\"string\"}", "42", "\"42\""},
        {"{\"type\":\"string\"}", "true", "\"true\""},
        {"{\"type\":\"string\"}", "null", "\"null\""},
        {"{\"type\":\"string\"}", "\"a\"", "\"\\\"a\\\"\""},
        {"{\"type\":\"string\"}", " a\n", "\" a\\n\""},
        {"{\"type\":\"string\"}", "", "\"\""},
        {"{\"enum\":[\"1\",\"2\"]}", "1", "\"1\""},
        {"{\"const\":\"1\"}", "1", "\"1\""},
        {"{\"enum\":[1,2]}", "1", "1"},
        {"{\"type\":\"integer\"}", "42", "42"},
        {"{\"type\":\"integer\"}", " 42\n", "42"},
        {"{\"type\":\"integer\"}", "forty", "\"forty\""},
        {"{\"type\":\"integer\"}", "", "\"\""},
        {"{\"type\":\"integer\"}", "\"42\"", "\"\\\"42\\\"\""},
        {"{\"type\":\"number\"}", "1e3", "1000.0"},
        {"{\"type\":\"boolean\"}", "true", "true"},
        {"{\"type\":\"boolean\"}", "True", "true"},
        {"{\"type\":\"boolean\"}", "False", "false"},
        {"{\"type\":\"boolean\"}", "yes", "\"yes\""},
        {"{\"type\":\"null\"}", "None", "null"},
        {"{\"type\":\"object\"}", "{\"a\": [1]}", "{\"a\":[1]}"},
        {"{\"type\":\"object\"}", "{'a': [True, None]}", "{\"a\":[true,null]}"},
        {"{\"type\":\"object\"}", "{a}", "\"{a}\""},
        {"{\"type\":\"array\"}", "[1, \"b\"]", "[1,\"b\"]"},
        {"{\"type\":\"array\"}", "['it', \"it's\"]", "[\"it\",\"it's\"]"},
        {"{\"type\":[\"string\",\"null\"]}", "null", "null"},
        {"{\"type\":[\"string\",\"null\"]}", "None", "null"},
        {"{\"type\":[\"string\",\"null\"]}", "42", "\"42\""},
        {"{\"type\":\"string\",\"nullable\":true}", "null", "null"},
        {"{\"type\":[\"string\",\"array\"]}", "[1]", "[1]"},
        {"{\"type\":[\"string\",\"array\"]}", "{}", "\"{}\""},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "null", "null"},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "true", "\"true\""},
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}", "7", "7"},
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}", "7a", "\"7a\""},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"$ref\":\"#/a\"}]}", "{\"a\":1}", "{\"a\":1}"},
        // No type: JSON, but strings are their text, and Python's words are.
        {"{}", "42", "42"},
        {"{}", "{\"a\": 1}", "{\"a\":1}"},
        {"{}", "null", "null"},
        {"{}", "True", "\"True\""},
        {"{}", "\"a\"", "\"\\\"a\\\"\""},
        {"{}", "a b", "\"a b\""},
        {"{\"type\":\"any\"}", "42", "42"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *found = typed(cases[i].schema, cases[i].text),
               *wanted = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
        assert_non_null(wanted);
        if (!json_equal(found, wanted)) {
            char *text = json_dumps(found, JSON_ENCODE_ANY);
            fail_msg("%s %s: %s", cases[i].schema, cases[i].text, text);
        }
        json_decref(found);
        json_decref(wanted);
    }
}

// References within the tool's parameters are followed, and of allOf each part counts.
static void a_schema_may_be_elsewhere(void **state) {
    (void)state;
    static const char defs[] =
        "{\"$defs\":{\"text\":{\"type\":\"string\"},\"again\":{\"$ref\":\"#/$defs/text\"},"
        "\"loop\":{\"$ref\":\"#/$defs/loop\"}},\"definitions\":{\"flag\":{\"type\":\"boolean\"}}}";
    static const struct {
        const char *schema, *text, *json;
    } cases[] = {
        {"{\"$ref\":\"#/$defs/text\"}", "42", "\"42\""},
        {"{\"$ref\":\"#/$defs/again\"}", "42", "\"42\""},
        {"{\"$ref\":\"#/definitions/flag\"}", "True", "true"},
        {"{\"$ref\":\"#/$defs/loop\"}", "42", "42"},
        {"{\"$ref\":\"#/$defs/none\"}", "42", "42"},
        {"{\"$ref\":\"other.json#/$defs/text\"}", "42", "42"},
        {"{\"allOf\":[{\"$ref\":\"#/$defs/text\"}]}", "42", "\"42\""},
        {"{\"allOf\":[{\"minLength\":1},{\"type\":\"string\"}]}", "42", "\"42\""},
        {"{\"anyOf\":[{\"$ref\":\"#/$defs/text\"},{\"type\":\"null\"}]}", "42", "\"42\""},
        {"{\"anyOf\":[{\"$ref\":\"#/$defs/text\"},{\"type\":\"null\"}]}", "None", "null"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool no_memory = false;
        json_t *parameters = json_loads(defs, 0, NULL), *its = json_loads(cases[i].schema, 0, NULL),
               *wanted = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
        assert_true(parameters && its && wanted);
        json_object_set_new(parameters, "properties", json_pack("{s:o}", "key", its));
        json_t *tools =
            json_pack("[{s:{s:s,s:o}}]", "function", "name", "f", "parameters", parameters);
        json_t *found = fr_typed_value(tools, "f", 1, "key", 3, cases[i].text,
                                       strlen(cases[i].text), &no_memory);
        if (!json_equal(found, wanted)) fail_msg("%s: %s", cases[i].schema, cases[i].text);
        json_decref(found);
        json_decref(wanted);
        json_decref(tools);
    }
}

// Of tools and parameters that are not offered nothing is known.
static void unknown_names_have_no_type(void **state) {
    (void)state;
    bool no_memory = false;
    json_t *tools =
        json_loads("[{\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":{\"key\":{"
                   "\"type\":\"string\"}}}}},{\"function\":{\"name\":\"g\"}},{\"type\":\"x\"},5]",
                   0, NULL);
    static const struct {
        const char *name, *key;
        bool text;
    } cases[] = {
        {"f", "key", true}, {"f", "keys", false}, {"g", "key", false}, {"h", "key", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *value = fr_typed_value(tools, cases[i].name, 1, cases[i].key, strlen(cases[i].key),
                                       "42", 2, &no_memory);
        assert_int_equal(json_is_string(value), cases[i].text);
        json_decref(value);
    }
    json_t *value = fr_typed_value(NULL, "f", 1, "key", 3, "12345678901234567890", 20, &no_memory);
    char *json = fr_json_compact(value); // more than 64 bits
    assert_string_equal(json, "12345678901234567890");
    free(json);
    json_decref(value);
    json_decref(tools);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_parameters_schema_gives_the_type),
                                       cmocka_unit_test(a_schema_may_be_elsewhere),
                                       cmocka_unit_test(unknown_names_have_no_type)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
