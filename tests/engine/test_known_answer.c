// Sessions that know their answers, many in a pass: each has the tokens, passes, rows and depths
// that it has alone with whole trees.
#define _GNU_SOURCE
#include "engine/engine.h"
#include "support/tiny_model.h"
#include "support/tiny_pack.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { CTX = 200, TEXT = 120, PREDICT = 60, MEMBERS = 12 };

static const struct {
    fr_tiny_pack pack;
    const char *name;
} PACKS[] = {
    {{.kind = FR_PACK_MEDUSA, .n_draft = 200}, "medusa"},
    {{.kind = FR_PACK_MEDUSA, .variant = FR_MEDUSA_EXIT, .tap = 1}, "medusa"},
    {{.kind = FR_PACK_EAGLE, .n_draft = 200}, "eagle"},
    {{.kind = FR_PACK_EAGLE, .n_taps = 2, .taps = {0, 2}, .n_draft = 200}, "eagle"},
    {{.kind = FR_PACK_PPD, .n_draft = 200}, "ppd"},
    {{.kind = FR_PACK_PPD, .n_draft = 200, .ensemble = 3}, "ppd"},
    {{.kind = FR_PACK_HIDDEN_TRANSFER, .n_draft = 200}, "hidden-transfer"},
    {{.kind = FR_PACK_CHIMERA, .n_draft = 200, .ngram = 3}, "chimera"},
    {{.kind = FR_PACK_HIDDEN_STATE, .n_draft = 200, .rank = 8}, "hidden-state"},
    {{.kind = FR_PACK_LAYER_SKIP}, "layer-skip"},
    {{.kind = FR_PACK_EARLY_EXIT}, "early-exit"},
};
enum { N_PACKS = sizeof PACKS / sizeof *PACKS };

static const fr_sampling SAMPLINGS[] = {
    {.size = sizeof(fr_sampling), .temperature = 0},
    {.size = sizeof(fr_sampling), .temperature = 0.7f, .top_k = 40, .seed = 5},
};

typedef struct world {
    char model[64], small[64], pack[N_PACKS][32];
    fr_engine *engine;
    int32_t text[TEXT];
    const fr_sampling *sampling;
} world;

typedef struct outcome {
    int32_t token[PREDICT];
    int n;
    fr_stats stats;
} outcome;

static void open_world(world *w, const fr_tiny_options *options) {
    fr_error err;
    fr_tiny_options small = *options;
    small.n_layer = 1;
    small.seed = options->seed + 1;
    snprintf(w->model, sizeof w->model, "known-model-%d.gguf", (int)getpid());
    snprintf(w->small, sizeof w->small, "known-small-%d.gguf", (int)getpid());
    assert_int_equal(fr_tiny_write(options, w->model, &err), FR_OK);
    assert_int_equal(fr_tiny_write(&small, w->small, &err), FR_OK);
    const fr_engine_options o = {.size = sizeof o, .threads = 2};
    if (fr_engine_open(&w->engine, w->model, &o, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < N_PACKS; i++) {
        strcpy(w->pack[i], "pack-XXXXXX");
        fr_tiny_pack_write(w->pack[i], &PACKS[i].pack, &w->engine->model);
    }
    for (int i = 0; i < TEXT; i++) // it repeats itself, so that some guesses are right
        w->text[i] = 'a' + (i < 17 ? i * 7 % 26 : w->text[i - 17] - 'a' + (i % 13 == 0));
}

static void close_world(world *w) {
    fr_engine_close(w->engine);
    for (int i = 0; i < N_PACKS; i++)
        unlink(w->pack[i]);
    unlink(w->small);
    unlink(w->model);
}

// Member i answers a text of its own length.
static fr_session *begin(const world *w, const char *spec, fr_group *group, int i, bool plain,
                         fr_known_answer *known) {
    fr_session *s;
    fr_error err;
    const fr_session_options o = {.size = sizeof o,
                                  .n_ctx = CTX,
                                  .drafter = plain ? "none" : spec,
                                  .tree = plain ? NULL : "16",
                                  .no_adapt = true,
                                  .group = group};
    const fr_request q = {.size = sizeof q,
                          .prompt = w->text + i,
                          .n_prompt = TEXT - 3 * i,
                          .n_predict = PREDICT - i,
                          .ignore_eos = true,
                          .sampling = w->sampling};
    if (fr_session_open(&s, w->engine, &o, &err)) fail_msg("%s: %s", spec, err.text);
    fr_session_know(s, known);
    if (fr_session_begin(s, &q, &err)) fail_msg("%s: %s", spec, err.text);
    return s;
}

static void end(fr_session *s, outcome *out) {
    fr_error err;
    if (fr_session_end(s, &err)) fail_msg("%s", err.text);
    const fr_result *r = fr_session_result(s);
    out->n = r->n_tokens;
    memcpy(out->token, r->tokens, sizeof *r->tokens * (size_t)r->n_tokens);
    out->stats = *r->stats;
    fr_session_close(s);
}

static outcome alone(const world *w, const char *spec, int i, bool plain) {
    outcome out;
    fr_session *s = begin(w, spec, NULL, i, plain, NULL);
    while (fr_session_step(s)) {
    }
    end(s, &out);
    return out;
}

static void together(const world *w, const char *spec, fr_known_answer *known, outcome *out) {
    fr_group *g;
    fr_error err;
    fr_session *s[MEMBERS];
    const fr_group_options o = {.size = sizeof o, .n_ctx = CTX, .prompt_share = 1000};
    if (fr_group_open(&g, w->engine, &o, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < MEMBERS; i++)
        s[i] = begin(w, spec, g, i, false, &known[i]);
    while (fr_group_step(g)) {
    }
    for (int i = 0; i < MEMBERS; i++)
        end(s[i], &out[i]);
    fr_group_close(g);
}

static int64_t expect_same(const world *w, const char *spec) {
    static outcome plain[MEMBERS], got[MEMBERS];
    static fr_known_answer known[MEMBERS];
    int64_t accepted = 0;
    for (int i = 0; i < MEMBERS; i++) {
        plain[i] = alone(w, spec, i, true);
        known[i] = (fr_known_answer){.ids = plain[i].token, .n = plain[i].n};
    }
    together(w, spec, known, got);
    for (int i = 0; i < MEMBERS; i++) {
        const outcome real = alone(w, spec, i, false);
        const fr_stats *a = &real.stats, *b = &got[i].stats;
        assert_int_equal(got[i].n, plain[i].n);
        assert_memory_equal(got[i].token, plain[i].token, sizeof *plain->token * (size_t)got[i].n);
        if (a->passes != b->passes || a->rows != b->rows)
            fail_msg("%s, member %d: %lld passes of %lld rows, alone %lld of %lld", spec, i,
                     (long long)b->passes, (long long)b->rows, (long long)a->passes,
                     (long long)a->rows);
        assert_memory_equal(a->accepted, b->accepted, sizeof a->accepted);
        assert_memory_equal(a->offered, b->offered, sizeof a->offered);
        accepted += a->accepted[0];
    }
    return accepted;
}

static void passes_are_those_of_whole_trees(void **state) {
    (void)state;
    static const fr_tiny_options models[] = {
        {.type = FR_TYPE_Q8_0, .n_ctx = 256, .head_dim = 32},
        {.arch = "gemma3", .type = FR_TYPE_Q8_0, .n_ctx = 256, .head_dim = 32, .window = 24},
    };
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        static world w;
        char spec[96];
        memset(&w, 0, sizeof w);
        open_world(&w, &models[m]);
        for (size_t k = 0; k < sizeof SAMPLINGS / sizeof *SAMPLINGS; k++) {
            int64_t accepted = 0;
            w.sampling = &SAMPLINGS[k];
            for (int i = 0; i < N_PACKS; i++) {
                snprintf(spec, sizeof spec, "%s:%s%s", PACKS[i].name, w.pack[i],
                         i % 2 ? "" : "+prompt-lookup");
                accepted += expect_same(&w, spec);
            }
            snprintf(spec, sizeof spec, "draft-model:%s", w.small);
            accepted += expect_same(&w, spec);
            accepted += expect_same(&w, "prompt-lookup");
            accepted += expect_same(&w, "lookahead");
            accepted += expect_same(&w, "lookahead+prompt-lookup");
            assert_true(accepted > 100);
        }
        close_world(&w);
    }
}

// The target's draws decide, whatever is held to be known.
static void a_wrong_answer_changes_no_byte(void **state) {
    (void)state;
    static world w;
    static outcome plain[MEMBERS], got[MEMBERS];
    static fr_known_answer known[MEMBERS];
    static int32_t wrong[MEMBERS][PREDICT];
    memset(&w, 0, sizeof w);
    open_world(&w, &(fr_tiny_options){.type = FR_TYPE_Q8_0, .n_ctx = 256, .head_dim = 32});
    w.sampling = SAMPLINGS;
    for (int i = 0; i < MEMBERS; i++) {
        plain[i] = alone(&w, "prompt-lookup", i, true);
        memcpy(wrong[i], plain[i].token, sizeof wrong[i]);
        wrong[i][i] ^= 1;
        known[i] = (fr_known_answer){.ids = wrong[i], .n = plain[i].n};
    }
    together(&w, "prompt-lookup", known, got);
    for (int i = 0; i < MEMBERS; i++) {
        assert_int_equal(got[i].n, plain[i].n);
        assert_memory_equal(got[i].token, plain[i].token, sizeof *plain->token * (size_t)got[i].n);
    }
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_are_those_of_whole_trees),
        cmocka_unit_test(a_wrong_answer_changes_no_byte),
    };
    return cmocka_run_group_tests_name("engine/known_answer", tests, NULL, NULL);
}
