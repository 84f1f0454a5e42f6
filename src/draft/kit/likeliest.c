// likeliest.c — a draft vocabulary has thousands of ids, and a step needs several distributions.
// So the sum too is by vectors of four, which every CPU has.
#include "draft/kit/likeliest.h"
#include "base/top.h"
#include "kern/exp4.h"
#include <assert.h>
#include <math.h>

// What lies so far below the largest adds less than 1e-7 of it to the sum.
static const float NEGLIGIBLE = 16;

// e^x for -NEGLIGIBLE < x <= 0; 0 for all others and for NaN.
static fr_f32x4 exponential(fr_f32x4 x) {
    const fr_i32x4 counts = (x > fr_f32x4_all(-NEGLIGIBLE)) & (x <= fr_f32x4_all(0));
    const fr_f32x4 e = fr_exp4_within(fr_f32x4_either(counts, x, fr_f32x4_all(0)));
    return fr_f32x4_either(counts, e, fr_f32x4_all(0));
}

static float sum_from(const float *logits, int n, float top) {
    fr_f32x4 sum = fr_f32x4_all(0);
    int i = 0;
    for (; i + 4 <= n; i += 4)
        sum += exponential(fr_f32x4_load(logits + i) - top);
    for (; i < n; i++)
        sum[0] += exponential(fr_f32x4_all(logits[i] - top))[0];
    return sum[0] + sum[1] + sum[2] + sum[3];
}

int fr_likeliest(const float *logits, int n, int most, fr_likely *out) {
    assert(most >= 1 && most <= FR_LIKELY_MOST);
    int32_t index[FR_LIKELY_MOST];
    float logit[FR_LIKELY_MOST];
    const int m = fr_top(logits, n, most, index, logit);
    if (!m) return 0;
    const float sum = sum_from(logits, n, logit[0]);
    for (int i = 0; i < m; i++)
        out[i] = (fr_likely){index[i], expf(logit[i] - logit[0]) / sum};
    return m;
}
