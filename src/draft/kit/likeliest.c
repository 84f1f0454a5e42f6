// likeliest.c — a draft vocabulary has thousands of ids and a step asks for several distributions,
// so the sum too is by vectors of four, which every CPU has.
#include "draft/kit/likeliest.h"
#include "base/top.h"
#include <assert.h>
#include <math.h>
#include <string.h>

typedef float fr_f32x4 __attribute__((vector_size(16)));
typedef int32_t fr_i32x4 __attribute__((vector_size(16)));

// What lies so far below the largest adds less than 1e-7 of it to the sum.
static const float NEGLIGIBLE = 16;

static fr_f32x4 load(const float *x) {
    fr_f32x4 v;
    memcpy(&v, x, sizeof v);
    return v;
}

static fr_f32x4 either(fr_i32x4 mask, fr_f32x4 yes, fr_f32x4 no) {
    return (fr_f32x4)((mask & (fr_i32x4)yes) | (~mask & (fr_i32x4)no));
}

static fr_f32x4 all(float x) {
    return (fr_f32x4){x, x, x, x};
}

// e^x for -NEGLIGIBLE < x <= 0, to 1e-6; 0 for all others and for NaN. As fr_exp (kern/math.h), but
// for the fused additions.
static fr_f32x4 exponential(fr_f32x4 x) {
    const float magic = 0x1.8p23f;
    const fr_i32x4 counts = (x > all(-NEGLIGIBLE)) & (x <= all(0));
    x = either(counts, x, all(0));
    const fr_f32x4 t = x * 0x1.715476p+0f + magic, n = t - magic;
    const fr_f32x4 r = x - n * 0x1.62e400p-1f - n * 0x1.7f7d1cp-20f;
    fr_f32x4 p = r * (1.0f / 720) + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const fr_i32x4 power = ((fr_i32x4)t - 0x4b400000 + 127) << 23;
    return (fr_f32x4)((fr_i32x4)(p * (fr_f32x4)power) & counts);
}

static float sum_from(const float *logits, int n, float top) {
    fr_f32x4 sum = all(0);
    int i = 0;
    for (; i + 4 <= n; i += 4)
        sum += exponential(load(logits + i) - top);
    for (; i < n; i++)
        sum[0] += exponential(all(logits[i] - top))[0];
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
        out[i] = (fr_likely){index[i], logit[i], expf(logit[i] - logit[0]) / sum};
    return m;
}
