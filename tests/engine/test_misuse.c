// Calls in a wrong order, or from within a callback: each is refused with a sentence, or does what it
// can; nothing is read that was freed.
#include "engine/engine.h"
#include "support/tiny_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PROMPT = 8, TOKENS = 12 };

static char path[64];
static const int32_t ids[PROMPT] = {100, 101, 102, 103, 100, 101, 102, 103};
static fr_error err;

static int set_up(void **state) {
    (void)state;
    snprintf(path, sizeof path, "misuse-%d.gguf", (int)getpid());
    return fr_tiny_write(&(fr_tiny_options){.n_ctx = 256, .seed = 3}, path, &err);
}

static int tear_down(void **state) {
    (void)state;
    return unlink(path);
}

static fr_engine *open_engine(void) {
    fr_engine *e;
    const fr_engine_options o = {.size = sizeof o, .threads = 1};
    if (fr_engine_open(&e, path, &o, &err)) fail_msg("%s", err.text);
    return e;
}

static fr_session *open_session(fr_engine *e, fr_group *group) {
    fr_session *s;
    const fr_session_options o = {
        .size = sizeof o, .n_ctx = 64, .drafter = "prompt-lookup", .group = group};
    if (fr_session_open(&s, e, &o, &err)) fail_msg("%s", err.text);
    return s;
}

// ---------------------------------------------------------------- within `stream`

typedef struct world {
    fr_engine *engine;
    fr_group *group;
    fr_session *session, *other; // `other` shares the group, or is by itself
    int calls;                   // of the callback
    void (*misuse)(struct world *w);
} world;

static bool stream(void *user, const fr_piece *piece) {
    world *w = user;
    (void)piece;
    if (w->calls++ < 3) w->misuse(w);
    return true;
}

static fr_request request(world *w) {
    return (fr_request){.size = sizeof(fr_request),
                        .prompt = ids,
                        .n_prompt = PROMPT,
                        .n_predict = TOKENS,
                        .ignore_eos = true,
                        .stream = w ? stream : NULL,
                        .user = w};
}

static void expect_refused(fr_status st) {
    assert_int_equal(st, FR_EARG);
    assert_non_null(strstr(err.text, "stream"));
}

static void ends(world *w) {
    expect_refused(fr_session_end(w->session, &err));
}

static void steps(world *w) {
    assert_false(fr_session_step(w->session));
    if (w->group) {
        assert_false(fr_group_step(w->group));
        assert_false(fr_session_step(w->other));
    }
}

static void begins(world *w) {
    const fr_request q = request(NULL);
    expect_refused(fr_session_begin(w->session, &q, &err));
    expect_refused(fr_session_generate(w->session, &q, NULL, &err));
    if (w->group) expect_refused(fr_session_begin(w->other, &q, &err));
}

static void forgets(world *w) {
    expect_refused(fr_session_forget(w->session, &err));
    expect_refused(fr_session_adopt(w->session, w->other, &err));
    expect_refused(fr_session_adopt(w->other, w->session, &err));
}

static void opens(world *w) {
    fr_session *more = NULL;
    const fr_session_options o = {
        .size = sizeof o, .n_ctx = 64, .drafter = "none", .group = w->group};
    const fr_status st = fr_session_open(&more, w->engine, &o, &err);
    assert_int_equal(st, w->group ? FR_EARG : FR_OK);
    fr_session_close(more);
}

// Questions change nothing.
static void asks(world *w) {
    int n;
    assert_non_null(fr_session_context(w->session, &n));
    assert_non_null(fr_session_result(w->session));
    assert_true(fr_session_runs(w->session) || w->calls);
    assert_string_equal(fr_engine_describe(w->engine)->architecture, "llama");
}

// A session by itself shares nothing with another one.
static void uses_another(world *w) {
    const fr_request q = request(NULL);
    if (w->group) return;
    assert_int_equal(fr_session_generate(w->other, &q, NULL, &err), FR_OK);
}

static void tokens_are_as_alone(world *w) {
    fr_session *alone = open_session(w->engine, NULL);
    const fr_request q = request(NULL);
    const fr_result *r, *found = fr_session_result(w->session);
    assert_int_equal(fr_session_generate(alone, &q, &r, &err), FR_OK);
    assert_int_equal(found->n_tokens, r->n_tokens);
    assert_memory_equal(found->tokens, r->tokens, sizeof *r->tokens * (size_t)r->n_tokens);
    fr_session_close(alone);
}

static void misuse_within(void (*misuse)(world *), bool in_group) {
    world w = {.engine = open_engine(), .misuse = misuse};
    if (in_group) assert_int_equal(fr_group_open(&w.group, w.engine, NULL, &err), FR_OK);
    w.session = open_session(w.engine, w.group);
    w.other = open_session(w.engine, w.group);
    const fr_request q = request(&w);
    if (fr_session_generate(w.session, &q, NULL, &err)) fail_msg("%s", err.text);
    assert_true(w.calls > 3);
    tokens_are_as_alone(&w);
    fr_session_close(w.session);
    fr_session_close(w.other);
    fr_group_close(w.group);
    fr_engine_close(w.engine);
}

static void a_callback_is_refused_what_would_change_its_session(void **state) {
    static void (*const all[])(world *) = {ends, steps, begins, forgets, opens, asks, uses_another};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int in_group = 0; in_group < 2; in_group++)
            misuse_within(all[i], in_group);
}

// A call that hands out text before any step of the group.
static void misuse_within_begin_again(void (*misuse)(world *)) {
    enum { KNOWN = 4 };
    world w = {.engine = open_engine(), .misuse = misuse};
    const fr_result *r;
    int32_t known[KNOWN];
    assert_int_equal(fr_group_open(&w.group, w.engine, NULL, &err), FR_OK);
    w.session = open_session(w.engine, w.group);
    w.other = open_session(w.engine, w.group);
    const fr_request q = request(&w), quiet = request(NULL);
    assert_int_equal(fr_session_generate(w.session, &quiet, &r, &err), FR_OK);
    memcpy(known, r->tokens, sizeof known);
    if (fr_session_begin_again(w.session, &q, known, KNOWN, &err)) fail_msg("%s", err.text);
    assert_int_equal(w.calls, KNOWN);
    while (fr_session_step(w.session)) {
    }
    assert_int_equal(fr_session_end(w.session, &err), FR_OK);
    tokens_are_as_alone(&w);
    fr_session_close(w.session);
    fr_session_close(w.other);
    fr_group_close(w.group);
    fr_engine_close(w.engine);
}

static void a_callback_outside_a_step_is_refused_the_same(void **state) {
    static void (*const all[])(world *) = {ends, steps, begins, forgets, opens, asks};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        misuse_within_begin_again(all[i]);
}

// ---------------------------------------------------------------- closing within it

static void closes(world *w) {
    fr_session_close(w->session);
}

static void closes_all(world *w) {
    if (w->calls > 1) return;
    fr_engine_close(w->engine);
    fr_group_close(w->group);
    fr_session_close(w->session);
}

static void what_is_closed_within_its_callback_ends(void **state) {
    (void)state;
    for (int in_group = 0; in_group < 2; in_group++) {
        world w = {.engine = open_engine(), .misuse = closes};
        if (in_group) assert_int_equal(fr_group_open(&w.group, w.engine, NULL, &err), FR_OK);
        w.session = open_session(w.engine, w.group);
        const fr_request q = request(&w);
        const fr_result *r;
        assert_int_equal(fr_session_generate(w.session, &q, &r, &err), FR_EARG);
        assert_non_null(strstr(err.text, "closed"));
        assert_null(r);
        assert_true(w.calls < TOKENS);
        fr_group_close(w.group);
        fr_engine_close(w.engine);
    }
}

static void an_engine_may_be_closed_within_a_callback(void **state) {
    (void)state;
    for (int in_group = 0; in_group < 2; in_group++) {
        world w = {.engine = open_engine(), .misuse = closes_all};
        if (in_group) assert_int_equal(fr_group_open(&w.group, w.engine, NULL, &err), FR_OK);
        w.session = open_session(w.engine, w.group);
        const fr_request q = request(&w);
        assert_int_equal(fr_session_generate(w.session, &q, NULL, &err), FR_EARG);
    }
}

static void a_session_closed_within_a_step_of_its_group_is_left_out(void **state) {
    (void)state;
    world w = {.engine = open_engine(), .misuse = closes};
    assert_int_equal(fr_group_open(&w.group, w.engine, NULL, &err), FR_OK);
    w.session = open_session(w.engine, w.group);
    fr_session *other = open_session(w.engine, w.group);
    const fr_request q = request(&w), quiet = request(NULL);
    assert_int_equal(fr_session_begin(w.session, &q, &err), FR_OK);
    assert_int_equal(fr_session_begin(other, &quiet, &err), FR_OK);
    while (fr_group_step(w.group)) {
    }
    assert_int_equal(fr_session_end(other, &err), FR_OK);
    w.session = other;
    tokens_are_as_alone(&w);
    fr_session_close(other);
    fr_group_close(w.group);
    fr_engine_close(w.engine);
}

// ---------------------------------------------------------------- order

static void closing_in_a_wrong_order_frees_all_once(void **state) {
    (void)state;
    static const char template[] = "{{ messages[0].content }}";
    fr_engine *e = open_engine();
    fr_group *g;
    fr_text *text, *second;
    assert_int_equal(fr_group_open(&g, e, NULL, &err), FR_OK);
    assert_int_equal(
        fr_text_open_with(&text, fr_engine_text(e), template, sizeof template - 1, &err), FR_OK);
    assert_int_equal(fr_text_open_with(&second, text, template, sizeof template - 1, &err), FR_OK);
    fr_session *s = open_session(e, g), *alone = open_session(e, NULL);
    fr_engine_close(e);
    fr_group_close(g);
    fr_text_close(text);
    const fr_request q = request(NULL);
    assert_int_equal(fr_session_generate(s, &q, NULL, &err), FR_OK);
    assert_int_equal(fr_session_generate(alone, &q, NULL, &err), FR_OK);
    fr_encoded *encoded;
    const fr_chat_message m = {"user", "hi"};
    assert_int_equal(fr_text_chat(second, &m, 1, 0, &encoded, &err), FR_OK);
    assert_string_equal(encoded->text, "hi");
    fr_encoded_free(encoded);
    fr_session_close(alone);
    fr_session_close(s);
    fr_text_close(second);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_callback_is_refused_what_would_change_its_session),
        cmocka_unit_test(a_callback_outside_a_step_is_refused_the_same),
        cmocka_unit_test(what_is_closed_within_its_callback_ends),
        cmocka_unit_test(an_engine_may_be_closed_within_a_callback),
        cmocka_unit_test(a_session_closed_within_a_step_of_its_group_is_left_out),
        cmocka_unit_test(closing_in_a_wrong_order_frees_all_once),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
