// Structs of callers that were compiled with an older or a newer forerun.h.
#define _GNU_SOURCE
#include "base/sized.h"
#include "engine/engine.h"
#include "support/tiny_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

// ---------------------------------------------------------------- what is read

typedef struct thing {
    size_t size;
    int a, b;
    double c;
} thing;

static void an_older_struct_gives_defaults_for_the_rest(void **state) {
    (void)state;
    const thing whole = {.size = sizeof whole, .a = 1, .b = 2, .c = 3};
    thing old = whole, to;
    assert_int_equal(fr_sized_read(&to, sizeof to, &whole, "thing", NULL), FR_OK);
    assert_memory_equal(&to, &whole, sizeof to);
    old.size = offsetof(thing, c);
    assert_int_equal(fr_sized_read(&to, sizeof to, &old, "thing", NULL), FR_OK);
    assert_true(to.size == sizeof to && to.a == 1 && to.b == 2 && to.c == 0);
    old.size = sizeof(size_t);
    assert_int_equal(fr_sized_read(&to, sizeof to, &old, "thing", NULL), FR_OK);
    assert_true(to.size == sizeof to && to.a == 0 && to.b == 0 && to.c == 0);
    memset(&to, 1, sizeof to);
    assert_int_equal(fr_sized_read(&to, sizeof to, NULL, "thing", NULL), FR_OK);
    assert_true(to.size == sizeof to && to.a == 0 && to.b == 0 && to.c == 0);
}

static void a_newer_struct_must_not_ask_for_more(void **state) {
    (void)state;
    struct {
        thing known;
        char more[24];
    } newer = {.known = {.size = sizeof newer, .a = 5}};
    thing to;
    fr_error err;
    assert_int_equal(fr_sized_read(&to, sizeof to, &newer, "thing", &err), FR_OK);
    assert_true(to.size == sizeof to && to.a == 5);
    for (size_t i = 0; i < sizeof newer.more; i++) {
        memset(newer.more, 0, sizeof newer.more);
        newer.more[i] = 1;
        assert_int_equal(fr_sized_read(&to, sizeof to, &newer, "thing", &err), FR_EARG);
        assert_non_null(strstr(err.text, "thing: expected 24 bytes, and 0 beyond"));
    }
    newer.known.size = sizeof(thing); // what stands behind is not its own
    assert_int_equal(fr_sized_read(&to, sizeof to, &newer, "thing", &err), FR_OK);
}

static void a_size_that_was_not_set_is_a_sentence(void **state) {
    (void)state;
    // The last four cut a member: half a pointer would be read.
    const size_t sizes[] = {0, 1, sizeof(size_t) - 1, (size_t)1 << 20, SIZE_MAX, 12, 20, 23, 25};
    thing t = {.a = 1}, to;
    fr_error err;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        t.size = sizes[i];
        assert_int_equal(fr_sized_read(&to, sizeof to, &t, "thing", &err), FR_EARG);
        assert_non_null(strstr(err.text, "thing: expected size to be sizeof(thing), found "));
    }
}

// ---------------------------------------------------------------- the interface

typedef struct opened {
    char path[64];
    fr_engine *engine;
    fr_session *session;
} opened;

static void open_all(opened *o) {
    fr_error err;
    snprintf(o->path, sizeof o->path, "grows-test-%d.gguf", (int)getpid());
    const fr_tiny_options tiny = {.type = FR_TYPE_Q8_0, .n_ctx = 96, .head_dim = 32};
    const fr_engine_options engine = {.size = sizeof engine, .threads = 1};
    const fr_session_options session = {.size = sizeof session, .drafter = "none"};
    if (fr_tiny_write(&tiny, o->path, &err) || fr_engine_open(&o->engine, o->path, &engine, &err) ||
        fr_session_open(&o->session, o->engine, &session, &err))
        fail_msg("%s", err.text);
}

static void close_all(opened *o) {
    fr_session_close(o->session);
    fr_engine_close(o->engine);
    remove(o->path);
}

static const int32_t PROMPT[] = {'t', 'h', 'e', ' ', 'a'};
enum { N_PROMPT = sizeof PROMPT / sizeof *PROMPT };

static void no_struct_is_read_without_its_size(void **state) {
    (void)state;
    static const fr_engine_options engine_options = {.threads = 1};
    static const fr_session_options session_options = {.n_ctx = 64};
    static const fr_sampling sampling = {.temperature = 1};
    fr_request request = {.prompt = PROMPT, .n_prompt = N_PROMPT, .n_predict = 4};
    opened o;
    fr_engine *e;
    fr_session *s;
    const fr_result *r;
    fr_error err;
    open_all(&o);
    assert_int_equal(fr_engine_open(&e, o.path, &engine_options, &err), FR_EARG);
    assert_non_null(strstr(err.text, "fr_engine_options"));
    assert_null(e);
    assert_int_equal(fr_session_open(&s, o.engine, &session_options, &err), FR_EARG);
    assert_non_null(strstr(err.text, "fr_session_options"));
    assert_null(s);
    assert_int_equal(fr_session_generate(o.session, &request, &r, &err), FR_EARG);
    assert_non_null(strstr(err.text, "fr_request"));
    assert_true(r == fr_session_result(o.session) && !r->n_tokens && !r->text_bytes && r->stats);
    request.size = sizeof request;
    request.sampling = &sampling;
    assert_int_equal(fr_session_generate(o.session, &request, &r, &err), FR_EARG);
    assert_non_null(strstr(err.text, "fr_sampling"));
    request.sampling = NULL;
    assert_int_equal(fr_session_generate(o.session, &request, &r, &err), FR_OK);
    assert_int_equal(r->n_tokens, 4);
    close_all(&o);
}

// A program whose header ended with top_k, and one whose header goes on.
static void older_and_newer_sampling_say_the_same(void **state) {
    (void)state;
    enum { TOKENS = 20 };
    const fr_sampling now = {.size = sizeof now, .temperature = 1, .top_k = 7};
    fr_sampling old = {.temperature = 1, .top_k = 7, .top_p = 0.1f, .min_p = 0.9f, .seed = 99};
    struct {
        fr_sampling known;
        double more;
    } newer = {.known = now};
    fr_request q = {.size = sizeof q,
                    .prompt = PROMPT,
                    .n_prompt = N_PROMPT,
                    .n_predict = TOKENS,
                    .sampling = &now,
                    .ignore_eos = true};
    int32_t expected[TOKENS];
    const fr_result *r;
    opened o;
    fr_error err;
    open_all(&o);
    assert_int_equal(fr_session_generate(o.session, &q, &r, NULL), FR_OK);
    assert_int_equal(r->n_tokens, TOKENS);
    memcpy(expected, r->tokens, sizeof expected);
    old.size = offsetof(fr_sampling, top_p);
    newer.known.size = sizeof newer;
    const fr_sampling *others[] = {&old, &newer.known};
    for (int i = 0; i < 2; i++) {
        q.sampling = others[i];
        assert_int_equal(fr_session_generate(o.session, &q, &r, NULL), FR_OK);
        assert_memory_equal(r->tokens, expected, sizeof expected);
    }
    newer.more = 0.5;
    assert_int_equal(fr_session_generate(o.session, &q, &r, &err), FR_EARG);
    assert_non_null(strstr(err.text, "fr_sampling"));
    close_all(&o);
}

// An old request ended before the stream, so that what it has there is not called.
static void an_older_request_has_nothing_behind_its_end(void **state) {
    (void)state;
    opened o;
    const fr_result *r;
    fr_request q = {
        .size = offsetof(fr_request, stop), .prompt = PROMPT, .n_prompt = N_PROMPT, .n_predict = 3};
    memset((char *)&q + q.size, 0x55, sizeof q - q.size);
    open_all(&o);
    assert_int_equal(fr_session_generate(o.session, &q, &r, NULL), FR_OK);
    assert_true(r->n_tokens <= 3 && r->n_tokens > 0);
    assert_null(r->logprobs);
    close_all(&o);
}

// The request may be gone, and so may its sampling, once a generation has begun.
static void a_request_is_copied(void **state) {
    (void)state;
    enum { TOKENS = 12 };
    fr_sampling sampling = {.size = sizeof sampling, .temperature = 1, .seed = 4};
    fr_request q = {.size = sizeof q,
                    .prompt = PROMPT,
                    .n_prompt = N_PROMPT,
                    .n_predict = TOKENS,
                    .sampling = &sampling,
                    .ignore_eos = true};
    int32_t expected[TOKENS];
    opened o;
    open_all(&o);
    const fr_result *r = fr_session_result(o.session);
    assert_true(!r->n_tokens && !r->text_bytes && !*r->text); // nothing was generated yet
    assert_int_equal(fr_session_generate(o.session, &q, NULL, NULL), FR_OK);
    memcpy(expected, r->tokens, sizeof expected);
    assert_int_equal(fr_session_begin(o.session, &q, NULL), FR_OK);
    memset(&q, 0x55, sizeof q);
    memset(&sampling, 0x55, sizeof sampling);
    while (fr_session_step(o.session)) {
    }
    assert_int_equal(fr_session_end(o.session, NULL), FR_OK);
    assert_int_equal(r->n_tokens, TOKENS);
    assert_memory_equal(r->tokens, expected, sizeof expected);
    close_all(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_older_struct_gives_defaults_for_the_rest),
        cmocka_unit_test(a_newer_struct_must_not_ask_for_more),
        cmocka_unit_test(a_size_that_was_not_set_is_a_sentence),
        cmocka_unit_test(no_struct_is_read_without_its_size),
        cmocka_unit_test(older_and_newer_sampling_say_the_same),
        cmocka_unit_test(an_older_request_has_nothing_behind_its_end),
        cmocka_unit_test(a_request_is_copied),
    };
    return cmocka_run_group_tests_name("engine/grows", tests, NULL, NULL);
}
