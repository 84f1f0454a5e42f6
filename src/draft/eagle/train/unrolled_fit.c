// unrolled_fit.c — a chain's input layer from data: the state after a token, as a linear map of the
// state before it and the token.
//
// With the sub-layers adding next to nothing, G = nrm(x) g_out with x that map's value: so it is
// fitted to the next state over g_out, which is a normed row.
#include "draft/eagle/train/learn_eagle.h"
#include "train/math/layers.h"
#include <math.h>
#include <string.h>

static const float ridge = 1e-3f;
enum { STEPS = 60 };

static int inputs(const fr_unrolled_shape *s) { // state, token, one for the bias
    return s->d * (s->token ? 2 : 1) + 1;
}

size_t fr_unrolled_fit_bytes(const fr_unrolled_shape *s) {
    return fr_linear_fit_bytes(inputs(s), s->d);
}

static void set_inputs(const void *user, const fr_unrolled *c, int row, float *x) {
    const size_t d = (size_t)c->shape.d;
    (void)user;
    fr_norm_forward(x, c->state + (size_t)row * d, NULL, 1, c->shape.d);
    x += d;
    if (c->shape.token) {
        fr_norm_forward(x, c->embedding + (size_t)row * d, NULL, 1, c->shape.d);
        x += d;
    }
    *x = 1;
}

static void set_next(const fr_unrolled *c, int row, float *y) {
    const size_t d = (size_t)c->shape.d;
    const float *gain = fr_param_w(c->params, c->at.out_norm),
                *next = c->state + (size_t)(row + 1) * d;
    for (size_t j = 0; j < d; j++)
        y[j] = fabsf(gain[j]) > 1e-4f ? next[j] / gain[j] : 0;
}

// A context's first row is left out: its state is like no other's.
void fr_unrolled_fit_rows(fr_linear_fit *fit, const fr_unrolled *c, fr_fit_inputs *inputs_of,
                          const void *user) {
    int n = 0;
    for (int row = 0; row + 1 < c->rows; row++) {
        if (!c->position[row] || !c->position[row + 1]) continue;
        inputs_of(user, c, row, fit->x + (size_t)n * (size_t)fit->k);
        set_next(c, row, fit->y + (size_t)n * (size_t)fit->m);
        if (++n == FR_LINEAR_FIT_ROWS) fr_linear_fit_add(fit, n), n = 0;
    }
    if (n) fr_linear_fit_add(fit, n);
}

fr_status fr_unrolled_fit_add(fr_linear_fit *fit, const fr_unrolled *c, fr_error *err) {
    fr_status st = FR_OK;
    if (!fit->block)
        st = fr_linear_fit_open(fit, inputs(&c->shape), c->shape.d, fr_gemm_threads(c->gemm), err);
    if (!st) fr_unrolled_fit_rows(fit, c, set_inputs, NULL);
    return st;
}

void fr_fit_take_columns(const fr_linear_fit *fit, const fr_params *p, int i, int first) {
    const size_t n = (size_t)p->item[i].cols;
    for (size_t r = 0; r < (size_t)fit->m; r++)
        memcpy(fr_param_w(p, i) + r * n, fit->w + r * (size_t)fit->k + first, n * sizeof(float));
}

void fr_unrolled_fit_end(fr_linear_fit *fit, fr_unrolled *c, const fr_watch *watch) {
    const fr_params *p = c->params;
    if (!fr_linear_fit_solve(fit, ridge, STEPS, watch)) return;
    fr_fit_take_columns(fit, p, c->at.fc_state, 0);
    if (c->shape.token) fr_fit_take_columns(fit, p, c->at.fc_token, c->shape.d);
    for (int r = 0; r < fit->m; r++)
        fr_param_w(p, c->at.bias)[r] = fit->w[(size_t)(r + 1) * (size_t)fit->k - 1];
    fr_unrolled_quieten(c);
    fr_linear_fit_close(fit);
}
