// direction.h — whether a gradient is the slope of its loss.
#ifndef FR_TESTS_TRAIN_DIRECTION_H
#define FR_TESTS_TRAIN_DIRECTION_H
#include "decode/draw/sampler.h"
#include "train/math/param.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// A direction over one parameter, the gradient's own signs (seed 0) or random ones; the slope along
// it twice: by the gradient and by differences of the loss `h` to either side. `within`: of the sum
// of the gradient's sizes.
static inline void check_direction(fr_params *p, int param, unsigned seed, double h, double within,
                                   double (*loss_of)(void *of), void *of) {
    const size_t n = (size_t)p->item[param].rows * (size_t)p->item[param].cols;
    float *w = fr_param_w(p, param), *grad = fr_param_grad(p, param);
    float *before = malloc(n * sizeof *before), *step = malloc(n * sizeof *step);
    double by_gradient = 0, size = 0, loss[2];
    memcpy(before, w, n * sizeof *w);
    for (size_t i = 0; i < n; i++) {
        step[i] = (seed ? fr_uniform(seed, i) < 0.5 : grad[i] > 0) ? 1.0f : -1.0f;
        by_gradient += (double)step[i] * (double)grad[i];
        size += fabs((double)grad[i]);
    }
    assert_true(size > 0);
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < n; i++)
            w[i] = before[i] + (float)(side ? h : -h) * step[i];
        loss[side] = loss_of(of);
    }
    memcpy(w, before, n * sizeof *w);
    const double by_difference = (loss[1] - loss[0]) / (2 * h);
    if (!(fabs(by_difference - by_gradient) <= within * size))
        fail_msg("%s, seed %u: slope %g by differences, %g by the gradient", p->item[param].name,
                 seed, by_difference, by_gradient);
    free(before);
    free(step);
}

#endif
