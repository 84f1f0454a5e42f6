// The definitions of what draws from logits: maxima, weights and their sums, an
// interval of values.
#include "kern/math.h"
#include "kern/ref/ref.h"
#include <math.h>

void fr_run_max_scalar(float *most, const float *x, int n) {
    for (int i = 0; i < n; i++) {
        if (i % FR_RUN == 0) most[i / FR_RUN] = -INFINITY;
        if (x[i] > most[i / FR_RUN]) most[i / FR_RUN] = x[i];
    }
}

uint64_t fr_weigh_scalar(float *w, const float *x, int n, float best, float rate, float low) {
    uint64_t sum = 0;
    for (int i = 0; i < n; i++) {
        w[i] = x[i] >= low ? fr_exp((x[i] - best) * rate) : 0.0f;
        sum += fr_fixed(w[i]);
    }
    return sum;
}

int fr_split_scalar(int32_t *at, const float *x, const float *w, int n, float low, float high,
                    uint64_t *above) {
    int m = 0;
    for (int i = 0; i < n; i++)
        if (x[i] > high)
            *above += w ? fr_fixed(w[i]) : FR_FIXED_ONE;
        else if (x[i] >= low)
            at[m++] = i;
    return m;
}
