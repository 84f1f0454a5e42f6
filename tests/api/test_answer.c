// What models write, cut anywhere: the same thinking, content and calls as in one piece.
#include "answer_forms.h"
#include "api/answer.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CALL(name, arguments)                                                                      \
    "<tool_call>\n{\"name\": \"" name "\", \"arguments\": " arguments "}\n</tool_call>"

typedef struct example {
    const char *text;
    bool thinks, open, tools;
    const char *chat_template;
    const char *thinking, *content;
    const char *calls[4][2]; // name, arguments
} example;

// Calls are looked for, and thinking, of which there is none; calls alone.
#define SAYS(chat_template)  true, false, true, chat_template, ""
#define CALLS(chat_template) false, false, true, chat_template, ""

static const example examples[] = {
    {"Hello there.", SAYS(HERMES), "Hello there.", {{0}}},
    {"  Hello\n", SAYS(HERMES), "  Hello\n", {{0}}},
    {"<think>\nOne and one.\n</think>\n\nTwo.",
     true,
     false,
     false,
     NULL,
     "\nOne and one.\n",
     "Two.",
     {{0}}},
    {"so it is</think>\nTwo.", true, true, false, NULL, "so it is", "Two.", {{0}}},
    {"<think>a</think>b", false, false, false, NULL, "", "<think>a</think>b", {{0}}},
    {"<think>never ends", true, false, false, NULL, "never ends", "", {{0}}},
    {"a <think>late</think>", true, false, false, NULL, "", "a <think>late</think>", {{0}}},
    {CALL("add", "{\"a\": 1, \"b\": [2, 3]}"),
     SAYS(HERMES),
     "",
     {{"add", "{\"a\":1,\"b\":[2,3]}"}}},
    {CALL("add", "{\"a\": 1234567890123456789, \"b\": -99999999999999999999999}"),
     SAYS(HERMES),
     "",
     {{"add", "{\"a\":1234567890123456789,\"b\":-99999999999999999999999}"}}},
    {CALL("add", "1234567890123456789"), SAYS(HERMES), CALL("add", "1234567890123456789"), {{0}}},
    {"I look.\n" CALL("see", "{}") "\n" CALL("go", "{\"to\": \"</tool\"}") "\n",
     SAYS(HERMES),
     "I look.\n",
     {{"see", "{}"}, {"go", "{\"to\":\"</tool\"}"}}},
    {"<think>hm</think>\n\n" CALL("see", "\"{}\""),
     true,
     false,
     true,
     HERMES,
     "hm",
     "",
     {{"see", "{}"}}},
    {CALL("see", "{}") " and so on", CALLS(HERMES), "and so on", {{"see", "{}"}}},
    {CALL("see", "{}"), false, false, false, HERMES, "", CALL("see", "{}"), {{0}}}, // no tools
    {"<tool_call>no JSON</tool_call> x", CALLS(HERMES), "<tool_call>no JSON</tool_call> x", {{0}}},
    {"<tool_call>{\"name\": 5}</tool_call>",
     CALLS(HERMES),
     "<tool_call>{\"name\": 5}</tool_call>",
     {{0}}},
    {"<tool_call>{\"name\": \"see\"}", CALLS(HERMES), "", {{"see", "{}"}}}, // cut at its end
    {"<tool_call>{\"name\": \"se", CALLS(HERMES), "<tool_call>{\"name\": \"se", {{0}}},
    {"{\"name\": \"add\", \"parameters\": {\"a\": 1}}", CALLS(LLAMA), "", {{"add", "{\"a\":1}"}}},
    {"{\"no\": \"call\"}", CALLS(LLAMA), "{\"no\": \"call\"}", {{0}}},
    {"Say {\"name\": \"add\"}", CALLS(LLAMA), "Say {\"name\": \"add\"}", {{0}}},
    {"```json\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n```",
     SAYS(HERMES),
     "",
     {{"add", "{\"a\":1}"}}},
    {"```json\n{\"name\": \"Ann\"}\n```\nDone.",
     SAYS(HERMES),
     "```json\n{\"name\": \"Ann\"}\n```\nDone.",
     {{0}}},
    {" ```js\nx\n```", SAYS(HERMES), " ```js\nx\n```", {{0}}},
    {"```json\n{\"name\": \"add\", \"arguments\": {}}", CALLS(HERMES), "", {{"add", "{}"}}},
    {CALL("write", "{\"text\": \"</tool_call> and so on\"}") CALL("see", "{}"),
     CALLS(HERMES),
     "",
     {{"write", "{\"text\":\"</tool_call> and so on\"}"}, {"see", "{}"}}},
    {"```json\n[1]\n``` " CALL("see", "{}"),
     CALLS(LLAMA),
     "```json\n[1]\n``` " CALL("see", "{}"),
     {{0}}},
    {"<tool_call>\n{{\"name\": \"see\", \"arguments\": {\"a\": {}}}}\n</tool_call>",
     CALLS(HERMES),
     "",
     {{"see", "{\"a\":{}}"}}},
    {"{\n  \"name\": \"see\",\n  \"arguments\": {\"a\": 1}\n}\n{ \"arguments\": {}, \"name\": "
     "\"f\" }",
     SAYS(HERMES),
     "",
     {{"see", "{\"a\":1}"}, {"f", "{}"}}},
    {"{\n\"names\": 1}", CALLS(HERMES), "{\n\"names\": 1}", {{0}}},
    {" {\"name\": \"see\", \"arguments\": {}}\n", SAYS(HERMES), "", {{"see", "{}"}}},
    {"{\"name\": \"Ann\"}", CALLS(HERMES), "{\"name\": \"Ann\"}", {{0}}},
    {"{\"name\": \"see\", \"arguments\": {}} is a call.",
     CALLS(HERMES),
     "{\"name\": \"see\", \"arguments\": {}} is a call.",
     {{0}}},
    {"{\"name\": \"see\", \"arguments\": {}}",
     false,
     false,
     false,
     HERMES,
     "",
     "{\"name\": \"see\", \"arguments\": {}}",
     {{0}}},
    // Mistral: a list, or a name and its arguments; several; what is none.
    {"[TOOL_CALLS] [{\"name\": \"add\", \"arguments\": {\"a\": [1, \"}]\"]}, \"id\": \"x\"}, "
     "{\"name\": \"see\"}]",
     SAYS(MISTRAL),
     "",
     {{"add", "{\"a\":[1,\"}]\"]}"}, {"see", "{}"}}},
    {"I look.[TOOL_CALLS]add[ARGS]{\"a\": {\"b\": \"\\\"}\"}}[TOOL_CALLS]see{}",
     SAYS(MISTRAL),
     "I look.",
     {{"add", "{\"a\":{\"b\":\"\\\"}\"}}"}, {"see", "{}"}}},
    {"[TOOL_CALLS]add[CALL_ID]9kQ[ARGS]{\"a\": 1} Done.",
     SAYS(NULL),
     "Done.",
     {{"add", "{\"a\":1}"}}},
    {"[TOOL_CALLS][{\"name\": \"see\"}, {\"nom\": 1}] x",
     SAYS(MISTRAL),
     "[TOOL_CALLS][{\"name\": \"see\"}, {\"nom\": 1}] x",
     {{0}}},
    {"[TOOL_CALLS] I would {\"a\": 1}", SAYS(MISTRAL), "[TOOL_CALLS] I would {\"a\": 1}", {{0}}},
    {"[TOOL_CALLS]add{\"a\": ", SAYS(MISTRAL), "[TOOL_CALLS]add{\"a\": ", {{0}}},
    {"[TOOL_CALLS]add{\"a\": 12345678901234567890}",
     SAYS(MISTRAL),
     "",
     {{"add", "{\"a\":12345678901234567890}"}}},
    {"[TOOL_CALLS]see{}", true, false, false, MISTRAL, "", "[TOOL_CALLS]see{}", {{0}}}, // no tools
    {"a [TOOL", SAYS(MISTRAL), "a [TOOL", {{0}}},
    // Llama 3's tag: objects, Python, other text.
    {"<|python_tag|>{\"name\": \"add\", \"parameters\": {\"a\": 1}}; {\"name\": \"see\", "
     "\"parameters\": {}}",
     SAYS(LLAMA),
     "",
     {{"add", "{\"a\":1}"}, {"see", "{}"}}},
    {"So:<|python_tag|>web.find.call(query=\"a, b)\", n=3, deep=True, by='x', of=[1, {\"k\": 2}])",
     SAYS(LLAMA),
     "So:",
     {{"web.find",
       "{\"query\":\"a, b)\",\"n\":3,\"deep\":true,\"by\":\"x\",\"of\":[1,{\"k\":2}]}"}}},
    {"<|python_tag|>f.call(n=1234567890123456789, m=12345678901234567890)",
     SAYS(LLAMA),
     "",
     {{"f", "{\"n\":1234567890123456789,\"m\":12345678901234567890}"}}},
    {"<|python_tag|>f.call()", SAYS(LLAMA), "", {{"f", "{}"}}},
    {"<|python_tag|>f.call(gr\u00f6\u00dfe=1, \u4e2d=2)",
     SAYS(LLAMA),
     "",
     {{"f", "{\"gr\u00f6\u00dfe\":1,\"\u4e2d\":2}"}}},
    {"<|python_tag|>print(1)", SAYS(LLAMA), "<|python_tag|>print(1)", {{0}}},
    {"<|python_tag|>f.call(a=)", SAYS(LLAMA), "<|python_tag|>f.call(a=)", {{0}}},
    {"<|python_tag|>{\"name\": \"see\"}; {\"nom\": 2}",
     SAYS(LLAMA),
     "<|python_tag|>{\"name\": \"see\"}; {\"nom\": 2}",
     {{0}}},
    // Harmony.
    {"<|channel|>analysis<|message|>One and "
     "one.<|end|><|start|>assistant<|channel|>final<|message|>Two <b>.",
     true,
     false,
     false,
     HARMONY,
     "One and one.",
     "Two <b>.",
     {{0}}},
    {"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>I "
     "look.<|end|>"
     "<|start|>assistant<|channel|>commentary to=functions.add <|constrain|>json<|message|>{\"a\": "
     "\"<|\"}<|call|>",
     true,
     false,
     true,
     HARMONY,
     "hm",
     "I look.",
     {{"add", "{\"a\":\"<|\"}"}}},
    {" to=functions.see<|channel|>commentary json<|message|>{}",
     SAYS(HARMONY),
     "",
     {{"see", "{}"}}},
    {"<|channel|>commentary to=functions.see<|message|>no JSON<|call|>",
     SAYS(HARMONY),
     "<|channel|>commentary to=functions.see<|message|>no JSON<|call|>",
     {{0}}},
    {"<|channel|>commentary to=functions.see<|message|>{}<|call|>", // no tools
     true,
     false,
     false,
     HARMONY,
     "",
     "<|channel|>commentary to=functions.see<|message|>{}<|call|>",
     {{0}}},
    {"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Two.",
     CALLS(HARMONY),
     "<|channel|>analysis<|message|>hm<|end|>\n\nTwo.",
     {{0}}},
    {"<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>analysis<|message|>b",
     true,
     false,
     true,
     HARMONY,
     "a\n\nb",
     "",
     {{0}}},
    {"Hello <|there|>.<|end|>\n", SAYS(HARMONY), "Hello <|there|>.", {{0}}},
    {"<|channel|>fin", SAYS(HARMONY), "", {{0}}},
    {"Two.<|end|><|start|>assistant<|channel|>final<|message|>Three.",
     SAYS(HARMONY),
     "Two.\n\nThree.",
     {{0}}},
    {"<|channel|>analysis to=functions.see<|message|>{}<|end|>", // no tools
     true,
     false,
     false,
     HARMONY,
     "",
     "<|channel|>analysis to=functions.see<|message|>{}<|end|>",
     {{0}}},
    // What models write instead of an object.
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": null}\n</tool_call>",
     CALLS(HERMES),
     "",
     {{"f", "{}"}}},
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": null, \"parameters\": {\"a\": "
     "1}}\n</tool_call>",
     CALLS(HERMES),
     "",
     {{"f", "{\"a\":1}"}}},
    // Line breaks and keys as JSON does not have them.
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"x\ny\t\\n\"}}\n</tool_call>",
     CALLS(HERMES),
     "",
     {{"f", "{\"a\":\"x\\ny\\t\\n\"}"}}},
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1, \"a\": 2}}\n</tool_call>",
     CALLS(HERMES),
     "",
     {{"f", "{\"a\":2}"}}},
    {"<tool_call>\n{\"name\": \"g\", \"name\": \"f\", \"arguments\": {}, \"arguments\": {\"a\": "
     "1}}\n</tool_call>",
     CALLS(HERMES),
     "",
     {{"f", "{\"a\":1}"}}},
    // Arguments in a string.
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": \\\"x\\\"}\"}\n</tool_call>",
     CALLS(HERMES),
     "",
     {{"f", "{\"a\":\"x\"}"}}},
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": \" \"}\n</tool_call>",
     CALLS(HERMES),
     "",
     {{"f", "{}"}}},
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": \"null\"}\n</tool_call>",
     CALLS(HERMES),
     "",
     {{"f", "{}"}}},
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": \"hello\"}\n</tool_call>",
     CALLS(HERMES),
     "<tool_call>\n{\"name\": \"f\", \"arguments\": \"hello\"}\n</tool_call>",
     {{0}}},
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": \"[1]\"}\n</tool_call>",
     CALLS(HERMES),
     "<tool_call>\n{\"name\": \"f\", \"arguments\": \"[1]\"}\n</tool_call>",
     {{0}}},
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": [1]}\n</tool_call>",
     CALLS(HERMES),
     "<tool_call>\n{\"name\": \"f\", \"arguments\": [1]}\n</tool_call>",
     {{0}}},
    {"<tool_call>\n{\"name\": \"\", \"arguments\": {}}\n</tool_call>",
     CALLS(HERMES),
     "<tool_call>\n{\"name\": \"\", \"arguments\": {}}\n</tool_call>",
     {{0}}},
    // Several calls between two marks.
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n{\"name\": \"f\", \"arguments\": "
     "{\"a\": 2}}\n</tool_call>",
     CALLS(HERMES),
     "",
     {{"f", "{\"a\":1}"}, {"f", "{\"a\":2}"}}},
    {"<tool_call>{\"name\": \"f\", \"arguments\": {}}{\"name\": \"g\", \"arguments\": {}}, "
     "{\"name\": \"h\", \"arguments\": {}}</tool_call>",
     CALLS(HERMES),
     "",
     {{"f", "{}"}, {"g", "{}"}, {"h", "{}"}}},
    {"<tool_call>\n[{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\", \"arguments\": "
     "{}}]\n</tool_call>",
     CALLS(HERMES),
     "",
     {{"f", "{}"}, {"g", "{}"}}},
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n{\"nom\": 1}\n</tool_call>",
     CALLS(HERMES),
     "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n{\"nom\": 1}\n</tool_call>",
     {{0}}},
    {"```json\n{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"g\", \"arguments\": "
     "{}}\n```\nDone.",
     CALLS(HERMES),
     "Done.",
     {{"f", "{}"}, {"g", "{}"}}},
    // A mark that is mentioned, or whose call is broken, and a call after it.
    {"I will use <tool_call> now:\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": "
     "1}}\n</tool_call>",
     CALLS(HERMES),
     "I will use <tool_call> now:\n",
     {{"f", "{\"a\":1}"}}},
    {"`<tool_call>{\"name\"`: <tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>",
     CALLS(HERMES),
     "`<tool_call>{\"name\"`: ",
     {{"f", "{}"}}},
    // A string without an end: the next quote is its end, so that it holds the next mark.
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": "
     "\"x}}\n</tool_call>\nAgain:\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": "
     "\"x\"}}\n</tool_call>",
     CALLS(HERMES),
     "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"x}}\n</tool_call>\nAgain:\n"
     "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}}\n</tool_call>",
     {{0}}},
    {"<tool_call>\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>",
     CALLS(HERMES),
     "<tool_call>\n",
     {{"f", "{}"}}},
    // An end mark that is missing, or cut off.
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n<tool_call>\n{\"name\": \"g\", "
     "\"arguments\": {}}\n</tool_call>",
     CALLS(HERMES),
     "",
     {{"f", "{}"}, {"g", "{}"}}},
    {"<tool_call>{\"name\": \"f\", \"arguments\": {}}\n</tool", CALLS(HERMES), "", {{"f", "{}"}}},
    // Marks in arguments.
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"<tool_call> {} "
     "</tool_call>\"}}\n</tool_call>",
     CALLS(HERMES),
     "",
     {{"f", "{\"a\":\"<tool_call> {} </tool_call>\"}"}}},
    // White space in front of what is no call.
    {"\n<tool_call> begins a call.", CALLS(HERMES), "\n<tool_call> begins a call.", {{0}}},
    {"<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n\n<tool_call> began it.",
     CALLS(HERMES),
     "<tool_call> began it.",
     {{"f", "{}"}}},
    // The same in other forms.
    {"[TOOL_CALLS] is a mark. [TOOL_CALLS]f{\"a\": \"x\ny\", \"a\": \"z\"}",
     CALLS(MISTRAL),
     "[TOOL_CALLS] is a mark. ",
     {{"f", "{\"a\":\"z\"}"}}},
    {"[TOOL_CALLS]f[ARGS]null[TOOL_CALLS]{\"name\": \"g\", \"arguments\": \"{}\"}",
     CALLS(MISTRAL),
     "",
     {{"f", "{}"}, {"g", "{}"}}},
    {"[TOOL_CALLS][{\"name\": \"f\", \"arguments\": null}, {\"name\": \"g\", \"arguments\": "
     "{\"a\": \"\n\"}}]",
     CALLS(MISTRAL),
     "",
     {{"f", "{}"}, {"g", "{\"a\":\"\\n\"}"}}},
    {"Use <|python_tag|>print(1)<|python_tag|>{\"name\": \"f\", \"arguments\": null}",
     CALLS(LLAMA),
     "Use <|python_tag|>print(1)",
     {{"f", "{}"}}},
    {"<|python_tag|>f.call(a=\"x\ny\")<|python_tag|>g.call()",
     CALLS(LLAMA),
     "",
     {{"f", "{\"a\":\"x\\ny\"}"}, {"g", "{}"}}},
    {"{\"type\": \"function\", \"name\": \"f\", \"parameters\": null}",
     CALLS(LLAMA),
     "",
     {{"f", "{}"}}},
    {"{\"name\": \"f\", \"parameters\": \"hello\"}",
     CALLS(LLAMA),
     "{\"name\": \"f\", \"parameters\": \"hello\"}",
     {{0}}},
    {"<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": \"x\ny<|end|>\", "
     "\"b\": 1, \"b\": 2}<|call|>",
     CALLS(HARMONY),
     "",
     {{"f", "{\"a\":\"x\\ny<|end|>\",\"b\":2}"}}},
    {"<|channel|>commentary to=functions.f <|constrain|>json<|message|>null<|call|>",
     CALLS(HARMONY),
     "",
     {{"f", "{}"}}},
    {"<|channel|>commentary to=functions.f <|constrain|>json<|message|><|call|>",
     CALLS(HARMONY),
     "",
     {{"f", "{}"}}},
    {"<|channel|>commentary to=functions.f <|constrain|>json<|message|>\"hello\"<|call|>",
     CALLS(HARMONY),
     "<|channel|>commentary to=functions.f <|constrain|>json<|message|>\"hello\"<|call|>",
     {{0}}},
    {"<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": \"x}<|call|>",
     CALLS(HARMONY),
     "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": \"x}<|call|>",
     {{0}}},
    {"a < b <tool", CALLS(HERMES), "a < b <tool", {{0}}},
    {"", SAYS(HERMES), "", {{0}}},
};

// Arguments are a JSON object, of which clients make what they want.
static void expect_object(const char *arguments) {
    fr_error err;
    json_t *object = fr_json_load(arguments, strlen(arguments), &err);
    if (!json_is_object(object)) fail_msg("arguments %s", arguments);
    json_decref(object);
}

static void expect(const example *e, const fr_api_answer *a) {
    const fr_buffer *t = &a->thinking, *c = &a->content;
    if (strlen(e->thinking) != t->n || (t->n && memcmp(t->data, e->thinking, t->n)))
        fail_msg("%s: thinking %.*s", e->text, (int)t->n, t->data);
    if (strlen(e->content) != c->n || (c->n && memcmp(c->data, e->content, c->n)))
        fail_msg("%s: content %.*s", e->text, (int)c->n, c->data);
    int n = 0;
    for (; e->calls[n][0]; n++) {
        if (n >= a->n_calls) fail_msg("%s: %d calls", e->text, n);
        assert_string_equal(a->call[n].name, e->calls[n][0]);
        assert_string_equal(a->call[n].arguments, e->calls[n][1]);
        expect_object(a->call[n].arguments);
    }
    assert_int_equal(n, a->n_calls);
    assert_int_equal(a->held.n, 0);
}

// Pieces of these sizes in turn.
static void take(const example *e, int first, int then) {
    fr_api_answer a;
    fr_error err;
    size_t at = 0, n = strlen(e->text);
    fr_api_answer_open(&a, e->thinks, e->open, e->tools, e->chat_template);
    for (size_t piece = (size_t)first; at < n; at += piece, piece = (size_t)then) {
        if (piece > n - at) piece = n - at;
        const size_t before = a.content.n;
        assert_int_equal(fr_api_answer_push(&a, e->text + at, piece, &err), FR_OK);
        assert_true(a.content.n >= before);
    }
    assert_int_equal(fr_api_answer_finish(&a, &err), FR_OK);
    expect(e, &a);
    fr_api_answer_close(&a);
}

static void any_cut_gives_the_same(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        take(&examples[i], 1000, 1000);
        take(&examples[i], 1, 1);
        for (int first = 1; first < (int)strlen(examples[i].text); first++) {
            take(&examples[i], first, 1000);
            take(&examples[i], first, 1 + first % 3);
        }
    }
}

// What is sure to be content is there at once.
static void content_is_not_held_back_for_nothing(void **state) {
    (void)state;
    fr_api_answer a;
    fr_error err;
    fr_api_answer_open(&a, true, false, true, HERMES);
    assert_int_equal(fr_api_answer_push(&a, "Two and", 7, &err), FR_OK);
    assert_int_equal(a.content.n, 7);
    assert_int_equal(fr_api_answer_push(&a, " <to", 4, &err), FR_OK);
    assert_int_equal(a.content.n, 8);
    assert_int_equal(fr_api_answer_push(&a, "day>", 4, &err), FR_OK);
    assert_int_equal(a.content.n, 15);
    fr_api_answer_close(&a);
}

// Bytes of thinking, its marks among them, wherever the text is cut.
static void thinking_has_a_place_in_the_text(void **state) {
    (void)state;
    static const struct {
        const char *text, *chat_template;
        bool open;
        size_t from, to;
    } cases[] = {
        {"<think>hm</think> Two.", HERMES, false, 0, 17},
        {"\n<think>hm</think> Two.", HERMES, false, 0, 18},
        {"hm</think> Two.", HERMES, true, 0, 10},
        {"hm never", HERMES, true, 0, SIZE_MAX},
        {"<|channel|>analysis<|message|>hm<|end|><|start|>assistant", HARMONY, false, 0, 39},
        {"a<|end|><|channel|>analysis<|message|>hm", HARMONY, false, 8, SIZE_MAX}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t piece = 1; piece <= strlen(cases[i].text); piece++) {
            fr_api_answer a;
            fr_error err;
            fr_api_answer_open(&a, true, cases[i].open, true, cases[i].chat_template);
            for (size_t at = 0, n; at < strlen(cases[i].text); at += n) {
                n = strnlen(cases[i].text + at, piece);
                assert_int_equal(fr_api_answer_push(&a, cases[i].text + at, n, &err), FR_OK);
            }
            assert_int_equal(fr_api_answer_finish(&a, &err), FR_OK);
            assert_int_equal(a.n_thoughts, 1);
            assert_true(a.thought[0].from == cases[i].from && a.thought[0].to == cases[i].to);
            fr_api_answer_close(&a);
        }
    }
}

// Where a client takes one call alone, those behind it are neither calls nor content.
static void one_call_is_the_first(void **state) {
    (void)state;
    static const char *const texts[] = {
        "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>"
        "<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>",
        "[TOOL_CALLS][{\"name\":\"f\",\"arguments\":{}},{\"name\":\"g\",\"arguments\":{}}]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int one = 0; one < 2; one++) {
            fr_api_answer a;
            fr_error err;
            fr_api_answer_open(&a, true, false, true, NULL);
            a.one_call = one;
            assert_int_equal(fr_api_answer_push(&a, texts[i], strlen(texts[i]), &err), FR_OK);
            assert_int_equal(fr_api_answer_finish(&a, &err), FR_OK);
            assert_int_equal(a.n_calls, one ? 1 : 2);
            assert_string_equal(a.call[0].name, "f");
            assert_int_equal(a.content.n, 0);
            fr_api_answer_close(&a);
        }
    }
}

// JSON without a mark is a call where it names a tool; with one it is in any case.
static void json_without_a_mark_calls_tools_alone(void **state) {
    (void)state;
    static const struct {
        const char *text, *chat_template;
        int n_calls;
    } cases[] = {{"{\"name\": \"Alice\", \"age\": 30}", LLAMA, 0},
                 {"{\"name\": \"add\", \"parameters\": {}}", LLAMA, 1},
                 {"{\"name\": \"add\"}; {\"name\": \"add\"}", LLAMA, 2},
                 {"{\"name\": \"add\"}; {\"name\": \"Alice\"}", LLAMA, 0},
                 {"{\"name\": \"sort\", \"arguments\": {}}", HERMES, 0},
                 {"```json\n{\"name\": \"sort\", \"arguments\": {}}\n```", HERMES, 0},
                 {"```json\n{\"name\": \"add\", \"arguments\": {}}\n```", HERMES, 1},
                 {CALL("sort", "{}"), HERMES, 1},
                 {"<|python_tag|>{\"name\": \"sort\", \"parameters\": {}}", LLAMA, 1}};
    json_t *tools = json_pack("[{s:s, s:{s:s}}]", "type", "function", "function", "name", "add");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t n = strlen(cases[i].text);
        fr_api_answer a;
        fr_error err;
        fr_api_answer_open(&a, true, false, true, cases[i].chat_template);
        a.offered = tools;
        assert_int_equal(fr_api_answer_push(&a, cases[i].text, n, &err), FR_OK);
        assert_int_equal(fr_api_answer_finish(&a, &err), FR_OK);
        assert_int_equal(a.n_calls, cases[i].n_calls);
        assert_int_equal(a.content.n, cases[i].n_calls ? 0 : n);
        fr_api_answer_close(&a);
    }
    json_decref(tools);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_cut_gives_the_same),
                                       cmocka_unit_test(content_is_not_held_back_for_nothing),
                                       cmocka_unit_test(thinking_has_a_place_in_the_text),
                                       cmocka_unit_test(one_call_is_the_first),
                                       cmocka_unit_test(json_without_a_mark_calls_tools_alone)};
    return cmocka_run_group_tests_name("api/answer", tests, NULL, NULL);
}
