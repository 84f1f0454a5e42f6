// likeliest.c — a draft vocabulary has thousands of ids and a step asks for several distributions,
// so both walks, for the largest and for the sum, are by vectors of four, which every CPU has.
#include "draft/kit/likeliest.h"
#include <assert.h>
#include <math.h>
#include <string.h>

typedef float fr_f32x4 __attribute__((vector_size(16)));
typedef int32_t fr_i32x4 __attribute__((vector_size(16)));

enum { BLOCK = 32 };

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

// ---------------------------------------------------------------- the largest

// Whether any of a block's values is larger than `least`. NaN is not.
static bool has_larger(const float *x, float least) {
    fr_f32x4 most = all(least);
    for (int i = 0; i < BLOCK; i += 4)
        most = either(load(x + i) > most, load(x + i), most);
    return most[0] > least || most[1] > least || most[2] > least || most[3] > least;
}

// Puts a value into the list of the largest, descending; earlier ones win ties.
static int insert(fr_likely *list, int n, int most, int index, float logit) {
    int k = n < most ? n++ : n - 1;
    for (; k > 0 && list[k - 1].logit < logit; k--)
        list[k] = list[k - 1];
    list[k] = (fr_likely){.index = index, .logit = logit};
    return n;
}

static int find_largest(const float *logits, int n, int most, fr_likely *out) {
    int m = 0;
    float least = -INFINITY; // to come into the list
    for (int begin = 0; begin < n; begin += BLOCK) {
        const int end = begin + BLOCK < n ? begin + BLOCK : n;
        if (end - begin == BLOCK && !has_larger(logits + begin, least)) continue;
        for (int i = begin; i < end; i++) {
            if (!(logits[i] > least) || isinf(logits[i])) continue;
            m = insert(out, m, most, i, logits[i]);
            if (m == most) least = out[m - 1].logit;
        }
    }
    return m;
}

// ---------------------------------------------------------------- the sum

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
    const int m = find_largest(logits, n, most, out);
    if (!m) return 0;
    const float top = out[0].logit, sum = sum_from(logits, n, top);
    for (int i = 0; i < m; i++)
        out[i].p = expf(out[i].logit - top) / sum;
    return m;
}
