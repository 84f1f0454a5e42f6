// learn_ppd.c — prompt tokens: vectors that enter at the target's first layer behind a text and say
// what comes one, two, ... tokens after the next one [PPD, arXiv 2405.18628, sections 3 and 4].
//
// Vector (i, j) [d] is member j of the ensemble of prompt i; the chain of member j is s_1j, s_2j,
// ... What is learned is m n d numbers. They begin as embeddings of frequent tokens, and as Adam
// moves an entry by about the rate in a step, the rate is a tenth of such an entry's size.
#include "base/alloc.h"
#include "decode/sampler.h"
#include "train/layers.h"
#include "train/riding.h"
#include <math.h>
#include <string.h>

enum { MOST_MEMBERS = 8, COMMON = 100, MEASURED = 1024 };

typedef struct ppd {
    fr_riding riding; // first
    int vectors;      // number of the parameter, [depth * members][d]
} ppd;

static void enter(fr_riding *a) {
    const size_t d = (size_t)a->context.m->config.d;
    const float *vectors = fr_param_w(&a->learner.params, ((ppd *)(void *)a)->vectors);
    const int chains = a->trunk.chains.n;
#pragma omp parallel for schedule(static)
    for (int r = 0; r < a->trunk.shape.steps * chains; r++) {
        const int of = r / chains * a->members + r % chains % a->members;
        memcpy(a->trunk.in + (size_t)r * d, vectors + (size_t)of * d, d * sizeof(float));
    }
}

static void leave(fr_riding *a) {
    const size_t d = (size_t)a->context.m->config.d;
    float *grad = fr_param_grad(&a->learner.params, ((ppd *)(void *)a)->vectors);
    const int chains = a->trunk.chains.n;
#pragma omp parallel for schedule(static)
    for (int v = 0; v < a->trunk.shape.steps * a->members; v++) {
        const int first = v / a->members * chains;
        for (int c = v % a->members; c < chains; c += a->members)
            fr_rows_add_one(grad + (size_t)v * d, a->trunk.dx + (size_t)(first + c) * d, (int)d);
    }
}

static void write_pack(const fr_learner *l, fr_gguf_writer *w, fr_type type) {
    const ppd *p = (const ppd *)(const void *)l;
    const fr_param *item = &l->params.item[p->vectors];
    (void)type; // some kilobytes
    fr_gguf_writer_u32(w, "forerun.heads", (uint32_t)l->depth);
    fr_gguf_writer_u32(w, "forerun.ensemble", (uint32_t)p->riding.members);
    fr_gguf_writer_tensor(w, item->name, FR_TYPE_F32, 2, (int64_t[]){item->cols, item->rows},
                          fr_param_w(&l->params, p->vectors));
}

static size_t workspace(const fr_learner *l) {
    return fr_riding_bytes((const fr_riding *)(const void *)l);
}

static void close_ppd(fr_learner *l) {
    fr_riding_close((fr_riding *)(void *)l);
    fr_free(l);
}

static const fr_learner_ops ops = {.learn = fr_riding_learn,
                                   .judge = fr_riding_judge,
                                   .write = write_pack,
                                   .workspace = workspace,
                                   .close = close_ppd};

// ---------------------------------------------------------------- opening
static fr_status read_options(ppd *p, const fr_learner_config *config, fr_error *err) {
    fr_riding *a = &p->riding;
    for (const char *const *o = config->options; o && *o; o++)
        if (!fr_riding_option(*o, "points", 1, FR_RIDING_ROWS, &a->points) &&
            !fr_riding_option(*o, "ensemble", 1, MOST_MEMBERS, &a->members))
            return fr_fail(err, FR_EARG,
                           "--set %.64s: ppd knows points=1 to %d and ensemble=1 to %d", *o,
                           FR_RIDING_ROWS, MOST_MEMBERS);
    return fr_riding_depth(&a->learner.depth, config->depth, err);
}

static void start(const ppd *p, uint64_t seed) {
    const fr_learner *l = &p->riding.learner;
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

static fr_status open_parts(ppd *p, const fr_learner_config *config, fr_error *err) {
    fr_riding *a = &p->riding;
    fr_params *params = &a->learner.params;
    const fr_trunk_shape shape = {.steps = a->learner.depth}; // all from layer 0
    fr_status st;
    p->vectors =
        fr_params_add(params, "ppd.vectors", shape.steps * a->members, config->target->config.d);
    params->item[p->vectors].decays = false;
    if ((st = fr_params_alloc(params, err))) return st;
    if ((st = fr_riding_open(a, config, &shape, NULL, 0, err))) return st;
    a->learner.rate = 0.1 * embedding_size(&a->learner, a->trunk.in);
    start(p, config->seed);
    return FR_OK;
}

fr_status fr_learn_ppd_open(fr_learner **out, const fr_learner_config *config, fr_error *err) {
    *out = NULL;
    ppd *p = fr_alloc_zero(sizeof *p);
    if (!p) return fr_fail(err, FR_ENOMEM, "train: no memory");
    p->riding = (fr_riding){.learner = {.ops = &ops,
                                        .name = "ppd",
                                        .target = config->target,
                                        .vocab = config->vocab,
                                        .gemm = config->gemm},
                            .enter = enter,
                            .leave = leave,
                            .points = FR_RIDING_POINTS,
                            .members = 1};
    fr_status st = read_options(p, config, err);
    if (!st) st = open_parts(p, config, err);
    if (st)
        close_ppd(&p->riding.learner);
    else
        *out = &p->riding.learner;
    return st;
}
