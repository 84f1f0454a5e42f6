// chimera_objective.h — the objective of Chimera's learner spelled out in double, and its gradient by
// differences.
#ifndef FR_TESTS_TRAIN_CHIMERA_OBJECTIVE_H
#define FR_TESTS_TRAIN_CHIMERA_OBJECTIVE_H
#include "chain_world.h"
#include "train/block/ngram_encoder.h"
#include "train/param_named.h"
#include <stdio.h>

typedef struct chimera_reference {
    reference block;
    const reference *layer; // in place of n-grams; NULL: none
    int ngram, hidden;
    bool tied;          // the residual form
    bool ngram_context; // the context's rows are n-gram states, the first of them zeros
} chimera_reference;

// What the target's first layer makes of tokens 1..at of a sample.
static inline void layer_state(const reference *r, double *t, const fr_sample *s, int at) {
    static ref_keys keys;
    keys.n = 0;
    for (int i = 1; i <= at; i++) {
        ref_embed(r, t, s->ids[i]);
        ref_add_key(r, &keys, t, i - 1);
    }
    ref_block(r, t, &keys, at - 1);
}

// The n-gram state of the n-gram that ends with token `at` of a sample.
static inline void encoder_states(const chimera_reference *c, double *g, const fr_sample *s,
                                  int at) {
    const reference *r = &c->block;
    double t[FR_PACK_NGRAM * D] = {0}, h[FR_PACK_NGRAM * D], skip[D];
    const double *w3 = ref_w(r, "ngram.skip.weight");
    if (c->layer) layer_state(c->layer, t, s, at);
    for (int i = 0; i < c->ngram && i <= at && !c->layer; i++) {
        ref_embed(r, t + i * D, s->ids[at - i]);
        ref_norm(t + i * D, t + i * D, NULL, D);
        for (int k = 0; k < D; k++)
            t[i * D + k] /= c->ngram;
    }
    ref_linear(h, ref_w(r, "ngram.hidden.weight"), t, c->hidden, c->ngram * D);
    for (int i = 0; i < c->hidden; i++) {
        h[i] += ref_w(r, "ngram.hidden.bias")[i];
        h[i] *= ref_sigmoid(h[i]);
        if (c->tied) h[i] += t[i];
    }
    ref_linear(g, ref_w(r, "ngram.out.weight"), h, D, c->hidden);
    if (!w3) return;
    ref_linear(skip, w3, t, D, c->ngram * D);
    for (int i = 0; i < D; i++)
        g[i] += skip[i];
}

static inline const double *head_part(const reference *r, const char *what, int k) {
    char name[48];
    snprintf(name, sizeof name, "chimera.%d.%s", k, what);
    return ref_w(r, name);
}

// y += W x; W NULL: nothing.
static inline void add_product(double *y, const double *w, const double *x, int m) {
    double part[REF_V];
    if (!w) return;
    ref_linear(part, w, x, m, D);
    for (int i = 0; i < m; i++)
        y[i] += part[i];
}

static inline void head_scores(const reference *r, double *scores, int k, const double *o,
                               const double *f) {
    const double *norm = head_part(r, "norm", k);
    double z[REF_V] = {0};
    add_product(z, head_part(r, "chain.weight", k), o, norm ? D : V);
    add_product(z, head_part(r, "state.weight", k), f, norm ? D : V);
    if (norm) ref_norm(z, z, norm, D);
    for (int v = 0; v < V; v++) {
        scores[v] = norm ? 0 : z[v];
        for (int i = 0; i < D && norm; i++)
            scores[v] += (double)r->vocab->head[v * D + i] * z[i];
    }
}

static inline double guess_terms(const reference *r, const fr_sample *s, int i, int k,
                                 const double *o, const double *f, const double *std) {
    double scores[V], next[D];
    head_scores(r, scores, k, o, f);
    const double loss = ref_entropy(r, scores, s, i + k);
    if (loss != loss) return 0;
    for (int c = 0; c < D; c++)
        next[c] = (double)fr_f16_to_f32(s->final[(i + k) * D + c]);
    return pow(0.8, k - 1) * (loss + r->feature * ref_distance(r, o, next, std));
}

static inline double objective_of(const void *what, const fr_batch *batch, const double *std) {
    static ref_keys keys;
    const chimera_reference *c = what;
    const reference *r = &c->block;
    double sum = 0;
    for (int n = 0; n < batch->n; n++) {
        const fr_sample *s = &batch->sample[n];
        keys.n = 0;
        for (int i = 0; i < s->n; i++) {
            double f[REF_D], o[REF_D];
            for (int j = 0; j < D; j++)
                f[j] = (double)fr_f16_to_f32(s->final[i * D + j]);
            double key[REF_D] = {0};
            if (c->ngram_context && i) encoder_states(c, key, s, i);
            ref_add_key(r, &keys, c->ngram_context ? key : f, i);
            const int mature = keys.n;
            for (int k = 1; k <= r->depth && i && i + k <= s->n; k++) {
                encoder_states(c, o, s, i + k);
                ref_add_key(r, &keys, o, i + k);
                ref_block(r, o, &keys, i + k);
                if (ref_counts(s, i + k)) sum += guess_terms(r, s, i, k, o, f, std);
            }
            keys.n = mature;
        }
    }
    return sum;
}

typedef struct chimera_form {
    double feature;
    bool tied, ngram_context, hard;
} chimera_form;

// The gradients that a learner makes of the world's batch; closes it.
static inline void check_form(world *w, fr_learner *l, chimera_form form) {
    stir(l);
    double *values = fr_alloc_array(l->params.n_floats, sizeof *values), std[D];
    for (size_t i = 0; i < l->params.n_floats; i++)
        values[i] = (double)l->params.w[i];
    const fr_config *t = &w->opened.model.config;
    static fr_params of_layer; // the same under the names of a block
    of_layer = l->params;
    bool has_layer = false;
    for (int i = 0; i < of_layer.n; i++) {
        char *name = of_layer.item[i].name;
        const bool first = !strncmp(name, "first.", 6);
        has_layer |= first;
        memmove(name, first ? name + 6 : "", first ? strlen(name + 6) + 1 : 1);
    }
    const fr_param *w1 = &l->params.item[param_named(&l->params, "ngram.hidden.weight")];
    const reference layer = {.params = &of_layer,
                             .w = values,
                             .target = &w->opened.model,
                             .d = D,
                             .n_head = t->n_head,
                             .n_kv = t->n_kv,
                             .hd = t->head_dim,
                             .ff = t->d_ff,
                             .base = (double)t->rope_base};
    const chimera_reference r = {
        .block = {.params = &l->params,
                  .w = values,
                  .target = &w->opened.model,
                  .vocab = &w->vocab,
                  .d = D,
                  .n_head = t->n_head,
                  .n_kv = t->n_kv,
                  .hd = t->head_dim,
                  .ff = l->params.item[param_named(&l->params, "blk.0.ffn_gate.weight")].rows,
                  .depth = l->depth,
                  .base = 10000,
                  .feature = form.feature,
                  .hard = form.hard},
        .ngram = w1->cols / D,
        .hidden = w1->rows,
        .tied = form.tied,
        .ngram_context = form.ngram_context,
        .layer = has_layer ? &layer : NULL};
    spread_of(w, std);
    fr_tally tally = {0};
    l->ops->learn(l, &w->batch, 1, &tally);
    const double want = objective_of(&r, &w->batch, std);
    if (!(fabs(tally.loss - want) <= 1e-5 * want)) fail_msg("loss %g, not %g", tally.loss, want);
    compare(l, objective_of, &r, values, &w->batch, std, 7);
    fr_free(values);
    l->ops->close(l);
}

static inline void check_gradient(world *w, fr_learner *l, double feature, bool tied) {
    check_form(w, l, (chimera_form){.feature = feature, .tied = tied});
}

#endif
