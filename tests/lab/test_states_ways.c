// test_states_ways.c — hidden-state with two chains' trees, and with chains that read guesses: the
// tokens are those of plain decoding; a chain that is fed is that of the block, called row by row.
#include "draft/drafting.h"
#include "draft/hidden_state/hidden_state.h"
#include "support/draft_at_once.h"
#include "support/tiny_pack.h"
#include "support/weights.h"
#include "tree/dice.h"
#include <stdio.h>
#include <unistd.h>

enum { CTX = 160, PROMPT = 21, D = 64, DRAFT = 48, LENGTH = 6, TEXT = 70 };

static const fr_sampling SAMPLINGS[] = {
    {.temperature = 0},
    {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .seed = 3},
    {.temperature = 1.2f, .seed = 4},
};
enum { N_SAMPLINGS = sizeof SAMPLINGS / sizeof *SAMPLINGS };

static void open_pair(pair *p, const fr_tiny_pack *pack) {
    open_target(p, &(fr_tiny_options){.arch = "llama", .type = FR_TYPE_Q8_0, .n_layer = 2}, 1, CTX);
    strcpy(p->path, "pack-XXXXXX");
    fr_tiny_pack_write(p->path, pack, &p->target.model);
}

static void close_pair(pair *p) {
    unlink(p->path);
    close_target(p);
}

static const struct way {
    const char *name, *tail, *options[4];
    bool no_adapt, adapt;
} WAYS[] = {
    {"union", "", {"depth=6", NULL}, true, false},
    {"union", "", {NULL}, false, true},
    {"union", "+prompt-lookup", {"depth=6", "min-score=0", NULL}, true, false},
    {"iterative", "", {"depth=4", NULL}, true, false},
    {"iterative", "", {NULL}, false, true},
    {"iterative", "+prompt-lookup", {"min-score=0", NULL}, false, true},
};
enum { N_WAYS = sizeof WAYS / sizeof *WAYS };

static const fr_tiny_pack PACKS[] = {
    {.form = &fr_hidden_state_form, .rank = 32, .gate = true, .n_draft = 256, .type = FR_TYPE_Q8_0},
    {.form = &fr_hidden_state_form, .rank = 8, .leave_out = "forerun.accuracy.depth_rank"},
    {.form = &fr_hidden_state_form, .pure = true, .n_draft = 200},
    {.form = &fr_hidden_state_form, .rank = 8, .gate = true, .broken = true},
};

static fr_drafter *open_way(const pair *p, const struct way *w) {
    char spec[120];
    snprintf(spec, sizeof spec, "hidden-state-%s:%s%s", w->name, p->path, w->tail);
    return open_drafter(p, spec, w->no_adapt, w->options);
}

static void every_way_gives_the_tokens_of_plain_decoding(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof PACKS / sizeof *PACKS; k++) {
        pair p;
        int32_t prompt[PROMPT];
        open_pair(&p, &PACKS[k]);
        fr_test_ids(prompt, PROMPT, 256, 31);
        for (int dist = 0; dist < N_SAMPLINGS; dist++) {
            const int n = 45;
            const output plain = decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT,
                                             &SAMPLINGS[dist], n, NULL);
            for (int w = 0; w < N_WAYS; w++) {
                fr_stats stats;
                fr_drafter *d = open_way(&p, &WAYS[w]);
                const output got = decode_once(&p, d, FR_RULE_EXACT, WAYS[w].adapt, prompt, PROMPT,
                                               &SAMPLINGS[dist], n, &stats);
                expect_same(&got, &plain);
                if (WAYS[w].no_adapt && !PACKS[k].broken)
                    assert_true(stats.rows > 3 * stats.passes);
                fr_drafter_close(d);
            }
        }
        close_pair(&p);
    }
}

// Greedy, the other rules leave no choice either; at a temperature they have to come to an end.
static void the_other_rules_hold_too(void **state) {
    (void)state;
    static const fr_rule rules[] = {FR_RULE_REJECTION, FR_RULE_TYPICAL};
    pair p;
    int32_t prompt[PROMPT];
    open_pair(&p, &PACKS[0]);
    fr_test_ids(prompt, PROMPT, 256, 32);
    for (int r = 0; r < 2; r++)
        for (int dist = 0; dist < N_SAMPLINGS; dist++)
            for (int w = 0; w < N_WAYS; w++) {
                fr_drafter *d = open_way(&p, &WAYS[w]);
                const output got = decode_once(&p, d, rules[r], WAYS[w].adapt, prompt, PROMPT,
                                               &SAMPLINGS[dist], 45, NULL);
                if (dist == 0) {
                    const output plain = decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT,
                                                     &SAMPLINGS[dist], 45, NULL);
                    expect_same(&got, &plain);
                }
                fr_drafter_close(d);
            }
    close_pair(&p);
}

// ---------------------------------------------------------------- a chain that is fed

typedef struct fixture {
    pair p;
    fr_drafter *drafter;
    fr_states *states; // the drafter's
    fr_pack_weights *weights;
    fr_draft_block block; // the same block for itself
} fixture;

static void open_fixture(fixture *f, bool pure) {
    fr_error err;
    char spec[60];
    const fr_tiny_pack o = {.form = &fr_hidden_state_form,
                            .n_draft = DRAFT,
                            .rank = pure ? 0 : 16,
                            .gate = !pure,
                            .pure = pure};
    open_pair(&f->p, &o);
    snprintf(spec, sizeof spec, "hidden-state-iterative:%s", f->p.path);
    f->drafter = open_drafter(&f->p, spec, true, NULL);
    f->states = fr_hidden_state_states(f->drafter);
    f->weights = weights_of(f->p.path, &f->p.target.model);
    if (fr_draft_block_open(&f->block, f->weights, CTX, 0, NULL, &err)) fail_msg("%s", err.text);
}

static void close_fixture(fixture *f) {
    fr_draft_block_close(&f->block);
    fr_pack_weights_give_back(f->weights);
    fr_drafter_close(f->drafter);
    close_pair(&f->p);
}

static void add_text(fixture *f, int n) {
    for (int i = 0; i < n; i++) {
        float state[D];
        const int32_t id = dice_below(f->p.target.model.config.n_vocab);
        for (int k = 0; k < D; k++)
            state[k] = (float)(4 * dice_unit() - 2);
        fr_draft_block_add(&f->states->chain, state, id);
        fr_draft_block_add(&f->block, state, id);
    }
}

// The likeliest token of a distribution behind `before`; the shortlist is the whole vocabulary.
static int32_t likeliest(fixture *f, const float *logits, const float *gate, int32_t before) {
    fr_shortlist all = {.n = DRAFT};
    float score[FR_SHORTLIST_MOST];
    int best = 0;
    for (int i = 0; i < DRAFT; i++) {
        all.index[i] = i;
        all.z[i] = logits[i];
    }
    memcpy(score, all.z, sizeof score);
    if (f->states->has_token_bias)
        fr_token_bias_score(&f->states->token_bias, &all, gate, before, score);
    for (int i = 1; i < DRAFT; i++)
        if (score[i] > score[best]) best = i;
    return f->weights->pack.ids[best];
}

static void expect_literal_chain(fixture *f, int32_t root, int length) {
    float state[D], gate[FR_PACK_RANK];
    int slot = -1;
    int32_t before = root;
    const uint8_t wants = FR_WANT_FINAL | FR_WANT_LOGITS;
    draft_at_once(f->states, root, length);
    const fr_cached_chain *c = fr_chain_cache_newest(&f->states->kept);
    assert_int_equal(c->length, length);
    assert_true(fr_draft_block_read(&f->block, wants));
    for (int k = 0; k < length; k++) {
        if (k) {
            const fr_draft_block_guess from = {
                .state = state,
                .token =
                    fr_draft_block_pack_of(&f->weights->pack)->pure ? FR_DRAFT_BLOCK_NULL : before,
                .parent = slot};
            guess_at_once(&f->block, &from, 1, wants, &slot);
        }
        memcpy(state, fr_draft_block_state(&f->block, 0), sizeof state);
        assert_memory_equal(c->states + k * D, state, sizeof state);
        const float *logits = fr_draft_block_logits(&f->block, 0);
        assert_memory_equal(fr_states_logits(f->states, c, k), logits, sizeof *logits * DRAFT);
        if (f->states->has_token_bias) {
            fr_token_bias_gate(&f->states->token_bias, state, gate);
            assert_memory_equal(fr_states_gate(f->states, c, k), gate,
                                sizeof *gate *
                                    (size_t)fr_hidden_state_pack_of(&f->weights->pack)->rank);
        }
        before = likeliest(f, logits, gate, before);
    }
    fr_draft_block_drop(&f->block);
}

static void fed_chains_are_those_of_the_block(void **state) {
    (void)state;
    dice_begin(77);
    for (int pure = 0; pure < 2; pure++) {
        fixture f;
        open_fixture(&f, pure);
        for (int step = 0; step < 12; step++) {
            add_text(&f, 1 + dice_below(step ? 4 : TEXT));
            expect_literal_chain(&f, dice_below(f.p.target.model.config.n_vocab),
                                 1 + dice_below(LENGTH));
        }
        close_fixture(&f);
    }
}

// A way adds two options to those that are given.
static void options_leave_room_for_two_more(void **state) {
    (void)state;
    pair p;
    char spec[60];
    const char *options[63];
    open_pair(&p, &PACKS[0]);
    snprintf(spec, sizeof spec, "hidden-state-union:%s", p.path);
    for (int n = 61; n <= 62; n++) {
        fr_drafter *d;
        fr_error err;
        for (int i = 0; i < n; i++)
            options[i] = "depth=3";
        options[n] = NULL;
        assert_int_equal(try_drafter(&d, &p, spec, true, options, &err), n == 61 ? FR_OK : FR_EARG);
        if (n == 61) fr_drafter_close(d);
    }
    close_pair(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_gives_the_tokens_of_plain_decoding),
        cmocka_unit_test(the_other_rules_hold_too),
        cmocka_unit_test(fed_chains_are_those_of_the_block),
        cmocka_unit_test(options_leave_room_for_two_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
