// learn_ppd.c — prompt tokens: vectors that enter at the target's first layer after a text and
// predict the tokens one, two, ... places after the next one [PPD, arXiv 2405.18628, sections 3 and
// 4].
//
// Vector (i, j) [d] is member j of the ensemble of prompt i; it sees s_1j, ..., s_ij. There are m n
// d learned numbers. They begin as embeddings of frequent tokens. Adam moves an entry by about the
// rate in a step, so the rate is a fifth of such an entry's size.
//
// lab/train/learn_ppd_ablation.c adds the variants of the paper's appendix B.
#include "draft/attached/train/learn_ppd.h"
#include "base/alloc.h"
#include "decode/draw/sampler.h"
#include "draft/attached/attached_pack.h"
#include "draft/pack/pack.h"
#include "train/learner/learner.h"
#include "train/learner/setting.h"
#include "train/math/layers.h"
#include <math.h>
#include <string.h>

enum { COMMON = 100, MEASURED = 1024 };

static void enter(fr_attached_learner *a) {
    const fr_ppd_learner *p = (const fr_ppd_learner *)(const void *)a;
    const size_t d = (size_t)a->context.m->config.d;
    const float *vectors = fr_param_w(&a->learner.params, p->vectors);
    const int chains = a->trunk.chains.n;
#pragma omp parallel for schedule(static)
    for (int r = 0; r < a->trunk.shape.steps * chains; r++)
        memcpy(a->trunk.in + (size_t)r * d, vectors + (size_t)(r / chains) * d, d * sizeof(float));
}

static void leave(fr_attached_learner *a) {
    const int d = a->context.m->config.d, chains = a->trunk.chains.n;
    float *grad = fr_param_grad(&a->learner.params, ((fr_ppd_learner *)(void *)a)->vectors);
#pragma omp parallel for schedule(static)
    for (int v = 0; v < a->trunk.shape.steps; v++)
        for (int c = 0; c < chains; c++)
            fr_rows_add_one(grad + (size_t)v * (size_t)d,
                            a->trunk.dx + ((size_t)v * (size_t)chains + (size_t)c) * (size_t)d, d);
}

static void write_pack(const fr_learner *l, fr_gguf_writer *w, fr_type type) {
    const fr_ppd_learner *p = (const fr_ppd_learner *)(const void *)l;
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
static bool read_option(fr_ppd_learner *p, const char *option) {
    fr_attached_learner *a = &p->attached;
    bool distils = true;
    if (fr_setting_switch(option, "distil", &distils)) {
        a->hard = !distils;
        return true;
    }
    return fr_setting_int(option, "points", 1, FR_ATTACHED_LEARNER_ROWS, &a->points) ||
           fr_setting_int(option, "ensemble", 1, FR_PACK_ENSEMBLE, &a->members) ||
           (p->more && p->more->read_option(p, option));
}

_Static_assert((int)FR_ATTACHED_LEARNER_GUESSES <= (int)FR_PACK_ATTACHED,
               "packs take every depth that is learned");

static fr_status read_options(fr_ppd_learner *p, const fr_learner_config *config, fr_error *err) {
    fr_attached_learner *a = &p->attached;
    for (const char *const *o = config->options; o && *o; o++)
        if (!read_option(p, *o))
            return fr_fail(err, FR_EARG,
                           "--set %.64s: %s knows points=1 to %d, ensemble=1 to %d, distil=0 or "
                           "1%s",
                           *o, a->learner.name, FR_ATTACHED_LEARNER_ROWS, FR_PACK_ENSEMBLE,
                           p->more ? p->more->options : "");
    const fr_status st = fr_attached_learner_depth(&a->learner.depth, config->depth, err);
    a->guesses = a->learner.depth;
    if (!st && a->guesses * a->members > FR_TRUNK_STEPS)
        return fr_fail(err, FR_EARG, "%d prompts of %d vectors: expected at most %d vectors",
                       a->guesses, a->members, FR_TRUNK_STEPS);
    return st;
}

// Member j of a prompt sees member j of the prompts up to it.
static fr_trunk_shape shape_of(const fr_ppd_learner *p) {
    const int members = p->attached.members;
    fr_trunk_shape shape = fr_trunk_chain(p->attached.guesses * members);
    for (int s = 0; s < shape.steps; s++) {
        shape.ahead[s] = s / members + 1;
        for (int other = 0; other < s; other++)
            if (other % members != s % members) shape.sees[s] &= ~(1u << other);
    }
    if (p->more) p->more->reshape(p, &shape);
    return shape;
}

static void start_vectors(const fr_ppd_learner *p, uint64_t seed) {
    const fr_learner *l = &p->attached.learner;
    const fr_param *item = &l->params.item[p->vectors];
    const int common = l->vocab->n < COMMON ? l->vocab->n : COMMON;
    for (int v = 0; v < item->rows; v++) {
        const int at = (int)(fr_uniform(seed, (uint64_t)v) * common);
        fr_model_embed(l->target, l->vocab->ids[at],
                       fr_param_w(&l->params, p->vectors) + (size_t)v * (size_t)item->cols);
    }
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

static fr_status open_parts(fr_ppd_learner *p, const fr_learner_config *config, fr_error *err) {
    fr_attached_learner *a = &p->attached;
    fr_params *params = &a->learner.params;
    const fr_trunk_shape shape = shape_of(p);
    fr_status st;
    p->vectors =
        fr_params_add(params, "ppd.vectors", a->guesses * a->members, config->target->config.d);
    params->item[p->vectors].decays = false;
    if (p->more) p->more->add_params(p);
    if ((st = fr_params_alloc(params, err))) return st;
    if ((st = fr_attached_learner_open(a, config, &shape, NULL, 0, err))) return st;
    a->learner.rate = 0.2 * embedding_size(&a->learner, a->trunk.in);
    start_vectors(p, config->seed);
    if (p->more) p->more->start(p, config->seed);
    return FR_OK;
}

fr_status fr_ppd_learner_open(fr_ppd_learner *p, const char *name, const fr_ppd_more *more,
                              const fr_learner_config *config, fr_error *err) {
    p->more = more;
    p->attached = (fr_attached_learner){.learner = {.ops = &ops,
                                                    .name = name,
                                                    .target = config->target,
                                                    .vocab = config->vocab,
                                                    .gemm = config->gemm},
                                        .enter = enter,
                                        .leave = leave,
                                        .points = FR_ATTACHED_LEARNER_POINTS,
                                        .members = 1,
                                        .weights = -1,
                                        .head = -1};
    fr_status st = read_options(p, config, err);
    if (!st) st = open_parts(p, config, err);
    if (st) close_ppd(&p->attached.learner);
    return st;
}

static fr_status open_ppd(fr_learner **out, const fr_learner_config *config, fr_error *err) {
    *out = NULL;
    fr_ppd_learner *p = fr_alloc_zero(sizeof *p);
    if (!p) return fr_fail(err, FR_ENOMEM, "train: no memory");
    const fr_status st = fr_ppd_learner_open(p, "ppd", NULL, config, err);
    if (!st) *out = &p->attached.learner;
    return st;
}

const fr_learner_method fr_learn_ppd = {
    .name = "ppd", .open = open_ppd, .passes = true, .batch_rows = 512};
