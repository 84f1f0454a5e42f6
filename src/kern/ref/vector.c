// The definitions of what happens to one row by itself: norm, activation functions, rotation, the
// largest value.
#include "kern/math.h"
#include "kern/ref/ref.h"
#include <math.h>

// 16 partial sums, halves onto each other.
static float join(float a[16]) {
    for (int half = 8; half; half /= 2)
        for (int l = 0; l < half; l++)
            a[l] += a[l + half];
    return a[0];
}

void fr_rmsnorm_scalar(float *y, const float *x, const float *w, int n, float eps) {
    float a[16] = {0};
    for (int i = 0; i < n; i++)
        a[i % 16] = __builtin_fmaf(x[i], x[i], a[i % 16]);
    const float factor = 1.0f / sqrtf(join(a) / (float)n + eps);
    for (int i = 0; i < n; i++)
        y[i] = w ? (x[i] * factor) * w[i] : x[i] * factor;
}

void fr_layernorm_scalar(float *y, const float *x, const float *w, const float *b, int n,
                         float eps) {
    float s[16] = {0}, a[16] = {0};
    for (int i = 0; i < n; i++)
        s[i % 16] += x[i];
    const float mean = join(s) / (float)n;
    for (int i = 0; i < n; i++)
        a[i % 16] = __builtin_fmaf(x[i] - mean, x[i] - mean, a[i % 16]);
    const float factor = 1.0f / sqrtf(join(a) / (float)n + eps);
    for (int i = 0; i < n; i++) {
        const float v = (x[i] - mean) * factor, weighted = w ? v * w[i] : v;
        y[i] = b ? weighted + b[i] : weighted;
    }
}

void fr_add_scalar(float *y, const float *x, int n) {
    for (int i = 0; i < n; i++)
        y[i] += x[i];
}

void fr_scale_scalar(float *y, float factor, int n) {
    for (int i = 0; i < n; i++)
        y[i] *= factor;
}

void fr_add_times_scalar(float *y, float factor, const float *x, int n) {
    for (int i = 0; i < n; i++)
        y[i] = __builtin_fmaf(factor, x[i], y[i]);
}

void fr_silu_mul_scalar(float *y, const float *gate, const float *up, int n) {
    for (int i = 0; i < n; i++)
        y[i] = fr_silu(gate[i]) * up[i];
}

void fr_clamped_mul_scalar(float *y, const float *gate, const float *up, int n) {
    for (int i = 0; i < n; i++)
        y[i] = fr_clamped(gate[i], up[i]);
}

void fr_gelu_mul_scalar(float *y, const float *gate, const float *up, int n) {
    for (int i = 0; i < n; i++)
        y[i] = fr_gelu(gate[i]) * up[i];
}

void fr_gelu_scalar(float *y, const float *x, int n) {
    for (int i = 0; i < n; i++)
        y[i] = fr_gelu(x[i]);
}

void fr_softcap_scalar(float *x, int n, float cap) {
    for (int i = 0; i < n; i++)
        x[i] = fr_softcap(x[i], cap);
}

void fr_rope_scalar(float *head, const float *cs, int n_rot, bool neox) {
    const int half = n_rot / 2;
    for (int i = 0; i < half; i++) {
        float *px = neox ? head + i : head + 2 * i, *py = neox ? px + half : px + 1;
        const float x = *px, y = *py, c = cs[2 * i], s = cs[2 * i + 1];
        *px = __builtin_fmaf(x, c, -(y * s));
        *py = __builtin_fmaf(x, s, y * c);
    }
}

int fr_argmax_scalar(const float *x, int n) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (x[i] > x[best] || (x[best] != x[best] && x[i] == x[i])) best = i;
    return best;
}
