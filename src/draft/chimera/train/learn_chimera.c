// learn_chimera.c — Chimera's drafter: n-gram states of the last tokens, a block that sees them
// after the target's own (mature) states, and heads that read both  [arXiv 2402.15758].
//
// A base is a row i of a sample. Guess k reads the n-gram state of the n-gram that ends with token
// i + k (block/ngram_encoder.h), at that token's place; it sees the mature states f_1..f_i, the
// n-gram states of guesses 1..k of the same base and nothing else, so one key and value a row serve
// all. With o_k what the block gives, the distribution of the token after is that of
//     shared     H' (g_k nrm(A_k f_i + B_k o_k))   light: maps onto the draft head
//     own-heads  U_k [f_i; o_k]                    section 3.2.3; U_k = [0, H'] at first
// where the norm is what every state has that the target's head reads.
// `residual=0` leaves f_i out. The loss of a row is
//     0.8^(k-1) [ CE + feature SmoothL1((o_k - f_{i+k}) / std) ]
// (section 3.3 with the target's distributions for labels and Huber's distance for the square).
#include "draft/chimera/train/learn_chimera.h"
#include "base/alloc.h"
#include "draft/eagle/train/learn_eagle.h"
#include "train/block/features.h"
#include "train/learner/learner.h"
#include "train/learner/pack_write.h"
#include "train/math/layers.h"
#include <stdio.h>

static fr_chimera_learner *self(fr_learner *l) {
    return (fr_chimera_learner *)(void *)l;
}

// ---------------------------------------------------------------- heads
// The true states of the bases that count.
static const float *base_states(fr_chimera_learner *m) {
    const fr_unrolled *c = &m->chain;
    for (int i = 0; i < m->batch.counted; i++)
        c->place[i] = c->row[m->batch.base[i]];
    fr_rows_gather(m->f, c->state, c->place, m->batch.counted, c->shape.d);
    return m->f;
}

static void map_forward(fr_chimera_learner *m, const float *x, int i, bool add) {
    const int d = m->chain.shape.d;
    fr_gemm_forward(m->learner.gemm, m->z, d, x, d, fr_param_w(&m->learner.params, i),
                    m->batch.counted, d, d, add);
}

static void map_weight(fr_chimera_learner *m, const float *x, int i) {
    const int d = m->chain.shape.d;
    fr_gemm_weight(m->learner.gemm, fr_param_grad(&m->learner.params, i), m->dy, d, x, d,
                   m->batch.counted, d, d, true);
}

// Light heads. o and f are the counted rows; what goes back into o is left in d_o.
static void shared_loss(fr_chimera_learner *m, int k, const float *o, const float *f, float *d_o) {
    const fr_chimera_head *head = &m->head[k - 1];
    const int d = m->chain.shape.d, n = m->batch.counted;
    const float *gain = fr_param_w(&m->learner.params, head->norm);
    const fr_loss_term term = {
        .x = m->y, .ldx = d, .k = d, .w = m->learner.vocab->head, .dx = d_o ? m->dy : NULL};
    map_forward(m, o, head->chain, false);
    if (head->state >= 0) map_forward(m, f, head->state, true);
    fr_norm_forward(m->y, m->z, gain, n, d);
    fr_loss_run(&m->loss, &term, 1, m->batch.want, n, m->batch.got);
    if (!d_o) return;
    fr_norm_backward(m->dy, false, fr_param_grad(&m->learner.params, head->norm), m->dy, m->z, gain,
                     n, d);
    map_weight(m, o, head->chain);
    if (head->state >= 0) map_weight(m, f, head->state);
    fr_gemm_input(m->learner.gemm, d_o, d, m->dy, d, fr_param_w(&m->learner.params, head->chain), n,
                  d, d, false);
}

static fr_loss_term own_term(fr_chimera_learner *m, const float *x, int i, float *dx) {
    fr_params *p = &m->learner.params;
    return (fr_loss_term){.x = x,
                          .ldx = m->chain.shape.d,
                          .k = m->chain.shape.d,
                          .w = fr_param_w(p, i),
                          .dx = dx,
                          .dw = dx ? fr_param_grad(p, i) : NULL};
}

static void own_loss(fr_chimera_learner *m, int k, const float *o, const float *f, float *d_o) {
    const fr_chimera_head *head = &m->head[k - 1];
    fr_loss_term terms[2] = {own_term(m, o, head->chain, d_o)};
    if (head->state >= 0) terms[1] = own_term(m, f, head->state, d_o ? m->dy : NULL);
    fr_loss_run(&m->loss, terms, head->state >= 0 ? 2 : 1, m->batch.want, m->batch.counted,
                m->batch.got);
}

static void guess_loss(fr_chimera_learner *m, int k, bool learns) {
    fr_unrolled *c = &m->chain;
    float *o = c->s, *d_o = learns ? c->t : NULL;
    fr_unrolled_batch_list(&m->batch, k);
    fr_rows_gather(o, c->step[k + 1].g, m->batch.base, m->batch.counted, c->shape.d);
    const float *f = m->options.residual ? base_states(m) : NULL;
    (m->options.own_heads ? own_loss : shared_loss)(m, k, o, f, d_o);
    fr_unrolled_batch_keep(&m->batch, k);
    if (!learns) return;
    fr_rows_scatter(c->dg, d_o, m->batch.base, m->batch.counted, c->shape.d);
    fr_unrolled_batch_feature(&m->batch, k, m->options.feature, m->std);
}

// ---------------------------------------------------------------- operations
static void forward(fr_chimera_learner *m, const fr_batch *batch) {
    fr_unrolled *c = &m->chain;
    fr_unrolled_batch_set(&m->batch, batch, 1, 0);
    fr_chimera_read_ngrams(m, batch);
    fr_train_encoder_forward(&m->ngram, c->given, c->rows);
    fr_unrolled_context(c);
    for (int k = 2; k <= c->shape.depth && fr_go_on(m->learner.watch); k++)
        fr_unrolled_step_forward(c, k);
}

static fr_status fit_add(fr_learner *l, const fr_batch *batch, fr_error *err) {
    return fr_chimera_fit_add(self(l), batch, err);
}

static void fit_end(fr_learner *l) {
    fr_chimera_fit_end(self(l));
}

static void learn(fr_learner *l, const fr_batch *batch, uint64_t noise, fr_tally *tally) {
    fr_chimera_learner *m = self(l);
    fr_unrolled *c = &m->chain;
    (void)noise;
    forward(m, batch);
    if (m->options.feature > 0)
        fr_channel_spread(m->std, c->state, c->position, c->rows, c->shape.d);
    fr_unrolled_begin_back(c);
    for (int k = l->depth; k >= 1 && fr_go_on(l->watch); k--) {
        guess_loss(m, k, true);
        fr_unrolled_step_back(c, k + 1);
    }
    if (!fr_go_on(l->watch)) return;
    fr_unrolled_context_back(c);
    float *dt = m->source && m->source->back ? c->x0 : NULL; // which given rows leave free
    fr_train_encoder_backward(&m->ngram, c->dgiven, dt, c->rows);
    if (dt) m->source->back(m, dt);
    fr_unrolled_batch_tally(&m->batch, tally);
}

static void judge(fr_learner *l, const fr_batch *batch, fr_tally *tally) {
    fr_chimera_learner *m = self(l);
    forward(m, batch);
    for (int k = 1; k <= l->depth && fr_go_on(l->watch); k++)
        guess_loss(m, k, false);
    if (!fr_go_on(l->watch)) return;
    fr_unrolled_batch_tally(&m->batch, tally);
}

// ---------------------------------------------------------------- the pack
static void write_pack(const fr_learner *l, fr_gguf_writer *w, fr_type type) {
    const fr_chimera_learner *m = (const fr_chimera_learner *)(const void *)l;
    fr_gguf_writer_u32(w, "forerun.heads", (uint32_t)l->depth);
    fr_unrolled_write(&m->chain, w);
    fr_gguf_writer_u32(w, "forerun.ngram", (uint32_t)m->options.ngram);
    fr_gguf_writer_str(w, "forerun.encoder", fr_pack_encoder_name(m->options.form));
    fr_gguf_writer_u32(w, "forerun.hidden", (uint32_t)m->ngram.shape.hidden);
    fr_gguf_writer_bool(w, "forerun.residual", m->options.residual);
    fr_gguf_writer_str(w, "forerun.variant", m->options.own_heads ? "own-heads" : "shared");
    fr_pack_params(w, &l->params, type);
}

static size_t workspace(const fr_learner *l) {
    const fr_chimera_learner *m = (const fr_chimera_learner *)(const void *)l;
    const size_t rows = (size_t)m->chain.shape.max_rows, d = (size_t)m->chain.shape.d;
    return fr_chimera_fit_bytes(m) + m->chain.bytes + m->ngram.bytes + fr_loss_bytes(&m->loss) +
           m->batch.bytes + (4 * rows + 1) * d * sizeof(float);
}

static void close_chimera(fr_learner *l) {
    fr_chimera_learner *m = self(l);
    if (!m) return;
    fr_unrolled_close(&m->chain);
    fr_unrolled_batch_close(&m->batch);
    fr_train_encoder_close(&m->ngram);
    fr_loss_close(&m->loss);
    fr_linear_fit_close(&m->fit);
    fr_params_free(&l->params);
    fr_free(m->f), fr_free(m->z), fr_free(m->y), fr_free(m->dy), fr_free(m->std);
    fr_free(m);
}

static const fr_learner_ops ops = {
    .learn = learn,
    .judge = judge,
    .fit_add = fit_add,
    .fit_end = fit_end,
    .fit_rest = fr_chimera_fit_rest,
    .write = write_pack,
    .workspace = workspace,
    .close = close_chimera,
};

// ---------------------------------------------------------------- opening
static int add_head(fr_chimera_learner *m, int k, const char *what, int rows) {
    char name[48];
    snprintf(name, sizeof name, "chimera.%d.%s", k, what);
    return fr_params_add(&m->learner.params, name, rows, m->chain.shape.d);
}

static fr_chimera_head add_heads(fr_chimera_learner *m, int k) {
    const bool own = m->options.own_heads;
    const int rows = own ? m->learner.vocab->n : m->chain.shape.d;
    return (fr_chimera_head){.state =
                                 m->options.residual ? add_head(m, k, "state.weight", rows) : -1,
                             .chain = add_head(m, k, "chain.weight", rows),
                             .norm = own ? -1 : add_head(m, k, "norm", 1)};
}

static void add_params(fr_chimera_learner *m, const fr_learner_config *config) {
    const fr_chimera_options *o = &m->options;
    const fr_unrolled_options block = {
        .ffn = o->ffn, .depth = o->depth + 1, .rope_base = config->rope_base};
    fr_unrolled_shape shape =
        fr_unrolled_shape_of(&block, &config->target->config, config->max_rows);
    shape.given = true;
    shape.token = shape.null = false;
    shape.given_context = m->source && m->source->ngram_context;
    const fr_train_encoder_shape ngram = {shape.d, o->ngram, o->form, o->hidden, config->max_rows};
    fr_unrolled_add_params(&m->chain, &m->learner.params, &shape);
    fr_train_encoder_add_params(&m->ngram, &m->learner.params, &ngram);
    if (m->source && m->source->add_params) m->source->add_params(m, &shape);
    for (int k = 1; k <= o->depth; k++)
        m->head[k - 1] = add_heads(m, k);
}

static fr_status take_rows(fr_chimera_learner *m, fr_error *err) {
    const size_t rows = (size_t)m->chain.shape.max_rows, d = (size_t)m->chain.shape.d;
    m->f = fr_alloc_array(rows * d, sizeof *m->f);
    m->z = fr_alloc_array(rows * d, sizeof *m->z);
    m->y = fr_alloc_array(rows * d, sizeof *m->y);
    m->dy = fr_alloc_array(rows * d, sizeof *m->dy);
    m->std = fr_alloc_array(d, sizeof *m->std);
    return m->f && m->z && m->y && m->dy && m->std
               ? FR_OK
               : fr_fail(err, FR_ENOMEM, "train: no memory for %zu rows", rows);
}

static fr_status open_parts(fr_chimera_learner *m, const fr_learner_config *config, fr_error *err) {
    fr_learner *l = &m->learner;
    fr_status st;
    add_params(m, config);
    if ((st = fr_params_alloc(&l->params, err))) return st;
    if ((st = fr_unrolled_open(&m->chain, l->gemm, err))) return st;
    if ((st = fr_train_encoder_open(&m->ngram, l->gemm, err))) return st;
    if ((st = fr_unrolled_batch_open(&m->batch, &m->chain, config->target, l->depth, err)))
        return st;
    if ((st = fr_loss_open(&m->loss, l->vocab, l->gemm, config->format->top, err))) return st;
    m->loss.hard = m->source && m->source->hard;
    if ((st = take_rows(m, err))) return st;
    fr_chimera_start(m, config->seed);
    return fr_unrolled_start(&m->chain, &(fr_unrolled_options){.init = FR_UNROLLED_RANDOM},
                             config->target, config->seed, err);
}

fr_status fr_chimera_learner_open(fr_chimera_learner *m, const fr_chimera_source *source,
                                  const fr_learner_config *config, fr_error *err) {
    m->source = source;
    m->learner = (fr_learner){.ops = &ops,
                              .name = "chimera",
                              .target = config->target,
                              .vocab = config->vocab,
                              .gemm = config->gemm,
                              .rate = 0.15 / config->target->config.d};
    fr_status st = fr_chimera_read_options(&m->options, config, err);
    m->learner.depth = m->options.depth;
    if (!st) st = open_parts(m, config, err);
    if (st) {
        close_chimera(&m->learner);
        return st;
    }
    m->learner.fit_rows = fr_chimera_fit_rows(m);
    if (m->options.own_heads) m->learner.rate /= 4; // no norm bounds what those say
    return FR_OK;
}

static fr_status open_chimera(fr_learner **out, const fr_learner_config *config, fr_error *err) {
    *out = NULL;
    fr_chimera_learner *m = fr_alloc_zero(sizeof *m);
    if (!m) return fr_fail(err, FR_ENOMEM, "train: no memory");
    const fr_status st = fr_chimera_learner_open(m, NULL, config, err);
    if (!st) *out = &m->learner;
    return st;
}

const fr_learner_method fr_learn_chimera = {
    .name = "chimera", .open = open_chimera, .batch_rows = 1024};
