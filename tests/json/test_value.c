// test_value.c — JSON as Python's json.dumps(json.loads(x), ensure_ascii=False) writes it. The
// expected texts are recorded from CPython 3.11, or Python's documented rules.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/asked.h"
#include "json/value.h"

#define FFFD "\xEF\xBF\xBD"

static const struct {
    const char *in, *out;
} cases[] = {
    {"[]", "[]"},
    {" { } ", "{}"},
    {"[1,2 ,{\"b\":null,\"a\":[true,false]}]", "[1, 2, {\"b\": null, \"a\": [true, false]}]"},
    {"\"\\u0000\\u001f\\u007f\\/\\b\\f\\n\\r\\t\\\"\\\\\"",
     "\"\\u0000\\u001f\x7f/\\b\\f\\n\\r\\t\\\"\\\\\""},
    {"\"\\ud83d\\ude00 \\u00e9\\u2028\"", "\"\xF0\x9F\x98\x80 \xC3\xA9\xE2\x80\xA8\""},
    {"-0", "0"},
    {"9223372036854775807", "9223372036854775807"},
    {"[9223372036854775808,-99999999999999999999999]",
     "[9223372036854775808, -99999999999999999999999]"},
    {"{\"12345678901234567890123\":\"12345678901234567890123\"}",
     "{\"12345678901234567890123\": \"12345678901234567890123\"}"},
    {"\"\\u0000int:0001234567890123456789\"", "\"\\u0000int:0001234567890123456789\""},
    {"1.0", "1.0"},
    {"1E2", "100.0"},
    {"-0.0", "-0.0"},
    {"0.1", "0.1"},
    {"0.30000000000000004", "0.30000000000000004"},
    {"1e15", "1000000000000000.0"},
    {"1e16", "1e+16"},
    {"123456789012345.678", "123456789012345.67"},
    {"0.0001", "0.0001"},
    {"0.00001", "1e-05"},
    {"0.00012345", "0.00012345"},
    {"5e-324", "5e-324"},
    {"1.7976931348623157e308", "1.7976931348623157e+308"},
    {"2.2250738585072014e-308", "2.2250738585072014e-308"},
    {"9007199254740993.0", "9007199254740992.0"},
    {"1e22", "1e+22"},
    {"1e23", "1e+23"},
    {"9.5367431640625e-07", "9.5367431640625e-07"},
    {"5.960464477539063e-08", "5.960464477539063e-08"}, // 2^-24
    {"1.5e-10", "1.5e-10"},
    {"12.50", "12.5"},
    // Python's dict: a key's place is that of the first, its value that of the last.
    {"{\"a\":1,\"b\":2,\"a\":3}", "{\"a\": 3, \"b\": 2}"},
    {"{\"a\":{\"x\":1},\"\\u0061\":[]}", "{\"a\": []}"},
    {"\xEF\xBB\xBF[1]", "[1]"},
};

static void dump_writes_what_python_writes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fr_error err = {0};
        fr_buffer out = {0};
        json_t *value = fr_json_load(cases[i].in, strlen(cases[i].in), &err);
        if (!value) fail_msg("%s: %s", cases[i].in, err.text);
        assert_int_equal(fr_json_dump(&out, value, &err), FR_OK);
        assert_string_equal(out.data, cases[i].out);
        fr_buffer_free(&out);
        json_decref(value);
    }
}

// What Python's json.dumps(x, ensure_ascii=False, separators=(",", ":")) writes.
static void compact_leaves_blanks_out(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{\"a\":[1,-9223372036854775808,18446744073709551615],\"b\":{},\"c\":[]}",
        "[-99999999999999999999999,\"99999999999999999999999\",0.1,null,true,false]",
        "\"\\u0000\\u001f \\n\\\"\"", "1234567890123456789"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *value = fr_json_load(texts[i], strlen(texts[i]), NULL);
        char *text = fr_json_compact(value);
        assert_string_equal(text, texts[i]);
        free(text);
        json_decref(value);
    }
    assert_null(fr_json_compact(NULL));
}

// What is counted is what is written; bytes that are no UTF-8 are replaced as in an answer.
static void quoting_counts_what_it_writes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t n;
        const char *out;
    } texts[] = {
        {"", 0, "\"\""},
        {"a\"\\/\b\f\n\r\t\x1f\x7f", 11, "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u001f\x7f\""},
        {"\0", 1, "\"\\u0000\""},
        {"\xC3\xA9\xF0\x9F\x98\x80", 6, "\"\xC3\xA9\xF0\x9F\x98\x80\""},
        {"\xC3", 1, "\"" FFFD "\""},
        {"\xF0\x9F\x98x\xFF\xED\xA0\x80", 8, "\"" FFFD "x" FFFD FFFD FFFD FFFD "\""},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char out[64] = "";
        const size_t n = fr_json_quote(NULL, texts[i].text, texts[i].n);
        assert_int_equal(fr_json_quote(out, texts[i].text, texts[i].n), n);
        assert_int_equal(strlen(out), n);
        assert_string_equal(out, texts[i].out);
    }
}

// Identity: what is printed reads back as the same bits, in at most 17 digits.
static void dump_keeps_every_double(void **state) {
    (void)state;
    const uint64_t seed = 20240229;
    uint64_t x = seed;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 4000; i++) {
        double value, again;
        x = x * 6364136223846793005u + 1442695040888963407u;
        const uint64_t bits = x ^ x >> 29; // an LCG's low bits alone are poor
        memcpy(&value, &bits, sizeof value);
        if (value - value != 0) continue; // infinite or no number
        json_t *json = json_real(value);
        fr_buffer out = {0};
        assert_int_equal(fr_json_dump(&out, json, NULL), FR_OK);
        again = strtod(out.data, NULL);
        assert_memory_equal(&value, &again, sizeof value);
        assert_true(out.n <= 24);
        fr_buffer_free(&out);
        json_decref(json);
    }
}

// One U+FFFD for each half without its partner, as browsers decode such text.
static void halves_of_pairs_are_replaced(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
    } halves[] = {
        {"\"\\ud83d\"", FFFD},
        {"\"a\\uD83Db\"", "a" FFFD "b"},
        {"\"\\ude00\"", FFFD},
        {"\"\\ude00\\ud83d\"", FFFD FFFD},
        {"\"\\ud83d\\ud83d\\ude00\"", FFFD "\xF0\x9F\x98\x80"},
        {"\"\\ud83d\\ude00\\ude00\"", "\xF0\x9F\x98\x80" FFFD},
        {"\"\\ud83d\\n\"", FFFD "\n"},
        {"\"\\ud83d\\\\ude00\"", FFFD "\\ude00"}, // a backslash, then letters
        {"\"\\\\ud83d\"", "\\ud83d"},
        {"\"\\udbff\\udfff\"", "\xF4\x8F\xBF\xBF"},
        {"\"\\ud7ff\\ue000\"", "\xED\x9F\xBF\xEE\x80\x80"},
    };
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        fr_error err = {0};
        json_t *value = fr_json_load(halves[i].in, strlen(halves[i].in), &err);
        if (!value) fail_msg("%s: %s", halves[i].in, err.text);
        assert_string_equal(json_string_value(value), halves[i].out);
        json_decref(value);
    }
    const char keys[] = "{\"\\ud83d\": 1, \"\\ude00\": 2}"; // one key then
    json_t *object = fr_json_load(keys, sizeof keys - 1, NULL);
    assert_int_equal(json_object_size(object), 1);
    assert_int_equal(json_integer_value(json_object_get(object, FFFD)), 2);
    json_decref(object);
}

// What stands raw in a string is what json.loads(text, strict=False) takes it for.
static void what_models_write_may_hold_raw_controls(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
    } texts[] = {
        {"{\"a\": \"x\ny\"}", "{\"a\": \"x\\ny\"}"},
        {"{\"a\": \"x\r\n\ty\\n\"}", "{\"a\": \"x\\r\\n\\ty\\n\"}"},
        {"{\"a\n\": \"\x1b[0m\"}", "{\"a\\n\": \"\\u001b[0m\"}"},
        {"{\n\"a\":\t\"\\\"\n\\\\\"\n}", "{\"a\": \"\\\"\\n\\\\\"}"},
        {"[\"\n\", 12345678901234567890, \"\\ud83d\"]",
         "[\"\\n\", 12345678901234567890, \"" FFFD "\"]"},
        {"{\"a\": 1, \"a\": 2}", "{\"a\": 2}"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fr_error err = {0};
        fr_buffer out = {0};
        json_t *value = fr_json_load_lenient(texts[i].in, strlen(texts[i].in), &err);
        if (!value) fail_msg("%s: %s", texts[i].in, err.text);
        assert_int_equal(fr_json_dump(&out, value, &err), FR_OK);
        assert_string_equal(out.data, texts[i].out);
        fr_buffer_free(&out);
        json_decref(value);
    }
    assert_null(fr_json_load_lenient("{\"a\": \"x\n}", 10, NULL));
    json_t *nul = fr_json_load_lenient("\"a\0b\"", 5, NULL);
    assert_int_equal(json_string_length(nul), 3);
    json_decref(nul);
}

// The place is that of the text as it came, whatever was mended in front of it.
static void errors_tell_the_place(void **state) {
    (void)state;
    static const char *const texts[] = {
        "[1, 2,\n \"a\", x]", "[12345678901234567890, 2,\n \"a\", x]", "[1, 2,\n \"\\ud83d\", x]",
        "\xEF\xBB\xBF[1, 2,\n \"a\", x]"};
    static const int column[] = {7, 7, 12, 7};
    char expected[64];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fr_error err = {0};
        assert_null(fr_json_load(texts[i], strlen(texts[i]), &err));
        snprintf(expected, sizeof expected, "JSON, line 2, column %d: ", column[i]);
        if (strncmp(err.text, expected, strlen(expected))) fail_msg("%s: %s", expected, err.text);
    }
    const char long_number[] = "[12345678901234567890, \"\xE9\"]";
    fr_error err = {0};
    assert_null(fr_json_load(long_number, sizeof long_number - 1, &err));
    assert_non_null(strstr(err.text, "line 1, column 24: unable to decode byte 0xe9"));
}

static void load_refuses_with_a_sentence(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "{",
                                      "[1,]",
                                      "1e999",
                                      "12345678901234567890-5",
                                      "[-12345678901234567890+1]",
                                      "\"\xff",
                                      "\"\\ud80\"",
                                      "\"a\nb\"",
                                      "\xEF\xBB\xBF",
                                      "\xEF\xBB\xBF\xEF\xBB\xBF[1]",
                                      "[\xEF\xBB\xBF]",
                                      "nul",
                                      "[1] 2",
                                      "00012345678901234567890"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fr_error err = {0};
        assert_null(fr_json_load(bad[i], strlen(bad[i]), &err));
        assert_int_equal(err.code, FR_EARG);
        assert_true(strlen(err.text) > 10);
    }
}

// `n` levels, of lists or of objects, with closing brackets in strings between.
static bool takes(int n, bool objects) {
    static char text[1 << 16];
    size_t at = 0;
    fr_error err = {0};
    for (int i = 0; i < n; i++)
        at += (size_t)sprintf(text + at, objects ? "{\"]}\\\"]\":" : "[\"]\", ");
    at += (size_t)sprintf(text + at, "1");
    for (int i = 0; i < n; i++)
        text[at++] = objects ? '}' : ']';
    json_t *value = fr_json_load(text, at, &err);
    if (!value) assert_non_null(strstr(err.text, "nested deeper than 256"));
    json_decref(value);
    return value;
}

static void load_refuses_deep_nesting(void **state) {
    (void)state;
    for (int objects = 0; objects < 2; objects++) {
        assert_true(takes(1, objects) && takes(256, objects));
        assert_false(takes(257, objects) || takes(2000, objects));
    }
}

// As an answer that repeats what was asked: all that is read can be written, some levels deeper.
static void compact_writes_all_that_is_read(void **state) {
    (void)state;
    char text[2 * FR_JSON_MAX_NESTING + 1] = "";
    memset(text, '[', FR_JSON_MAX_NESTING);
    memset(text + FR_JSON_MAX_NESTING, ']', FR_JSON_MAX_NESTING);
    json_t *value = fr_json_load(text, sizeof text - 1, NULL);
    json_t *around = json_pack("[[[[O]]]]", value);
    assert_true(value && around);
    char *found = fr_json_compact(around);
    assert_int_equal(strlen(found), sizeof text - 1 + 8);
    free(found);
    json_decref(around);
    json_decref(value);
}

static void dump_refuses_deep_nesting(void **state) {
    (void)state;
    static char text[100000];
    memset(text, '[', sizeof text);
    assert_null(fr_json_load(text, sizeof text, NULL));
    memset(text + 120, ']', 120);
    fr_buffer out = {0};
    fr_error err = {0};
    json_t *value = fr_json_load(text, 240, &err);
    assert_non_null(value);
    assert_int_equal(fr_json_dump(&out, value, &err), FR_EARG);
    assert_non_null(strstr(err.text, "100"));
    json_decref(value);
    fr_buffer_free(&out);
}

// Long documents are asked about as they are read, and one that is not wanted any more is left.
static void a_long_document_can_be_left(void **state) {
    (void)state;
    fr_buffer text = {0};
    fr_error err = {0};
    asked all = {.most = INT_MAX}, some = {.most = 2};
    const fr_watch on = ASKED(&all), off = ASKED(&some);
    fr_buffer_add(&text, "[0", 2, &err);
    while (text.n < 1 << 20)
        fr_buffer_add(&text, ",{\"a\":[1,\"b\"]}", 14, &err);
    fr_buffer_add(&text, "]", 1, &err);
    json_t *value = fr_json_load_watched(text.data, text.n, &on, &err),
           *same = fr_json_load(text.data, text.n, &err);
    assert_non_null(value);
    assert_true(json_equal(value, same));
    assert_true(all.n >= 8 && all.n < 100); // a question costs a system call
    assert_null(fr_json_load_watched(text.data, text.n, &off, &err));
    assert_int_equal(err.code, FR_EINTR);
    assert_int_equal(some.n, 3);
    json_decref(value);
    json_decref(same);
    fr_buffer_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dump_writes_what_python_writes),
        cmocka_unit_test(compact_leaves_blanks_out),
        cmocka_unit_test(compact_writes_all_that_is_read),
        cmocka_unit_test(quoting_counts_what_it_writes),
        cmocka_unit_test(dump_keeps_every_double),
        cmocka_unit_test(halves_of_pairs_are_replaced),
        cmocka_unit_test(what_models_write_may_hold_raw_controls),
        cmocka_unit_test(errors_tell_the_place),
        cmocka_unit_test(load_refuses_with_a_sentence),
        cmocka_unit_test(load_refuses_deep_nesting),
        cmocka_unit_test(a_long_document_can_be_left),
        cmocka_unit_test(dump_refuses_deep_nesting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
