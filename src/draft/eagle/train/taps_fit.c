// taps_fit.c — the map of a chain's taps from data: rows of several layers to the final state of
// the same row, whose place they take.
#include "draft/eagle/train/learn_eagle.h"
#include "train/math/layers.h"
#include <math.h>
#include <string.h>

static const float ridge = 1e-3f;
enum { STEPS = 60 };

static int inputs(const fr_unrolled_shape *s) {
    return s->taps * s->d;
}

size_t fr_unrolled_taps_fit_bytes(const fr_unrolled_shape *s) {
    return fr_linear_fit_bytes(inputs(s), s->d);
}

fr_status fr_unrolled_taps_fit_add(fr_linear_fit *fit, const fr_unrolled *c, fr_error *err) {
    const int k = inputs(&c->shape), d = c->shape.d;
    if (!fit->block) {
        const fr_status st = fr_linear_fit_open(fit, k, d, fr_gemm_threads(c->gemm), err);
        if (st) return st;
    }
    int n = 0;
    for (int row = 0; row < c->rows; row++) {
        if (!c->position[row]) continue; // a context's first row is like no other
        memcpy(fit->x + (size_t)n * (size_t)k, c->taps + (size_t)row * (size_t)k,
               (size_t)k * sizeof(float));
        fr_norm_forward(fit->y + (size_t)n * (size_t)d, c->state + (size_t)row * (size_t)d, NULL, 1,
                        d);
        if (++n == FR_LINEAR_FIT_ROWS) fr_linear_fit_add(fit, n), n = 0;
    }
    if (n) fr_linear_fit_add(fit, n);
    return FR_OK;
}

// A row of a tap has mean square 1, so the diagonal's sum over a tap's channels is d times the
// rows: what a channel's size is measured by.
static void set_gains(const fr_linear_fit *fit, const fr_unrolled *c) {
    const size_t k = (size_t)fit->k, d = (size_t)c->shape.d;
    float *gain = fr_param_w(c->params, c->at.taps_norm);
    for (size_t t = 0; t < k; t += d) {
        double sum = 0;
        for (size_t j = t; j < t + d; j++)
            sum += (double)fit->xx[j * k + j];
        for (size_t j = t; j < t + d; j++) {
            const double size = sqrt((double)fit->xx[j * k + j] * (double)d / sum);
            gain[j] = (float)(1 / (size > 1e-3 ? size : 1e-3));
        }
    }
}

void fr_unrolled_taps_fit_end(fr_linear_fit *fit, fr_unrolled *c, const fr_watch *watch) {
    const size_t k = (size_t)fit->k;
    const float *gain = fr_param_w(c->params, c->at.taps_norm);
    float *w = fr_param_w(c->params, c->at.fc_taps);
    set_gains(fit, c);
    if (!fr_linear_fit_solve(fit, ridge, STEPS, watch)) return;
    for (size_t r = 0; r < (size_t)fit->m; r++)
        for (size_t j = 0; j < k; j++)
            w[r * k + j] = fit->w[r * k + j] / gain[j];
    fr_linear_fit_close(fit);
}
