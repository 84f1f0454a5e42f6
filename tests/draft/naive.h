// naive.h — the formulas of trained drafters in doubles, straight from the tensors of a pack.
#ifndef FR_TESTS_DRAFT_NAIVE_H
#define FR_TESTS_DRAFT_NAIVE_H
#include "draft/pack/pack.h"
#include "kern/dequant.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline void naive_tensor(const fr_pack *p, const char *name, float **x, int *k, int *m) {
    const fr_gguf_tensor *t = fr_pack_tensor(p, name);
    *k = (int)t->ne[0];
    *m = (int)t->ne[1];
    *x = malloc(sizeof **x * (size_t)*k * (size_t)*m);
    for (int i = 0; i < *m; i++)
        fr_dequant_row(t->type,
                       (const uint8_t *)t->data + (size_t)fr_qtype_row_bytes(t->type, *k) * i,
                       *x + (size_t)i * *k, *k);
}

// y = W x
static inline void naive_map(const fr_pack *p, const char *name, const double *x, double *y) {
    float *w;
    int k, m;
    naive_tensor(p, name, &w, &k, &m);
    for (int i = 0; i < m; i++) {
        y[i] = 0;
        for (int j = 0; j < k; j++)
            y[i] += (double)w[(size_t)i * k + j] * x[j];
    }
    free(w);
}

static inline void naive_vector(const fr_pack *p, const char *name, double *to) {
    float *w;
    int k, m;
    naive_tensor(p, name, &w, &k, &m);
    for (int i = 0; i < k; i++)
        to[i] = w[i];
    free(w);
}

// x / sqrt(mean(x^2) + 1e-6) * gain, gain NULL: 1
static inline void naive_norm(const double *x, const double *gain, double *y, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    const double scale = 1 / sqrt(sum / n + 1e-6);
    for (int i = 0; i < n; i++)
        y[i] = x[i] * scale * (gain ? gain[i] : 1);
}

static inline void naive_norm_by(const fr_pack *p, const char *gain, const double *x, double *y) {
    double *g = malloc(sizeof *g * (size_t)p->d);
    naive_vector(p, gain, g);
    naive_norm(x, g, y, p->d);
    free(g);
}

static inline double naive_silu(double x) {
    return x / (1 + exp(-x));
}

static inline void naive_embed(const fr_model *target, int32_t id, double *e) {
    float *x = malloc(sizeof *x * (size_t)target->config.d);
    fr_model_embed(target, id, x);
    for (int i = 0; i < target->config.d; i++)
        e[i] = x[i];
    free(x);
}

// Largest difference over the largest value: what rounding of activations and of K and V may do.
static inline double naive_distance(const float *got, const double *want, int n) {
    double far = 0, large = 0;
    for (int i = 0; i < n; i++) {
        const double by = fabs((double)got[i] - want[i]);
        if (!(by <= far)) far = by;
        if (fabs(want[i]) > large) large = fabs(want[i]);
    }
    return far / large;
}

#endif
