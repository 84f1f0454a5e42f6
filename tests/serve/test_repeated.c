// What responses repeat of a body: as it came, up to a bound of all together; otherwise as if it
// were not there.
#include "serve/repeated.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t bytes_of(const json_t *doc) {
    char *text = fr_json_compact(doc);
    const size_t n = strlen(text);
    free(text);
    return n;
}

static json_t *text_of(char c, size_t n) {
    char *text = malloc(n);
    memset(text, c, n);
    json_t *value = json_stringn(text, n);
    free(text);
    return value;
}

static void what_was_asked_is_repeated(void **state) {
    (void)state;
    json_t *tools = json_pack("[{s:s, s:s, s:o}]", "type", "function", "name", "f", "description",
                              text_of('x', 100 << 10)); // an agent's
    json_t *body = json_pack("{s:o, s:s, s:{s:s}}", "tools", tools, "instructions", "be brief",
                             "metadata", "a", "b");
    json_t *doc = json_object();
    fr_repeat_asked(body, doc);
    assert_true(json_equal(json_object_get(doc, "tools"), tools));
    assert_string_equal(json_string_value(json_object_get(doc, "instructions")), "be brief");
    assert_true(json_equal(json_object_get(doc, "metadata"), json_object_get(body, "metadata")));
    assert_true(json_is_null(json_object_get(doc, "user")));
    assert_string_equal(json_string_value(json_object_get(doc, "tool_choice")), "auto");
    json_decref(doc);
    json_decref(body);
}

// Each member could carry a whole body: a text, one that grows as it is written, many small values,
// a long name. What fits beside it is repeated all the same.
static void what_is_beyond_the_bound_is_left_out(void **state) {
    (void)state;
    static const char *const members[] = {"instructions", "metadata",  "tools",       "text",
                                          "user",         "reasoning", "tool_choice", "truncation"};
    enum { BIG = 1 << 20, FORMS = 4 };
    json_t *form[FORMS] = {text_of('a', BIG), text_of('\x01', FR_REPEATED_BYTES / 2), json_array(),
                           json_object()};
    for (int i = 0; i < BIG / 8; i++)
        json_array_append_new(form[2], json_integer(10));
    json_t *name = text_of('n', BIG);
    json_object_set_new(form[3], json_string_value(name), json_null());
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        for (int k = 0; k < FORMS; k++) {
            json_t *body = json_pack("{s:O, s:i}", members[i], form[k], "max_output_tokens", 5);
            json_t *doc = json_object();
            fr_repeat_asked(body, doc);
            if (bytes_of(doc) > 1000) fail_msg("%s, form %d", members[i], k);
            assert_non_null(json_object_get(doc, members[i]));
            assert_int_equal(json_integer_value(json_object_get(doc, "max_output_tokens")), 5);
            json_decref(doc);
            json_decref(body);
        }
    for (int k = 0; k < FORMS; k++)
        json_decref(form[k]);
    json_decref(name);
}

// Members that would fit alone do not all fit together.
static void the_bound_is_that_of_all_members(void **state) {
    (void)state;
    json_t *part = text_of('a', FR_REPEATED_BYTES / 3), *doc = json_object();
    json_t *body = json_pack("{s:O, s:O, s:O, s:O, s:O}", "user", part, "metadata", part, "text",
                             part, "tools", part, "reasoning", part);
    fr_repeat_asked(body, doc);
    assert_in_range(bytes_of(doc), FR_REPEATED_BYTES / 2, FR_REPEATED_BYTES + 1000);
    json_decref(doc);
    json_decref(body);
    json_decref(part);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_asked_is_repeated),
                                       cmocka_unit_test(what_is_beyond_the_bound_is_left_out),
                                       cmocka_unit_test(the_bound_is_that_of_all_members)};
    return cmocka_run_group_tests_name("serve/repeated", tests, NULL, NULL);
}
