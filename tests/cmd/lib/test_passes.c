// Rows of plain passes are those of a session, also where a text outgrows a table of LongRoPE.
#include "cmd/lib/passes.h"
#include "engine/engine.h"
#include "support/tiny_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SHORT = 70, N = 150 };

typedef struct seen {
    int32_t best[N]; // of every row that was told
    int first, n;
} seen;

static int n_vocab;

static bool see(void *user, int at, float *logits) {
    seen *s = user;
    if (!s->n) s->first = at;
    assert_int_equal(at, s->first + s->n++); // once each, in order
    s->best[at] = 0;
    for (int i = 1; i < n_vocab; i++)
        if (logits[i] > logits[s->best[at]]) s->best[at] = i;
    return true;
}

// Greedy decoding from a session, then the passes over its text: every row gives the next token.
static void rows_give_what_a_session_gives(void **state) {
    char path[64];
    fr_engine *engine;
    fr_session *session;
    const fr_result *r;
    fr_passes passes;
    fr_error err = {0};
    int32_t ids[N];
    (void)state;
    snprintf(path, sizeof path, "passes-test-%d.gguf", (int)getpid());
    if (fr_tiny_write(&(fr_tiny_options){.arch = "phi3", .n_ctx = 256, .n_ctx_short = SHORT}, path,
                      &err) ||
        fr_engine_open(&engine, path,
                       &(fr_engine_options){.size = sizeof(fr_engine_options), .threads = 1},
                       &err) ||
        fr_session_open(
            &session, engine,
            &(fr_session_options){.size = sizeof(fr_session_options), .drafter = "none"}, &err) ||
        fr_passes_open(&passes, engine, N, FR_PASSES_ROWS, "f16", &err))
        fail_msg("%s", err.text);
    n_vocab = engine->model.config.n_vocab;
    static const int prompts[] = {5, SHORT + 1};
    for (int k = 0; k < 2; k++) {
        const int n = prompts[k];
        for (int i = 0; i < n; i++)
            ids[i] = 3 + i * 11 % 200;
        const fr_request q = {
            .size = sizeof q, .prompt = ids, .n_prompt = n, .n_predict = N - n, .ignore_eos = true};
        assert_int_equal(fr_session_generate(session, &q, &r, &err), FR_OK);
        memcpy(ids + n, r->tokens, sizeof *ids * (size_t)(N - n));
        const int from[] = {n - 1, SHORT - 1, SHORT, N - 1};
        for (int i = 0; i < 4; i++) {
            seen s = {.n = 0};
            if (from[i] < n - 1) continue;
            assert_int_equal(fr_passes_read(&passes, ids, N, from[i], see, &s, &err), FR_OK);
            assert_int_equal(s.first, from[i]);
            assert_int_equal(s.n, N - from[i]);
            for (int at = from[i]; at + 1 < N; at++)
                assert_int_equal(s.best[at], ids[at + 1]);
        }
    }
    fr_passes_close(&passes);
    fr_session_close(session);
    fr_engine_close(engine);
    remove(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_give_what_a_session_gives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
