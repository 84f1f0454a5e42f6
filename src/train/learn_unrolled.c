// learn_unrolled.c — eagle and hidden-state: chains over the rows of conversations, learned in one
// go.
//
// A *base* is a row i of a sample from which a chain starts: its state f_i and the token after it
// give G_1, whose law is that of row i + 1; step k gives the law of row i + k. eagle feeds the true
// token of every step [EAGLE, arXiv 2401.15077]; hidden-state feeds a null vector from step 2 on,
// so that a chain needs no token beyond the first, and the token before the drafted one enters
// behind the states (injection.h). Rows that are an answer's and have a law count. The loss of a
// row is
//     0.8^(k-1) [ CE(scores) + ztail CE(scores without the injected term)
//                 + feature SmoothL1((G_k - f_{i+k}) / std) ]
// with std that of each channel in the batch. Sources: EAGLE-3, arXiv 2503.01840 (unrolled steps),
// Medusa, arXiv 2401.10774 (weights by distance).
#include "train/learn_unrolled.h"
#include "base/alloc.h"
#include "decode/sampler.h"
#include "kern/half.h"
#include "train/features.h"
#include "train/layers.h"
#include "train/pack_write.h"
#include "train/tally.h"
#include <math.h>
#include <string.h>

typedef struct chain_learner {
    fr_learner learner; // first
    fr_unrolled_options options;
    fr_unrolled chain;
    fr_injection injection;
    fr_loss loss;
    fr_linear_fit fit;
    const fr_sample **sample; // [bases]: whose row at[base] is
    int *at;                  // [bases]
    bool *real;               // [bases]: its steps read real tokens
    // Of one step: the bases that count, and the rows whose tokens are known last.
    int counted, *base, *last;
    fr_loss_row *want;
    fr_loss_got *got;                // [bases]
    fr_loss_got *all[FR_DEPTHS + 1]; // [bases] of each step; rank COUNTS_NOT: left out
    float *distance;                 // [bases]
    float *std;                      // [d]
    double extra;                    // of the loss: what is not the scores' cross entropy
} chain_learner;

enum { COUNTS_NOT = -2 };

static chain_learner *self(fr_learner *l) {
    return (chain_learner *)(void *)l;
}

// ---------------------------------------------------------------- a batch
static bool counts(const fr_sample *s, int row) {
    const int both = FR_ROW_ANSWER | FR_ROW_LAW;
    return row < s->n && (s->flags[row] & both) == both;
}

static bool is_base(const fr_sample *s, int row, int depth) {
    for (int k = 1; k <= depth; k++)
        if (row >= 1 && counts(s, row + k)) return true;
    return false;
}

static void read_rows(chain_learner *m, const fr_sample *s, int first) {
    fr_unrolled *c = &m->chain;
    const size_t d = (size_t)c->shape.d;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < s->n; i++) {
        float *state = c->state + (size_t)(first + i) * d;
        for (size_t j = 0; j < d; j++)
            state[j] = fr_f16_to_f32(s->final[(size_t)i * d + j]);
        fr_model_embed(m->learner.target, s->ids[i + 1], c->embedding + (size_t)(first + i) * d);
        c->position[first + i] = i;
    }
}

// Base b reads the token after row i + k - 1 of its sample at step k, where there is such a row.
static void set_tokens(chain_learner *m, int b, const fr_sample *s, int first) {
    const int i = m->at[b];
    for (int k = 2; k <= m->chain.shape.depth; k++)
        m->chain.token[k][b] = m->real[b] && i + k - 1 < s->n ? first + i + k - 1 : -1;
}

static void set_bases(chain_learner *m, const fr_sample *s, int first, float feed, uint64_t noise) {
    fr_unrolled *c = &m->chain;
    for (int i = 0; i < s->n; i++) {
        if (!is_base(s, i, c->shape.depth)) continue;
        const int b = c->bases.n++;
        c->row[b] = first + i;
        m->sample[b] = s;
        m->at[b] = i;
        m->real[b] = fr_uniform(noise, (uint64_t)b) < (double)feed;
        set_tokens(m, b, s, first);
    }
}

static void set_batch(chain_learner *m, const fr_batch *batch, float feed, uint64_t noise) {
    fr_unrolled *c = &m->chain;
    int rows = 0;
    c->bases.n = 0;
    for (int i = 0; i < batch->n; i++) {
        c->row0[i] = rows;
        c->base0[i] = c->bases.n;
        read_rows(m, &batch->sample[i], rows);
        set_bases(m, &batch->sample[i], rows, feed, noise);
        rows += batch->sample[i].n;
    }
    c->row0[batch->n] = c->rows = rows;
    c->base0[batch->n] = c->bases.n;
    c->bases.contexts = batch->n;
}

// ---------------------------------------------------------------- the loss of a step
static void list_counted(chain_learner *m, int k) {
    const float weight = powf(0.8f, (float)(k - 1));
    m->counted = 0;
    for (int b = 0; b < m->chain.bases.n; b++) {
        m->all[k][b] = (fr_loss_got){NAN, COUNTS_NOT, NAN};
        if (!counts(m->sample[b], m->at[b] + k)) continue;
        m->base[m->counted] = b;
        m->last[m->counted] = m->chain.row[b] + k - 1;
        m->want[m->counted++] = (fr_loss_row){m->sample[b], m->at[b] + k, weight};
    }
}

// Cross entropy of the scores; with `learns`, gradients into dg and the injected term.
static void scores_loss(chain_learner *m, int k, bool learns) {
    fr_unrolled *c = &m->chain;
    fr_injection *x = &m->injection;
    const int n = m->counted, d = c->shape.d;
    float *g = c->s, *dg = c->t;
    fr_loss_term terms[2] = {{.x = g, .ldx = d, .k = d, .w = m->learner.vocab->head}};
    if (learns) terms[0].dx = dg;
    fr_rows_gather(g, c->step[k].g, m->base, n, d);
    if (m->options.rank) {
        fr_injection_forward(x, g, m->last, n);
        terms[1] = (fr_loss_term){
            .x = x->phi, .ldx = x->rank, .k = x->rank, .w = fr_param_w(x->params, x->out)};
        if (learns) terms[1].dx = x->dphi, terms[1].dw = fr_param_grad(x->params, x->out);
    }
    fr_loss_run(&m->loss, terms, m->options.rank ? 2 : 1, m->want, n, m->got);
    if (!learns) return;
    fr_rows_scatter(c->dg, dg, m->base, n, d);
    if (m->options.rank && fr_injection_backward(x, dg, g, m->last, n))
        fr_rows_scatter(c->dg, dg, m->base, n, d);
}

// What the states say alone, of the same rows: its gradient is in that of the scores.
static void plain_loss(chain_learner *m) {
    for (int i = 0; i < m->counted && m->loss.first; i++)
        if (m->got[i].first == m->got[i].first)
            m->extra += (double)(m->options.ztail * m->want[i].weight) * (double)m->got[i].first;
}

static void feature_loss(chain_learner *m, int k) {
    fr_unrolled *c = &m->chain;
    const size_t d = (size_t)c->shape.d;
    const float by = m->options.feature;
    if (by <= 0) return;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < m->counted; i++) {
        const size_t b = (size_t)m->base[i], f = (size_t)(c->row[b] + k);
        if (m->got[i].nats == m->got[i].nats)
            m->distance[i] = fr_smooth_l1(c->dg + b * d, c->step[k].g + b * d, c->state + f * d,
                                          m->std, by * m->want[i].weight, c->shape.d);
        else
            m->distance[i] = 0; // it has no loss
    }
    for (int i = 0; i < m->counted; i++)
        m->extra += (double)(by * m->want[i].weight) * (double)m->distance[i];
}

static void step_loss(chain_learner *m, int k, bool learns) {
    list_counted(m, k);
    scores_loss(m, k, learns);
    for (int i = 0; i < m->counted; i++)
        m->all[k][m->base[i]] = m->got[i];
    if (!learns) return;
    plain_loss(m);
    feature_loss(m, k);
}

// A chain is followed as long as its steps count and its best guesses are right.
static void count_all(chain_learner *m, fr_tally *tally) {
    for (int b = 0; b < m->chain.bases.n; b++) {
        bool alive = true;
        for (int k = 1; k <= m->chain.shape.depth; k++) {
            if (m->all[k][b].rank == COUNTS_NOT)
                alive = false;
            else
                fr_tally_count(tally, k - 1, powf(0.8f, (float)(k - 1)), &m->all[k][b], &alive);
        }
    }
    tally->loss += m->extra;
}

// ---------------------------------------------------------------- operations
static void forward(chain_learner *m, const fr_batch *batch, float feed, uint64_t noise) {
    fr_unrolled *c = &m->chain;
    set_batch(m, batch, feed, noise);
    m->extra = 0;
    fr_unrolled_context(c);
    for (int k = 1; k <= c->shape.depth; k++)
        fr_unrolled_step_forward(c, k);
    if (m->options.rank) fr_injection_tokens(&m->injection, c->embedding, c->rows);
}

static void learn(fr_learner *l, const fr_batch *batch, uint64_t noise, fr_tally *tally) {
    chain_learner *m = self(l);
    fr_unrolled *c = &m->chain;
    forward(m, batch, m->options.feed, noise);
    if (m->options.feature > 0)
        fr_channel_spread(m->std, c->state, c->position, c->rows, c->shape.d);
    fr_unrolled_begin_back(c);
    for (int k = c->shape.depth; k >= 1; k--) {
        step_loss(m, k, true);
        fr_unrolled_step_back(c, k);
    }
    fr_unrolled_context_back(c);
    if (m->options.rank) fr_injection_tokens_backward(&m->injection, c->embedding, c->rows);
    count_all(m, tally);
}

static void judge(fr_learner *l, const fr_batch *batch, fr_tally *tally) {
    chain_learner *m = self(l);
    forward(m, batch, m->options.kind == FR_UNROLLED_EAGLE ? 1 : 0, 0);
    for (int k = 1; k <= m->chain.shape.depth; k++)
        step_loss(m, k, false);
    count_all(m, tally);
}

static fr_status fit_add(fr_learner *l, const fr_batch *batch, fr_error *err) {
    set_batch(self(l), batch, 1, 0);
    return fr_unrolled_fit_add(&self(l)->fit, &self(l)->chain, err);
}

static void fit_end(fr_learner *l) {
    fr_unrolled_fit_end(&self(l)->fit, &self(l)->chain);
}

static void write_chain(const fr_learner *l, fr_gguf_writer *w, fr_type type) {
    const chain_learner *m = (const chain_learner *)(const void *)l;
    const fr_unrolled_shape *s = &m->chain.shape;
    fr_gguf_writer_u32(w, "forerun.heads", (uint32_t)s->depth);
    fr_gguf_writer_u32(w, "forerun.n_head", (uint32_t)s->n_head);
    fr_gguf_writer_u32(w, "forerun.n_kv", (uint32_t)s->n_kv);
    fr_gguf_writer_u32(w, "forerun.head_dim", (uint32_t)s->head_dim);
    fr_gguf_writer_u32(w, "forerun.d_ff", (uint32_t)s->d_ff);
    fr_gguf_writer_f32(w, "forerun.rope_base", s->rope_base);
    fr_gguf_writer_u32(w, "forerun.rank", (uint32_t)m->options.rank);
    fr_gguf_writer_bool(w, "forerun.gate", m->options.rank && m->options.gate);
    fr_gguf_writer_bool(w, "forerun.pure", m->options.pure);
    fr_pack_params(w, &l->params, type);
}

static size_t workspace(const fr_learner *l) {
    const chain_learner *m = (const chain_learner *)(const void *)l;
    const size_t rows = (size_t)m->chain.shape.max_rows, depth = (size_t)m->chain.shape.depth;
    const size_t each = sizeof *m->sample + 3 * sizeof(int) + sizeof *m->real + sizeof *m->want +
                        (1 + depth) * sizeof *m->got + sizeof *m->distance;
    const size_t fit = l->fit_rows ? fr_unrolled_fit_bytes(&m->chain.shape) : 0;
    return fit + m->chain.bytes + m->injection.bytes + fr_loss_bytes(&m->loss) + rows * each;
}

static void close_chain(fr_learner *l) {
    chain_learner *m = self(l);
    if (!m) return;
    fr_unrolled_close(&m->chain);
    fr_injection_close(&m->injection);
    fr_loss_close(&m->loss);
    fr_linear_fit_close(&m->fit);
    fr_params_free(&l->params);
    fr_free(m->sample), fr_free(m->at), fr_free(m->real), fr_free(m->base), fr_free(m->last);
    fr_free(m->want), fr_free(m->got), fr_free(m->distance), fr_free(m->std);
    for (int k = 1; k <= FR_DEPTHS; k++)
        fr_free(m->all[k]);
    fr_free(m);
}

static const fr_learner_ops ops = {
    .learn = learn,
    .judge = judge,
    .fit_add = fit_add,
    .fit_end = fit_end,
    .write = write_chain,
    .workspace = workspace,
    .close = close_chain,
};

// ---------------------------------------------------------------- opening
static fr_status take_lists(chain_learner *m, fr_error *err) {
    const size_t n = (size_t)m->chain.shape.max_rows;
    m->sample = fr_alloc_array(n, sizeof *m->sample);
    m->at = fr_alloc_array(n, sizeof *m->at);
    m->real = fr_alloc_array(n, sizeof *m->real);
    m->base = fr_alloc_array(n, sizeof *m->base);
    m->last = fr_alloc_array(n, sizeof *m->last);
    m->want = fr_alloc_array(n, sizeof *m->want);
    m->got = fr_alloc_array(n, sizeof *m->got);
    m->distance = fr_alloc_array(n, sizeof *m->distance);
    m->std = fr_alloc_array((size_t)m->chain.shape.d, sizeof *m->std);
    bool ok = m->sample && m->at && m->real && m->base && m->last && m->want && m->got &&
              m->distance && m->std;
    for (int k = 1; k <= m->chain.shape.depth; k++)
        ok = (m->all[k] = fr_alloc_array(n, sizeof *m->all[k])) && ok;
    return ok ? FR_OK : fr_fail(err, FR_ENOMEM, "train: no memory for %zu rows", n);
}

static fr_status open_parts(chain_learner *m, const fr_learner_config *config, fr_error *err) {
    fr_learner *l = &m->learner;
    const fr_unrolled_shape shape =
        fr_unrolled_shape_of(&m->options, &config->target->config, config->max_rows);
    const int rank = m->options.rank;
    fr_status st;
    fr_unrolled_add_params(&m->chain, &l->params, &shape);
    if (rank)
        fr_injection_add_params(&m->injection, &l->params, shape.d, rank, l->vocab->n,
                                m->options.gate);
    if ((st = fr_params_alloc(&l->params, err))) return st;
    if ((st = fr_unrolled_open(&m->chain, l->gemm, err))) return st;
    if (rank && (st = fr_injection_open(&m->injection, l->gemm, config->max_rows, err))) return st;
    if ((st = fr_loss_open(&m->loss, l->vocab, l->gemm, config->format->top, err))) return st;
    if (rank && m->options.ztail > 0 && (st = fr_loss_first(&m->loss, m->options.ztail, err)))
        return st;
    if ((st = take_lists(m, err))) return st;
    if (rank) fr_injection_start(&m->injection, config->seed);
    return fr_unrolled_start(&m->chain, &m->options, config->target, config->seed, err);
}

// Enough for each of the map's inputs.
static uint64_t fit_rows(int d) {
    return (uint64_t)d * 128;
}

static fr_status open_kind(fr_learner **out, fr_unrolled_kind kind, const char *name,
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
    m->learner.depth = m->options.depth;
    // A step turns all entries of a row at once, so what it does grows with the width.
    m->learner.rate = 0.25 / config->target->config.d;
    m->learner.fit_rows =
        m->options.init == FR_UNROLLED_FIT ? fit_rows(config->target->config.d) : 0;
    if (!st) st = open_parts(m, config, err);
    if (st)
        close_chain(&m->learner);
    else
        *out = &m->learner;
    return st;
}

fr_status fr_learn_eagle_open(fr_learner **out, const fr_learner_config *config, fr_error *err) {
    return open_kind(out, FR_UNROLLED_EAGLE, "eagle", config, err);
}

fr_status fr_learn_hidden_state_open(fr_learner **out, const fr_learner_config *config,
                                     fr_error *err) {
    return open_kind(out, FR_UNROLLED_HIDDEN_STATE, "hidden-state", config, err);
}
