// Marks that are control tokens of a model, or begin with one, are part of its text; other control
// tokens are not.
#include "api/request.h"
#include "support/chats.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/made_vocab.h"

static const char *const bodies[] = {
    "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}",
    "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"tools\":[{\"type\":\"function\","
    "\"function\":{\"name\":\"f\"}}]}",
};

static bool is_shown(const fr_api_request *r, int32_t id) {
    int n = 0;
    for (size_t i = 0; i < r->shown.n; i++)
        n += r->shown.data[i] == id;
    assert_true(n < 2);
    return n;
}

static void marks_are_shown_where_they_may_come(void **state) {
    (void)state;
    static const struct {
        const char *token;
        bool thinking, calls;
    } cases[] = {{"<think>", true, true},
                 {"[/THINK]", true, true},
                 {"<seed:think>", true, true},
                 {"<|channel>", true, true},
                 {"<channel|>", true, true},
                 {"<|message|>", true, true},
                 {"<tool_call>", false, true},
                 {"[TOOL_CALLS]", false, true},
                 {"[ARGS]", false, true},
                 {"<|tool_call>", false, true},
                 {"<tool_call|>", false, true},
                 {"<|\"|>", false, true},
                 {"<|tool_call_end|>", false, true},
                 {"</seed:tool_call>", false, true},
                 {"<arg_value>", false, true},
                 {"<｜tool▁calls▁begin｜>", false, true},
                 {"<｜tool▁sep｜>", false, true},
                 {"｜DSML｜", false, true},
                 {"<|image|>", false, false},
                 {"<|tool_response>", false, false}};
    enum { N = sizeof cases / sizeof *cases };
    for (int tools = 0; tools < 2; tools++) {
        int32_t ids[N];
        made_vocab v;
        made_bpe_bytes(&v);
        for (int i = 0; i < N; i++)
            ids[i] = made_add(&v, cases[i].token, FR_TOKEN_CONTROL, 0);
        fr_tokenizer *t;
        fr_error err;
        fr_chat_template chat;
        fr_api_request r;
        const fr_api_defaults defaults = fr_api_usual(1);
        const char *body = bodies[tools];
        if (made_open(&v, &t, &err)) fail_msg("%s", err.text);
        assert_int_equal(open_named_chat(&chat, "chatml", &err), FR_OK);
        const fr_api_model model = {.tokenizer = t, .chat = &chat, .n_vocab = fr_tokenizer_size(t)};
        assert_int_equal(fr_api_parse(&r, FR_API_CHAT, body, strlen(body), &defaults, &err), FR_OK);
        assert_int_equal(fr_api_encode(&r, &model, &err), FR_OK);
        for (int i = 0; i < N; i++)
            if (is_shown(&r, ids[i]) != (tools ? cases[i].calls : cases[i].thinking))
                fail_msg("%s, %d", cases[i].token, tools);
        fr_api_close(&r);
        fr_chat_close(&chat);
        fr_tokenizer_close(t);
    }
}

// A server finds them when it starts: a request tokenizes no mark.
static void a_request_takes_those_that_were_found(void **state) {
    (void)state;
    for (int tools = 0; tools < 2; tools++) {
        made_vocab v;
        fr_tokenizer *t;
        fr_error err;
        fr_chat_template chat;
        fr_api_request r;
        const fr_api_defaults defaults = fr_api_usual(1);
        int32_t found[] = {'a', 'b', 'c'}; // not what the marks are in this vocabulary
        const fr_api_shown shown = {.ids = {.data = found, .n = 3}, .n_thinking = 2};
        made_bpe_bytes(&v);
        made_add(&v, "<think>", FR_TOKEN_CONTROL, 0);
        if (made_open(&v, &t, &err)) fail_msg("%s", err.text);
        assert_int_equal(open_named_chat(&chat, "chatml", &err), FR_OK);
        const fr_api_model model = {
            .tokenizer = t, .chat = &chat, .n_vocab = fr_tokenizer_size(t), .shown = &shown};
        const char *body = bodies[tools];
        assert_int_equal(fr_api_parse(&r, FR_API_CHAT, body, strlen(body), &defaults, &err), FR_OK);
        assert_int_equal(fr_api_encode(&r, &model, &err), FR_OK);
        assert_int_equal(r.shown.n, tools ? 3 : 2);
        assert_memory_equal(r.shown.data, found, r.shown.n * sizeof *found);
        fr_api_close(&r);
        fr_chat_close(&chat);
        fr_tokenizer_close(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(marks_are_shown_where_they_may_come),
                                       cmocka_unit_test(a_request_takes_those_that_were_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
