// Generations that are cancelled, by other threads too: what there is is a part of the whole
// answer.
#define _GNU_SOURCE
#include "engine/engine.h"
#include "support/quick.h"
#include "support/tiny_model.h"
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { CTX = 512, LONG = 300, TOKENS = 120 };

static char model_path[64];
static fr_engine *engine;
static int32_t prompt[LONG];

static int open_world(void **state) {
    (void)state;
    fr_error err;
    snprintf(model_path, sizeof model_path, "cancel-test-%d.gguf", (int)getpid());
    const fr_tiny_options tiny = {.type = FR_TYPE_Q8_0, .n_ctx = CTX, .head_dim = 32};
    const fr_engine_options options = {.size = sizeof options, .threads = 2};
    for (int i = 0; i < LONG; i++) // it repeats itself, so that there is something to draft
        prompt[i] = 'a' + i * i % 13;
    return fr_tiny_write(&tiny, model_path, &err) ||
           fr_engine_open(&engine, model_path, &options, &err);
}

static int close_world(void **state) {
    (void)state;
    fr_engine_close(engine);
    return remove(model_path);
}

static fr_session *open_session(const char *drafter, fr_group *group) {
    fr_session *s;
    fr_error err;
    const fr_session_options o = {
        .size = sizeof o, .drafter = drafter, .n_ctx = CTX, .group = group};
    if (fr_session_open(&s, engine, &o, &err)) fail_msg("%s", err.text);
    return s;
}

typedef struct listener {
    fr_session *session;
    atomic_int tokens, reading; // heard; times that it was asked while the prompt was read
    int cancel_at;              // tokens; -1: while the prompt is read; 0: never
    bool waits;                 // from so many tokens on, until another thread has cancelled
    int waits_at;
    atomic_bool cancelled;
} listener;

// A token without text is told of as if the prompt were read, so the result is looked at.
static bool hear(void *user, const fr_piece *piece) {
    listener *l = user;
    (void)piece;
    const int n = fr_session_result(l->session)->n_tokens;
    atomic_store(&l->tokens, n);
    if (!n) atomic_fetch_add(&l->reading, 1);
    if (n ? n == l->cancel_at : l->cancel_at < 0) fr_session_cancel(l->session);
    while (l->waits && n >= l->waits_at && !atomic_load(&l->cancelled))
        sched_yield();
    return true;
}

static const fr_sampling drawn = {.size = sizeof drawn, .temperature = 1, .seed = 5};

static fr_request request(int n_prompt, listener *l) {
    return (fr_request){.size = sizeof(fr_request),
                        .prompt = prompt,
                        .n_prompt = n_prompt,
                        .n_predict = TOKENS,
                        .sampling = &drawn,
                        .ignore_eos = true,
                        .stream = l ? hear : NULL,
                        .user = l};
}

typedef struct answer {
    int32_t tokens[TOKENS];
    char text[4 * TOKENS * 8];
    size_t bytes;
} answer;

static void answer_whole(int n_prompt, answer *a) {
    fr_session *s = open_session("none", NULL);
    const fr_request q = request(n_prompt, NULL);
    const fr_result *r;
    assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
    assert_int_equal(r->n_tokens, TOKENS);
    memcpy(a->tokens, r->tokens, sizeof a->tokens);
    assert_true(r->text_bytes < sizeof a->text);
    memcpy(a->text, r->text, a->bytes = r->text_bytes);
    fr_session_close(s);
}

// A character that was cut is U+FFFD, which the whole answer need not have there.
static void assert_begins(const fr_result *r, const answer *whole) {
    static const char cut[] = "\xEF\xBF\xBD";
    size_t n = r->text_bytes;
    assert_true(r->n_tokens <= TOKENS);
    assert_memory_equal(r->tokens, whole->tokens, sizeof *r->tokens * (size_t)r->n_tokens);
    if (n > whole->bytes || memcmp(r->text, whole->text, n)) {
        assert_true(n >= 3 && !memcmp(r->text + n - 3, cut, 3));
        n -= 3;
        assert_true(n <= whole->bytes && !memcmp(r->text, whole->text, n));
    }
    assert_int_equal(r->stats->completion_tokens, r->n_tokens);
    if (r->n_tokens < TOKENS) assert_int_equal(r->stats->finish, FR_FINISH_INTERRUPTED);
}

static const char *const DRAFTERS[] = {"none", "prompt-lookup", "lookahead"};
enum { N_DRAFTERS = sizeof DRAFTERS / sizeof *DRAFTERS };

// ---------------------------------------------------------------- where exactly

static void a_pass_is_the_last_one(void **state) {
    (void)state;
    static answer whole;
    answer_whole(20, &whole);
    for (int d = 0; d < N_DRAFTERS; d++) {
        fr_session *s = open_session(DRAFTERS[d], NULL);
        for (int at = 1; at < 60; at += 7) {
            listener l = {.session = s, .cancel_at = at};
            const fr_request q = request(20, &l), again = request(20, NULL);
            const fr_result *r;
            assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
            assert_begins(r, &whole);
            assert_int_equal(r->stats->finish, FR_FINISH_INTERRUPTED);
            assert_int_equal(atomic_load(&l.tokens), r->n_tokens);
            if (d == 0) assert_int_equal(r->n_tokens, at); // a pass gives one token
            assert_in_range(r->n_tokens, at, at + FR_MAX_DEPTH);
            if (at % 2) continue; // else the next one begins with what is kept
            assert_int_equal(fr_session_generate(s, &again, &r, NULL), FR_OK);
            assert_int_equal(r->n_tokens, TOKENS);
            assert_begins(r, &whole);
        }
        fr_session_close(s);
    }
}

static void a_prompt_is_not_read_to_its_end(void **state) {
    (void)state;
    static answer whole;
    answer_whole(LONG, &whole);
    for (int d = 0; d < 2 * N_DRAFTERS; d++) {
        fr_group *group = NULL;
        if (d >= N_DRAFTERS)
            assert_int_equal(
                fr_group_open(&group, engine,
                              &(fr_group_options){.size = sizeof(fr_group_options), .n_ctx = CTX},
                              NULL),
                FR_OK);
        fr_session *s = open_session(DRAFTERS[d % N_DRAFTERS], group);
        listener l = {.session = s, .cancel_at = -1};
        const fr_request q = request(LONG, &l), again = request(LONG, NULL);
        const fr_result *r;
        assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
        assert_int_equal(r->n_tokens, 0);
        assert_int_equal(r->stats->finish, FR_FINISH_INTERRUPTED);
        assert_in_range(atomic_load(&l.reading), 1, 2); // of some five chunks
        assert_int_equal(fr_session_generate(s, &again, &r, NULL), FR_OK);
        assert_int_equal(r->n_tokens, TOKENS);
        assert_begins(r, &whole);
        fr_session_close(s);
        fr_group_close(group);
    }
}

static void what_is_not_at_work_is_not_cancelled(void **state) {
    (void)state;
    static answer whole;
    answer_whole(20, &whole);
    fr_session *s = open_session("prompt-lookup", NULL);
    const fr_request q = request(20, NULL);
    const fr_result *r;
    for (int i = 0; i < 2; i++) {
        fr_session_cancel(s);
        assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
        assert_int_equal(r->n_tokens, TOKENS);
        assert_int_equal(r->stats->finish, FR_FINISH_LENGTH);
        assert_begins(r, &whole);
    }
    // After its last token there is nothing left to cancel, though nobody has asked yet.
    listener l = {.session = s, .cancel_at = TOKENS};
    const fr_request late = request(20, &l);
    assert_int_equal(fr_session_generate(s, &late, &r, NULL), FR_OK);
    assert_int_equal(r->n_tokens, TOKENS);
    assert_int_equal(r->stats->finish, FR_FINISH_LENGTH);
    fr_session_close(s);
}

// ---------------------------------------------------------------- by other threads

typedef struct canceller {
    listener *listener;
    int at;    // tokens to wait for; -1: a chunk of the prompt
    int spins; // ... and longer
    atomic_bool over;
} canceller;

// A prompt that is kept from before is not read.
static bool has_come(listener *l, int at) {
    const int n = atomic_load(&l->tokens);
    return at < 0 ? n > 0 || atomic_load(&l->reading) > 0 : n >= at;
}

static void *cancel(void *user) {
    canceller *c = user;
    listener *l = c->listener;
    while (!atomic_load(&c->over) && !has_come(l, c->at))
        sched_yield();
    for (int i = 0; i < c->spins; i++)
        sched_yield();
    fr_session_cancel(l->session);
    atomic_store(&l->cancelled, true);
    return NULL;
}

static canceller draw_canceller(listener *l, bool waits) {
    const canceller c = {.listener = l, .at = rand() % 40 - 10, .spins = rand() % 50};
    l->waits = waits; // else the answer may have ended before
    l->waits_at = c.at;
    return c;
}

static void any_thread_may_cancel(void **state) {
    (void)state;
    static answer whole[2];
    const int prompts[] = {20, LONG}, trials = fr_test_is_quick() ? 20 : 120;
    int parts = 0;
    srand(7);
    for (int i = 0; i < 2; i++)
        answer_whole(prompts[i], &whole[i]);
    fr_session *s[N_DRAFTERS];
    for (int d = 0; d < N_DRAFTERS; d++)
        s[d] = open_session(DRAFTERS[d], NULL);
    for (int t = 0; t < trials; t++) {
        const int d = t % N_DRAFTERS, p = t / N_DRAFTERS % 2;
        listener l = {.session = s[d]};
        canceller c = draw_canceller(&l, t % 2);
        const fr_request q = request(prompts[p], &l);
        const fr_result *r;
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, cancel, &c), 0);
        assert_int_equal(fr_session_generate(s[d], &q, &r, NULL), FR_OK);
        atomic_store(&c.over, true);
        pthread_join(thread, NULL);
        assert_begins(r, &whole[p]);
        parts += r->n_tokens < TOKENS;
    }
    for (int d = 0; d < N_DRAFTERS; d++)
        fr_session_close(s[d]);
    print_message("%d of %d answers were cut\n", parts, trials);
    assert_true(parts >= trials / 2);
}

static void others_of_a_group_are_not_touched(void **state) {
    (void)state;
    enum { N = 4 };
    static answer whole[2];
    const int prompts[] = {20, LONG}, trials = fr_test_is_quick() ? 6 : 30;
    fr_group *group;
    fr_session *s[N];
    int parts = 0;
    srand(8);
    for (int i = 0; i < 2; i++)
        answer_whole(prompts[i], &whole[i]);
    assert_int_equal(
        fr_group_open(&group, engine,
                      &(fr_group_options){.size = sizeof(fr_group_options), .n_ctx = CTX}, NULL),
        FR_OK);
    for (int i = 0; i < N; i++)
        s[i] = open_session(DRAFTERS[i % N_DRAFTERS], group);
    for (int t = 0; t < trials; t++) {
        listener l[N] = {{.cancel_at = 0}};
        canceller c = draw_canceller(&l[t % N], t / N % 2);
        pthread_t thread;
        for (int i = 0; i < N; i++) {
            l[i].session = s[i];
            const fr_request q = request(prompts[(t + i) % 2], &l[i]);
            assert_int_equal(fr_session_begin(s[i], &q, NULL), FR_OK);
        }
        assert_int_equal(pthread_create(&thread, NULL, cancel, &c), 0);
        while (fr_group_step(group)) {
        }
        atomic_store(&c.over, true);
        pthread_join(thread, NULL);
        for (int i = 0; i < N; i++) {
            const fr_result *r = fr_session_result(s[i]);
            assert_int_equal(fr_session_end(s[i], NULL), FR_OK);
            assert_begins(r, &whole[(t + i) % 2]);
            if (i != t % N) assert_int_equal(r->n_tokens, TOKENS);
            parts += r->n_tokens < TOKENS;
        }
    }
    for (int i = 0; i < N; i++)
        fr_session_close(s[i]);
    fr_group_close(group);
    print_message("%d of %d answers were cut\n", parts, trials);
    assert_true(parts > 0);
}

// ---------------------------------------------------------------- predictions

static void a_prediction_is_checked_and_changes_nothing(void **state) {
    (void)state;
    static answer whole;
    answer_whole(20, &whole);
    const int32_t wrong[] = {'a', 1 << 20};
    fr_session *s = open_session("prompt-lookup", NULL);
    fr_request q = request(20, NULL);
    const fr_result *r;
    fr_error err;
    q.prediction = whole.tokens;
    q.n_prediction = TOKENS;
    assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_OK);
    assert_int_equal(r->n_tokens, TOKENS);
    assert_begins(r, &whole);
    q.prediction = prompt; // which is not what comes
    q.n_prediction = LONG;
    assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_OK);
    assert_begins(r, &whole);
    q.prediction = wrong;
    q.n_prediction = 2;
    assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_EARG);
    assert_non_null(strstr(err.text, "prediction: expected token ids below "));
    q.n_prediction = -1;
    assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_EARG);
    q.prediction = NULL;
    q.n_prediction = 1;
    assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_EARG);
    assert_string_equal(err.text, "prediction: expected ids and how many, found none and 1");
    fr_session_close(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pass_is_the_last_one),
        cmocka_unit_test(a_prompt_is_not_read_to_its_end),
        cmocka_unit_test(what_is_not_at_work_is_not_cancelled),
        cmocka_unit_test(any_thread_may_cancel),
        cmocka_unit_test(others_of_a_group_are_not_touched),
        cmocka_unit_test(a_prediction_is_checked_and_changes_nothing),
    };
    return cmocka_run_group_tests_name("engine/cancel", tests, open_world, close_world);
}
