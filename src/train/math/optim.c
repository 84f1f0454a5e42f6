#include "train/math/optim.h"
#include <math.h>

static const double beta1 = 0.9, beta2 = 0.95, decay = 0.01;
static const float eps = 1e-8f;

double fr_grad_norm(const fr_params *p) {
    double lane[16] = {0}, sum = 0;
    for (size_t i = 0; i < p->n_floats; i += 16) // parameters begin on multiples of 16
        for (size_t k = 0; k < 16; k++)
            lane[k] += (double)p->grad[i + k] * (double)p->grad[i + k];
    for (int k = 0; k < 16; k++)
        sum += lane[k];
    return sqrt(sum);
}

double fr_grad_scale(double norm, double weight, double most) {
    return norm > most * weight ? most / norm : 1 / weight;
}

void fr_adamw_step(fr_params *p, double rate, double scale, uint64_t t) {
    const float s = (float)scale, b1 = (float)beta1, b2 = (float)beta2;
    const float step = (float)(rate / (1 - pow(beta1, (double)t)));
    const float unbias = (float)(1 / (1 - pow(beta2, (double)t)));
    for (int j = 0; j < p->n; j++) {
        const fr_param *item = &p->item[j];
        const size_t n = (size_t)item->rows * (size_t)item->cols;
        const float keep = item->decays ? (float)(1 - rate * decay) : 1;
        float *restrict w = p->w + item->at, *restrict g = p->grad + item->at;
        float *restrict m = p->m + item->at, *restrict v = p->v + item->at;
        for (size_t i = 0; i < n; i++) {
            const float x = g[i] * s;
            m[i] = b1 * m[i] + (1 - b1) * x;
            v[i] = b2 * v[i] + (1 - b2) * x * x;
            w[i] = keep * w[i] - step * m[i] / (sqrtf(v[i] * unbias) + eps);
            g[i] = 0;
        }
    }
}
