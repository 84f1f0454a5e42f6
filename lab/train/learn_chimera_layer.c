// learn_chimera_layer.c — Chimera's learner with the target's first layer (first_layer.h) in place of
// the n-grams' embeddings, to be judged beside them [arXiv 2402.15758, table 7]. The pack is called
// chimera-ablation, which no drafter takes.
#include "base/alloc.h"
#include "draft/chimera/train/learn_chimera.h"
#include "lab/train/first_layer.h"
#include "lab/train/learners.h"
#include "lab/train/own_settings.h"
#include <string.h>

enum { OPTIONS = 64 };

typedef struct chimera_layer {
    fr_chimera_learner chimera; // first
    fr_chimera_source source;
    fr_first_layer layer;
    bool frozen;
    fr_learner_ops ops; // Chimera's, but for those that know the layer
    size_t (*workspace)(const fr_learner *l);
    void (*close)(fr_learner *l);
} chimera_layer;

static chimera_layer *self(fr_chimera_learner *m) {
    return (chimera_layer *)(void *)m;
}

static void add_params(fr_chimera_learner *m, const fr_unrolled_shape *block) {
    chimera_layer *l = self(m);
    fr_first_layer_add_params(&l->layer, &m->learner.params, block, &m->learner.target->config,
                              l->frozen);
}

static void read(fr_chimera_learner *m) {
    fr_first_layer_forward(&self(m)->layer, &m->chain, m->ngram.t);
}

static void back(fr_chimera_learner *m, const float *dt) {
    fr_first_layer_backward(&self(m)->layer, dt);
}

static size_t workspace(const fr_learner *l) {
    const chimera_layer *c = (const chimera_layer *)(const void *)l;
    return c->workspace(l) + c->layer.chain.bytes;
}

static void close_layer(fr_learner *l) {
    chimera_layer *c = (chimera_layer *)(void *)l;
    fr_first_layer_close(&c->layer);
    c->close(l);
}

// Chimera's own options, and an n-gram of one: the layer's states are of one width.
static fr_status read_options(chimera_layer *c, const char *const *all, const char *rest[OPTIONS],
                              fr_error *err) {
    int n = 0;
    c->frozen = true;
    for (; all && *all; all++) {
        if (!strncmp(*all, "layer=", 6)) {
            c->frozen = !strcmp(*all, "layer=frozen");
            if (!c->frozen && strcmp(*all, "layer=tuned") != 0)
                return fr_fail(err, FR_EARG, "--set %.64s: expected layer=frozen or tuned", *all);
        } else if (n < OPTIONS - 2) {
            rest[n++] = *all;
        } else {
            return fr_fail(err, FR_EARG, "--set: expected at most %d", OPTIONS - 2);
        }
    }
    rest[n++] = "ngram=1";
    rest[n] = NULL;
    return FR_OK;
}

fr_status lab_learn_chimera_layer_open(fr_learner **out, const fr_learner_config *config,
                                       fr_error *err) {
    const char *rest[OPTIONS];
    fr_learner_config inner = *config;
    *out = NULL;
    chimera_layer *c = fr_alloc_zero(sizeof *c);
    if (!c) return fr_fail(err, FR_ENOMEM, "train: no memory");
    c->source = (fr_chimera_source){.add_params = add_params, .read = read};
    inner.options = rest;
    fr_status st = read_options(c, config->options, rest, err);
    if (!c->frozen) c->source.back = back;
    if (st) {
        fr_free(c);
        return st;
    }
    st = fr_chimera_learner_open(&c->chimera, &c->source, &inner, err);
    if (st) return lab_add_settings(st, "layer=frozen or tuned", err); // it has freed c
    fr_learner *l = &c->chimera.learner;
    c->ops = *l->ops;
    c->workspace = c->ops.workspace;
    c->close = c->ops.close;
    c->ops.workspace = workspace;
    c->ops.close = close_layer;
    l->ops = &c->ops;
    l->name = "chimera-ablation";
    if ((st = fr_first_layer_open(&c->layer, l->gemm, config->target, err))) {
        close_layer(l);
        return st;
    }
    *out = l;
    return FR_OK;
}
