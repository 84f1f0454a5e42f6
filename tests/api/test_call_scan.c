// What may become a call is held back no longer than it may, and is read a few times at most.
#include "answer_forms.h"
#include "api/answer.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TAGS   "... <tool_call> ... <parameter= ..."
#define GLM    "... <tool_call> ... <arg_key> ..."
#define GEMMA  "... <|tool_call> ..."
#define HEADED "... <｜tool▁call▁begin｜> ..."

static void expect_held(const char *text, const char *chat_template, size_t most,
                        const json_t *tools) {
    fr_api_answer a;
    fr_error err;
    fr_api_answer_open(&a, true, false, true, chat_template);
    a.offered = tools;
    for (const char *at = text; *at; at++) {
        assert_int_equal(fr_api_answer_push(&a, at, 1, &err), FR_OK);
        if (a.held.n > most) fail_msg("%s: %zu bytes held", text, a.held.n);
    }
    if (a.held.n > 1) fail_msg("%s: %zu bytes held at its end", text, a.held.n);
    assert_int_equal(fr_api_answer_finish(&a, &err), FR_OK);
    assert_int_equal(a.n_calls, 0);
    assert_int_equal(a.content.n, strlen(text));
    assert_memory_equal(a.content.data, text, a.content.n);
    fr_api_answer_close(&a);
}

// A text that cannot become a call is content at once, from its mark on. Held back are at most the bytes
// up to the one that decides it.
static void what_can_be_no_call_is_given_at_once(void **state) {
    (void)state;
    static const struct {
        const char *text, *chat_template;
        size_t held; // at most
    } cases[] = {
        {"Models write <tool_call> and then JSON. This is a long answer, which goes on.", HERMES,
         12},
        {"<tool_call>\n<function=f> as others do, and so on, and so on, and so on.", HERMES, 12},
        {"<tool_call>{name, arguments}</tool_call> is the form, and so on, and on.", HERMES, 12},
        {"<tool_call>{\"name\": 5, \"arguments\": \"and so on and so on\"}", HERMES, 20},
        {"<tool_call>{\"name\": \"f\", \"arguments\": [1, 2, 3, 4, 5, 6, 7, 8]}", HERMES, 38},
        {"<tool_call>{\"nom\": 1}\nand so on, and so on, and so on", HERMES, 20},
        {"<tool_call>{\"name\": \"f\"} and so on, and so on, and so on", HERMES, 25},
        {"<tool_call>{\"name\": \"f\"}</tool> and so on, and so on, and so on", HERMES, 31},
        {"{\"names\": [\"and\", \"so\", \"on\", \"and\", \"so\", \"on\"]}", HERMES, 8},
        {"{\"title\": \"and so on and so on and so on\"}", LLAMA, 8},
        {"{\"name\": \"Alice\", \"age\": 30, \"and\": \"so on and so on\"}", LLAMA, 15},
        {"{{ a }} and so on, and so on, and so on", LLAMA, 3},
        {"```json\n[1, 2, 3, 4, 5, 6, 7, 8]\n```\nand so on, and so on", HERMES, 9},
        {"```json\n{\"name\": \"Ann\", \"and\": \"so on and so on\"}\n```", HERMES, 21},
        {"[TOOL_CALLS] is a mark, and so on, and so on, and so on", MISTRAL, 16},
        {"[TOOL_CALLS]f[ARGS] and so on, and so on, and so on", MISTRAL, 20},
        {"<|python_tag|>print(\"and so on, and so on, and so on\")", LLAMA, 19},
        {"<|python_tag|>f.call(a=and so on, and so on, and so on", LLAMA, 27},
        {"<|channel|>commentary to=functions.see<|message|>I see <what> there is, and so on",
         HARMONY, 49},
        {"<|channel|>commentary to=functions.see<|message|>{} and so on, and so on", HARMONY, 52},
    };
    // Forms of which the template tells.
    static const struct {
        const char *text, *chat_template;
        size_t held;
    } others[] = {
        {"<tool_call>\n<function=f> as others do, and so on, and so on", TAGS, 26},
        {"<tool_call>\n<parameter=f> as others do, and so on, and so on", TAGS, 15},
        {"<function=and so on, and so on, and so on>", TAGS, 15},
        {"<function=f>\n<parameter=a\nb and so on", TAGS, 26},
        {"<tool_call>and so on, and so on, and so on", GLM, 16},
        {"<tool_call>f<arg_key>a</arg_key> and so on", GLM, 34},
        {"<tool_call>f<arg_key></arg_key> and so on", GLM, 23},
        {"<|tool_call>call:f and so on, and so on", GEMMA, 20},
        {"<|tool_call>calls and so on, and so on", GEMMA, 17},
        {"<|tool_call>call:f{a:1} and so on, and so on", GEMMA, 26},
        {"<|tool_call>call:f{a:b c:2} and so on, and so on", GEMMA, 29},
        {"<|tool_call>call:g{a:b c:2} and so on, and so on", GEMMA, 23},
        {"<|tool_call_start|>[f(1)] and so on, and so on", LFM2, 24},
        {"<|tool_call_start|>[f(a=1), and so on, and so on", LFM2, 33},
        {"<|tool_call_start|>[f(a=1) so on, and so on", LFM2, 31},
        {"<｜tool▁calls▁begin｜> and so on, and so on", HEADED, 29},
        {"<｜tool▁call▁begin｜>and so on, and so on", HEADED, 31},
        {"<｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1} so, and so on", HEADED, 60},
    };
    json_t *tools =
        json_pack("[{s:{s:s}}, {s:{s:s}}]", "function", "name", "f", "function", "name", "see");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_held(cases[i].text, cases[i].chat_template, cases[i].held, tools);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect_held(others[i].text, others[i].chat_template, others[i].held, tools);
    json_decref(tools);
}

// However often a mark comes, no byte is looked at as a call more than a few times.
static void the_work_grows_with_the_text(void **state) {
    (void)state;
    static const char *const parts[] = {"<tool_call>",
                                        "<tool_call>{\"",
                                        "<tool_call>{\"a\":\"",
                                        "<tool_call>{\"name\":\"f",
                                        "<tool_call>{\"a\":[\"\",\"",
                                        "<|python_tag|>f.call(a=\"",
                                        "<|python_tag|>f.call(a='\",b='",
                                        "<tool_call>{\"a\":\"<|python_tag|>f.call(a='\",\"b\":\"'",
                                        "[TOOL_CALLS]f{\"a\":\"",
                                        "[TOOL_CALLS]f[ARGS]{\"a\":{\"b\":\"<tool_call>{\"c\":\"",
                                        "<tool_call>{\"name\":\"f\"}",
                                        "[TOOL_CALLS]f{}",
                                        "\n"};
    enum { BYTES = 20000 };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (size_t piece = 1; piece <= BYTES; piece *= BYTES) {
            char text[BYTES];
            for (size_t at = 0; at < BYTES; at++)
                text[at] = parts[i][at % strlen(parts[i])];
            fr_api_answer a;
            fr_error err;
            fr_api_answer_open(&a, true, false, true, NULL);
            for (size_t at = 0; at < BYTES; at += piece)
                assert_int_equal(fr_api_answer_push(&a, text + at, piece, &err), FR_OK);
            assert_int_equal(fr_api_answer_finish(&a, &err), FR_OK);
            if (a.scanned > 3 * BYTES) fail_msg("%s: %zu bytes scanned", parts[i], a.scanned);
            fr_api_answer_close(&a);
        }
    }
}

// The same for forms whose values may contain any mark: there the number of tries has a bound.
static void the_work_has_a_bound_in_every_form(void **state) {
    (void)state;
    static const struct {
        const char *chat_template, *again, *last;
    } cases[] = {
        {TAGS, "<tool_call><function=f><parameter=a>", ""},
        {TAGS, "<tool_call><function=f><parameter=a>", "</parameter></function> x"},
        {TAGS, "<function=f><parameter=a>", "</parameter><parameter=b></parameter></function>"},
        {TAGS, "<tool_call><function=f><parameter=a></parameter>", "x"},
        {TAGS, "<function=f><parameter=a></parameter>     ", "x"},
        {TAGS, "<tool_call>\n", ""},
        {GLM, "<tool_call>f<arg_key>a</arg_key><arg_value>", ""},
        {GLM, "<tool_call>f<arg_key>a</arg_key><arg_value>", "</arg_value>x"},
        {GLM, "<tool_call>f", "</tool_call>"},
        {GEMMA, "<|tool_call>call:f{a:<|\"|>", ""},
        {GEMMA, "<|tool_call>call:f{a:\"<|\"|>", "x"},
        {GEMMA, "<|tool_call>call:f{a:[{b:", ""},
        {LFM2, "<|tool_call_start|>[f(a='", ""},
        {LFM2, "<|tool_call_start|>[f(a='", "'), g()] x"},
        {LFM2, "<|tool_call_start|>[f(a=\"", "'"},
        {NULL, "<|python_tag|>f.call(a='<|tool_call_start|>[f(a='", ""},
        {HEADED, "<｜tool▁calls▁begin｜>", ""},
        {HEADED, "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\":\"", "\""},
        {HEADED, "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\":\"", "\"x"},
    };
    enum { BYTES = 20000, MOST = 5 };
    static char text[BYTES + 100];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t piece = 1; piece <= BYTES; piece *= BYTES) {
            size_t n = 0;
            fr_api_answer a;
            fr_error err;
            while (n < BYTES)
                n += (size_t)snprintf(text + n, sizeof text - n, "%s", cases[i].again);
            n += (size_t)snprintf(text + n, sizeof text - n, "%s", cases[i].last);
            fr_api_answer_open(&a, true, false, true, cases[i].chat_template);
            for (size_t at = 0; at < n; at += piece)
                assert_int_equal(
                    fr_api_answer_push(&a, text + at, piece < n - at ? piece : n - at, &err),
                    FR_OK);
            assert_int_equal(fr_api_answer_finish(&a, &err), FR_OK);
            if (a.scanned > MOST * n) fail_msg("%s: %zu bytes scanned", text, a.scanned);
            fr_api_answer_close(&a);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_can_be_no_call_is_given_at_once),
                                       cmocka_unit_test(the_work_grows_with_the_text),
                                       cmocka_unit_test(the_work_has_a_bound_in_every_form)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
