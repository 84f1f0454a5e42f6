// check_quantize.c — activations to int8: every instruction set against ref/, bit for bit.
#include "check.h"
#include <math.h>
#include <string.h>

// Rows of several kinds: noise, outliers, ties, all zero, tiny, huge, broken.
static void fill_row(check *c, float *x, int k) {
    const int kind = check_below(c, 9);
    for (int i = 0; i < k; i++) {
        x[i] = check_uniform(c, -1.0f, 1.0f);
        if (kind == 1 && check_below(c, 60) == 0) x[i] *= 100.0f;
        if (kind == 2)
            x[i] = (float)(check_below(c, 509) - 254) * 0.5f; // halves of the scale: ties
        if (kind == 3) x[i] = check_below(c, 2) ? 0.0f : -0.0f;
        if (kind == 4) x[i] *= 1e-30f;
        if (kind == 5) x[i] *= 3e38f;
        if (kind == 6) x[i] = i % 2 ? 2.5f : -2.5f;
    }
    if (kind == 2) x[0] = 127.0f;
    if (kind == 7) x[check_below(c, k)] = check_below(c, 2) ? INFINITY : -INFINITY;
    if (kind == 8) x[check_below(c, k)] = NAN;
}

static void one_shape(check *c, fr_act_kind kind, int n, int k, int ldx) {
    const int block = kind == FR_ACT_Q32 ? 32 : 256, blocks = k / block;
    const size_t bytes = fr_act_bytes(kind, n, k);
    float *x = check_buffer(((size_t)(n - 1) * (size_t)ldx + (size_t)k) * sizeof(float));
    fr_act expected, found;
    uint8_t *e = check_buffer(bytes), *f = check_buffer(bytes);
    fr_act_place(&expected, kind, n, k, e);
    fr_act_place(&found, kind, n, k, f);
    for (int r = 0; r < n; r++)
        fill_row(c, x + (size_t)r * (size_t)ldx, k);
    c->ref->quantize(&expected, x, ldx, 0, blocks);
    const int cut = check_below(c, blocks + 1);
    c->kern->quantize(&found, x, ldx, cut, blocks);
    c->kern->quantize(&found, x, ldx, 0, cut);
    check_case(c, !memcmp(e, f, bytes) && check_fronts_intact(), "quantize kind %d n %d k %d",
               (int)kind, n, k);
    check_release();
}

void check_quantize(check *c) {
    for (int i = 0; i < (c->quick ? 200 : 2000); i++) {
        const fr_act_kind kind = check_below(c, 2) ? FR_ACT_Q32 : FR_ACT_Q256;
        const int k = (1 + check_below(c, 6)) * (kind == FR_ACT_Q32 ? 32 : 256);
        one_shape(c, kind, 1 + check_below(c, 20), k, k + check_below(c, 9));
    }
}
