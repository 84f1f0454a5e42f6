// learn_eagle.c — eagle and hidden-state: chains over the rows of conversations, learned in one
// go.
//
// A *base* is a row i of a sample from which a chain starts: its state f_i and the token after it
// give G_1, whose distribution is that of row i + 1; step k gives the distribution of row i + k.
// eagle feeds the true token of every step [EAGLE, arXiv 2401.15077]; hidden-state feeds a null
// vector from step 2 on, so that a chain needs no token beyond the first, and the token before the
// drafted one enters after the states (token_bias.h). Rows that are an answer's and have a
// distribution count. The loss of a row is
//     0.8^(k-1) [ CE(scores) + ztail CE(scores without the token bias)
//                 + feature SmoothL1((G_k - f_{i+k}) / std) ]
// with std that of each channel in the batch. Sources: EAGLE-3, arXiv 2503.01840 (unrolled steps),
// Medusa, arXiv 2401.10774 (weights by distance).
#include "draft/eagle/train/learn_eagle.h"
#include "base/alloc.h"
#include "draft/eagle/eagle_pack.h"
#include "draft/eagle/train/last_layer.h"
#include "draft/hidden_state/hidden_state_pack.h"
#include "draft/pack/pack.h"
#include "train/block/features.h"
#include "train/block/unrolled_batch.h"
#include "train/learner/learner.h"
#include "train/learner/pack_write.h"
#include "train/learner/tally.h"
#include "train/math/layers.h"
#include <math.h>
#include <string.h>

typedef struct chain_learner {
    fr_learner learner; // first
    fr_unrolled_options options;
    fr_unrolled chain;
    fr_unrolled_batch batch;
    fr_train_bias token_bias;
    fr_loss loss;
    fr_linear_fit fit, taps_fit;
    fr_last_layer last;
    fr_batch seen; // the last one that values were fitted to
    float *std;    // [d]
} chain_learner;

static chain_learner *self(fr_learner *l) {
    return (chain_learner *)(void *)l;
}

// ---------------------------------------------------------------- the loss of a step
// Cross entropy of the scores; with `learns`, gradients into dg and the token bias.
static void scores_loss(chain_learner *m, int k, bool learns) {
    fr_unrolled *c = &m->chain;
    fr_unrolled_batch *b = &m->batch;
    fr_train_bias *x = &m->token_bias;
    const int n = b->counted, d = c->shape.d;
    float *g = c->s, *dg = c->t;
    fr_loss_term terms[2] = {{.x = g, .ldx = d, .k = d, .w = m->learner.vocab->head}};
    if (learns) terms[0].dx = dg;
    fr_rows_gather(g, c->step[k].g, b->base, n, d);
    if (m->options.rank) {
        fr_train_bias_forward(x, g, b->last, n);
        terms[1] = (fr_loss_term){
            .x = x->phi, .ldx = x->rank, .k = x->rank, .w = fr_param_w(x->params, x->out)};
        if (learns) terms[1].dx = x->dphi, terms[1].dw = fr_param_grad(x->params, x->out);
    }
    fr_loss_run(&m->loss, terms, m->options.rank ? 2 : 1, b->want, n, b->got);
    if (!learns) return;
    fr_rows_scatter(c->dg, dg, b->base, n, d);
    if (m->options.rank && fr_train_bias_backward(x, dg, g, b->last, n))
        fr_rows_scatter(c->dg, dg, b->base, n, d);
}

// What the states say alone, of the same rows: its gradient is in that of the scores.
static void plain_loss(chain_learner *m) {
    fr_unrolled_batch *b = &m->batch;
    for (int i = 0; i < b->counted && m->loss.first; i++)
        if (b->got[i].first == b->got[i].first)
            b->extra += (double)(m->options.ztail * b->want[i].weight) * (double)b->got[i].first;
}

static void step_loss(chain_learner *m, int k, bool learns) {
    fr_unrolled_batch_list(&m->batch, k);
    scores_loss(m, k, learns);
    fr_unrolled_batch_keep(&m->batch, k);
    if (!learns) return;
    plain_loss(m);
    fr_unrolled_batch_feature(&m->batch, k, m->options.feature, m->std);
}

// ---------------------------------------------------------------- operations
static void forward(chain_learner *m, const fr_batch *batch, int steps, float feed,
                    uint64_t noise) {
    fr_unrolled *c = &m->chain;
    m->batch.depth = steps;
    fr_unrolled_batch_set(&m->batch, batch, feed, noise);
    fr_unrolled_context(c);
    for (int k = 1; k <= steps && fr_go_on(m->learner.watch); k++)
        fr_unrolled_step_forward(c, k);
    if (m->options.rank) fr_train_bias_tokens(&m->token_bias, c->embedding, c->rows);
}

static void learn(fr_learner *l, const fr_batch *batch, uint64_t noise, fr_tally *tally) {
    chain_learner *m = self(l);
    fr_unrolled *c = &m->chain;
    const int steps = fr_unrolled_steps(&m->options, l->done);
    forward(m, batch, steps, m->options.feed, noise);
    if (m->options.feature > 0)
        fr_channel_spread(m->std, c->state, c->position, c->rows, c->shape.d);
    fr_unrolled_begin_back(c);
    for (int k = steps; k >= 1 && fr_go_on(l->watch); k--) {
        step_loss(m, k, true);
        fr_unrolled_step_back(c, k);
    }
    if (!fr_go_on(l->watch)) return;
    fr_unrolled_context_back(c);
    if (m->options.rank) fr_train_bias_tokens_backward(&m->token_bias, c->embedding, c->rows);
    fr_unrolled_batch_tally(&m->batch, tally);
}

static void judge(fr_learner *l, const fr_batch *batch, fr_tally *tally) {
    chain_learner *m = self(l);
    forward(m, batch, m->chain.shape.depth, m->options.kind == FR_UNROLLED_EAGLE ? 1 : 0, 0);
    for (int k = 1; k <= m->chain.shape.depth && fr_go_on(l->watch); k++)
        step_loss(m, k, false);
    if (!fr_go_on(l->watch)) return;
    fr_unrolled_batch_tally(&m->batch, tally);
}

// A pack without the map of states, as of chimera, gives the block alone.
static bool has_map(const chain_learner *m) {
    return m->learner.params.item[m->chain.at.fc_state].given;
}

static bool takes_last_layer(const chain_learner *m) {
    return m->options.init == FR_UNROLLED_LAST_LAYER && !fr_unrolled_has_block(&m->chain);
}

// The map of states is fitted if the pack has none. The map of the taps is fitted too, unless the
// final state is the last tap, which is passed on unchanged.
static uint64_t fit_rest(const fr_learner *l) {
    const chain_learner *m = (const chain_learner *)(const void *)l;
    const fr_unrolled_options *o = &m->options;
    if (!has_map(m)) return l->fit_rows;
    if (!o->n_taps || o->taps[o->n_taps - 1] == l->target->config.n_layer) return 0;
    return l->params.item[m->chain.at.fc_taps].given ? 0 : l->fit_rows;
}

static fr_status fit_add(fr_learner *l, const fr_batch *batch, fr_error *err) {
    chain_learner *m = self(l);
    fr_unrolled_batch_set(&m->batch, batch, 1, 0);
    if (has_map(m)) return fr_unrolled_taps_fit_add(&m->taps_fit, &m->chain, err);
    fr_status st = fr_unrolled_fit_add(&m->fit, &m->chain, err);
    if (!st && m->chain.shape.taps) st = fr_unrolled_taps_fit_add(&m->taps_fit, &m->chain, err);
    if (!st && takes_last_layer(m)) st = fr_last_layer_see(&m->last, &m->chain, l->target, err);
    m->seen = *batch;
    return st;
}

// The target adds to residuals, the chain to rows of size 1. The loss determines how much less it
// adds.
static void choose_scale(chain_learner *m) {
    enum { HALVINGS = 10 };
    double least = INFINITY;
    int best = 0;
    for (int i = 0; i <= HALVINGS && fr_go_on(m->learner.watch); i++) {
        fr_tally tally = {0};
        judge(&m->learner, &m->seen, &tally);
        if (fr_tally_loss(&tally) < least) least = fr_tally_loss(&tally), best = i;
        fr_unrolled_scale(&m->chain, 0.5f);
    }
    fr_unrolled_scale(&m->chain, ldexpf(1, HALVINGS + 1 - best));
}

static void take_last_layer(chain_learner *m) {
    fr_last_layer_take(&m->last, &m->chain);
    fr_last_layer_close(&m->last);
    choose_scale(m);
}

static void fit_end(fr_learner *l) {
    chain_learner *m = self(l);
    if (!has_map(m)) fr_unrolled_fit_end(&m->fit, &m->chain, l->watch);
    if (m->chain.shape.taps) fr_unrolled_taps_fit_end(&m->taps_fit, &m->chain, l->watch);
    if (!has_map(m) && takes_last_layer(m) && fr_go_on(l->watch)) take_last_layer(m);
}

_Static_assert((int)FR_SHARD_TAPS <= (int)FR_PACK_TAPS, "packs take all that data may have");

static void write_taps(const chain_learner *m, fr_gguf_writer *w) {
    int32_t taps[FR_SHARD_TAPS];
    for (int i = 0; i < m->options.n_taps; i++)
        taps[i] = m->options.taps[i];
    if (m->options.n_taps)
        fr_gguf_writer_i32_array(w, "forerun.taps", taps, (size_t)m->options.n_taps);
}

static void write_chain(const fr_learner *l, fr_gguf_writer *w, fr_type type) {
    const chain_learner *m = (const chain_learner *)(const void *)l;
    fr_gguf_writer_u32(w, "forerun.heads", (uint32_t)l->depth);
    fr_unrolled_write(&m->chain, w);
    fr_gguf_writer_u32(w, "forerun.rank", (uint32_t)m->options.rank);
    fr_gguf_writer_bool(w, "forerun.gate", m->options.rank && m->options.gate);
    fr_gguf_writer_bool(w, "forerun.pure", m->options.pure);
    write_taps(m, w);
    fr_pack_params(w, &l->params, type);
}

static size_t workspace(const fr_learner *l) {
    const chain_learner *m = (const chain_learner *)(const void *)l;
    size_t fit = l->fit_rows ? fr_unrolled_fit_bytes(&m->chain.shape) : 0;
    if (fit && m->chain.shape.taps) fit += fr_unrolled_taps_fit_bytes(&m->chain.shape);
    if (m->options.init == FR_UNROLLED_LAST_LAYER) fit += fr_last_layer_bytes(l->target);
    return fit + m->chain.bytes + m->token_bias.bytes + fr_loss_bytes(&m->loss) + m->batch.bytes;
}

static void close_chain(fr_learner *l) {
    chain_learner *m = self(l);
    if (!m) return;
    fr_unrolled_close(&m->chain);
    fr_train_bias_close(&m->token_bias);
    fr_loss_close(&m->loss);
    fr_linear_fit_close(&m->fit);
    fr_linear_fit_close(&m->taps_fit);
    fr_last_layer_close(&m->last);
    fr_params_free(&l->params);
    fr_unrolled_batch_close(&m->batch);
    fr_free(m->std);
    fr_free(m);
}

static const fr_learner_ops ops = {
    .learn = learn,
    .judge = judge,
    .fit_add = fit_add,
    .fit_end = fit_end,
    .fit_rest = fit_rest,
    .write = write_chain,
    .workspace = workspace,
    .close = close_chain,
};

// ---------------------------------------------------------------- opening
static fr_status open_parts(chain_learner *m, const fr_learner_config *config, fr_error *err) {
    fr_learner *l = &m->learner;
    const fr_unrolled_shape shape =
        fr_unrolled_shape_of(&m->options, &config->target->config, config->max_rows);
    const int rank = m->options.rank;
    fr_status st;
    fr_unrolled_add_params(&m->chain, &l->params, &shape);
    if (rank)
        fr_train_bias_add_params(&m->token_bias, &l->params, shape.d, rank, l->vocab->n,
                                 m->options.gate);
    if ((st = fr_params_alloc(&l->params, err))) return st;
    if ((st = fr_unrolled_open(&m->chain, l->gemm, err))) return st;
    if (rank && (st = fr_train_bias_open(&m->token_bias, l->gemm, config->max_rows, err)))
        return st;
    if ((st = fr_loss_open(&m->loss, l->vocab, l->gemm, config->format->top, err))) return st;
    if (rank && m->options.ztail > 0 && (st = fr_loss_first(&m->loss, m->options.ztail, err)))
        return st;
    if ((st = fr_unrolled_batch_open(&m->batch, &m->chain, config->target, shape.depth, err)))
        return st;
    if ((st = fr_unrolled_find_taps(&m->options, config->format, config->target->config.n_layer,
                                    m->batch.tap, err)))
        return st;
    m->std = fr_alloc_array((size_t)shape.d, sizeof *m->std);
    if (!m->std) return fr_fail(err, FR_ENOMEM, "train: no memory");
    if (rank) fr_train_bias_start(&m->token_bias, config->seed);
    return fr_unrolled_start(&m->chain, &m->options, config->target, config->seed, err);
}

// Enough for each of the map's inputs.
static uint64_t fit_rows(int d) {
    return (uint64_t)d * 128;
}

fr_status fr_unrolled_learner_open(fr_learner **out, fr_unrolled_kind kind, const char *name,
                                   const fr_learner_config *config, fr_error *err) {
    *out = NULL;
    chain_learner *m = fr_alloc_zero(sizeof *m);
    if (!m) return fr_fail(err, FR_ENOMEM, "train: no memory");
    m->learner = (fr_learner){.ops = &ops,
                              .name = name,
                              .target = config->target,
                              .vocab = config->vocab,
                              .gemm = config->gemm};
    fr_status st = fr_unrolled_read_options(&m->options, kind, config->depth, config->options, err);
    m->options.rope_base = config->rope_base;
    m->learner.depth = m->options.depth;
    m->learner.settled = fr_unrolled_settled(&m->options);
    // A step turns all entries of a row at once, so its effect grows with the width.
    m->learner.rate = 0.25 / config->target->config.d;
    m->learner.fit_rows =
        m->options.init == FR_UNROLLED_FIT || m->options.init == FR_UNROLLED_LAST_LAYER
            ? fit_rows(config->target->config.d)
            : 0;
    if (!st) st = open_parts(m, config, err);
    if (st)
        close_chain(&m->learner);
    else
        *out = &m->learner;
    return st;
}

static fr_status open_eagle(fr_learner **out, const fr_learner_config *config, fr_error *err) {
    return fr_unrolled_learner_open(out, FR_UNROLLED_EAGLE, "eagle", config, err);
}

// ---------------------------------------------------------------- defaults

// Residuals of a low, a middle and a high layer [EAGLE-3, Li et al. 2025, §3].
static int usual_taps(int n_layer, int *taps) {
    if (n_layer < 8) return 0;
    taps[0] = 2, taps[1] = n_layer / 2, taps[2] = n_layer - 3;
    return 3;
}

// A pack of EAGLE keeps its layers; otherwise states that are captured have the usual ones. Folders
// of shards may not have them.
static int wanted_taps(const fr_learner_start *start, int *taps) {
    if (start->init && start->init->form == &fr_eagle_form) {
        const fr_draft_block_pack *init = fr_draft_block_pack_of(start->init);
        memcpy(taps, init->taps, sizeof init->taps);
        return init->n_taps;
    }
    return start->captures ? usual_taps(start->n_layer, taps) : 0;
}

// A chain that has learned all its steps would forget the later ones if few were trained again.
static bool begins_with_chain(const fr_learner_start *start) {
    return start->init &&
           (start->init->form == &fr_eagle_form || start->init->form == &fr_hidden_state_form);
}

static int defaults(const fr_learner_start *start,
                    char setting[FR_LEARNER_DEFAULTS][FR_LEARNER_DEFAULT]) {
    int taps[FR_PACK_TAPS], n = 0, at = 0;
    const int n_taps = wanted_taps(start, taps);
    for (int i = 0; i < n_taps; i++)
        at += snprintf(setting[0] + at, (size_t)(FR_LEARNER_DEFAULT - at), "%s%d",
                       i ? "," : "taps=", taps[i]);
    n += n_taps > 0;
    if (!begins_with_chain(start)) snprintf(setting[n++], FR_LEARNER_DEFAULT, "steps-rise=1");
    return n;
}

const fr_learner_method fr_learn_eagle = {
    .name = "eagle", .open = open_eagle, .batch_rows = 1024, .defaults = defaults};
