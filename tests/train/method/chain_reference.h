// chain_reference.h — the objective of the chain learners, spelled out in double for one base
// after the other: what its gradient is checked against by differences.
#ifndef FR_TESTS_TRAIN_CHAIN_REFERENCE_H
#define FR_TESTS_TRAIN_CHAIN_REFERENCE_H
#include "decode/draw/sampler.h"
#include "kern/half.h"
#include "train/learner/learner.h"
#include "train/param_named.h"
#include <math.h>
#include <string.h>

enum { REF_D = 64, REF_FF = 128, REF_ROWS = 40, REF_V = 64, REF_TOP = 8 };

typedef struct reference {
    const fr_params *params; // names and places
    const double *w;         // values
    const fr_model *target;
    const fr_draft_vocab *vocab;
    int d, n_head, n_kv, hd, ff, rank, depth;
    double base, feature, ztail, feed;
    bool eagle, pure, gate;
    bool hard;          // the tokens that came are the distributions
    int n_taps, tap[3]; // places of a state's rows among the samples'; -1: the final state
    uint64_t noise;
} reference;

static inline const double *ref_w(const reference *r, const char *name) {
    const int i = param_named(r->params, name);
    return i < 0 ? NULL : r->w + r->params->item[i].at;
}

static inline void ref_norm(double *y, const double *x, const double *gain, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    for (int i = 0; i < n; i++)
        y[i] = x[i] / sqrt(sum / n + 1e-6) * (gain ? gain[i] : 1);
}

static inline void ref_linear(double *y, const double *w, const double *x, int m, int k) {
    for (int r = 0; r < m; r++) {
        y[r] = 0;
        for (int c = 0; c < k; c++)
            y[r] += w[r * k + c] * x[c];
    }
}

static inline void ref_turn(const reference *r, double *x, int heads, int position) {
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < r->hd / 2; i++) {
            const double a = position * pow(r->base, -2.0 * i / r->hd);
            double *u = x + h * r->hd + i, *v = u + r->hd / 2;
            const double was = *u;
            *u = was * cos(a) - *v * sin(a);
            *v = *v * cos(a) + was * sin(a);
        }
}

static inline double ref_sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

// Input of the block: a state and a token (NULL: the null vector).
static inline void ref_input(const reference *r, double *x, const double *state,
                             const double *token) {
    double a[REF_D], b[REF_D];
    ref_norm(a, state, ref_w(r, "fc_state.norm"), r->d);
    ref_linear(x, ref_w(r, "fc_state.weight"), a, r->d, r->d);
    for (int i = 0; i < r->d; i++)
        x[i] += ref_w(r, "fc.bias")[i];
    if (r->pure) return;
    ref_norm(a, token ? token : ref_w(r, "null"), ref_w(r, "fc_token.norm"), r->d);
    ref_linear(b, ref_w(r, "fc_token.weight"), a, r->d, r->d);
    for (int i = 0; i < r->d; i++)
        x[i] += b[i];
}

// The state of a row of the text.
static inline void ref_state(const reference *r, double *f, const fr_sample *s, int row) {
    double z[REF_D];
    for (int t = 0; t < r->n_taps; t++) {
        const uint16_t *from =
            r->tap[t] < 0 ? s->final + row * r->d : s->tap + (r->tap[t] * s->n + row) * r->d;
        for (int c = 0; c < r->d; c++)
            z[t * r->d + c] = (double)fr_f16_to_f32(from[c]);
        ref_norm(z + t * r->d, z + t * r->d, ref_w(r, "fc_taps.norm") + t * r->d, r->d);
    }
    if (r->n_taps) ref_linear(f, ref_w(r, "fc_taps.weight"), z, r->d, r->n_taps * r->d);
    for (int c = 0; c < r->d && !r->n_taps; c++)
        f[c] = (double)fr_f16_to_f32(s->final[row * r->d + c]);
}

typedef struct ref_keys { // what a query sees
    int n;
    double k[REF_ROWS + FR_DEPTHS][REF_D], v[REF_ROWS + FR_DEPTHS][REF_D];
} ref_keys;

static inline void ref_add_key(const reference *r, ref_keys *keys, const double *x, int position) {
    double a[REF_D];
    ref_norm(a, x, ref_w(r, "blk.0.attn_norm.weight"), r->d);
    ref_linear(keys->k[keys->n], ref_w(r, "blk.0.attn_k.weight"), a, r->n_kv * r->hd, r->d);
    ref_linear(keys->v[keys->n], ref_w(r, "blk.0.attn_v.weight"), a, r->n_kv * r->hd, r->d);
    ref_turn(r, keys->k[keys->n++], r->n_kv, position);
}

static inline void ref_attend(const reference *r, double *o, const double *q,
                              const ref_keys *keys) {
    double p[REF_ROWS + FR_DEPTHS];
    memset(o, 0, sizeof(double) * (size_t)(r->n_head * r->hd));
    for (int h = 0; h < r->n_head; h++) {
        const int kv = h / (r->n_head / r->n_kv) * r->hd;
        double sum = 0;
        for (int j = 0; j < keys->n; j++) {
            double s = 0;
            for (int i = 0; i < r->hd; i++)
                s += q[h * r->hd + i] * keys->k[j][kv + i];
            sum += p[j] = exp(s / sqrt(r->hd));
        }
        for (int j = 0; j < keys->n; j++)
            for (int i = 0; i < r->hd; i++)
                o[h * r->hd + i] += p[j] / sum * keys->v[j][kv + i];
    }
}

// x becomes G.
static inline void ref_block(const reference *r, double *x, const ref_keys *keys, int position) {
    double a[REF_D], q[REF_D], o[REF_D], y[REF_D], gate[REF_FF], up[REF_FF];
    ref_norm(a, x, ref_w(r, "blk.0.attn_norm.weight"), r->d);
    ref_linear(q, ref_w(r, "blk.0.attn_q.weight"), a, r->n_head * r->hd, r->d);
    ref_turn(r, q, r->n_head, position);
    ref_attend(r, o, q, keys);
    ref_linear(y, ref_w(r, "blk.0.attn_output.weight"), o, r->d, r->n_head * r->hd);
    for (int i = 0; i < r->d; i++)
        x[i] += y[i];
    ref_norm(a, x, ref_w(r, "blk.0.ffn_norm.weight"), r->d);
    ref_linear(gate, ref_w(r, "blk.0.ffn_gate.weight"), a, r->ff, r->d);
    ref_linear(up, ref_w(r, "blk.0.ffn_up.weight"), a, r->ff, r->d);
    for (int i = 0; i < r->ff; i++)
        gate[i] *= ref_sigmoid(gate[i]) * up[i];
    ref_linear(y, ref_w(r, "blk.0.ffn_down.weight"), gate, r->d, r->ff);
    for (int i = 0; i < r->d; i++)
        x[i] += y[i];
    ref_norm(x, x, ref_w(r, "output_norm.weight"), r->d);
}

// Cross entropy against the distribution of a row; NaN: its likeliest token cannot be drafted.
static inline double ref_entropy(const reference *r, const double *scores, const fr_sample *s,
                                 int row) {
    double sum = 0, mass = 0, loss = 0;
    const int32_t *ids = s->dist_id + (row - s->dist_first) * REF_TOP;
    const uint16_t *lp = s->dist_lp + (row - s->dist_first) * REF_TOP;
    const int came = r->vocab->index[s->ids[row + 1]];
    if ((r->hard ? came : r->vocab->index[ids[0]]) < 0) return NAN;
    for (int v = 0; v < r->vocab->n; v++)
        sum += exp(scores[v]);
    if (r->hard) return log(sum) - scores[came];
    for (int i = 0; i < REF_TOP; i++)
        if (r->vocab->index[ids[i]] >= 0) mass += exp((double)fr_f16_to_f32(lp[i]));
    for (int i = 0; i < REF_TOP; i++)
        if (r->vocab->index[ids[i]] >= 0)
            loss -= exp((double)fr_f16_to_f32(lp[i])) / mass *
                    (scores[r->vocab->index[ids[i]]] - log(sum));
    return loss;
}

static inline void ref_embed(const reference *r, double *e, int32_t id) {
    float x[REF_D];
    fr_model_embed(r->target, id, x);
    for (int i = 0; i < r->d; i++)
        e[i] = (double)x[i];
}

static inline void ref_inject(const reference *r, double *scores, const double *g,
                              const double *e) {
    double phi[REF_D], open[REF_D];
    ref_linear(phi, ref_w(r, "inject.token.weight"), e, r->rank, r->d);
    ref_norm(phi, phi, NULL, r->rank);
    if (r->gate) ref_linear(open, ref_w(r, "inject.gate.weight"), g, r->rank, r->d);
    for (int v = 0; v < r->vocab->n; v++)
        for (int i = 0; i < r->rank; i++)
            scores[v] += ref_w(r, "inject.out.weight")[v * r->rank + i] * phi[i] *
                         (r->gate ? ref_sigmoid(open[i]) : 1);
}

static inline double ref_distance(const reference *r, const double *g, const double *f,
                                  const double *std) {
    double sum = 0;
    for (int i = 0; i < r->d; i++) {
        const double z = fabs((g[i] - f[i]) / std[i]);
        sum += z < 1 ? z * z / 2 : z - 0.5;
    }
    return sum / r->d;
}

// All terms of one state at step k of base i.
static inline double ref_terms(const reference *r, const fr_sample *s, int i, int k,
                               const double *g, const double *std) {
    double scores[REF_V], e[REF_D], f[REF_D], loss;
    for (int v = 0; v < r->vocab->n; v++) {
        scores[v] = 0;
        for (int c = 0; c < r->d; c++)
            scores[v] += (double)r->vocab->head[v * r->d + c] * g[c];
    }
    double plain = 0;
    if (r->rank) {
        plain = ref_entropy(r, scores, s, i + k);
        ref_embed(r, e, s->ids[i + k]);
        ref_inject(r, scores, g, e);
    }
    loss = ref_entropy(r, scores, s, i + k);
    if (loss != loss) return 0;
    for (int c = 0; c < r->d; c++)
        f[c] = (double)fr_f16_to_f32(s->final[(i + k) * r->d + c]);
    return pow(0.8, k - 1) *
           (loss + (r->rank ? r->ztail * plain : 0) + r->feature * ref_distance(r, g, f, std));
}

static inline bool ref_counts(const fr_sample *s, int row) {
    return row < s->n && (s->flags[row] & FR_ROW_ANSWER) && (s->flags[row] & FR_ROW_DISTRIBUTION);
}

static inline double ref_base(const reference *r, const fr_sample *s, int i, bool real,
                              ref_keys *keys, double (*x0)[REF_D], const double *std) {
    double g[REF_D], x[REF_D], e[REF_D], sum = 0;
    for (int k = 1; k <= r->depth; k++) {
        if (k == 1) {
            memcpy(x, x0[i], sizeof x);
        } else {
            const bool token = real && i + k - 1 < s->n;
            if (r->eagle && !token) break; // what follows cannot count
            if (token) ref_embed(r, e, s->ids[i + k]);
            ref_input(r, x, g, token ? e : NULL);
            ref_add_key(r, keys, x, i + k - 1);
        }
        memcpy(g, x, sizeof g);
        ref_block(r, g, keys, i + k - 1);
        if (ref_counts(s, i + k)) sum += ref_terms(r, s, i, k, g, std);
    }
    return sum;
}

static inline double reference_objective(const reference *r, const fr_batch *batch,
                                         const double *std) {
    static ref_keys keys;
    static double x0[REF_ROWS][REF_D];
    double sum = 0;
    uint64_t base = 0;
    for (int n = 0; n < batch->n; n++) {
        const fr_sample *s = &batch->sample[n];
        keys.n = 0;
        for (int i = 0; i < s->n; i++) {
            double f[REF_D], e[REF_D];
            ref_state(r, f, s, i);
            ref_embed(r, e, s->ids[i + 1]);
            ref_input(r, x0[i], f, e);
            ref_add_key(r, &keys, x0[i], i);
            bool starts = false;
            for (int k = 1; k <= r->depth && i; k++)
                starts = starts || ref_counts(s, i + k);
            if (!starts) continue;
            const bool real = fr_uniform(r->noise, base++) < r->feed;
            const int seen = keys.n;
            sum += ref_base(r, s, i, real, &keys, x0, std);
            keys.n = seen;
        }
    }
    return sum;
}

#endif
