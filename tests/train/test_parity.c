// What a chain says in training is what it says in a drafter: the losses that judging counts are
// those of the engine's block on the same pack, at every distance.
#include "base/alloc.h"
#include "decode/draw/sampler.h"
#include "draft/chimera/chimera_heads.h"
#include "draft/chimera/ngram_encoder.h"
#include "draft/kit/draft_block.h"
#include "kern/half.h"
#include "kern/repack.h"
#include "support/draft_at_once.h"
#include "support/open_model.h"
#include "support/weights.h"
#include "train/data/draft_vocab.h"
#include "train/learner/pack_write.h"
#include "train/method/learners.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { D = 64, V = 96, ROWS = 24, TOP = 4, DEPTH = 3 };

typedef struct world {
    fr_opened opened;
    fr_draft_vocab vocab;
    fr_shard_format format;
    fr_gemm *gemm;
    fr_batch batch;
    int32_t ids[ROWS + 1], dist_id[ROWS * TOP];
    uint8_t flags[ROWS];
    uint16_t final[ROWS * D], tap[2 * ROWS * D], dist_lp[ROWS * TOP];
    char path[64];
} world;

static double any(uint64_t *at) {
    return fr_uniform(11, (*at)++);
}

static void make_vocab(world *w) {
    fr_draft_vocab *v = &w->vocab;
    *v = (fr_draft_vocab){.n = V,
                          .ids = fr_alloc_array(V, sizeof *v->ids),
                          .index = fr_alloc_array((size_t)w->format.n_vocab, sizeof *v->index),
                          .head = fr_alloc_array((size_t)V * D, sizeof *v->head)};
    memset(v->index, 0xff, (size_t)w->format.n_vocab * sizeof *v->index);
    for (int i = 0; i < V; i++) {
        v->ids[i] = 2 * i + 1;
        v->index[2 * i + 1] = i;
        fr_matrix_row(&w->opened.model.head, 2 * i + 1, v->head + i * D);
    }
}

static void make_batch(world *w) {
    uint64_t at = 0;
    for (int i = 0; i <= ROWS; i++)
        w->ids[i] = w->vocab.ids[(int)(any(&at) * V)];
    for (int i = 0; i < ROWS * D; i++)
        w->final[i] = fr_f16_from_f32((float)(6 * any(&at) - 3));
    for (int i = 0; i < 2 * ROWS * D; i++)
        w->tap[i] = fr_f16_from_f32((float)(9 * any(&at) - 3));
    for (int i = 0; i < ROWS; i++) {
        w->flags[i] = i > 4 ? FR_ROW_ANSWER | FR_ROW_DISTRIBUTION : 0;
        for (int j = 0; j < TOP; j++) {
            w->dist_id[i * TOP + j] = w->vocab.ids[(i * 7 + j * 13) % V];
            w->dist_lp[i * TOP + j] = fr_f16_from_f32((float)log(0.4 / (j + 1)));
        }
    }
    w->batch = (fr_batch){.n = 1, .rows = ROWS};
    w->batch.sample[0] = (fr_sample){.n = ROWS,
                                     .ids = w->ids,
                                     .flags = w->flags,
                                     .final = w->final,
                                     .tap = w->tap,
                                     .dist_id = w->dist_id,
                                     .dist_lp = w->dist_lp};
}

static int set_up(void **state) {
    world *w = fr_alloc_zero(sizeof *w);
    fr_opened_open(&w->opened, &(fr_tiny_options){.n_layer = 2}, &fr_kern_scalar, 1);
    const fr_config *c = &w->opened.model.config;
    w->format = (fr_shard_format){
        .d = c->d, .n_vocab = c->n_vocab, .n_taps = 2, .taps = {0, 1}, .top = TOP};
    fr_gguf_fingerprint(w->opened.gguf, w->format.target);
    strcpy(w->path, "parity-XXXXXX");
    const int fd = mkstemp(w->path);
    if (fd < 0 || c->d != D || c->n_vocab < 2 * V || fr_gemm_open(&w->gemm, 1, FR_GEMM_F32, NULL))
        return 1;
    close(fd);
    make_vocab(w);
    make_batch(w);
    *state = w;
    return 0;
}

static int tear_down(void **state) {
    world *w = *state;
    unlink(w->path);
    fr_gemm_close(w->gemm);
    fr_draft_vocab_close(&w->vocab);
    fr_opened_close(&w->opened);
    fr_free(w);
    return 0;
}

// A learner far from its start, and its pack.
static fr_learner *train(world *w, fr_learner_open_fn *open, const char *const *options) {
    fr_learner *l;
    fr_error err = {0};
    const fr_learner_config config = {.target = &w->opened.model,
                                      .vocab = &w->vocab,
                                      .format = &w->format,
                                      .gemm = w->gemm,
                                      .depth = DEPTH,
                                      .max_rows = ROWS,
                                      .options = options};
    if (open(&l, &config, &err)) fail_msg("%s", err.text);
    uint64_t at = 5000;
    for (size_t i = 0; i < l->params.n_floats; i++)
        l->params.w[i] += (float)(0.2 * any(&at) - 0.1);
    const fr_tally judged = {.tried = {1}};
    const fr_pack_facts facts = {.target_name = "tiny",
                                 .target = w->format.target,
                                 .answers = "own",
                                 .command = "",
                                 .judged = &judged};
    if (fr_pack_write(w->path, l, &facts, FR_TYPE_F32, &err)) fail_msg("%s", err.text);
    return l;
}

// -sum p log softmax(z) with the distribution of the row.
static double loss_of_logits(const world *w, const double *z, int row) {
    double most = -INFINITY, sum = 0, expected = 0, all = 0;
    for (int v = 0; v < V; v++)
        most = fmax(most, z[v]);
    for (int v = 0; v < V; v++)
        sum += exp(z[v] - most);
    for (int j = 0; j < TOP; j++) {
        const double p = exp((double)fr_f16_to_f32(w->dist_lp[row * TOP + j]));
        all += p;
        expected += p * z[w->vocab.index[w->dist_id[row * TOP + j]]];
    }
    return most + log(sum) - expected / all;
}

static double loss_of(const world *w, const float *g, int row) {
    double z[V] = {0};
    for (int v = 0; v < V; v++)
        for (int i = 0; i < D; i++)
            z[v] += (double)w->vocab.head[v * D + i] * (double)g[i];
    return loss_of_logits(w, z, row);
}

// What the target gives of a token: its final state, or rows of the pack's layers.
static void given_of(const world *w, const fr_pack *p, int i, float *given) {
    for (int t = 0; t < (fr_draft_block_pack_of(p)->n_taps ? fr_draft_block_pack_of(p)->n_taps : 1);
         t++) {
        const bool final = !fr_draft_block_pack_of(p)->n_taps ||
                           fr_draft_block_pack_of(p)->taps[t] == w->opened.model.config.n_layer;
        const uint16_t *from =
            final ? w->final + i * D : w->tap + (fr_draft_block_pack_of(p)->taps[t] * ROWS + i) * D;
        for (int k = 0; k < D; k++)
            given[t * D + k] = fr_f16_to_f32(from[k]);
    }
}

// The chain behind each row of the text, by the drafter's block.
static void run_engine(const world *w, bool feeds, double part[DEPTH]) {
    fr_draft_block c;
    fr_error err = {0};
    float state[D], given[3 * D];
    fr_pack_weights *weights = weights_of(w->path, &w->opened.model);
    const fr_pack pack = weights->pack;
    if (fr_draft_block_open(&c, weights, 64, 0, NULL, &err)) fail_msg("%s", err.text);
    fr_draft_block_keep(&c, 0);
    for (int i = 0; i < ROWS; i++) {
        given_of(w, &pack, i, given);
        fr_draft_block_add(&c, given, w->ids[i + 1]);
        assert_true(fr_draft_block_read(&c, FR_WANT_FINAL));
        for (int k = 1, slot = -1; k <= DEPTH && i + k < ROWS; k++) {
            if (k > 1) {
                const fr_draft_block_guess guess = {
                    state, feeds ? w->ids[i + k] : FR_DRAFT_BLOCK_NULL, slot};
                guess_at_once(&c, &guess, 1, FR_WANT_FINAL, &slot);
            }
            memcpy(state, fr_draft_block_state(&c, 0), sizeof state);
            if (i > 0 && w->flags[i + k]) part[k - 1] += loss_of(w, state, i + k);
        }
        fr_draft_block_drop(&c);
    }
    fr_draft_block_close(&c);
    fr_pack_weights_give_back(weights);
}

// Chimera's guesses behind each row of the text, by the drafter's parts.
static void run_chimera(const world *w, double part[DEPTH]) {
    fr_decoder_block block;
    fr_ngram_encoder encoder;
    fr_chimera_heads heads;
    fr_error err = {0};
    _Alignas(64) float state[D], x[D];
    fr_pack_weights *weights = weights_of(w->path, &w->opened.model);
    const fr_pack pack = weights->pack;
    if (fr_decoder_block_open(&block, weights, 64, 0, NULL, &err)) fail_msg("%s", err.text);
    if (fr_ngram_encoder_open(&encoder, weights, &(fr_ngram_encoder_options){.cache = 8}, &err))
        fail_msg("%s", err.text);
    if (fr_chimera_heads_open(&heads, weights, &block.head, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < D; k++)
            state[k] = fr_f16_to_f32(w->final[i * D + k]);
        fr_row row = fr_decoder_block_row(state, FR_PARENT_COMMITTED, 0);
        fr_decoder_block_run(&block, &row, 1);
        fr_decoder_block_commit(&block, 1);
        fr_chimera_heads_state(&heads, state);
        for (int k = 1, slot = -1; k <= DEPTH && i + k < ROWS; k++) {
            double z[V];
            const fr_ngram gram = fr_ngram_of(w->ids, i + k + 1, fr_chimera_pack_of(&pack)->ngram);
            fr_ngram_encoder_states(&encoder, &gram, 1, x, D);
            row = fr_decoder_block_row(x, slot < 0 ? FR_PARENT_COMMITTED : FR_PARENT_SLOT(slot),
                                       FR_WANT_FINAL);
            fr_decoder_block_run(&block, &row, 1);
            slot = fr_decoder_block_slot(&block, 0);
            fr_chimera_heads_put(&heads, 0, fr_decoder_block_state(&block, 0));
            fr_chimera_heads_run(&heads, k, 1);
            for (int v = 0; v < V; v++)
                z[v] = (double)fr_chimera_heads_logits(&heads, 0)[v];
            if (i > 0 && w->flags[i + k]) part[k - 1] += loss_of_logits(w, z, i + k);
        }
        fr_decoder_block_drop(&block);
    }
    fr_chimera_heads_close(&heads);
    fr_ngram_encoder_close(&encoder);
    fr_decoder_block_close(&block);
    fr_pack_weights_give_back(weights);
}

static void check(world *w, fr_learner_open_fn *open, bool feeds, const char *const *options) {
    fr_learner *l = train(w, open, options);
    fr_tally tally = {0};
    double part[DEPTH] = {0};
    l->ops->judge(l, &w->batch, &tally);
    if (open == fr_learn_chimera.open)
        run_chimera(w, part);
    else
        run_engine(w, feeds, part);
    for (int k = 0; k < DEPTH; k++) {
        assert_true(tally.tried[k] > 15 && part[k] > 0);
        // Keys and values of the drafter are f16: 2^-11 of each.
        if (!(fabs(tally.part[k] - part[k]) <= 2e-3 * part[k]))
            fail_msg("distance %d: %g in training, %g in drafting", k + 1, tally.part[k], part[k]);
    }
    l->ops->close(l);
}

static void eagle_is_the_same_in_both(void **state) {
    check(*state, fr_learn_eagle.open, true, (const char *const[]){"ffn=96", NULL});
    check(*state, fr_learn_eagle.open, true,
          (const char *const[]){"ffn=96", "init=last-layer", NULL}); // turned as the target's
}

static void states_of_several_layers_are_the_same_in_both(void **state) {
    check(*state, fr_learn_eagle.open, true, (const char *const[]){"ffn=96", "taps=0,1,2", NULL});
    check(*state, fr_learn_eagle.open, true, (const char *const[]){"ffn=96", "taps=1", NULL});
}

static void hidden_state_is_the_same_in_both(void **state) {
    check(*state, fr_learn_hidden_state.open, false,
          (const char *const[]){"ffn=96", "inject=0", NULL});
}

static void states_alone_are_the_same_in_both(void **state) {
    check(*state, fr_learn_hidden_state.open, false,
          (const char *const[]){"ffn=96", "inject=0", "pure=1", NULL});
}

static void chimera_is_the_same_in_both(void **state) {
    static const char *const options[][6] = {
        {"ffn=96", "hidden=32", NULL},
        {"ffn=96", "encoder=residual", "residual=0", NULL},
        {"ffn=96", "encoder=layers", "hidden=96", "variant=own-heads", "ngram=5", NULL}};
    for (int i = 0; i < 3; i++)
        check(*state, fr_learn_chimera.open, true, options[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eagle_is_the_same_in_both),
        cmocka_unit_test(states_of_several_layers_are_the_same_in_both),
        cmocka_unit_test(hidden_state_is_the_same_in_both),
        cmocka_unit_test(chimera_is_the_same_in_both),
        cmocka_unit_test(states_alone_are_the_same_in_both)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
