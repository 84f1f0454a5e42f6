// Phi-3 with two tables of RoPE factors: which one counts follows the text, so that the bytes do
// not depend on the room there is, on who drafts, or on what the session read before.
#include "engine/engine.h"
#include "support/quick.h"
#include "support/tiny_model.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { CONTEXT = 256, SHORT = 100, LONG_PROMPT = 120, NEW = 90, MOST = LONG_PROMPT + NEW };
static char path[64], draft_path[64];
static fr_engine *engine;
static int32_t prompt[LONG_PROMPT];
static fr_logit_bias ends[8]; // never drawn, as requests have it
static fr_sampling samplings[] = {
    {.temperature = 0}, {.temperature = 1.1f, .top_k = 40, .seed = 6, .repeat_penalty = 1.1f}};

static int set_up(void **state) {
    fr_error err = {0};
    (void)state;
    snprintf(path, sizeof path, "longrope-test-%d.gguf", (int)getpid());
    snprintf(draft_path, sizeof draft_path, "longrope-draft-%d.gguf", (int)getpid());
    const fr_tiny_options target = {
        .arch = "phi3", .n_ctx = CONTEXT, .n_ctx_short = SHORT, .head_dim = 32};
    const fr_tiny_options draft = {
        .arch = "phi3", .n_ctx = CONTEXT, .n_ctx_short = SHORT - 9, .head_dim = 32, .n_layer = 1};
    for (int i = 0; i < LONG_PROMPT; i++)
        prompt[i] = 3 + (i * i + 7 * (i % 11)) % 250;
    if (fr_tiny_write(&target, path, &err) || fr_tiny_write(&draft, draft_path, &err) ||
        fr_engine_open(&engine, path,
                       &(fr_engine_options){.size = sizeof(fr_engine_options), .threads = 2},
                       &err)) {
        print_error("%s\n", err.text);
        return 1;
    }
    for (int i = 0; i < 2; i++)
        samplings[i].bias = ends;
    for (int32_t id = 0; id < engine->model.config.n_vocab; id++) {
        if (!fr_token_is_end(engine->tokenizer, id)) continue;
        ends[samplings[0].n_bias] = (fr_logit_bias){id, -INFINITY};
        samplings[1].n_bias = ++samplings[0].n_bias;
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fr_engine_close(engine);
    return remove(path) | remove(draft_path);
}

// The definition: the token behind n tokens is that of a fresh reading of them, by the long table
// where they are more than the original context.
static int32_t token_behind(const int32_t *ids, int n, const fr_sampling *sampling,
                            fr_kv_type type) {
    const fr_model *m = &engine->model;
    fr_kv kv;
    fr_forward *f;
    fr_sampler s;
    fr_row rows[MOST];
    assert_int_equal(fr_kv_open(&kv, &m->config, CONTEXT, type, NULL), FR_OK);
    assert_int_equal(fr_forward_open(&f, m, &(fr_forward_limits){.max_rows = MOST}, NULL), FR_OK);
    assert_int_equal(fr_sampler_open(&s, m->kern, m->config.n_vocab, NULL), FR_OK);
    fr_kv_stretch(&kv, n > SHORT);
    for (int i = 0; i < n; i++)
        rows[i] = fr_row_token(ids[i], i - 1, i == n - 1 ? FR_WANT_LOGITS : 0);
    fr_forward_run(f, &(fr_pass){.rows = rows, .n_rows = n, .kv = (fr_kv *[]){&kv}, .n_seq = 1});
    fr_sampler_begin(&s, sampling, 0);
    const int32_t token = fr_sampler_token(&s, fr_forward_logits(f, n - 1), ids, n, n);
    fr_sampler_close(&s);
    fr_forward_close(f);
    fr_kv_close(&kv);
    return token;
}

static void define(int32_t *ids, int n_prompt, const fr_sampling *sampling, fr_kv_type type) {
    memcpy(ids, prompt, sizeof *ids * (size_t)n_prompt);
    for (int n = n_prompt; n < n_prompt + NEW; n++)
        ids[n] = token_behind(ids, n, sampling, type);
}

static fr_session *open_session(const char *drafter, int n_ctx, const char *kv_type) {
    static const char *const by_depth[] = {"depth=6", NULL};
    fr_session *s;
    fr_error err;
    const fr_session_options o = {.size = sizeof o,
                                  .drafter = drafter,
                                  .n_ctx = n_ctx,
                                  .kv_type = kv_type,
                                  .no_adapt = true,
                                  .draft_opts = strchr(drafter, ':') ? by_depth : NULL};
    if (fr_session_open(&s, engine, &o, &err)) fail_msg("%s: %s", drafter, err.text);
    return s;
}

static void check(fr_session *s, const int32_t *expected, int n_prompt, int n,
                  const fr_sampling *sampling) {
    fr_sampling own = *sampling;
    own.size = sizeof own;
    const fr_request q = {.size = sizeof q,
                          .prompt = expected,
                          .n_prompt = n_prompt,
                          .n_predict = n,
                          .sampling = &own,
                          .ignore_eos = true};
    const fr_result *r;
    fr_error err;
    if (fr_session_generate(s, &q, &r, &err)) fail_msg("%s", err.text);
    assert_int_equal(r->n_tokens, n);
    for (int i = 0; i < n; i++)
        if (r->tokens[i] != expected[n_prompt + i])
            fail_msg("%s, prompt of %d, %d tokens: expected %d at %d, found %d", r->stats->used,
                     n_prompt, n, expected[n_prompt + i], i, r->tokens[i]);
}

static void the_table_follows_the_text(void **state) {
    char second[96], driven[128], itself[96]; // the last guesses all that its table allows
    snprintf(second, sizeof second, "draft-model:%s", draft_path);
    snprintf(itself, sizeof itself, "draft-model:%s", path);
    snprintf(driven, sizeof driven, "draft-model:%s@prompt-lookup", draft_path);
    const char *const drafters[] = {"none", "prompt-lookup", "lookahead", second, driven, itself};
    static const int prompts[] = {40, SHORT - 1, SHORT, SHORT + 1, LONG_PROMPT};
    (void)state;
    const int step = fr_test_is_quick() ? 5 : 1; // of every prompt, sampling and KV type some
    for (int i = 0; i < 30; i += step) {
        const int n = prompts[i / 6];
        const fr_sampling *sampling = &samplings[i & 1];
        const fr_kv_type type = (fr_kv_type)(i / 2 % FR_KV_TYPES);
        int32_t ids[MOST];
        define(ids, n, sampling, type);
        for (size_t k = 0; k < sizeof drafters / sizeof *drafters; k++) {
            for (int room = 0; room < 3; room++) { // few tokens or many, and room for more
                const int wanted = room ? NEW : 8;
                fr_session *s = open_session(drafters[k], room == 2 ? CONTEXT : n + wanted,
                                             fr_kv_type_name(type));
                check(s, ids, n, wanted, sampling);
                fr_session_close(s);
            }
        }
    }
}

// What is in the cache was rotated by one table or the other.
static void a_session_goes_back_and_forth(void **state) {
    static const char *const drafters[] = {"none", "prompt-lookup", "lookahead"};
    int32_t ids[MOST];
    (void)state;
    define(ids, 40, &samplings[1], FR_KV_F16);
    for (int k = 0; k < 3; k++) {
        fr_session *s = open_session(drafters[k], CONTEXT, "f16");
        fr_session *other = open_session(drafters[k], CONTEXT, "f16");
        check(s, ids, 40, NEW, &samplings[1]);
        check(s, ids, SHORT + 5, 20, &samplings[1]);
        check(s, ids, 60, 20, &samplings[1]);
        check(s, ids, 70, 50, &samplings[1]);
        assert_int_equal(fr_session_adopt(other, s, NULL), FR_OK);
        check(other, ids, SHORT + 10, 10, &samplings[1]);
        assert_int_equal(fr_session_adopt(s, other, NULL), FR_OK);
        check(s, ids, 50, 10, &samplings[1]);
        fr_session_close(s);
        fr_session_close(other);
    }
}

static bool listen(void *user, const fr_piece *piece) {
    (void)piece;
    return !*(bool *)user;
}

// A step that reads the text again gives no token and asks whether to go on.
static void reading_again_can_be_interrupted(void **state) {
    int32_t ids[MOST];
    bool enough = false;
    const fr_result *r;
    (void)state;
    define(ids, SHORT - 20, &samplings[0], FR_KV_F16);
    fr_session *s = open_session("none", CONTEXT, "f16");
    const fr_request q = {.size = sizeof q,
                          .prompt = ids,
                          .n_prompt = SHORT - 20,
                          .n_predict = NEW,
                          .ignore_eos = true,
                          .stream = listen,
                          .user = &enough};
    r = fr_session_result(s);
    assert_int_equal(fr_session_begin(s, &q, NULL), FR_OK);
    while (r->n_tokens < 21) // the last of them stands behind the short context
        assert_true(fr_session_step(s));
    enough = true;
    assert_false(fr_session_step(s));
    assert_int_equal(r->n_tokens, 21);
    assert_int_equal(fr_session_end(s, NULL), FR_OK);
    assert_int_equal(r->stats->finish, FR_FINISH_INTERRUPTED);
    check(s, ids, SHORT - 20, NEW, &samplings[0]);
    check(s, ids, SHORT + 20, 20, &samplings[0]);
    fr_session_close(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table_follows_the_text),
                                       cmocka_unit_test(a_session_goes_back_and_forth),
                                       cmocka_unit_test(reading_again_can_be_interrupted)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
