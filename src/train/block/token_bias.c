#include "train/block/token_bias.h"
#include "base/alloc.h"
#include "train/math/layers.h"
#include <math.h>
#include <string.h>

void fr_train_bias_add_params(fr_train_bias *x, fr_params *p, int d, int rank, int v, bool gate) {
    *x = (fr_train_bias){.d = d, .rank = rank, .v = v, .params = p};
    x->token = fr_params_add(p, "inject.token.weight", rank, d);
    x->gate = gate ? fr_params_add(p, "inject.gate.weight", rank, d) : -1;
    x->out = fr_params_add(p, "inject.out.weight", v, rank);
}

fr_status fr_train_bias_open(fr_train_bias *x, fr_gemm *gemm, int max_rows, fr_error *err) {
    const size_t each = ((size_t)max_rows * (size_t)x->rank + 15) / 16 * 16;
    float **const slots[] = {&x->raw, &x->all, &x->dall, &x->some, &x->open, &x->phi, &x->dphi};
    const size_t n = sizeof slots / sizeof *slots;
    x->gemm = gemm;
    x->max_rows = max_rows;
    x->bytes = n * each * sizeof(float);
    if (!(x->block = fr_alloc_array(n * each, sizeof(float))))
        return fr_fail(err, FR_ENOMEM, "train: no memory for tokens of %d rows", max_rows);
    for (size_t i = 0; i < n; i++)
        *slots[i] = x->block + i * each;
    return FR_OK;
}

void fr_train_bias_close(fr_train_bias *x) {
    fr_free(x->block);
    x->block = NULL;
}

void fr_train_bias_start(const fr_train_bias *x, uint64_t seed) {
    fr_param_random(x->params, x->token, 1.0f / sqrtf((float)x->d), seed);
}

void fr_train_bias_tokens(fr_train_bias *x, const float *e, int n) {
    const size_t bytes = (size_t)n * (size_t)x->rank * sizeof(float);
    fr_gemm_forward(x->gemm, x->raw, x->rank, e, x->d, fr_param_w(x->params, x->token), n, x->rank,
                    x->d, false);
    fr_norm_forward(x->all, x->raw, NULL, n, x->rank);
    memset(x->dall, 0, bytes);
}

void fr_train_bias_forward(fr_train_bias *x, const float *g, const int *at, int n) {
    const size_t bytes = (size_t)n * (size_t)x->rank * sizeof(float);
    fr_rows_gather(x->some, x->all, at, n, x->rank);
    if (x->gate < 0) {
        memcpy(x->phi, x->some, bytes);
        return;
    }
    fr_gemm_forward(x->gemm, x->open, x->rank, g, x->d, fr_param_w(x->params, x->gate), n, x->rank,
                    x->d, false);
    fr_gated_forward(x->phi, x->some, x->open, n, x->rank);
}

bool fr_train_bias_backward(fr_train_bias *x, float *dg, const float *g, const int *at, int n) {
    if (x->gate < 0) {
        fr_rows_scatter(x->dall, x->dphi, at, n, x->rank);
        return false;
    }
    fr_gated_backward(x->some, x->open, x->dphi, x->some, x->open, n, x->rank);
    fr_rows_scatter(x->dall, x->some, at, n, x->rank);
    fr_gemm_weight(x->gemm, fr_param_grad(x->params, x->gate), x->open, x->rank, g, x->d, n,
                   x->rank, x->d, true);
    fr_gemm_input(x->gemm, dg, x->d, x->open, x->rank, fr_param_w(x->params, x->gate), n, x->rank,
                  x->d, false);
    return true;
}

void fr_train_bias_tokens_backward(fr_train_bias *x, const float *e, int n) {
    fr_norm_backward(x->dall, false, NULL, x->dall, x->raw, NULL, n, x->rank);
    fr_gemm_weight(x->gemm, fr_param_grad(x->params, x->token), x->dall, x->rank, e, x->d, n,
                   x->rank, x->d, true);
}
