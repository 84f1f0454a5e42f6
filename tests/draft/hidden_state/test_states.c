// Chains of states against the block itself, called row by row: one product for all logits changes
// no bit. What is fused is what speaks of the same place.
#include "draft/hidden_state/states.h"
#include "support/draft_at_once.h"
#include "support/open_model.h"
#include "support/tiny_pack.h"
#include "support/weights.h"
#include "tree/dice.h"
#include <stdio.h>
#include <unistd.h>

enum { D = 64, DRAFT = 48, LENGTH = 6, TEXT = 70, CTX = 128 };

typedef struct fixture {
    fr_opened target;
    fr_pack_weights *weights;
    fr_pack pack; // of the weights
    char file[32];
    fr_states states;
    fr_draft_block block; // the same block for itself
} fixture;

static void open_fixture(fixture *f, bool pure) {
    fr_error err;
    const fr_kern *kern;
    const fr_tiny_options tiny = {.arch = "llama", .type = FR_TYPE_Q8_0, .n_layer = 1, .d = D};
    const fr_tiny_pack o = {.form = &fr_hidden_state_form,
                            .n_draft = DRAFT,
                            .rank = pure ? 0 : 16,
                            .gate = !pure,
                            .pure = pure};
    assert_int_equal(fr_kern_pick(&kern, NULL, &err), FR_OK);
    fr_opened_open(&f->target, &tiny, kern, 1);
    strcpy(f->file, "pack-XXXXXX");
    fr_tiny_pack_write(f->file, &o, &f->target.model);
    f->weights = weights_of(f->file, &f->target.model);
    f->pack = f->weights->pack;
    if (fr_states_open(&f->states, f->weights, CTX, true, NULL, &err) ||
        fr_draft_block_open(&f->block, f->weights, CTX, 0, NULL, &err))
        fail_msg("%s", err.text);
}

static void close_fixture(fixture *f) {
    fr_draft_block_close(&f->block);
    fr_states_close(&f->states);
    fr_pack_weights_give_back(f->weights);
    unlink(f->file);
    fr_opened_close(&f->target);
}

static void add_text(fixture *f, int n) {
    for (int i = 0; i < n; i++) {
        float state[D];
        const int32_t id = dice_below(f->target.model.config.n_vocab);
        for (int k = 0; k < D; k++)
            state[k] = (float)(4 * dice_unit() - 2);
        fr_draft_block_add(&f->states.chain, state, id);
        fr_draft_block_add(&f->block, state, id);
    }
}

static void expect_literal_chain(fixture *f, int32_t root, int length) {
    float state[D], gate[FR_PACK_RANK];
    int slot = -1;
    const uint8_t wants = FR_WANT_FINAL | FR_WANT_LOGITS;
    draft_at_once(&f->states, root, length);
    const fr_cached_chain *c = fr_chain_cache_newest(&f->states.kept);
    assert_int_equal(c->length, length);
    assert_true(fr_draft_block_read(&f->block, wants));
    for (int k = 0; k < length; k++) {
        if (k) {
            const fr_draft_block_guess from = {
                .state = state, .token = FR_DRAFT_BLOCK_NULL, .parent = slot};
            guess_at_once(&f->block, &from, 1, wants, &slot);
        }
        memcpy(state, fr_draft_block_state(&f->block, 0), sizeof state);
        assert_memory_equal(c->states + k * D, state, sizeof state);
        const float *logits = fr_draft_block_logits(&f->block, 0);
        assert_memory_equal(fr_states_logits(&f->states, c, k), logits, sizeof *logits * DRAFT);
        if (f->states.has_token_bias) {
            fr_token_bias_gate(&f->states.token_bias, state, gate);
            assert_memory_equal(fr_states_gate(&f->states, c, k), gate,
                                sizeof *gate * (size_t)fr_hidden_state_pack_of(&f->pack)->rank);
        }
    }
    fr_draft_block_drop(&f->block);
}

static void chains_are_those_of_the_block(void **state) {
    (void)state;
    dice_begin(77);
    for (int pure = 0; pure < 2; pure++) {
        fixture f;
        open_fixture(&f, pure);
        for (int step = 0; step < 12; step++) {
            add_text(&f, 1 + dice_below(step ? 4 : TEXT));
            expect_literal_chain(&f, dice_below(f.target.model.config.n_vocab),
                                 1 + dice_below(LENGTH));
        }
        fr_states_begin(&f.states);
        assert_int_equal(fr_chain_cache_left(fr_chain_cache_newest(&f.states.kept)), 0);
        close_fixture(&f);
    }
}

// The logits of every state name the chain and the place that they speak of.
static void what_is_fused_speaks_of_the_same_place(void **state) {
    (void)state;
    const fr_pack pack = {.n_draft = 2};
    fr_states s = {.pack = &pack};
    fr_error err;
    dice_begin(78);
    assert_int_equal(fr_chain_cache_open(&s.kept, 1, 0, 2, &err), FR_OK);
    for (int round = 0, root = 0, chain = 0; round < 300; round++) {
        fr_cached_chain *c = fr_chain_cache_start(&s.kept, 1 + dice_below(FR_CHAIN_CACHE_DEPTH));
        chain++;
        for (int i = 0; i < c->length; i++) {
            fr_states_logits(&s, c, i)[0] = (float)chain;
            fr_states_logits(&s, c, i)[1] = (float)(root + 1 + i);
        }
        const int left = fr_chain_cache_left(fr_chain_cache_before(&s.kept));
        for (int j = 0; j < left && j < c->length; j++) {
            float to[2];
            fr_states_fuse(&s, j, 0.5f, to);
            assert_true(to[0] == (float)chain + 0.5f * (float)(chain - 1));
            assert_true(to[1] == 1.5f * (float)(root + 1 + j));
        }
        const int sure = 1 + dice_below(4);
        fr_chain_cache_advance(&s.kept, sure);
        root += sure;
    }
    fr_chain_cache_close(&s.kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_are_those_of_the_block),
        cmocka_unit_test(what_is_fused_speaks_of_the_same_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
