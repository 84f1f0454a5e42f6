// Values as programs write them become JSON; what is none is found at its first wrong byte.
#include "api/literal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    PYTHON = FR_LITERAL_PYTHON,
    LFM2 = PYTHON | FR_LITERAL_APOSTROPHES,
    GEMMA = FR_LITERAL_QUOTES,
    BARE = GEMMA | FR_LITERAL_BARE
};

static void values_become_json(void **state) {
    (void)state;
    static const struct {
        unsigned style;
        const char *text, *json; // NULL: it is none
    } cases[] = {
        {PYTHON, "1", "1"},
        {PYTHON, " -2.5e3 ", "-2500.0"},
        {PYTHON, "True", "true"},
        {PYTHON, "False", "false"},
        {PYTHON, "None", "null"},
        {PYTHON, "true", "true"},
        {PYTHON, "'a'", "\"a\""},
        {PYTHON, "'it\\'s \"x\"'", "\"it's \\\"x\\\"\""},
        {PYTHON, "\"it's \\\"x\\\"\"", "\"it's \\\"x\\\"\""},
        {PYTHON, "'\\n\\t\\\\ \\x41 \\u00e9 \\q'", "\"\\n\\t\\\\ A \u00e9 \\\\q\""},
        {PYTHON, "'line\nbreak'", "\"line\\nbreak\""},
        {PYTHON, "[1, 'two', {'k': None, \"b\": [True]}, ]",
         "[1,\"two\",{\"k\":null,\"b\":[true]}]"},
        {PYTHON, "{}", "{}"},
        {PYTHON, "[]", "[]"},
        {PYTHON, "''", "\"\""},
        {LFM2, "'it's'", "\"it's\""},
        {LFM2, "'a''", "\"a'\""},
        {LFM2, "['a\\'b', 'it's', 'c\\n']", "[\"a'b\",\"it's\",\"c\\n\"]"},
        {LFM2, "'C:\\ x'", "\"C:\\\\ x\""},
        {LFM2, "{'a': 'b' , 'c' : 1}", "{\"a\":\"b\",\"c\":1}"},
        {LFM2, "'\"'", "\"\\\"\""},
        {GEMMA, "<|\"|>a<|\"|>", "\"a\""},
        {GEMMA, "<|\"|><|<|\"<|\"|>", "\"<|<|\\\"\""},
        {GEMMA, "<|\"|>\\n \" ' {<|\"|>", "\"\\\\n \\\" ' {\""},
        {GEMMA, "{a:1,b c:[<|\"|>x<|\"|>,true,None],<|\"|>d:e<|\"|>:{}}",
         "{\"a\":1,\"b c\":[\"x\",true,null],\"d:e\":{}}"},
        {GEMMA, "{ a : \"x\\n\" , b : null }", "{\"a\":\"x\\n\",\"b\":null}"},
        {PYTHON, "", NULL},
        {PYTHON, "1 2", NULL},
        {PYTHON, "1], [2", NULL},
        {PYTHON, "yes", NULL},
        {PYTHON, "'a", NULL},
        {PYTHON, "{1: 2}", NULL},
        {PYTHON, "{'a': 1]", NULL},
        {PYTHON, "{a: 1}", NULL},
        {PYTHON, "[1,,2]", NULL},
        {PYTHON, "1.2.3", NULL},
        {PYTHON, "--1", NULL},
        {PYTHON, "f(1)", NULL},
        {PYTHON, "'\\u12'", NULL},
        {GEMMA, "'a'", NULL},
        {GEMMA, "<|\"|>a", NULL},
        {GEMMA, "<|\"a<|\"|>", NULL},
        {BARE, "2024-01-01", "\"2024-01-01\""},
        {BARE, "{d:2024-01-01, t : 12:30 ,v:1.2.3,n:-1.5e2}",
         "{\"d\":\"2024-01-01\",\"t\":\"12:30\",\"v\":\"1.2.3\",\"n\":-150.0}"},
        {BARE, "[New York , /a b.txt,caf\u00e9, C:\\dir ]",
         "[\"New York\",\"/a b.txt\",\"caf\u00e9\",\"C:\\\\dir\"]"},
        {BARE, "{a:[007,+5,.5,-,1 2,3 ]}", "{\"a\":[\"007\",\"+5\",\".5\",\"-\",\"1 2\",3]}"},
        {BARE, "[true , false,null,None,True story]", "[true,false,null,null,\"True story\"]"},
        {BARE, "{a:x,b:{c:y},e:<|\"|>z<|\"|>}", "{\"a\":\"x\",\"b\":{\"c\":\"y\"},\"e\":\"z\"}"},
        {BARE, "{a:b[1]}", NULL},
        {BARE, "{a:b<|\"|>c<|\"|>}", NULL},
        {BARE, "{a:Paris, France}", NULL},
        {BARE, "{a:b]", NULL},
        {BARE, "{a:}", NULL},
        {BARE, "{a:'b'}", NULL},
        {BARE, "{a:b\nc}", NULL},
        {GEMMA, "2024-01-01", NULL},
        {GEMMA, "x", NULL},
        {GEMMA, "{a}", NULL},
        {GEMMA, "{:1}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool no_memory = false;
        json_t *found = fr_literal_json(cases[i].style, cases[i].text, strlen(cases[i].text),
                                        &no_memory),
               *wanted = cases[i].json ? json_loads(cases[i].json, JSON_DECODE_ANY, NULL) : NULL;
        assert_false(no_memory);
        assert_true(!cases[i].json || wanted);
        if (!found != !wanted || (found && !json_equal(found, wanted))) {
            char *text = json_dumps(found, JSON_ENCODE_ANY);
            fail_msg("%s: %s", cases[i].text, text ? text : "none");
        }
        json_decref(found);
        json_decref(wanted);
    }
}

// The walk alone says no where the bytes cannot become a value, at `at`.
static void wrong_bytes_are_found_at_once(void **state) {
    (void)state;
    static const struct {
        unsigned style;
        const char *text;
        size_t at;
    } cases[] = {{PYTHON, "(and so on", 5},
                 {PYTHON, "(1", 1},
                 {PYTHON, "(a=and so", 6},
                 {PYTHON, "(a=1 so", 5},
                 {PYTHON, "(a={b", 4},
                 {PYTHON, "(a=1}", 4},
                 {GEMMA, "{and so, on", 7},
                 {GEMMA, "{a:and so", 6},
                 {GEMMA, "{a:<b", 4},
                 {GEMMA, "{a:1)", 4},
                 {BARE, "{a:and <so", 7},
                 {BARE, "{a:and {so", 7},
                 {GEMMA, "{a:<|\"|>b<|\"|> so", 15}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fr_literal_walk w = {.style = cases[i].style};
        size_t at = 0;
        while (cases[i].text[at] && fr_literal_step(&w, cases[i].text[at]) == FR_WALKED)
            at++;
        if (at != cases[i].at) fail_msg("%s: %zu", cases[i].text, at);
    }
}

static void nesting_keys_and_words_have_an_end(void **state) {
    (void)state;
    static const struct {
        unsigned style;
        const char *before, *again;
        size_t most;
    } cases[] = {{PYTHON, "", "[", FR_JSON_MAX_NESTING},
                 {GEMMA, "", "{a:", 3 * FR_JSON_MAX_NESTING},
                 {GEMMA, "{", "a", 300},
                 {PYTHON, "[", "1", 600},
                 {BARE, "[", "a ", 600}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fr_literal_walk w = {.style = cases[i].style};
        const size_t n = strlen(cases[i].again);
        size_t at = 0;
        for (const char *c = cases[i].before; *c; c++)
            assert_int_equal(fr_literal_step(&w, *c), FR_WALKED);
        while (at < 10000 && fr_literal_step(&w, cases[i].again[at % n]) != FR_WALKED_WRONG)
            at++;
        if (at > cases[i].most) fail_msg("%s: %zu", cases[i].again, at);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_become_json),
                                       cmocka_unit_test(wrong_bytes_are_found_at_once),
                                       cmocka_unit_test(nesting_keys_and_words_have_an_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
