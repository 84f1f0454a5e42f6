#include "train/math/layers.h"
#include "draft/pack/pack.h"
#include "train/math/vector.h"
#include <math.h>
#include <string.h>

static const float EPS = (float)FR_PACK_EPS;
enum { STRIP = 64 }; // columns that a thread sums at a time

#define ROW(x, i, d) ((x) + (size_t)(i) * (size_t)(d))

static inline float sigmoid(float x) {
    return 1.0f / (1.0f + fr_vector_exp(-x));
}

// ---------------------------------------------------------------- one row
FR_CLONES static float inverse_rms(const float *x, float eps, int d) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < d; i++)
        sum += x[i] * x[i];
    return 1.0f / sqrtf(sum / (float)d + eps);
}

FR_CLONES static void norm_row(float *y, const float *x, const float *gain, float eps, int d) {
    const float r = inverse_rms(x, eps, d);
    if (!gain)
        for (int i = 0; i < d; i++)
            y[i] = x[i] * r;
    else
        for (int i = 0; i < d; i++)
            y[i] = x[i] * r * gain[i];
}

// With u = gain dy:  dx = r (u - x r² mean(u x)).
FR_CLONES static void norm_row_backward(float *dx, bool add, const float *dy, const float *x,
                                        const float *gain, float eps, int d) {
    const float r = inverse_rms(x, eps, d);
    float dot = 0;
    if (gain) {
#pragma omp simd reduction(+ : dot)
        for (int i = 0; i < d; i++)
            dot += dy[i] * gain[i] * x[i];
    } else {
#pragma omp simd reduction(+ : dot)
        for (int i = 0; i < d; i++)
            dot += dy[i] * x[i];
    }
    const float c = r * r * dot / (float)d;
    for (int i = 0; i < d; i++) {
        const float g = r * ((gain ? dy[i] * gain[i] : dy[i]) - c * x[i]);
        dx[i] = add ? dx[i] + g : g;
    }
}

FR_CLONES static void swiglu_row(float *h, const float *gate, const float *up, int d) {
#pragma omp simd
    for (int i = 0; i < d; i++)
        h[i] = gate[i] * sigmoid(gate[i]) * up[i];
}

// silu'(g) = s (1 + g (1 - s)), s = sigmoid(g).
FR_CLONES static void swiglu_row_backward(float *dgate, float *dup, const float *dh,
                                          const float *gate, const float *up, int d) {
#pragma omp simd
    for (int i = 0; i < d; i++) {
        const float g = gate[i], s = sigmoid(g), u = up[i];
        dgate[i] = dh[i] * u * s * (1 + g * (1 - s));
        dup[i] = dh[i] * g * s;
    }
}

FR_CLONES static void resblock_row(float *y, const float *x, const float *u, int d) {
#pragma omp simd
    for (int i = 0; i < d; i++)
        y[i] = x[i] + u[i] * sigmoid(u[i]);
}

FR_CLONES static void resblock_row_backward(float *du, const float *dy, const float *u, int d) {
#pragma omp simd
    for (int i = 0; i < d; i++) {
        const float s = sigmoid(u[i]);
        du[i] = dy[i] * s * (1 + u[i] * (1 - s));
    }
}

FR_CLONES static void gated_row(float *y, const float *x, const float *u, int d) {
#pragma omp simd
    for (int i = 0; i < d; i++)
        y[i] = x[i] * sigmoid(u[i]);
}

FR_CLONES static void gated_row_backward(float *dx, float *du, const float *dy, const float *x,
                                         const float *u, int d) {
#pragma omp simd
    for (int i = 0; i < d; i++) {
        const float s = sigmoid(u[i]), g = dy[i];
        const float into_u = g * x[i] * s * (1 - s);
        dx[i] = g * s;
        du[i] = into_u;
    }
}

FR_CLONES void fr_rows_add_one(float *to, const float *from, int d) {
#pragma omp simd
    for (int i = 0; i < d; i++)
        to[i] += from[i];
}

// ---------------------------------------------------------------- norm
void fr_frozen_norm_forward(float *y, const float *x, const float *gain, float eps, int n, int d) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        norm_row(ROW(y, i, d), ROW(x, i, d), gain, eps, d);
}

void fr_frozen_norm_backward(float *dx, bool add, const float *dy, const float *x,
                             const float *gain, float eps, int n, int d) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        norm_row_backward(ROW(dx, i, d), add, ROW(dy, i, d), ROW(x, i, d), gain, eps, d);
}

void fr_norm_forward(float *y, const float *x, const float *gain, int n, int d) {
    fr_frozen_norm_forward(y, x, gain, EPS, n, d);
}

// Rows of a strip of columns, one after the other: dgain += dy x r.
FR_CLONES static void gain_strip(float *dgain, const float *dy, const float *x, const float *r,
                                 int n, int d, int c0, int c1) {
    for (int i = 0; i < n; i++) {
        const float *a = ROW(dy, i, d), *b = ROW(x, i, d);
        for (int c = c0; c < c1; c++)
            dgain[c] += a[c] * b[c] * r[i];
    }
}

static void gain_backward(float *dgain, const float *dy, const float *x, int n, int d) {
    enum { PIECE = 256 };
    float r[PIECE];
    for (int at = 0; at < n; at += PIECE) {
        const int rows = n - at < PIECE ? n - at : PIECE;
#pragma omp parallel for schedule(static)
        for (int i = 0; i < rows; i++)
            r[i] = inverse_rms(ROW(x, at + i, d), EPS, d);
#pragma omp parallel for schedule(static)
        for (int c = 0; c < d; c += STRIP)
            gain_strip(dgain, ROW(dy, at, d), ROW(x, at, d), r, rows, d, c,
                       c + STRIP < d ? c + STRIP : d);
    }
}

void fr_norm_backward(float *dx, bool add, float *dgain, const float *dy, const float *x,
                      const float *gain, int n, int d) {
    if (dgain) gain_backward(dgain, dy, x, n, d); // first: dx may be dy
    if (dx) fr_frozen_norm_backward(dx, add, dy, x, gain, EPS, n, d);
}

// ---------------------------------------------------------------- bias, gates
void fr_bias_forward(float *y, const float *bias, int n, int d) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        fr_rows_add_one(ROW(y, i, d), bias, d);
}

void fr_bias_backward(float *dbias, const float *dy, int n, int d) {
#pragma omp parallel for schedule(static)
    for (int c = 0; c < d; c += STRIP)
        for (int i = 0; i < n; i++)
            fr_rows_add_one(dbias + c, ROW(dy, i, d) + c, c + STRIP < d ? STRIP : d - c);
}

void fr_swiglu_forward(float *h, const float *gate, const float *up, int n, int d) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        swiglu_row(ROW(h, i, d), ROW(gate, i, d), ROW(up, i, d), d);
}

void fr_swiglu_backward(float *dgate, float *dup, const float *dh, const float *gate,
                        const float *up, int n, int d) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        swiglu_row_backward(ROW(dgate, i, d), ROW(dup, i, d), ROW(dh, i, d), ROW(gate, i, d),
                            ROW(up, i, d), d);
}

void fr_resblock_forward(float *y, const float *x, const float *u, int n, int d) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        resblock_row(ROW(y, i, d), ROW(x, i, d), ROW(u, i, d), d);
}

void fr_resblock_backward(float *du, const float *dy, const float *u, int n, int d) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        resblock_row_backward(ROW(du, i, d), ROW(dy, i, d), ROW(u, i, d), d);
}

void fr_gated_forward(float *y, const float *x, const float *u, int n, int d) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        gated_row(ROW(y, i, d), ROW(x, i, d), ROW(u, i, d), d);
}

void fr_gated_backward(float *dx, float *du, const float *dy, const float *x, const float *u, int n,
                       int d) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        gated_row_backward(ROW(dx, i, d), ROW(du, i, d), ROW(dy, i, d), ROW(x, i, d), ROW(u, i, d),
                           d);
}

// ---------------------------------------------------------------- rotary embedding
void fr_rope_table_fill(float *rope_table, int positions, int head_dim, float base) {
    const int half = head_dim / 2;
    for (int p = 0; p < positions; p++)
        for (int i = 0; i < half; i++) {
            const double angle = p * pow(base, -2.0 * i / head_dim);
            rope_table[((size_t)p * (size_t)half + (size_t)i) * 2] = (float)cos(angle);
            rope_table[((size_t)p * (size_t)half + (size_t)i) * 2 + 1] = (float)sin(angle);
        }
}

void fr_rope_rows(float *x, const int *position, const float *rope_table, int n, int heads,
                  int head_dim, fr_rope_direction direction) {
    const int half = head_dim / 2;
#pragma omp parallel for schedule(static)
    for (int r = 0; r < n; r++) {
        const float *cs = rope_table + (size_t)position[r] * (size_t)half * 2;
        for (int h = 0; h < heads; h++) {
            float *a = ROW(x, r, heads * head_dim) + h * head_dim, *b = a + half;
            for (int i = 0; i < half; i++) {
                const float c = cs[2 * i],
                            s = direction == FR_ROPE_BACKWARD ? -cs[2 * i + 1] : cs[2 * i + 1];
                const float u = a[i], v = b[i];
                a[i] = u * c - v * s;
                b[i] = v * c + u * s;
            }
        }
    }
}

// ---------------------------------------------------------------- rows
void fr_rows_gather(float *to, const float *from, const int *at, int n, int d) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        memcpy(ROW(to, i, d), ROW(from, at[i], d), (size_t)d * sizeof *to);
}

void fr_rows_scatter(float *to, const float *from, const int *at, int n, int d) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        if (at[i] >= 0) fr_rows_add_one(ROW(to, at[i], d), ROW(from, i, d), d);
}

void fr_rows_scale(float *x, float by, int n, int d) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        for (int k = 0; k < d; k++)
            ROW(x, i, d)[k] *= by;
}

void fr_rows_add(float *to, const float *from, int n, int d) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        fr_rows_add_one(ROW(to, i, d), ROW(from, i, d), d);
}
