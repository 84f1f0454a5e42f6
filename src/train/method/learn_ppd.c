// learn_ppd.c — prompt tokens: vectors that enter at the target's first layer behind a text and say
// what comes one, two, ... tokens after the next one [PPD, arXiv 2405.18628, sections 3 and 4].
//
// Vector (i, j) [d] is member j of the ensemble of prompt i; it sees s_1j, ..., s_ij. What is
// learned is m n d numbers. They begin as embeddings of frequent tokens, and as Adam moves an entry
// by about the rate in a step, the rate is a fifth of such an entry's size.
//
// What the paper compares that with [appendix B] is learned and judged here, but not drafted with
// (the pack is called ppd-ablation, which no drafter takes): masks under which members see each
// other, a prefix in every layer's keys and values, learned weights of the members, a head of the
// prompts' own, the mean of the last layers.
#include "base/alloc.h"
#include "decode/sampler.h"
#include "draft/pack/pack.h"
#include "train/attached/attached_learner.h"
#include "train/learner/setting.h"
#include "train/math/layers.h"
#include <math.h>
#include <string.h>

enum { COMMON = 100, MEASURED = 1024 };
static const float prefix_size = 0.02f; // of keys in the beginning; values begin as 0

typedef enum ppd_mask { // what member j of prompt i sees of its base's vectors
    MASK_ENSEMBLE,      // member j of the prompts up to i
    MASK_DECODER,       // all before it
    MASK_ENCODER,       // all of the prompts up to i
} ppd_mask;
static const char *const masks[] = {"mask=ensemble", "mask=decoder", "mask=encoder"};

typedef struct ppd {
    fr_attached_learner attached; // first
    int vectors;                  // number of the parameter, [depth * members][d]
    int prefix_rows;              // ... [layers * 2 * depth * members][n_kv head_dim]; -1: none
    ppd_mask mask;
    int exits;
    bool has_prefix, has_weights, has_head;
} ppd;

static bool is_ablation(const ppd *p) {
    return p->mask != MASK_ENSEMBLE || p->exits > 1 || p->has_prefix || p->has_weights ||
           p->has_head;
}

static void enter(fr_attached_learner *a) {
    const ppd *p = (const ppd *)(const void *)a;
    const size_t d = (size_t)a->context.m->config.d;
    const float *vectors = fr_param_w(&a->learner.params, p->vectors);
    const int chains = a->trunk.chains.n;
#pragma omp parallel for schedule(static)
    for (int r = 0; r < a->trunk.shape.steps * chains; r++)
        memcpy(a->trunk.in + (size_t)r * d, vectors + (size_t)(r / chains) * d, d * sizeof(float));
    if (!p->has_prefix) return;
    a->trunk.prefix = fr_param_w(&a->learner.params, p->prefix_rows);
    a->trunk.dprefix = fr_param_grad(&a->learner.params, p->prefix_rows);
}

static void leave(fr_attached_learner *a) {
    const int d = a->context.m->config.d, chains = a->trunk.chains.n;
    float *grad = fr_param_grad(&a->learner.params, ((ppd *)(void *)a)->vectors);
#pragma omp parallel for schedule(static)
    for (int v = 0; v < a->trunk.shape.steps; v++)
        for (int c = 0; c < chains; c++)
            fr_rows_add_one(grad + (size_t)v * (size_t)d,
                            a->trunk.dx + ((size_t)v * (size_t)chains + (size_t)c) * (size_t)d, d);
}

static void write_pack(const fr_learner *l, fr_gguf_writer *w, fr_type type) {
    const ppd *p = (const ppd *)(const void *)l;
    (void)type; // some kilobytes
    fr_gguf_writer_u32(w, "forerun.heads", (uint32_t)l->depth);
    fr_gguf_writer_u32(w, "forerun.ensemble", (uint32_t)p->attached.members);
    for (int i = 0; i < l->params.n; i++) { // with two dimensions also where one has one row
        const fr_param *item = &l->params.item[i];
        fr_gguf_writer_tensor(w, item->name, FR_TYPE_F32, 2, (int64_t[]){item->cols, item->rows},
                              fr_param_w(&l->params, i));
    }
}

static size_t workspace(const fr_learner *l) {
    return fr_attached_learner_bytes((const fr_attached_learner *)(const void *)l);
}

static void close_ppd(fr_learner *l) {
    fr_attached_learner_close((fr_attached_learner *)(void *)l);
    fr_free(l);
}

static const fr_learner_ops ops = {.learn = fr_attached_learner_learn,
                                   .judge = fr_attached_learner_judge,
                                   .write = write_pack,
                                   .workspace = workspace,
                                   .close = close_ppd};

// ---------------------------------------------------------------- opening
static bool read_mask(ppd *p, const char *option) {
    for (int m = 0; m < (int)(sizeof masks / sizeof *masks); m++)
        if (!strcmp(option, masks[m])) {
            p->mask = (ppd_mask)m;
            return true;
        }
    return false;
}

static bool read_option(ppd *p, const char *option, int n_layer) {
    fr_attached_learner *a = &p->attached;
    bool distils = true;
    if (fr_setting_switch(option, "distil", &distils)) {
        a->hard = !distils;
        return true;
    }
    return fr_setting_int(option, "points", 1, FR_ATTACHED_LEARNER_ROWS, &a->points) ||
           fr_setting_int(option, "ensemble", 1, FR_PACK_ENSEMBLE, &a->members) ||
           fr_setting_int(option, "exits", 1, n_layer, &p->exits) || read_mask(p, option) ||
           fr_setting_switch(option, "prefix", &p->has_prefix) ||
           fr_setting_switch(option, "weights", &p->has_weights) ||
           fr_setting_switch(option, "head", &p->has_head);
}

static fr_status read_options(ppd *p, const fr_learner_config *config, fr_error *err) {
    fr_attached_learner *a = &p->attached;
    const int n_layer = config->target->config.n_layer;
    for (const char *const *o = config->options; o && *o; o++)
        if (!read_option(p, *o, n_layer))
            return fr_fail(err, FR_EARG,
                           "--set %.64s: ppd knows points=1 to %d, ensemble=1 to %d and distil=0 "
                           "or 1; and, for comparison alone, mask=ensemble, decoder or encoder, "
                           "prefix=0 or 1, weights=0 or 1, head=0 or 1, exits=1 to %d",
                           *o, FR_ATTACHED_LEARNER_ROWS, FR_PACK_ENSEMBLE, n_layer);
    const fr_status st = fr_attached_learner_depth(&a->learner.depth, config->depth, err);
    a->guesses = a->learner.depth;
    if (!st && a->guesses * a->members > FR_TRUNK_STEPS)
        return fr_fail(err, FR_EARG, "%d prompts of %d vectors: expected at most %d vectors",
                       a->guesses, a->members, FR_TRUNK_STEPS);
    if (is_ablation(p)) a->learner.name = "ppd-ablation";
    return st;
}

// Which of the other vectors vector `step` sees, and how far from the base it stands.
static fr_trunk_shape shape_of(const ppd *p) {
    const int members = p->attached.members;
    fr_trunk_shape shape = fr_trunk_chain(p->attached.guesses * members);
    for (int s = 0; s < shape.steps; s++) {
        const int prompt = s / members;
        shape.ahead[s] = prompt + 1;
        if (p->mask == MASK_ENCODER) shape.sees[s] = (1u << (prompt + 1) * members) - 1;
        if (p->mask == MASK_ENSEMBLE)
            for (int other = 0; other < s; other++)
                if (other % members != s % members) shape.sees[s] &= ~(1u << other);
    }
    shape.exits = p->exits;
    shape.prefix = p->has_prefix;
    return shape;
}

static void start_vectors(const ppd *p, uint64_t seed) {
    const fr_learner *l = &p->attached.learner;
    const fr_param *item = &l->params.item[p->vectors];
    const int common = l->vocab->n < COMMON ? l->vocab->n : COMMON;
    for (int v = 0; v < item->rows; v++) {
        const int at = (int)(fr_uniform(seed, (uint64_t)v) * common);
        fr_model_embed(l->target, l->vocab->ids[at],
                       fr_param_w(&l->params, p->vectors) + (size_t)v * (size_t)item->cols);
    }
}

static void start(const ppd *p, uint64_t seed) {
    const fr_attached_learner *a = &p->attached;
    const fr_params *params = &a->learner.params;
    start_vectors(p, seed);
    if (p->has_prefix) {
        const fr_param *item = &params->item[p->prefix_rows];
        const size_t half = (size_t)(a->guesses * a->members) * (size_t)item->cols;
        float *w = fr_param_w(params, p->prefix_rows);
        fr_param_random(params, p->prefix_rows, prefix_size, seed);
        for (int layer = 0; layer < a->learner.target->config.n_layer; layer++)
            memset(w + (2 * (size_t)layer + 1) * half, 0, half * sizeof *w);
    }
    for (int s = 0; s < a->guesses * a->members && p->has_weights; s++)
        fr_param_w(params, a->weights)[s] = 1 / (float)a->members;
    if (p->has_head)
        memcpy(fr_param_w(params, a->head), a->learner.vocab->head,
               (size_t)params->item[a->head].rows * (size_t)params->item[a->head].cols *
                   sizeof(float));
}

// Root of the mean square of the embeddings' entries, of the most frequent tokens; x: [d] scratch.
static double embedding_size(const fr_learner *l, float *x) {
    const int n = l->vocab->n < MEASURED ? l->vocab->n : MEASURED, d = l->target->config.d;
    double sum = 0;
    for (int i = 0; i < n; i++) {
        fr_model_embed(l->target, l->vocab->ids[i], x);
        for (int k = 0; k < d; k++)
            sum += (double)x[k] * (double)x[k];
    }
    return sqrt(sum / n / d);
}

static int add(ppd *p, bool wanted, const char *name, int rows, int cols) {
    fr_params *params = &p->attached.learner.params;
    if (!wanted) return -1;
    const int number = fr_params_add(params, name, rows, cols);
    params->item[number].decays = false;
    return number;
}

static fr_status open_parts(ppd *p, const fr_learner_config *config, fr_error *err) {
    fr_attached_learner *a = &p->attached;
    const fr_config *c = &config->target->config;
    const int n = a->guesses * a->members;
    const fr_trunk_shape shape = shape_of(p);
    fr_status st;
    p->vectors = add(p, true, "ppd.vectors", n, c->d);
    p->prefix_rows = add(p, p->has_prefix, "ppd.prefix", c->n_layer * 2 * n, c->n_kv * c->head_dim);
    a->weights = add(p, p->has_weights, "ppd.weights", 1, n);
    a->head = add(p, p->has_head, "ppd.head", config->vocab->n, c->d);
    if ((st = fr_params_alloc(&a->learner.params, err))) return st;
    if ((st = fr_attached_learner_open(a, config, &shape, NULL, 0, err))) return st;
    a->learner.rate = 0.2 * embedding_size(&a->learner, a->trunk.in);
    start(p, config->seed);
    return FR_OK;
}

fr_status fr_learn_ppd_open(fr_learner **out, const fr_learner_config *config, fr_error *err) {
    *out = NULL;
    ppd *p = fr_alloc_zero(sizeof *p);
    if (!p) return fr_fail(err, FR_ENOMEM, "train: no memory");
    p->exits = 1;
    p->attached = (fr_attached_learner){.learner = {.ops = &ops,
                                                    .name = "ppd",
                                                    .target = config->target,
                                                    .vocab = config->vocab,
                                                    .gemm = config->gemm},
                                        .enter = enter,
                                        .leave = leave,
                                        .points = FR_ATTACHED_LEARNER_POINTS,
                                        .members = 1};
    fr_status st = read_options(p, config, err);
    if (!st) st = open_parts(p, config, err);
    if (st)
        close_ppd(&p->attached.learner);
    else
        *out = &p->attached.learner;
    return st;
}
