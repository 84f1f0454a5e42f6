#include "train/math/param.h"
#include "base/alloc.h"
#include "decode/draw/sampler.h"
#include "gguf/hash.h"
#include "model/finite.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int fr_params_add(fr_params *p, const char *name, int rows, int cols) {
    assert(p->n < FR_PARAMS_MAX && !p->w && rows > 0 && cols > 0);
    fr_param *item = &p->item[p->n];
    *item = (fr_param){.rows = rows, .cols = cols, .at = p->n_floats, .decays = rows > 1};
    snprintf(item->name, sizeof item->name, "%s", name);
    // Parameters begin on cache lines, so that no two share one.
    p->n_floats += ((size_t)rows * (size_t)cols + 15) / 16 * 16;
    return p->n++;
}

fr_status fr_params_alloc(fr_params *p, fr_error *err) {
    float **block[] = {&p->w, &p->grad, &p->m, &p->v};
    for (int i = 0; i < 4; i++)
        if (!(*block[i] = fr_alloc_array(p->n_floats, sizeof(float)))) {
            fr_params_free(p);
            return fr_fail(err, FR_ENOMEM, "train: no memory for %zu parameters", p->n_floats);
        }
    return FR_OK;
}

void fr_params_free(fr_params *p) {
    fr_free(p->w);
    fr_free(p->grad);
    fr_free(p->m);
    fr_free(p->v);
    *p = (fr_params){0};
}

static bool is_finite(const fr_params *p, int i) {
    const fr_param *item = &p->item[i];
    for (int r = 0; r < item->rows; r++)
        if (!fr_are_finite(fr_param_w(p, i) + (size_t)r * (size_t)item->cols, item->cols))
            return false;
    return true;
}

fr_status fr_params_check(const fr_params *p, fr_error *err) {
    for (int i = 0; i < p->n; i++)
        if (!is_finite(p, i))
            return fr_fail(err, FR_EDATA, "%s: expected numbers, found some that are not finite",
                           p->item[i].name);
    return FR_OK;
}

void fr_param_random(const fr_params *p, int i, float std, uint64_t seed) {
    const fr_param *item = &p->item[i];
    const size_t n = (size_t)item->rows * (size_t)item->cols;
    fr_hash h;
    fr_hash_open(&h, seed);
    fr_hash_add(&h, item->name, strlen(item->name));
    const uint64_t stream = fr_hash_value(&h);
    float *w = fr_param_w(p, i);
    for (size_t k = 0; k < n; k++) { // Box and Muller
        const double u = fr_uniform(stream, 2 * k),
                     angle = 2 * M_PI * fr_uniform(stream, 2 * k + 1);
        w[k] = (float)(std * sqrt(-2 * log(1 - u)) * cos(angle));
    }
}

void fr_param_random_matrix(const fr_params *p, int i, float gain, uint64_t seed) {
    if (i >= 0) fr_param_random(p, i, gain / sqrtf((float)p->item[i].cols), seed);
}
