// learn_transfer.c — Hidden Transfer: linear maps that make the states of coming tokens out of a
// row's own, in the middle of the target [arXiv 2404.12022, sections 3.2, 3.3].
//
// Row i of a chain enters after t_i layers with W_i h, h [d] the residual of its base after t_i
// layers, and guesses i tokens after the next one. The learned matrix is D_i = W_i - I, so that
// weight decay pulls W_i towards the identity. It begins as the D_i that least squares gives on the
// samples' own residuals, sum |h_{q+i} - h_q - D_i h_q|² (start=ridge), or as zero. `step`: W_step
// alone is learned, those before it stay, those after it do not take part (the paper trains them
// one after the other). `masked`: a row does not see the rows of its chain (its ablation).
#include "base/alloc.h"
#include "kern/half.h"
#include "train/attached/attached_learner.h"
#include "train/learner/learner.h"
#include "train/learner/pack_write.h"
#include "train/learner/setting.h"
#include "train/math/layers.h"
#include "train/math/linear_fit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float ridge = 1e-3f;
enum { FIT_STEPS = 60, FIT_ROWS = 32 }; // conjugate gradients; rows for each of a map's inputs

typedef struct transfer {
    fr_attached_learner attached; // first
    int layers[FR_ATTACHED_LEARNER_GUESSES], n_layers;
    int step; // 0: all
    bool masked, fits;
    int maps[FR_ATTACHED_LEARNER_GUESSES]; // numbers of the parameters
    float *h;                              // [steps * chains][d] residuals of the bases
    fr_linear_fit fit[FR_ATTACHED_LEARNER_GUESSES];
} transfer;

static transfer *self(fr_learner *l) {
    return (transfer *)(void *)l;
}

// ---------------------------------------------------------------- rows in, gradients out
static void enter(fr_attached_learner *a) {
    const transfer *t = (const transfer *)(void *)a;
    const fr_learner *l = &a->learner;
    const int d = a->context.m->config.d, n = a->trunk.chains.n;
    for (int i = 0; i < a->trunk.shape.steps; i++) {
        const size_t first = (size_t)i * (size_t)n * (size_t)d;
        float *h = t->h + first, *in = a->trunk.in + first;
        fr_rows_gather(h, fr_trunk_context_tap(&a->context, i), a->trunk.row, n, d);
        memcpy(in, h, (size_t)n * (size_t)d * sizeof *in);
        fr_gemm_forward(l->gemm, in, d, h, d, fr_param_w(&l->params, t->maps[i]), n, d, d, true);
    }
}

static void leave(fr_attached_learner *a) {
    const transfer *t = (const transfer *)(void *)a;
    const fr_learner *l = &a->learner;
    const int d = a->context.m->config.d, n = a->trunk.chains.n;
    for (int i = t->step ? t->step - 1 : 0; i < a->trunk.shape.steps; i++) {
        const size_t first = (size_t)i * (size_t)n * (size_t)d;
        fr_gemm_weight(l->gemm, fr_param_grad(&l->params, t->maps[i]), a->trunk.dx + first, d,
                       t->h + first, d, n, d, d, true);
    }
}

// ---------------------------------------------------------------- first values
// Pairs of residuals of the context's rows [first, first + n), i + 1 tokens apart. Row 0 is left
// out.
static void add_pairs(transfer *t, int i, int first, int n) {
    const fr_trunk_context *c = &t->attached.context;
    fr_linear_fit *fit = &t->fit[i];
    const size_t d = (size_t)c->m->config.d, ahead = (size_t)i + 1;
    int at = 0;
    for (int row = 1; row + i + 1 < n; row++) {
        const float *h = fr_trunk_context_tap(c, i) + (size_t)(first + row) * d;
        memcpy(fit->x + (size_t)at * d, h, d * sizeof *h);
        for (size_t j = 0; j < d; j++)
            fit->y[(size_t)at * d + j] = h[ahead * d + j] - h[j];
        if (++at == FR_LINEAR_FIT_ROWS) fr_linear_fit_add(fit, at), at = 0;
    }
    if (at) fr_linear_fit_add(fit, at);
}

static fr_status fit_add(fr_learner *l, const fr_batch *batch, fr_error *err) {
    transfer *t = self(l);
    fr_trunk_context *c = &t->attached.context;
    const int d = c->m->config.d;
    for (int i = 0; i < l->depth; i++)
        if (!t->fit[i].block && !l->params.item[t->maps[i]].given) {
            const fr_status st =
                fr_linear_fit_open(&t->fit[i], d, d, fr_gemm_threads(l->gemm), err);
            if (st) return st;
        }
    c->rows = 0;
    for (int s = 0; s < batch->n && fr_go_on(l->watch); s++) {
        const int first = c->rows, n = batch->sample[s].n;
        fr_trunk_context_add_taps(c, batch->sample[s].ids, n);
        for (int i = 0; i < l->depth; i++)
            if (t->fit[i].block) add_pairs(t, i, first, n);
    }
    return FR_OK;
}

static uint64_t fit_rest(const fr_learner *l) {
    const transfer *t = (const transfer *)(const void *)l;
    for (int i = 0; i < l->depth; i++)
        if (!l->params.item[t->maps[i]].given) return l->fit_rows;
    return 0;
}

static void fit_end(fr_learner *l) {
    transfer *t = self(l);
    const size_t d = (size_t)l->target->config.d;
    for (int i = 0; i < l->depth; i++) {
        if (l->params.item[t->maps[i]].given) continue;
        if (!fr_linear_fit_solve(&t->fit[i], ridge, FIT_STEPS, l->watch)) return;
        memcpy(fr_param_w(&l->params, t->maps[i]), t->fit[i].w, d * d * sizeof(float));
        fr_linear_fit_close(&t->fit[i]);
    }
}

// ---------------------------------------------------------------- the pack: W, not D
static float map_entry(const float *map, size_t d, size_t k) {
    return map[k] + (k / d == k % d ? 1.0f : 0.0f);
}

static void write_map(const transfer *t, int i, fr_gguf_writer *w, fr_type type) {
    const fr_params *p = &t->attached.learner.params;
    const size_t d = (size_t)p->item[t->maps[i]].cols;
    const bool wide = type == FR_TYPE_F32;
    const float *map = fr_param_w(p, t->maps[i]);
    void *data = fr_alloc_array(d * d, wide ? sizeof(float) : sizeof(uint16_t));
    for (size_t k = 0; data && k < d * d; k++)
        if (wide)
            ((float *)data)[k] = map_entry(map, d, k);
        else
            ((uint16_t *)data)[k] = fr_f16_from_f32(map_entry(map, d, k));
    fr_gguf_writer_tensor_copy(w, p->item[t->maps[i]].name, wide ? FR_TYPE_F32 : FR_TYPE_F16, 2,
                               (int64_t[]){(int64_t)d, (int64_t)d}, data);
    fr_free(data);
}

static void write_pack(const fr_learner *l, fr_gguf_writer *w, fr_type type) {
    const transfer *t = (const transfer *)(const void *)l;
    uint32_t layers[FR_ATTACHED_LEARNER_GUESSES];
    for (int i = 0; i < l->depth; i++)
        layers[i] = (uint32_t)t->layers[i];
    fr_gguf_writer_u32(w, "forerun.heads", (uint32_t)l->depth);
    fr_gguf_writer_u32_array(w, "forerun.layers", layers, (size_t)l->depth);
    for (int i = 0; i < l->depth; i++)
        write_map(t, i, w, type);
}

// Maps belong to their layers.
static fr_status check_layers(const transfer *t, const fr_gguf *pack, fr_error *err) {
    const fr_gguf_kv *found;
    const fr_status st = fr_gguf_get_array(pack, "forerun.layers", FR_GGUF_INTS, &found, err);
    if (st) return st;
    for (uint64_t i = 0; i < found->count && i < (uint64_t)t->attached.learner.depth; i++)
        if (fr_gguf_item_i64(found, i) != t->layers[i])
            return fr_fail(err, FR_EDATA, "%s: step %llu: expected a map of layer %d, found %lld",
                           fr_gguf_path(pack), (unsigned long long)i + 1, t->layers[i],
                           (long long)fr_gguf_item_i64(found, i));
    return FR_OK;
}

static fr_status read_pack(fr_learner *l, const fr_gguf *pack, fr_error *err) {
    const transfer *t = self(l);
    fr_status st = check_layers(t, pack, err);
    if (!st) st = fr_pack_read_params(&l->params, pack, err);
    for (int i = 0; i < l->depth && !st; i++) {
        const fr_param *item = &l->params.item[t->maps[i]];
        float *map = fr_param_w(&l->params, t->maps[i]);
        if (!fr_gguf_tensor_find(pack, item->name)) continue;
        for (int k = 0; k < item->rows; k++)
            map[(size_t)k * (size_t)item->cols + (size_t)k] -= 1;
    }
    return st;
}

// ---------------------------------------------------------------- opening
static size_t workspace(const fr_learner *l) {
    const transfer *t = (const transfer *)(const void *)l;
    const size_t d = (size_t)l->target->config.d;
    const size_t rows =
        (size_t)t->attached.trunk.shape.steps * (size_t)t->attached.trunk.shape.max_chains;
    const size_t fits = t->fits ? (size_t)l->depth * fr_linear_fit_bytes((int)d, (int)d) : 0;
    return fr_attached_learner_bytes(&t->attached) + rows * d * sizeof(float) + fits;
}

static void close_transfer(fr_learner *l) {
    transfer *t = self(l);
    fr_attached_learner_close(&t->attached);
    for (int i = 0; i < FR_ATTACHED_LEARNER_GUESSES; i++)
        fr_linear_fit_close(&t->fit[i]);
    fr_free(t->h);
    fr_free(t);
}

static const fr_learner_ops ops = {.learn = fr_attached_learner_learn,
                                   .judge = fr_attached_learner_judge,
                                   .fit_add = fit_add,
                                   .fit_end = fit_end,
                                   .write = write_pack,
                                   .read = read_pack,
                                   .fit_rest = fit_rest,
                                   .workspace = workspace,
                                   .close = close_transfer};

// "14/17/20": layers below each step, 1 to n_layer - 1, never falling.
static bool read_layers(transfer *t, const char *text, int n_layer) {
    int n = 0;
    for (char *end; n < FR_ATTACHED_LEARNER_GUESSES; text = end + 1) {
        const long layer = strtol(text, &end, 10);
        if (end == text || layer < (n ? t->layers[n - 1] : 1) || layer >= n_layer) return false;
        t->layers[n++] = (int)layer;
        t->n_layers = n;
        if (*end != '/') return !*end;
    }
    return false;
}

static bool read_start(transfer *t, const char *option) {
    if (strcmp(option, "start=ridge") && strcmp(option, "start=identity")) return false;
    t->fits = !strcmp(option, "start=ridge");
    return true;
}

static fr_status read_options(transfer *t, const fr_learner_config *config, fr_error *err) {
    fr_attached_learner *a = &t->attached;
    const int n_layer = config->target->config.n_layer;
    for (const char *const *o = config->options; o && *o; o++)
        if (!fr_setting_int(*o, "points", 1, FR_ATTACHED_LEARNER_ROWS, &a->points) &&
            !fr_setting_int(*o, "step", 1, FR_ATTACHED_LEARNER_GUESSES, &t->step) &&
            !fr_setting_switch(*o, "masked", &t->masked) && !read_start(t, *o) &&
            (strncmp(*o, "layers=", 7) || !read_layers(t, *o + 7, n_layer)))
            return fr_fail(err, FR_EARG,
                           "--set %.64s: hidden-transfer knows points=1 to %d, layers=A/B/... "
                           "(rising, 1 to %d, one for each step, at most %d), start=ridge or "
                           "identity, step=1 to %d and masked=0 or 1",
                           *o, FR_ATTACHED_LEARNER_ROWS, n_layer - 1, FR_ATTACHED_LEARNER_GUESSES,
                           FR_ATTACHED_LEARNER_GUESSES);
    return FR_OK;
}

// The layers of a model of 30 that Hidden Transfer takes for its first three steps, in proportion.
static void default_layers(transfer *t, int n_layer) {
    for (int i = 0; i < t->attached.learner.depth; i++) {
        const int layer = (n_layer * (14 + 3 * i) + 15) / 30, last = n_layer - 1;
        t->layers[i] = layer < 1 ? 1 : layer < last ? layer : last;
    }
}

static fr_status settle_steps(transfer *t, const fr_learner_config *config, fr_error *err) {
    fr_learner *l = &t->attached.learner;
    const int asked = config->depth ? config->depth : t->n_layers;
    const fr_status st = fr_attached_learner_depth(&l->depth, asked, err);
    if (st) return st;
    if (config->target->config.n_layer < 2)
        return fr_fail(err, FR_EUNSUP, "hidden-transfer: the target has no layer in the middle");
    if (t->n_layers && t->n_layers != l->depth)
        return fr_fail(err, FR_EARG, "--set layers: expected %d layers, one for each step",
                       l->depth);
    if (t->step > l->depth)
        return fr_fail(err, FR_EARG, "--set step=%d: there are %d steps", t->step, l->depth);
    if (!t->n_layers) default_layers(t, config->target->config.n_layer);
    l->rate = t->fits ? 2e-4 : 1e-3;
    l->fit_rows = t->fits ? (uint64_t)config->target->config.d * FIT_ROWS : 0;
    return FR_OK;
}

static fr_status open_parts(transfer *t, const fr_learner_config *config, fr_error *err) {
    fr_attached_learner *a = &t->attached;
    fr_params *p = &a->learner.params;
    const int d = config->target->config.d;
    fr_trunk_shape shape = fr_trunk_chain(t->step ? t->step : a->learner.depth);
    char name[48];
    fr_status st;
    for (int i = 0; i < a->learner.depth; i++) {
        snprintf(name, sizeof name, "transfer.%d.weight", i + 1);
        t->maps[i] = fr_params_add(p, name, d, d);
        p->item[t->maps[i]].decays = !t->step || t->step == i + 1;
        shape.entry[i] = t->layers[i];
        if (t->masked) shape.sees[i] = 1u << i;
    }
    a->guesses = shape.steps;
    if ((st = fr_params_alloc(p, err))) return st;
    if ((st = fr_attached_learner_open(a, config, &shape, t->layers, a->learner.depth, err)))
        return st;
    const size_t rows = (size_t)shape.steps * (size_t)a->trunk.shape.max_chains;
    t->h = fr_alloc_array(rows * (size_t)d, sizeof *t->h);
    return t->h ? FR_OK : fr_fail(err, FR_ENOMEM, "train: no memory for %zu states", rows);
}

static fr_status open_hidden_transfer(fr_learner **out, const fr_learner_config *config,
                                      fr_error *err) {
    *out = NULL;
    transfer *t = fr_alloc_zero(sizeof *t);
    if (!t) return fr_fail(err, FR_ENOMEM, "train: no memory");
    t->fits = true;
    t->attached = (fr_attached_learner){.learner = {.ops = &ops,
                                                    .name = "hidden-transfer",
                                                    .target = config->target,
                                                    .vocab = config->vocab,
                                                    .gemm = config->gemm,
                                                    .halves = true},
                                        .enter = enter,
                                        .leave = leave,
                                        .points = FR_ATTACHED_LEARNER_POINTS,
                                        .members = 1,
                                        .weights = -1,
                                        .head = -1};
    fr_status st = read_options(t, config, err);
    if (!st) st = settle_steps(t, config, err);
    if (!st) st = open_parts(t, config, err);
    if (st)
        close_transfer(&t->attached.learner);
    else
        *out = &t->attached.learner;
    return st;
}

const fr_learner_method fr_learn_hidden_transfer = {
    .name = "hidden-transfer", .open = open_hidden_transfer, .passes = true, .batch_rows = 512};
