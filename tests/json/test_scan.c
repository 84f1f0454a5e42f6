// test_scan.c — what a text is said to take is at least what Jansson takes, and not much more;
// memory that is missing is called that. Jansson's memory is counted here, which it allows a whole
// process.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "json/scan.h"
#include "json/value.h"

// ---------------------------------------------------------------- counted memory

static size_t held, most;
static long taken, fails_at = -1; // the call that fails; -1: none
static bool all_fail;             // ... and all after it

static void *take(size_t bytes) {
    const long call = ++taken;
    if (call == fails_at || (all_fail && fails_at > 0 && call > fails_at)) return NULL;
    void *p = malloc(bytes);
    if (p) held += malloc_usable_size(p) + 8;
    if (held > most) most = held;
    return p;
}

static void give(void *p) {
    if (p) held -= malloc_usable_size(p) + 8;
    free(p);
}

// Bytes that Jansson takes at most for a text, and the mended text beside them.
static size_t taken_by(const char *json, size_t n, bool lenient) {
    const fr_json_scan found = fr_json_look(json, n, lenient);
    const size_t before = held;
    most = held;
    json_decref(lenient ? fr_json_load_lenient(json, n, NULL) : fr_json_load(json, n, NULL));
    assert_int_equal(held, before);
    return most - before + (found.mended ? found.bytes : 0);
}

// ---------------------------------------------------------------- texts

static void add(fr_buffer *b, const char *text) {
    assert_int_equal(fr_buffer_add(b, text, strlen(text), NULL), FR_OK);
}

// begin, then `n` times `part` with commas between, then the end. @ is a number of its own.
static void make(fr_buffer *b, const char *begin, const char *part, int n, const char *end) {
    char number[16];
    b->n = 0;
    add(b, begin);
    for (int i = 0; i < n; i++) {
        const char *at = strchr(part, '@');
        if (i) add(b, ",");
        if (at) assert_int_equal(fr_buffer_add(b, part, (size_t)(at - part), NULL), FR_OK);
        snprintf(number, sizeof number, "%d", i);
        if (at) add(b, number);
        add(b, at ? at + 1 : part);
    }
    add(b, end);
}

static const char one_key[] = "\"a\":[0]"; // the values before the last are freed again
static const struct {
    const char *begin, *part, *end;
} shapes[] = {
    {"[", "{}", "]"},
    {"{\"x\":[", "[]", "]}"},
    {"[", "1", "]"},
    {"[", "1e1", "]"},
    {"[", "\"\"", "]"},
    {"[", "\"abcdefghijklmnop\"", "]"},
    {"[", "null", "]"},
    {"[", "[[[[[]]]]]", "]"},
    {"[", "{\"a\":{\"b\":{\"c\":1}}}", "]"},
    {"{", "\"@\":0", "}"},
    {"{", "\"@\":{}", "}"},
    {"{", "\"key number @ of many keys\":\"\"", "}"},
    {"{", one_key, "}"},
    {"[", "1234567890123456789012345", "]"},
    {"[", "-12345678901234567890", "]"},
    {"[", "\"\\ud83d\"", "]"},
    {"[\"", "\\ude00\\ud83d", "\"]"},
    {"[\"", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "\"]"},
};

static void what_is_taken_is_bounded(void **state) {
    (void)state;
    static const int counts[] = {0, 1, 2, 7, 8, 9, 16, 17, 100, 1025, 20000};
    fr_buffer b = {0};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            make(&b, shapes[i].begin, shapes[i].part, counts[k], shapes[i].end);
            const size_t bound = fr_json_look(b.data, b.n, false).memory;
            const size_t used = taken_by(b.data, b.n, false);
            if (used > bound)
                fail_msg("%s x %d: %zu, expected at most %zu", shapes[i].part, counts[k], used,
                         bound);
            if (b.n > 10000 && strcmp(shapes[i].part, one_key) && bound > 4 * used)
                fail_msg("%s x %d: %zu, said to be %zu", shapes[i].part, counts[k], used, bound);
        }
    fr_buffer_free(&b);
}

// Up to where Jansson finds the fault.
static void what_is_wrong_is_bounded_too(void **state) {
    (void)state;
    fr_buffer b = {0};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        make(&b, shapes[i].begin, shapes[i].part, 1000, "\x01");
        for (size_t cut = 0; cut < b.n; cut += 1 + cut / 3) {
            assert_true(taken_by(b.data, b.n - cut, false) <=
                        fr_json_look(b.data, b.n - cut, false).memory);
            assert_true(taken_by(b.data, b.n - cut, true) <=
                        fr_json_look(b.data, b.n - cut, true).memory);
        }
    }
    fr_buffer_free(&b);
}

// ---------------------------------------------------------------- no memory

static void check_missing_memory(bool all) {
    // Strings are shorter than what Jansson's lexer begins with: a longer one it would cut.
    static const char text[] = "{\"a\": [1, 2.5, \"bc\", {\"d\": true}, \"0123456789\"], \"e\": "
                               "12345678901, \"f\": [[], {}, \"\", null]}";
    all_fail = all;
    for (fails_at = 1;; fails_at++) {
        fr_error err = {0};
        taken = 0;
        json_t *value = fr_json_load(text, sizeof text - 1, &err);
        const bool enough = taken < fails_at;
        if (!value) {
            assert_int_equal(err.code, FR_ENOMEM);
            assert_non_null(strstr(err.text, "no memory"));
        }
        assert_int_equal(value != NULL, enough);
        json_decref(value);
        if (enough) break;
    }
    assert_true(fails_at > 20);
    fails_at = -1;
    assert_int_equal(held, 0);
}

static void missing_memory_is_called_that(void **state) {
    (void)state;
    check_missing_memory(false);
    check_missing_memory(true);
}

// ... and what is wrong is called wrong.
static void wrong_tokens_are_not_called_missing_memory(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "[nul]",    "{1: 2}", "[\"a\" \"b\"]", "{\"a\" \"b\"}", "[aaaaaaaaaaaaaaaaaaaaaaaaaa]",
        "{x\"a\"}", "[\"",    "[\"\\x\"]",     "{\"a\": \"\\",  "[1234567890123456789012.]\""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fr_error err = {0};
        assert_null(fr_json_load(wrong[i], strlen(wrong[i]), &err));
        if (err.code != FR_EARG || strstr(err.text, "-1")) fail_msg("%s: %s", wrong[i], err.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_taken_is_bounded),
        cmocka_unit_test(what_is_wrong_is_bounded_too),
        cmocka_unit_test(missing_memory_is_called_that),
        cmocka_unit_test(wrong_tokens_are_not_called_missing_memory),
    };
    json_set_alloc_funcs(take, give);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
