// learn_medusa.c — heads of Medusa and Hydra on one hidden state, each for one distance ahead.
//
// Head k (from 1) predicts the token k places after the next one [Medusa §2.1.1]:
//     y_k = f + silu(A_k x + c_k),  logits_k = H' y_k,  distribution of token i+1+k for row i
// with f the final hidden state of row i and x = nrm(f), nrm(v) = v / sqrt(mean(v^2) + 1e-6).
//     shared     as above
//     own-heads  U_k in place of H', H' at first
//     hydra      x = [nrm(f); nrm(e of token i+1); ...; nrm(e of token i+k)]  [Hydra §3]
//     exit       f is the target's final norm of the residual of layer `tap`
// A and c begin at 0, so an untrained head has the distribution of f. A row counts at distance k if
// row i+k is of the answer; distances weigh 0.8^(k-1).
#include "base/alloc.h"
#include "draft/medusa/medusa_pack.h"
#include "draft/pack/pack.h"
#include "kern/half.h"
#include "train/learner/learner.h"
#include "train/learner/loss.h"
#include "train/learner/pack_write.h"
#include "train/learner/setting.h"
#include "train/learner/tally.h"
#include "train/math/layers.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH = 4 };

typedef struct base_row { // a row that a head reads
    const fr_sample *sample;
    int row;
} base_row;

typedef struct medusa {
    fr_learner learner;
    fr_medusa_variant variant;
    int tap, tap_at;                                 // layer, and its place among the data's
    int d, max_rows, width;                          // width: stride of x, the longest input
    int a[FR_DEPTHS], c[FR_DEPTHS], head[FR_DEPTHS]; // numbers of parameters
    fr_loss loss;
    // Of one batch, [max_rows] rows each.
    base_row *base;
    fr_loss_row *want;
    fr_loss_got *got;
    bool *alive;
    float *f, *x, *z, *y, *dy; // x: [width], the rest [d]; z: before the SiLU, then its gradient
} medusa;

static int inputs_of(const medusa *m, int k) { // k from 0
    return m->variant == FR_MEDUSA_HYDRA ? (k + 2) * m->d : m->d;
}

// ---------------------------------------------------------------- inputs
static void state_of(const medusa *m, const base_row *b, float *f) {
    const int d = m->d;
    const fr_sample *s = b->sample;
    const size_t whole = (size_t)(s->whole ? s->whole : s->n);
    const uint16_t *from = m->variant == FR_MEDUSA_EXIT
                               ? s->tap + ((size_t)m->tap_at * whole + (size_t)b->row) * (size_t)d
                               : s->final + (size_t)b->row * (size_t)d;
    for (int i = 0; i < d; i++)
        f[i] = fr_f16_to_f32(from[i]);
    const fr_model *t = m->learner.target;
    if (m->variant == FR_MEDUSA_EXIT) fr_model_norm(t, f, f, t->output_norm);
}

// Rows whose first token to draft is part of an answer. Row 0 is left out: its state is of another
// size than all others.
static int list_rows(medusa *m, const fr_batch *batch) {
    int n = 0;
    for (int s = 0; s < batch->n; s++)
        for (int row = 1; row + 1 < batch->sample[s].n; row++)
            if (batch->sample[s].flags[row + 1] & FR_ROW_ANSWER)
                m->base[n++] = (base_row){&batch->sample[s], row};
    assert(n <= m->max_rows);
    return n;
}

static void read_rows(medusa *m, int n) {
    const size_t d = (size_t)m->d;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++) {
        float *f = m->f + (size_t)i * d, *x = m->x + (size_t)i * (size_t)m->width;
        const base_row *b = &m->base[i];
        state_of(m, b, f);
        fr_norm_forward(x, f, NULL, 1, m->d);
        for (int k = 1; k * m->d < m->width; k++) {
            const int at = b->row + k <= b->sample->n ? b->row + k : b->sample->n;
            fr_model_embed(m->learner.target, b->sample->ids[at], x + (size_t)k * d);
            fr_norm_forward(x + (size_t)k * d, x + (size_t)k * d, NULL, 1, m->d);
        }
    }
}

static void list_wanted(medusa *m, int n, int k) {
    const float weight = fr_loss_weight(k + 1);
    for (int i = 0; i < n; i++) {
        const base_row *b = &m->base[i];
        const int row = b->row + k + 1;
        const bool counts = row < b->sample->n && b->sample->flags[row] & FR_ROW_ANSWER;
        m->want[i] = (fr_loss_row){counts ? b->sample : NULL, row, weight};
    }
}

// ---------------------------------------------------------------- one head
static void forward(medusa *m, int k, int n) {
    const fr_params *p = &m->learner.params;
    fr_gemm_forward(m->learner.gemm, m->z, m->d, m->x, m->width, fr_param_w(p, m->a[k]), n, m->d,
                    inputs_of(m, k), false);
    fr_bias_forward(m->z, fr_param_w(p, m->c[k]), n, m->d);
    fr_resblock_forward(m->y, m->f, m->z, n, m->d);
}

static void backward(medusa *m, int k, int n) {
    const fr_params *p = &m->learner.params;
    fr_resblock_backward(m->z, m->dy, m->z, n, m->d);
    fr_bias_backward(fr_param_grad(p, m->c[k]), m->z, n, m->d);
    fr_gemm_weight(m->learner.gemm, fr_param_grad(p, m->a[k]), m->z, m->d, m->x, m->width, n, m->d,
                   inputs_of(m, k), true);
}

static void run_head(medusa *m, int k, int n, bool learns, fr_tally *tally) {
    const bool own = m->variant == FR_MEDUSA_OWN_HEADS;
    list_wanted(m, n, k);
    forward(m, k, n);
    const fr_loss_term term = {
        .x = m->y,
        .ldx = m->d,
        .k = m->d,
        .w = own ? fr_param_w(&m->learner.params, m->head[k]) : m->learner.vocab->head,
        .dx = learns ? m->dy : NULL,
        .dw = learns && own ? fr_param_grad(&m->learner.params, m->head[k]) : NULL};
    fr_loss_run(&m->loss, &term, 1, m->want, n, m->got);
    for (int i = 0; i < n; i++)
        if (m->want[i].sample)
            fr_tally_count(tally, k, m->want[i].weight, &m->got[i], &m->alive[i]);
        else
            m->alive[i] = false;
    if (learns) backward(m, k, n);
}

static void run(medusa *m, const fr_batch *batch, bool learns, fr_tally *tally) {
    const int n = list_rows(m, batch);
    read_rows(m, n);
    memset(m->alive, 1, (size_t)n * sizeof *m->alive);
    for (int k = 0; k < m->learner.depth && n && fr_go_on(m->learner.watch); k++)
        run_head(m, k, n, learns, tally);
}

static void learn(fr_learner *l, const fr_batch *batch, uint64_t noise, fr_tally *tally) {
    (void)noise;
    run((medusa *)l, batch, true, tally);
}

static void judge(fr_learner *l, const fr_batch *batch, fr_tally *tally) {
    run((medusa *)l, batch, false, tally);
}

// ---------------------------------------------------------------- the pack
static void write_pack(const fr_learner *l, fr_gguf_writer *w, fr_type type) {
    const medusa *m = (const medusa *)l;
    fr_gguf_writer_u32(w, "forerun.heads", (uint32_t)l->depth);
    fr_gguf_writer_str(w, "forerun.variant", fr_medusa_variant_name(m->variant));
    if (m->variant == FR_MEDUSA_EXIT) fr_gguf_writer_u32(w, "forerun.tap", (uint32_t)m->tap);
    fr_pack_params(w, &l->params, type);
}

// ---------------------------------------------------------------- opening
static size_t row_bytes(const medusa *m) {
    return sizeof *m->base + sizeof *m->want + sizeof *m->got + sizeof *m->alive +
           ((size_t)m->width + 4 * (size_t)m->d) * sizeof(float);
}

static size_t workspace(const fr_learner *l) {
    const medusa *m = (const medusa *)l;
    return fr_loss_bytes(&m->loss) + (size_t)m->max_rows * row_bytes(m);
}

static void close_medusa(fr_learner *l) {
    medusa *m = (medusa *)l;
    if (!m) return;
    fr_params_free(&l->params);
    fr_loss_close(&m->loss);
    void *const owned[] = {m->base, m->want, m->got, m->alive, m->f, m->x, m->z, m->y, m->dy};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        fr_free(owned[i]);
    fr_free(m);
}

static const fr_learner_ops ops = {.learn = learn,
                                   .judge = judge,
                                   .write = write_pack,
                                   .workspace = workspace,
                                   .close = close_medusa};

static fr_status read_option(medusa *m, const char *option, fr_error *err) {
    if (!strncmp(option, "variant=", 8)) {
        for (int v = 0; v <= FR_MEDUSA_EXIT; v++)
            if (!strcmp(option + 8, fr_medusa_variant_name((fr_medusa_variant)v))) {
                m->variant = (fr_medusa_variant)v;
                return FR_OK;
            }
        return fr_fail(err, FR_EARG, "--set %s: expected variant=shared, own-heads, hydra or exit",
                       option);
    }
    const int n_layer = m->learner.target->config.n_layer;
    if (fr_setting_int(option, "tap", 0, n_layer, &m->tap)) return FR_OK;
    if (!strncmp(option, "tap=", 4))
        return fr_fail(err, FR_EARG, "--set %s: expected tap=0 to %d, layers behind it", option,
                       n_layer);
    return fr_fail(err, FR_EARG, "--set %.64s: medusa knows variant and tap", option);
}

static fr_status read_options(medusa *m, const fr_learner_config *config, fr_error *err) {
    m->tap = -1;
    for (const char *const *o = config->options; o && *o; o++) {
        const fr_status st = read_option(m, *o, err);
        if (st) return st;
    }
    if ((m->variant == FR_MEDUSA_EXIT) != (m->tap >= 0))
        return fr_fail(err, FR_EARG, "--set variant=exit and --set tap=LAYER go together");
    m->tap_at = -1;
    for (int i = 0; i < config->format->n_taps; i++)
        if (config->format->taps[i] == m->tap) m->tap_at = i;
    if (m->variant == FR_MEDUSA_EXIT && m->tap_at < 0)
        return fr_fail(err, FR_EARG, "--set tap=%d: the data has no states of that layer", m->tap);
    return FR_OK;
}

static void add_params(medusa *m) {
    fr_params *p = &m->learner.params;
    char name[48];
    for (int k = 0; k < m->learner.depth; k++) {
        snprintf(name, sizeof name, "medusa.%d.weight", k + 1);
        m->a[k] = fr_params_add(p, name, m->d, inputs_of(m, k));
        snprintf(name, sizeof name, "medusa.%d.bias", k + 1);
        m->c[k] = fr_params_add(p, name, 1, m->d);
        if (m->variant != FR_MEDUSA_OWN_HEADS) continue;
        snprintf(name, sizeof name, "medusa.%d.head", k + 1);
        m->head[k] = fr_params_add(p, name, m->learner.vocab->n, m->d);
    }
}

static fr_status take_memory(medusa *m, fr_error *err) {
    const size_t rows = (size_t)m->max_rows, d = (size_t)m->d;
    fr_status st = fr_params_alloc(&m->learner.params, err);
    if (st) return st;
    m->base = fr_alloc_array(rows, sizeof *m->base);
    m->want = fr_alloc_array(rows, sizeof *m->want);
    m->got = fr_alloc_array(rows, sizeof *m->got);
    m->alive = fr_alloc_array(rows, sizeof *m->alive);
    m->x = fr_alloc_array(rows * (size_t)m->width, sizeof *m->x);
    float **const states[] = {&m->f, &m->z, &m->y, &m->dy};
    bool ok = m->base && m->want && m->got && m->alive && m->x;
    for (int i = 0; i < 4; i++)
        ok = (*states[i] = fr_alloc_array(rows * d, sizeof(float))) && ok;
    return ok ? FR_OK : fr_fail(err, FR_ENOMEM, "train: no memory for %d rows", m->max_rows);
}

static fr_status open_medusa(fr_learner **out, const fr_learner_config *config, fr_error *err) {
    medusa *m = fr_alloc_zero(sizeof *m);
    *out = NULL;
    if (!m) return fr_fail(err, FR_ENOMEM, "train: no memory");
    fr_learner *l = &m->learner;
    *l = (fr_learner){.ops = &ops,
                      .name = "medusa",
                      .target = config->target,
                      .vocab = config->vocab,
                      .gemm = config->gemm,
                      .rate = 0.002,
                      .depth = config->depth ? config->depth : DEPTH};
    m->d = config->target->config.d;
    m->max_rows = config->max_rows;
    fr_status st = read_options(m, config, err);
    if (st) goto fail;
    m->width = inputs_of(m, l->depth - 1);
    add_params(m);
    if ((st = take_memory(m, err))) goto fail;
    if ((st = fr_loss_open(&m->loss, l->vocab, l->gemm, config->format->top, err))) goto fail;
    for (int k = 0; k < l->depth && m->variant == FR_MEDUSA_OWN_HEADS; k++)
        memcpy(fr_param_w(&l->params, m->head[k]), l->vocab->head,
               (size_t)l->vocab->n * (size_t)m->d * sizeof(float));
    *out = l;
    return FR_OK;
fail:
    close_medusa(l);
    return st;
}

const fr_learner_method fr_learn_medusa = {
    .name = "medusa", .open = open_medusa, .batch_rows = 1024};
