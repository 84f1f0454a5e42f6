#include "train/block/ngram_encoder.h"
#include "base/alloc.h"
#include "train/math/layers.h"
#include <string.h>

static int inputs(const fr_train_encoder *e) {
    return e->shape.n * e->shape.d;
}

// ---------------------------------------------------------------- parameters and memory
void fr_train_encoder_add_params(fr_train_encoder *e, fr_params *params,
                                 const fr_train_encoder_shape *shape) {
    *e = (fr_train_encoder){.shape = *shape, .params = params};
    if (shape->form == FR_ENCODER_RESIDUAL) e->shape.hidden = inputs(e);
    const int d = shape->d, hidden = e->shape.hidden;
    e->w1 = fr_params_add(params, "ngram.hidden.weight", hidden, inputs(e));
    e->b1 = fr_params_add(params, "ngram.hidden.bias", 1, hidden);
    e->w2 = fr_params_add(params, "ngram.out.weight", d, hidden);
    e->w3 = shape->form == FR_ENCODER_WIDE
                ? fr_params_add(params, "ngram.skip.weight", d, inputs(e))
                : -1;
}

fr_status fr_train_encoder_open(fr_train_encoder *e, fr_gemm *gemm, fr_error *err) {
    const size_t rows = (size_t)e->shape.max_rows, hidden = (size_t)e->shape.hidden;
    e->gemm = gemm;
    e->bytes = rows * ((size_t)inputs(e) + 3 * hidden) * sizeof(float);
    e->t = fr_alloc_array(rows * (size_t)inputs(e), sizeof *e->t);
    e->u = fr_alloc_array(rows * hidden, sizeof *e->u);
    e->h = fr_alloc_array(rows * hidden, sizeof *e->h);
    e->dh = fr_alloc_array(rows * hidden, sizeof *e->dh);
    return e->t && e->u && e->h && e->dh
               ? FR_OK
               : fr_fail(err, FR_ENOMEM, "train: no memory for %zu n-grams", rows);
}

void fr_train_encoder_close(fr_train_encoder *e) {
    fr_free(e->t), fr_free(e->u), fr_free(e->h), fr_free(e->dh);
    *e = (fr_train_encoder){0};
}

int fr_train_encoder_linear(const fr_train_encoder *e) {
    return e->shape.form == FR_ENCODER_WIDE       ? e->w3
           : e->shape.form == FR_ENCODER_RESIDUAL ? e->w2
                                                  : -1;
}

// Where there is a linear map it is fitted to data, and h adds little at first.
void fr_train_encoder_start(fr_train_encoder *e, uint64_t seed) {
    const bool residual = e->shape.form == FR_ENCODER_RESIDUAL;
    fr_param_random_matrix(e->params, e->w1, residual ? 0.1f : 1, seed);
    fr_param_random_matrix(e->params, e->w2, e->shape.form == FR_ENCODER_WIDE ? 0.1f : 1, seed);
    fr_param_random_matrix(e->params, e->w3, 1, seed);
}

// ---------------------------------------------------------------- forward and back
void fr_train_encoder_read(const fr_train_encoder *e, const fr_model *target, const int32_t *ids,
                           int at, int row) {
    const int d = e->shape.d;
    float *t = e->t + (size_t)row * (size_t)inputs(e);
    for (int i = 0; i < e->shape.n; i++, t += d) {
        if (at < i) {
            memset(t, 0, (size_t)d * sizeof *t);
            continue;
        }
        fr_model_embed(target, ids[at - i], t);
        fr_norm_forward(t, t, NULL, 1, d);
        fr_rows_scale(t, 1 / (float)e->shape.n, 1, d);
    }
}

// y (+)= x Wᵀ, W being parameter i.
static void product(const fr_train_encoder *e, float *y, const float *x, int i, int rows,
                    bool add) {
    const fr_param *p = &e->params->item[i];
    fr_gemm_forward(e->gemm, y, p->rows, x, p->cols, fr_param_w(e->params, i), rows, p->rows,
                    p->cols, add);
}

static void product_weight(const fr_train_encoder *e, const float *dy, const float *x, int i,
                           int rows) {
    const fr_param *p = &e->params->item[i];
    fr_gemm_weight(e->gemm, fr_param_grad(e->params, i), dy, p->rows, x, p->cols, rows, p->rows,
                   p->cols, true);
}

void fr_train_encoder_forward(fr_train_encoder *e, float *g, int rows) {
    const int hidden = e->shape.hidden;
    product(e, e->u, e->t, e->w1, rows, false);
    fr_bias_forward(e->u, fr_param_w(e->params, e->b1), rows, hidden);
    if (e->shape.form == FR_ENCODER_RESIDUAL)
        memcpy(e->h, e->t, (size_t)rows * (size_t)hidden * sizeof *e->h);
    else
        memset(e->h, 0, (size_t)rows * (size_t)hidden * sizeof *e->h);
    fr_resblock_forward(e->h, e->h, e->u, rows, hidden);
    product(e, g, e->h, e->w2, rows, false);
    if (e->w3 >= 0) product(e, g, e->t, e->w3, rows, true);
}

// dx (+)= dy W, W being parameter i.
static void product_back(const fr_train_encoder *e, float *dx, const float *dy, int i, int rows,
                         bool add) {
    const fr_param *p = &e->params->item[i];
    fr_gemm_input(e->gemm, dx, p->cols, dy, p->rows, fr_param_w(e->params, i), rows, p->rows,
                  p->cols, add);
}

void fr_train_encoder_backward(fr_train_encoder *e, const float *dg, float *dt, int rows) {
    const int hidden = e->shape.hidden;
    if (e->w3 >= 0) product_weight(e, dg, e->t, e->w3, rows);
    product_weight(e, dg, e->h, e->w2, rows);
    product_back(e, e->dh, dg, e->w2, rows, false);
    fr_resblock_backward(e->u, e->dh, e->u, rows, hidden);
    fr_bias_backward(fr_param_grad(e->params, e->b1), e->u, rows, hidden);
    product_weight(e, e->u, e->t, e->w1, rows);
    if (!dt) return;
    product_back(e, dt, e->u, e->w1, rows, false);
    if (e->w3 >= 0) product_back(e, dt, dg, e->w3, rows, true);
    if (e->shape.form == FR_ENCODER_RESIDUAL) fr_rows_add(dt, e->dh, rows, hidden);
}
