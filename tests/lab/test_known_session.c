// Sessions that know their answers, many in a pass: each has the tokens, passes, rows and depths
// that it has alone with whole trees.
#define _GNU_SOURCE
#include "engine/session.h"
#include "lab/cmd/replay/known_answer.h"
#include "support/quick.h"
#include "support/tiny_model.h"
#include "support/tiny_pack.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { CTX = 200, TEXT = 120, PREDICT = 60, MEMBERS = 12 };
static int members = MEMBERS; // fewer under FR_QUICK

static const struct {
    fr_tiny_pack pack;
    const char *name;
} PACKS[] = {
    {{.form = &fr_medusa_form, .n_draft = 200}, "medusa"},
    {{.form = &fr_medusa_form, .variant = FR_MEDUSA_EXIT, .tap = 1}, "medusa"},
    {{.form = &fr_eagle_form, .n_draft = 200}, "eagle"},
    {{.form = &fr_eagle_form, .n_taps = 2, .taps = {0, 2}, .n_draft = 200}, "eagle"},
    {{.form = &fr_ppd_form, .n_draft = 200}, "ppd"},
    {{.form = &fr_ppd_form, .n_draft = 200, .ensemble = 3}, "ppd"},
    {{.form = &fr_hidden_transfer_form, .n_draft = 200}, "hidden-transfer"},
    {{.form = &fr_chimera_form, .n_draft = 200, .ngram = 3}, "chimera"},
    {{.form = &fr_hidden_state_form, .n_draft = 200, .rank = 8}, "hidden-state"},
    {{.form = &fr_layer_skip_form}, "layer-skip"},
    {{.form = &fr_early_exit_form}, "early-exit"},
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
    fr_sampling own;
    fr_logit_bias ends[8]; // never drawn, as requests have it
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

static void sample_by(world *w, const fr_sampling *sampling) {
    w->own = *sampling;
    w->own.bias = w->ends;
    for (int32_t id = 0; id < w->engine->model.config.n_vocab; id++)
        if (fr_token_is_end(w->engine->tokenizer, id))
            w->ends[w->own.n_bias++] = (fr_logit_bias){id, -INFINITY};
    w->sampling = &w->own;
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
    fr_session_hook(s, known ? fr_known_answer_hook(known) : NULL);
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

// Reads the texts that members answer, in part where the answer is cut; the taps are those that
// the spec's drafter reads and one more. Whether it takes no pass of the target's.
static bool read_texts(const world *w, const char *spec, fr_known_answer *known,
                       fr_known_text *texts) {
    fr_error err;
    bool whole_passes = false;
    fr_known_reader r;
    const fr_model *m = &w->engine->model;
    assert_int_equal(fr_known_reader_open(&r, m, CTX, &err), FR_OK);
    for (int i = 0; i < members; i++) {
        fr_session *s = begin(w, spec, NULL, i, false, NULL);
        const fr_needs *needs = &s->decoder.drafter->needs;
        int32_t ids[TEXT + PREDICT];
        const int n = TEXT - 3 * i, answer = i % 4 == 3 ? known[i].n / 2 : known[i].n;
        memcpy(ids, w->text + i, sizeof *ids * (size_t)n);
        memcpy(ids + n, known[i].ids, sizeof *ids * (size_t)answer);
        if (fr_known_text_open(&texts[i], m, CTX, FR_KV_F16, &err) ||
            fr_known_text_read(&texts[i], &r, &(int){1}, 1, ids, n / 2, n / 2, w->sampling, &err) ||
            fr_known_text_read(&texts[i], &r, needs->taps, needs->n_taps, ids, n + answer, n,
                               w->sampling, &err))
            fail_msg("%s", err.text);
        assert_true(texts[i].kv.n_committed == n + answer);
        known[i].text = &texts[i];
        whole_passes = needs->max_attached || needs->all_rows;
        assert_int_equal(fr_session_end(s, &err), FR_OK);
        fr_session_close(s);
    }
    fr_known_reader_close(&r);
    return !whole_passes;
}

static void together(const world *w, const char *spec, fr_known_answer *known, outcome *out) {
    fr_group *g;
    fr_error err;
    fr_session *s[MEMBERS];
    const fr_group_options o = {.size = sizeof o, .n_ctx = CTX, .prompt_share = 1000};
    if (fr_group_open(&g, w->engine, &o, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < members; i++)
        s[i] = begin(w, spec, g, i, false, &known[i]);
    while (fr_group_step(g)) {
    }
    for (int i = 0; i < members; i++)
        end(s[i], &out[i]);
    fr_group_close(g);
}

static void compare(const char *spec, int i, const outcome *real, const outcome *got) {
    const fr_stats *a = &real->stats, *b = &got->stats;
    assert_int_equal(got->n, real->n);
    assert_memory_equal(got->token, real->token, sizeof *real->token * (size_t)got->n);
    if (a->passes != b->passes || a->rows != b->rows)
        fail_msg("%s, member %d: %lld passes of %lld rows, alone %lld of %lld", spec, i,
                 (long long)b->passes, (long long)b->rows, (long long)a->passes,
                 (long long)a->rows);
    assert_memory_equal(a->accepted, b->accepted, sizeof a->accepted);
    assert_memory_equal(a->offered, b->offered, sizeof a->offered);
}

static int64_t expect_same(const world *w, const char *spec) {
    static outcome plain[MEMBERS], got[MEMBERS], served[MEMBERS];
    static fr_known_answer known[MEMBERS];
    static fr_known_text texts[MEMBERS];
    int64_t accepted = 0;
    for (int i = 0; i < members; i++) {
        plain[i] = alone(w, spec, i, true);
        known[i] = (fr_known_answer){.ids = plain[i].token, .n = plain[i].n};
    }
    together(w, spec, known, got);
    const bool no_pass = read_texts(w, spec, known, texts);
    together(w, spec, known, served);
    assert_int_equal(known[0].hook.served, no_pass); // in its last step
    assert_false(known[3].hook.served);              // the text is cut before
    for (int i = 0; i < members; i++) {
        const outcome real = alone(w, spec, i, false);
        assert_int_equal(real.n, plain[i].n);
        assert_memory_equal(real.token, plain[i].token, sizeof *plain->token * (size_t)real.n);
        compare(spec, i, &real, &got[i]);
        compare(spec, i, &real, &served[i]);
        fr_known_text_close(&texts[i]);
        accepted += real.stats.accepted[0];
    }
    return accepted;
}

static void name_spec(const world *w, int i, char spec[96]) {
    static const char *const others[] = {"prompt-lookup", "lookahead", "lookahead+prompt-lookup"};
    if (i < N_PACKS)
        snprintf(spec, 96, "%s:%s%s", PACKS[i].name, w->pack[i], i % 2 ? "" : "+prompt-lookup");
    else if (i == N_PACKS)
        snprintf(spec, 96, "draft-model:%s", w->small);
    else
        snprintf(spec, 96, "%s", others[i - N_PACKS - 1]);
}

// Under FR_QUICK every spec is tried on one model under one sampling, the next one on the next.
static void passes_are_those_of_whole_trees(void **state) {
    (void)state;
    enum { MODELS = 2, N_SAMPLINGS = sizeof SAMPLINGS / sizeof *SAMPLINGS, SPECS = N_PACKS + 4 };
    static const fr_tiny_options models[MODELS] = {
        {.type = FR_TYPE_Q8_0, .n_ctx = 256, .head_dim = 32},
        {.arch = "gemma3", .type = FR_TYPE_Q8_0, .n_ctx = 256, .head_dim = 32, .window = 24},
    };
    const bool quick = fr_test_is_quick();
    for (int m = 0; m < MODELS; m++) {
        static world w;
        char spec[96];
        int64_t accepted = 0;
        memset(&w, 0, sizeof w);
        open_world(&w, &models[m]);
        for (int s = 0; s < N_SAMPLINGS; s++) {
            sample_by(&w, &SAMPLINGS[s]);
            for (int i = 0; i < SPECS; i++) {
                if (quick && i % (MODELS * N_SAMPLINGS) != m * N_SAMPLINGS + s) continue;
                name_spec(&w, i, spec);
                accepted += expect_same(&w, spec);
            }
        }
        assert_true(accepted > 50);
        close_world(&w);
    }
}

// The target's draws decide, whatever is held to be known.
static void a_wrong_answer_changes_no_byte(void **state) {
    (void)state;
    static world w;
    static outcome plain[MEMBERS], got[MEMBERS];
    static fr_known_answer known[MEMBERS];
    static fr_known_text texts[MEMBERS];
    static int32_t wrong[MEMBERS][PREDICT];
    memset(&w, 0, sizeof w);
    open_world(&w, &(fr_tiny_options){.type = FR_TYPE_Q8_0, .n_ctx = 256, .head_dim = 32});
    sample_by(&w, SAMPLINGS);
    for (int i = 0; i < members; i++) {
        plain[i] = alone(&w, "prompt-lookup", i, true);
        memcpy(wrong[i], plain[i].token, sizeof wrong[i]);
        wrong[i][i] ^= 1;
        known[i] = (fr_known_answer){.ids = wrong[i], .n = plain[i].n};
    }
    for (int read = 0; read < 2; read++) {
        if (read) read_texts(&w, "prompt-lookup", known, texts);
        together(&w, "prompt-lookup", known, got);
        for (int i = 0; i < members; i++) {
            assert_int_equal(got[i].n, plain[i].n);
            assert_memory_equal(got[i].token, plain[i].token, sizeof *wrong[i] * (size_t)got[i].n);
            if (read) assert_int_equal(texts[i].n_sound, TEXT - 3 * i + i); // up to the wrong one
            fr_known_text_close(&texts[i]);
        }
    }
    close_world(&w);
}

int main(void) {
    if (fr_test_is_quick()) members = 5;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_are_those_of_whole_trees),
        cmocka_unit_test(a_wrong_answer_changes_no_byte),
    };
    return cmocka_run_group_tests_name("engine/known_answer", tests, NULL, NULL);
}
