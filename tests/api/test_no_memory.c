// Memory that Jansson misses while a body becomes a prompt, or an answer is taken apart, is FR_ENOMEM:
// nothing is left out of the prompt, no call becomes content, and nothing leaks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "answer_forms.h"
#include "api/answer.h"
#include "api_world.h"

static long held, calls, fails_at; // blocks; calls since a reset; the one that fails, 0: none

static void *take(size_t bytes) {
    void *p = ++calls == fails_at ? NULL : malloc(bytes);
    held += p != NULL;
    return p;
}

static void give(void *p) {
    held -= p != NULL;
    free(p);
}

// No tool whose schema is parsed: a long string in it, which Jansson's lexer has no memory for, is cut.
#define U    "{\"role\":\"user\",\"content\":\"hi\"}"
#define TEXT "{\"type\":\"text\",\"text\":\"a\"}"
static const struct {
    const char *json;
    fr_api_translator *translate;
} bodies[] = {
    {"{\"system\":[" TEXT "],\"messages\":[" U ",{\"role\":\"assistant\",\"content\":["
     "{\"type\":\"thinking\",\"thinking\":\"so\"}," TEXT ",{\"type\":\"tool_use\",\"id\":\"t\","
     "\"name\":\"f\",\"input\":{\"a\":1}},{\"type\":\"web_search_tool_result\",\"tool_use_id\":"
     "\"t\",\"content\":[1]}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
     "\"tool_use_id\":\"t\",\"content\":[" TEXT ",{\"type\":\"image\"}]},{\"type\":\"document\","
     "\"source\":{\"type\":\"text\",\"data\":\"d\"}}]}," U "],\"tools\":["
     "{\"name\":\"f\",\"description\":\"x\",\"input_schema\":{}}],\"thinking\":"
     "{\"type\":\"enabled\"},\"tool_choice\":{\"type\":\"auto\",\"disable_parallel_tool_use\":true}"
     "}",
     fr_api_from_anthropic},
    {"{\"instructions\":\"be\",\"input\":[{\"type\":\"reasoning\",\"summary\":\"so\"},{\"type\":"
     "\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"},{\"type\":"
     "\"function_call_output\",\"call_id\":\"a\",\"output\":[{\"type\":\"input_image\"}]},{"
     "\"type\":"
     "\"custom_tool_call\",\"call_id\":\"b\",\"name\":\"g\",\"input\":\"x\"},{\"type\":"
     "\"local_shell_call\",\"call_id\":\"c\",\"action\":{\"a\":1}},{\"type\":\"shell_call\","
     "\"call_id\":\"d\"},{\"type\":\"shell_call_output\",\"call_id\":\"d\",\"output\":[1]}," U
     "],\"tools\":[{\"type\":\"function\",\"name\":\"g\",\"description\":\"x\"}],\"tool_choice\":"
     "{\"type\":\"allowed_tools\",\"tools\":[{\"type\":\"function\",\"name\":\"g\"}]}}",
     fr_api_from_responses},
    {"{\"messages\":[{\"role\":\"developer\",\"content\":\"be\"}," U
     ",{\"role\":\"assistant\",\"content\":\"so\",\"function_call\":{\"name\":\"f\",\"arguments\":"
     "{}}},{\"role\":\"function\",\"content\":\"b\"}," U "," U
     ",{\"role\":\"assistant\",\"content\":[" TEXT "]}],\"reasoning_effort\":\"low\"}",
     NULL},
};

// Turns alternate, calls come alone and one by one, and ids have nine letters.
static const char strict[] =
    "{% for m in messages %}{% if m.role == 'system' or (m.role == 'user' and not loop.first and "
    "messages[loop.index0 - 1].role == 'user') or (m.tool_calls and (m.content or m.tool_calls | "
    "length > 1)) or (m.role == 'tool' and m.tool_call_id | length != 9) %}"
    "{{ raise_exception('no') }}{% endif %}[{{ m.content }}{% for c in m.tool_calls %}"
    "{% if c.id | length != 9 %}{{ raise_exception('id') }}{% endif %}"
    "{{ c.function.arguments | tojson }}{% endfor %}]{% endfor %}{{ tools }}";

// The prompt's ids, of a copy of the body.
static fr_status prompt_of(const json_t *body, fr_api_translator *translate, fr_ids *ids) {
    const fr_api_defaults usual = fr_api_usual(1);
    fr_api_request r = {0};
    err = (fr_error){0};
    calls = 0;
    json_t *own = translate ? translate(body, NULL, &err) : fr_json_copy(body);
    if (!own) return translate ? err.code : FR_ENOMEM;
    fr_status st = fr_api_parse_value(&r, FR_API_CHAT, own, &usual, &err);
    if (!st) st = fr_api_encode(&r, &model, &err);
    for (size_t i = 0; !st && i < r.prompt[0].n; i++)
        st = fr_ids_push(ids, r.prompt[0].data[i], &err);
    fr_api_close(&r);
    return st;
}

static void check_all(void) {
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        fr_ids right = {0};
        fails_at = 0;
        json_t *body = fr_json_load(bodies[i].json, strlen(bodies[i].json), &err);
        if (!body || prompt_of(body, bodies[i].translate, &right))
            fail_msg("body %zu: %s", i, err.text);
        const long before = held, all = calls;
        for (fails_at = 1; fails_at <= all; fails_at++) {
            fr_ids ids = {0};
            const fr_status st = prompt_of(body, bodies[i].translate, &ids);
            if (held != before)
                fail_msg("body %zu, call %ld: %ld leak", i, fails_at, held - before);
            if (st && st != FR_ENOMEM) fail_msg("body %zu, call %ld: %s", i, fails_at, err.text);
            if (!st && (ids.n != right.n || memcmp(ids.data, right.data, ids.n * sizeof *ids.data)))
                fail_msg("body %zu, call %ld: another prompt", i, fails_at);
            fr_ids_free(&ids);
        }
        json_decref(body);
        fr_ids_free(&right);
    }
    fails_at = 0;
}

static void missing_memory_is_said(void **state) {
    (void)state;
    fr_chat_template own = {0};
    const fr_chat_template *const usual = model.chat;
    check_all();
    assert_int_equal(fr_chat_open(&own, strict, sizeof strict - 1, &err), FR_OK);
    model.chat = &own;
    check_all();
    model.chat = usual;
    fr_chat_close(&own);
}

// Two calls each.
static const struct {
    const char *text, *chat_template, *arguments; // of the first
} answers[] = {
    {"<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call><tool_call>{\"name\": "
     "\"g\", "
     "\"arguments\": \"{\\\"a\\\": []}\"}</tool_call>",
     HERMES, "{\"a\":1}"},
    {"{\"name\": \"f\"}; {\"name\": \"g\", \"parameters\": null}", LLAMA, "{}"},
    {"[TOOL_CALLS]f[ARGS]null[TOOL_CALLS]g{\"a\": {}}", MISTRAL, "{}"},
    {"<|python_tag|>f.call(a=1, b=[2])<|python_tag|>g.call()", LLAMA, "{\"a\":1,\"b\":[2]}"},
    {"<|channel|>commentary to=functions.f<|message|>{\"a\": "
     "1}<|call|><|start|>assistant<|channel|>"
     "commentary to=functions.g<|message|><|call|>",
     HARMONY, "{\"a\":1}"},
    {"<tool_call><function=f><parameter=a>{\"b\": [1]}</parameter><parameter=c>[1, 'x']</parameter>"
     "<parameter=d>text</parameter></function></tool_call><function=g></function>",
     "<tool_call> <parameter=", "{\"a\":{\"b\":[1]},\"c\":\"[1, 'x']\",\"d\":\"text\"}"},
    {"<|tool_call>call:f{a:<|\"|>x\"<|\"|>,b:[None,{c:1}]}<tool_call|><|tool_call>call:g{}<tool_"
     "call|>",
     "<|tool_call>", "{\"a\":\"x\\\"\",\"b\":[null,{\"c\":1}]}"},
    {"<|tool_call_start|>[f(a='it's', b=[True]), g()]<|tool_call_end|>", LFM2,
     "{\"a\":\"it's\",\"b\":[true]}"},
    {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜>"
     "<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜>",
     "<｜tool▁call▁begin｜>", "{\"a\":1}"},
};

static void no_call_becomes_content(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        const long before = held;
        bool enough = false;
        for (fails_at = 1; !enough; fails_at++) {
            fr_api_answer a;
            calls = 0;
            fr_api_answer_open(&a, true, false, true, answers[i].chat_template);
            fr_status st = fr_api_answer_push(&a, answers[i].text, strlen(answers[i].text), &err);
            if (!st) st = fr_api_answer_finish(&a, &err);
            enough = calls < fails_at;
            // Some code tries twice, and goes on as if nothing had been missing.
            if ((enough || st != FR_ENOMEM) && (st || a.n_calls != 2 || a.content.n))
                fail_msg("%s, call %ld: %d", answers[i].text, fails_at, st);
            if (!st && strcmp(a.call[0].arguments, answers[i].arguments) != 0)
                fail_msg("%s, call %ld: %s", answers[i].text, fails_at, a.call[0].arguments);
            fr_api_answer_close(&a);
            assert_int_equal(held, before);
        }
    }
    fails_at = 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(missing_memory_is_said),
                                       cmocka_unit_test(no_call_becomes_content)};
    json_set_alloc_funcs(take, give);
    return cmocka_run_group_tests(tests, open_world, close_world);
}
