// Scores of a prompt's tokens: those that the same tokens had when they were generated, alone and
// in a group, whatever was read before.
#include "engine/engine.h"
#include "support/tiny_model.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { CTX = 200, PROMPT = 9, ANSWER = 120, TOP = 3 };

static char path[64];
static fr_engine *engine;

static int open_world(void **state) {
    static const fr_tiny_options tiny = {.type = FR_TYPE_Q8_0, .n_ctx = 256, .head_dim = 32};
    const fr_engine_options o = {.size = sizeof o, .threads = 2};
    fr_error err;
    (void)state;
    snprintf(path, sizeof path, "prompt-logprobs-%d.gguf", (int)getpid());
    return fr_tiny_write(&tiny, path, &err) || fr_engine_open(&engine, path, &o, &err);
}

static int close_world(void **state) {
    (void)state;
    fr_engine_close(engine);
    unlink(path);
    return 0;
}

static fr_session *open_session(fr_group *group, const char *drafter) {
    const fr_session_options o = {
        .size = sizeof o, .n_ctx = CTX, .drafter = drafter, .group = group};
    fr_session *s;
    fr_error err;
    if (fr_session_open(&s, engine, &o, &err)) fail_msg("%s", err.text);
    return s;
}

// The text: a prompt and its greedy answer. scores[i]: of token i of it, from PROMPT on.
static void write_text(int32_t *text, fr_logprobs *scores) {
    fr_session *s = open_session(NULL, "none");
    const fr_result *r;
    fr_error err;
    for (int i = 0; i < PROMPT; i++)
        text[i] = 'a' + i * 7 % 26;
    const fr_request q = {.size = sizeof q,
                          .prompt = text,
                          .n_prompt = PROMPT,
                          .n_predict = ANSWER,
                          .ignore_eos = true,
                          .logprobs = true,
                          .top_logprobs = TOP};
    if (fr_session_generate(s, &q, &r, &err)) fail_msg("%s", err.text);
    assert_int_equal(r->n_tokens, ANSWER);
    assert_null(r->prompt_logprobs);
    for (int i = 0; i < ANSWER; i++) {
        text[PROMPT + i] = r->tokens[i];
        scores[PROMPT + i] = *r->logprobs[i];
    }
    fr_session_close(s);
}

static void expect_scores(const fr_result *r, const fr_logprobs *scores, int n) {
    assert_non_null(r->prompt_logprobs);
    assert_null(r->prompt_logprobs[0]);
    for (int i = PROMPT; i < n; i++)
        assert_memory_equal(r->prompt_logprobs[i], &scores[i], sizeof *scores);
    for (int i = 1; i < PROMPT; i++)
        assert_true(r->prompt_logprobs[i]->logprob < 0 && r->prompt_logprobs[i]->n_top == TOP);
}

static void they_are_those_of_generated_tokens(void **state) {
    (void)state;
    static const char *const drafters[] = {"none", "prompt-lookup", "lookahead"};
    int32_t text[PROMPT + ANSWER];
    static fr_logprobs scores[PROMPT + ANSWER];
    fr_error err;
    const fr_result *r;
    write_text(text, scores);
    for (int d = 0; d < 3; d++) {
        fr_session *s = open_session(NULL, drafters[d]);
        for (int n = PROMPT + ANSWER; n > PROMPT; n -= 37) { // what is known is read again
            const fr_request q = {.size = sizeof q,
                                  .prompt = text,
                                  .n_prompt = n,
                                  .n_predict = n % 2,
                                  .logprobs = d == 1,
                                  .prompt_logprobs = true,
                                  .top_logprobs = TOP};
            if (fr_session_generate(s, &q, &r, &err)) fail_msg("%s", err.text);
            assert_int_equal(r->stats->prompt_reused, 0);
            expect_scores(r, scores, n);
            assert_int_equal(r->n_tokens, n % 2);
            assert_true(!r->logprobs == (d != 1));
            if (d == 1 && n % 2 && n < PROMPT + ANSWER)
                assert_memory_equal(r->logprobs[0], &scores[n], sizeof *scores);
        }
        fr_session_close(s);
    }
}

// With nothing to generate no draw would find it.
static void logits_that_are_no_numbers_have_no_scores(void **state) {
    (void)state;
    const fr_tiny_options tiny = {.untied = true, .n_ctx = 128};
    const fr_engine_options eo = {.size = sizeof eo, .threads = 1};
    const fr_session_options so = {.size = sizeof so, .drafter = "none"};
    const int32_t prompt[] = {'t', 'h', 'e', 250, 'c'};
    fr_request q = {.size = sizeof q,
                    .prompt = prompt,
                    .n_prompt = 5,
                    .prompt_logprobs = true,
                    .top_logprobs = 2};
    char broken[80];
    fr_engine *e;
    fr_session *s;
    const fr_result *r;
    fr_error err;
    snprintf(broken, sizeof broken, "%s.broken", path);
    if (fr_tiny_write_broken(&tiny, broken, "token_embd.weight", 64 * 250 + 7, NAN, &err) ||
        fr_engine_open(&e, broken, &eo, &err) || fr_session_open(&s, e, &so, &err))
        fail_msg("%s", err.text);
    assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_EDATA);
    assert_non_null(strstr(err.text, "behind 4 tokens are not finite"));
    for (int i = 0; i < 5; i++) // what was read before it
        assert_int_equal(r->prompt_logprobs[i] != NULL, i > 0 && i < 4);
    q.n_prompt = 3; // never comes to it
    assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_OK);
    fr_session_close(s);
    fr_engine_close(e);
    unlink(broken);
}

static void others_of_the_group_change_nothing(void **state) {
    (void)state;
    enum { MEMBERS = 5 };
    int32_t text[PROMPT + ANSWER];
    static fr_logprobs scores[PROMPT + ANSWER];
    fr_session *s[MEMBERS];
    fr_group *group;
    fr_error err;
    write_text(text, scores);
    if (fr_group_open(&group, engine,
                      &(fr_group_options){.size = sizeof(fr_group_options), .n_ctx = CTX}, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < MEMBERS; i++) {
        const fr_request q = {.size = sizeof q,
                              .prompt = text,
                              .n_prompt = PROMPT + ANSWER - 11 * i,
                              .n_predict = 5,
                              .ignore_eos = true,
                              .prompt_logprobs = i % 2 == 0,
                              .top_logprobs = TOP};
        s[i] = open_session(group, i % 2 ? "prompt-lookup" : "none");
        if (fr_session_begin(s[i], &q, &err)) fail_msg("%s", err.text);
    }
    while (fr_group_step(group)) {
    }
    for (int i = 0; i < MEMBERS; i++) {
        if (fr_session_end(s[i], &err)) fail_msg("%s", err.text);
        const fr_result *r = fr_session_result(s[i]);
        assert_int_equal(r->n_tokens, 5);
        if (i % 2 == 0)
            expect_scores(r, scores, PROMPT + ANSWER - 11 * i);
        else
            assert_null(r->prompt_logprobs);
        fr_session_close(s[i]);
    }
    fr_group_close(group);
}

static int n_asked;
static bool go_on_for_two_parts(void *user, const fr_piece *piece) {
    (void)user, (void)piece;
    return n_asked++ < 1;
}

// Broken off while the prompt is read: what was not read has no scores, not those of the text before.
static void what_was_not_read_has_none(void **state) {
    (void)state;
    int32_t text[PROMPT + ANSWER];
    static fr_logprobs scores[PROMPT + ANSWER];
    fr_error err;
    const fr_result *r;
    write_text(text, scores);
    fr_session *s = open_session(NULL, "none");
    fr_request q = {.size = sizeof q,
                    .prompt = text,
                    .n_prompt = PROMPT + ANSWER,
                    .n_predict = 3,
                    .prompt_logprobs = true,
                    .top_logprobs = TOP};
    if (fr_session_generate(s, &q, &r, &err)) fail_msg("%s", err.text);
    expect_scores(r, scores, PROMPT + ANSWER);
    q.stream = go_on_for_two_parts;
    n_asked = 0;
    if (fr_session_generate(s, &q, &r, &err)) fail_msg("%s", err.text);
    assert_int_equal(r->stats->finish, FR_FINISH_INTERRUPTED);
    int read = 0;
    while (read + 1 < q.n_prompt && r->prompt_logprobs[read + 1])
        read++;
    assert_true(read > PROMPT && read < q.n_prompt - 1);
    expect_scores(r, scores, read + 1);
    for (int i = read + 1; i < q.n_prompt; i++)
        assert_null(r->prompt_logprobs[i]);
    fr_session_close(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(they_are_those_of_generated_tokens),
                                       cmocka_unit_test(logits_that_are_no_numbers_have_no_scores),
                                       cmocka_unit_test(others_of_the_group_change_nothing),
                                       cmocka_unit_test(what_was_not_read_has_none)};
    return cmocka_run_group_tests_name("engine/prompt_logprobs", tests, open_world, close_world);
}
