// learn_early_exit.c — an exit after a middle layer of the target, which predicts the next token
// from the residual there.
//
// The exit after layer E makes of the residual h of row i
//     x = nrm(h),   y = x ⊙ g + silu(A x + c),   logits = H' y,   distribution of token i+1
// with nrm(v) = v / sqrt(mean(v²) + 1e-6). g begins as the gain of the target's final norm, A and c
// at 0: an untrained exit is the target's own head on the middle state. Rows of answers count. A
// draft k tokens deep reads the same exit at the k-th row, so depth k counts the row k - 1 places
// on, if all rows before it were right.
#include "base/alloc.h"
#include "kern/half.h"
#include "train/learner/learner.h"
#include "train/learner/loss.h"
#include "train/learner/pack_write.h"
#include "train/learner/setting.h"
#include "train/learner/tally.h"
#include "train/math/layers.h"
#include <assert.h>
#include <string.h>

typedef struct early_exit {
    fr_learner learner;
    int exit, tap_at; // the layer, and its place among the data's
    int d, max_rows;
    int gain, map, bias; // numbers of parameters
    fr_loss loss;
    // Of one batch, [max_rows] rows each.
    fr_loss_row *want; // answers' rows, one sample after the other
    fr_loss_got *got;
    float *h, *x, *u, *y, *dy; // [d]
} early_exit;

// ---------------------------------------------------------------- rows

// Row 0 is left out: its state is of another size than all others.
static int list_rows(early_exit *e, const fr_batch *batch) {
    int n = 0;
    for (int s = 0; s < batch->n; s++)
        for (int row = 1; row < batch->sample[s].n; row++)
            if (batch->sample[s].flags[row] & FR_ROW_ANSWER)
                e->want[n++] = (fr_loss_row){&batch->sample[s], row, 1};
    assert(n <= e->max_rows);
    return n;
}

static void read_rows(early_exit *e, int n) {
    const size_t d = (size_t)e->d;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++) {
        const fr_sample *s = e->want[i].sample;
        const size_t whole = (size_t)(s->whole ? s->whole : s->n);
        const size_t at = (size_t)e->tap_at * whole + (size_t)e->want[i].row;
        for (size_t j = 0; j < d; j++)
            e->h[(size_t)i * d + j] = fr_f16_to_f32(s->tap[at * d + j]);
    }
}

// ---------------------------------------------------------------- the exit

static void forward(early_exit *e, int n) {
    const fr_params *p = &e->learner.params;
    fr_norm_forward(e->x, e->h, NULL, n, e->d);
    fr_norm_forward(e->y, e->h, fr_param_w(p, e->gain), n, e->d);
    fr_gemm_forward(e->learner.gemm, e->u, e->d, e->x, e->d, fr_param_w(p, e->map), n, e->d, e->d,
                    false);
    fr_bias_forward(e->u, fr_param_w(p, e->bias), n, e->d);
    fr_resblock_forward(e->y, e->y, e->u, n, e->d);
}

static void backward(early_exit *e, int n) {
    const fr_params *p = &e->learner.params;
    fr_norm_backward(NULL, false, fr_param_grad(p, e->gain), e->dy, e->h, fr_param_w(p, e->gain), n,
                     e->d);
    fr_resblock_backward(e->u, e->dy, e->u, n, e->d);
    fr_bias_backward(fr_param_grad(p, e->bias), e->u, n, e->d);
    fr_gemm_weight(e->learner.gemm, fr_param_grad(p, e->map), e->u, e->d, e->x, e->d, n, e->d, e->d,
                   true);
}

// The loss is of every row once; depths count the rows that a draft would come to.
static void count(const early_exit *e, int n, fr_tally *tally) {
    for (int i = 0; i < n; i++) {
        bool alive = true;
        for (int k = 0; k < e->learner.depth && i + k < n; k++) {
            const fr_loss_row *row = &e->want[i + k];
            if (row->sample != e->want[i].sample || row->row != e->want[i].row + k) break;
            fr_tally_count(tally, k, k ? 0 : row->weight, &e->got[i + k], &alive);
        }
    }
}

static void run(early_exit *e, const fr_batch *batch, bool learns, fr_tally *tally) {
    const int n = list_rows(e, batch);
    if (!n) return;
    read_rows(e, n);
    forward(e, n);
    const fr_loss_term term = {.x = e->y,
                               .ldx = e->d,
                               .k = e->d,
                               .w = e->learner.vocab->head,
                               .dx = learns ? e->dy : NULL};
    fr_loss_run(&e->loss, &term, 1, e->want, n, e->got);
    count(e, n, tally);
    if (learns) backward(e, n);
}

static void learn(fr_learner *l, const fr_batch *batch, uint64_t noise, fr_tally *tally) {
    (void)noise;
    run((early_exit *)l, batch, true, tally);
}

static void judge(fr_learner *l, const fr_batch *batch, fr_tally *tally) {
    run((early_exit *)l, batch, false, tally);
}

// ---------------------------------------------------------------- the pack

static void write_pack(const fr_learner *l, fr_gguf_writer *w, fr_type type) {
    const early_exit *e = (const early_exit *)l;
    fr_gguf_writer_u32(w, "forerun.heads", (uint32_t)l->depth);
    fr_gguf_writer_u32(w, "forerun.exit", (uint32_t)e->exit);
    fr_pack_params(w, &l->params, type);
}

// ---------------------------------------------------------------- opening

static size_t workspace(const fr_learner *l) {
    const early_exit *e = (const early_exit *)l;
    return fr_loss_bytes(&e->loss) + (size_t)e->max_rows * (sizeof *e->want + sizeof *e->got +
                                                            5 * (size_t)e->d * sizeof(float));
}

static void close_early_exit(fr_learner *l) {
    early_exit *e = (early_exit *)l;
    if (!e) return;
    fr_params_free(&l->params);
    fr_loss_close(&e->loss);
    void *const owned[] = {e->want, e->got, e->h, e->x, e->u, e->y, e->dy};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        fr_free(owned[i]);
    fr_free(e);
}

static const fr_learner_ops ops = {.learn = learn,
                                   .judge = judge,
                                   .write = write_pack,
                                   .workspace = workspace,
                                   .close = close_early_exit};

static fr_status read_options(early_exit *e, const fr_learner_config *config, fr_error *err) {
    const int layers = e->learner.target->config.n_layer;
    for (const char *const *o = config->options; o && *o; o++)
        if (!fr_setting_int(*o, "exit", 1, layers - 1, &e->exit))
            return fr_fail(err, FR_EARG,
                           "--set %.64s: early-exit knows exit=1 to %d, layers that a "
                           "draft runs through",
                           *o, layers - 1);
    if (!e->exit)
        return fr_fail(err, FR_EARG, "early-exit: --set exit=LAYER is needed, 1 to %d", layers - 1);
    e->tap_at = -1;
    for (int i = 0; i < config->format->n_taps; i++)
        if (config->format->taps[i] == e->exit) e->tap_at = i;
    if (e->tap_at < 0)
        return fr_fail(err, FR_EARG, "--set exit=%d: the data has no states of that layer",
                       e->exit);
    return FR_OK;
}

static fr_status take_memory(early_exit *e, fr_error *err) {
    const size_t rows = (size_t)e->max_rows, d = (size_t)e->d;
    const fr_status st = fr_params_alloc(&e->learner.params, err);
    if (st) return st;
    e->want = fr_alloc_array(rows, sizeof *e->want);
    e->got = fr_alloc_array(rows, sizeof *e->got);
    float **const states[] = {&e->h, &e->x, &e->u, &e->y, &e->dy};
    bool ok = e->want && e->got;
    for (int i = 0; i < 5; i++)
        ok = (*states[i] = fr_alloc_array(rows * d, sizeof(float))) && ok;
    return ok ? FR_OK : fr_fail(err, FR_ENOMEM, "train: no memory for %d rows", e->max_rows);
}

static fr_status open_early_exit(fr_learner **out, const fr_learner_config *config, fr_error *err) {
    early_exit *e = fr_alloc_zero(sizeof *e);
    *out = NULL;
    if (!e) return fr_fail(err, FR_ENOMEM, "train: no memory");
    fr_learner *l = &e->learner;
    *l = (fr_learner){.ops = &ops,
                      .name = "early-exit",
                      .target = config->target,
                      .vocab = config->vocab,
                      .gemm = config->gemm,
                      .rate = 0.002,
                      .depth = config->depth ? config->depth : FR_DEPTHS};
    e->d = config->target->config.d;
    e->max_rows = config->max_rows;
    fr_status st = read_options(e, config, err);
    if (st) goto fail;
    e->gain = fr_params_add(&l->params, "exit.norm", 1, e->d);
    e->map = fr_params_add(&l->params, "exit.weight", e->d, e->d);
    e->bias = fr_params_add(&l->params, "exit.bias", 1, e->d);
    if ((st = take_memory(e, err))) goto fail;
    if ((st = fr_loss_open(&e->loss, l->vocab, l->gemm, config->format->top, err))) goto fail;
    memcpy(fr_param_w(&l->params, e->gain), l->target->output_norm.w, (size_t)e->d * sizeof(float));
    *out = l;
    return FR_OK;
fail:
    close_early_exit(l);
    return st;
}

const fr_learner_method fr_learn_early_exit = {
    .name = "early-exit", .open = open_early_exit, .batch_rows = 1024};
