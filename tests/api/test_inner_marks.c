// Marks of calls, results and thinking that a vocabulary has as user-defined tokens, so that an answer
// shows them: the template writes them, and no message can.
#include "api/forms.h"
#include "api/request.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/made_vocab.h"

// As Gemma 4 has it: strings of calls and results between quotes that are tokens.
static const char TEMPLATE[] =
    "{% for m in messages %}<|turn>{{ m.role }}\n{{ m.content or '' }}{% for c in m.tool_calls or "
    "[] "
    "%}<|tool_call>call:{{ c.function.name }}{ {%- for k, v in c.function.arguments | items %}{{ k "
    "}}:"
    "<|\"|>{{ v }}<|\"|>{% endfor %}}<tool_call|>{% endfor %}{% if m.role == 'tool' "
    "%}<tool_response|>"
    "{% endif %}<turn|>\n{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}";
static const char *const marks[] = {"<|\"|>",           "<|tool_call>", "<tool_call|>",
                                    "<tool_response|>", "<|channel>",   "<channel|>",
                                    "<|think|>",        "<tool_call>",  "</think>"};
enum { N_MARKS = sizeof marks / sizeof *marks };

typedef struct world {
    fr_tokenizer *tokenizer;
    fr_chat_template chat;
    int32_t ids[N_MARKS];
} world;

static void open_tokens(world *w, const char *const *texts, int n, int32_t *ids) {
    made_vocab v;
    fr_error err;
    made_bpe_bytes(&v);
    for (int i = 0; i < n; i++)
        ids[i] = made_add(&v, texts[i], FR_TOKEN_USER, 0);
    if (made_open(&v, &w->tokenizer, &err)) fail_msg("%s", err.text);
}

static void open_world(world *w) {
    fr_error err;
    open_tokens(w, marks, N_MARKS, w->ids);
    if (fr_chat_open(&w->chat, TEMPLATE, sizeof TEMPLATE - 1, &err)) fail_msg("%s", err.text);
}

static void close_world(world *w) {
    fr_chat_close(&w->chat);
    fr_tokenizer_close(w->tokenizer);
}

// How often the prompt of the body has each mark. `text` stands for every ~ of the body.
static void count_marks(const world *w, const char *body, const char *text, int count[N_MARKS]) {
    const fr_api_model model = {
        .tokenizer = w->tokenizer, .chat = &w->chat, .n_vocab = fr_tokenizer_size(w->tokenizer)};
    const fr_api_defaults defaults = fr_api_usual(1);
    char json[8192];
    size_t n = 0;
    fr_api_request r;
    fr_error err;
    for (const char *at = body; *at; at++)
        n += (size_t)snprintf(json + n, sizeof json - n, *at == '~' ? "%s" : "%.1s",
                              *at == '~' ? text : at);
    if (fr_api_parse(&r, FR_API_CHAT, json, n, &defaults, &err)) fail_msg("%s", err.text);
    if (fr_api_encode(&r, &model, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < N_MARKS; i++) {
        count[i] = 0;
        for (size_t k = 0; k < r.prompt[0].n; k++)
            count[i] += r.prompt[0].data[k] == w->ids[i];
    }
    fr_api_close(&r);
}

static void no_message_writes_a_mark(void **state) {
    (void)state;
    static const char body[] =
        "{\"messages\":[{\"role\":\"system\",\"content\":\"~\"},{\"role\":\"user\",\"content\":[{"
        "\"type\":\"text\",\"text\":\"~\"},{\"type\":\"text\",\"text\":\"~\"}]},{\"role\":"
        "\"assistant\",\"content\":\"~\",\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\","
        "\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"~\\\":\\\"x\\\"}\"}}]},{\"role\":"
        "\"tool\","
        "\"tool_call_id\":\"1\",\"content\":\"~\"},{\"role\":\"user\",\"content\":\"~\"}],"
        "\"tools\":[{"
        "\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":\"~\",\"parameters\":{}"
        "}}]}";
    world w;
    int none[N_MARKS], some[N_MARKS];
    open_world(&w);
    count_marks(&w, body, "so", none);
    assert_int_equal(none[0], 2);
    assert_int_equal(none[1], 1);
    assert_int_equal(none[3], 1);
    for (int i = 0; i < N_MARKS; i++) {
        char text[64] = "";
        for (const char *at = marks[i]; *at; at++) // within a string of JSON within one, and in one
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     *at == '"' ? "\\u0022" : "%.1s", at);
        if (i) { // the quote needs other escapes among the arguments
            count_marks(&w, body, text, some);
            assert_memory_equal(some, none, sizeof none);
        }
        count_marks(&w, "{\"messages\":[{\"role\":\"user\",\"content\":\"~\"}]}", text, some);
        for (int k = 0; k < N_MARKS; k++)
            assert_int_equal(some[k], 0);
    }
    close_world(&w);
}

// The beginning of an answer is the model's own text.
static void an_answer_may_begin_with_a_mark(void **state) {
    (void)state;
    world w;
    int count[N_MARKS];
    open_world(&w);
    count_marks(&w,
                "{\"messages\":[{\"role\":\"user\",\"content\":\"~\"},{\"role\":\"assistant\","
                "\"content\":\"~\"}]}",
                "<|channel>", count);
    assert_int_equal(count[4], 1);
    close_world(&w);
}

// Text that is no conversation has them, as before: a completion's prompt, a prediction.
static void plain_text_has_user_defined_tokens(void **state) {
    (void)state;
    world w;
    open_world(&w);
    for (int i = 0; i < N_MARKS; i++) {
        fr_ids ids = {0};
        assert_int_equal(
            fr_tokenizer_encode(w.tokenizer, marks[i], strlen(marks[i]), 0, &ids, NULL), FR_OK);
        assert_int_equal(ids.n, 1);
        assert_int_equal(ids.data[0], w.ids[i]);
        fr_ids_free(&ids);
    }
    close_world(&w);
}

static void expect_text_in_a_message(const char *mark) {
    const size_t n = strlen(mark);
    world w;
    int32_t id;
    fr_ids ids = {0};
    fr_marked text = {0};
    open_tokens(&w, &mark, 1, &id);
    assert_int_equal(fr_marked_add(&text, mark, n, FR_MARK_MESSAGE, NULL), FR_OK);
    assert_int_equal(fr_marked_add(&text, mark, n, FR_MARK_TEMPLATE, NULL), FR_OK);
    assert_int_equal(fr_tokenizer_encode_marked(w.tokenizer, &text, NULL, &ids, NULL), FR_OK);
    if (ids.n != n + 1 || ids.data[n] != id) fail_msg("%s: %zu tokens", mark, ids.n);
    fr_ids_free(&ids);
    fr_marked_free(&text);
    fr_tokenizer_close(w.tokenizer);
}

// Marks that can be one token each: others have a name within them, or none.
static void every_forms_marks_are_known_to_vocabularies(void **state) {
    (void)state;
    const char *mark;
    int n = 0;
    for (int calls = 0; calls < 2; calls++) {
        for (size_t i = 0; (mark = calls ? fr_call_mark(i) : fr_thinking_mark(i)); i++) {
            const size_t bytes = strlen(mark);
            if (!strchr("<[", *mark) || !strchr(">]", mark[bytes - 1]) || strchr(mark, '='))
                continue;
            expect_text_in_a_message(strstr(mark, "｜DSML｜") ? "｜DSML｜" : mark);
            n++;
        }
    }
    assert_true(n > 40);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_message_writes_a_mark),
        cmocka_unit_test(an_answer_may_begin_with_a_mark),
        cmocka_unit_test(plain_text_has_user_defined_tokens),
        cmocka_unit_test(every_forms_marks_are_known_to_vocabularies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
