// draw.c — what draws from logits, AVX2. Weights are bound by the arithmetic of exp, the rest by
// loads.
#include "kern/avx2/avx2.h"
#include "kern/avx2/lanes.h"
#include "kern/math.h"
#include <math.h>

void fr_run_max_avx2(float *most, const float *x, int n) {
    for (; n >= FR_RUN; n -= FR_RUN, x += FR_RUN) {
        __m256 a = _mm256_set1_ps(-INFINITY), b = a; // as the second operand: NaN is dropped
        for (int i = 0; i < FR_RUN; i += 16) {
            a = _mm256_max_ps(_mm256_loadu_ps(x + i), a);
            b = _mm256_max_ps(_mm256_loadu_ps(x + i + 8), b);
        }
        *most++ = fr_largest_lane(_mm256_max_ps(a, b));
    }
    if (!n) return;
    *most = -INFINITY;
    for (int i = 0; i < n; i++)
        *most = x[i] > *most ? x[i] : *most;
}

// fr_fixed in four lanes.
FR_INLINE __m256i fixed4(__m128 w) {
    const __m256d shifted = _mm256_fmadd_pd(_mm256_cvtps_pd(w), _mm256_set1_pd(0x1p40),
                                            _mm256_set1_pd(0x1p52)); // the product is exact
    return _mm256_sub_epi64(_mm256_castpd_si256(shifted), _mm256_set1_epi64x(0x4330000000000000));
}

FR_INLINE __m256i fixed8(__m256 w) {
    return _mm256_add_epi64(fixed4(_mm256_castps256_ps128(w)), fixed4(_mm256_extractf128_ps(w, 1)));
}

FR_INLINE uint64_t sum4(__m256i a) {
    uint64_t lane[4];
    _mm256_storeu_si256((__m256i *)lane, a);
    return lane[0] + lane[1] + lane[2] + lane[3];
}

uint64_t fr_weigh_avx2(float *w, const float *x, int n, float best, float rate, float low) {
    const __m256 b = _mm256_set1_ps(best), r = _mm256_set1_ps(rate), l = _mm256_set1_ps(low);
    __m256i sums = _mm256_setzero_si256();
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 v = _mm256_loadu_ps(x + i);
        const __m256 e = fr_exp8(_mm256_mul_ps(_mm256_sub_ps(v, b), r));
        const __m256 kept = _mm256_and_ps(e, _mm256_cmp_ps(v, l, _CMP_GE_OQ));
        _mm256_storeu_ps(w + i, kept);
        sums = _mm256_add_epi64(sums, fixed8(kept));
    }
    uint64_t sum = sum4(sums);
    for (; i < n; i++) {
        w[i] = x[i] >= low ? fr_exp((x[i] - best) * rate) : 0.0f;
        sum += fr_fixed(w[i]);
    }
    return sum;
}

int fr_split_avx2(int32_t *at, const float *x, const float *w, int n, float low, float high,
                  uint64_t *above) {
    const __m256 l = _mm256_set1_ps(low), h = _mm256_set1_ps(high);
    __m256i sums = _mm256_setzero_si256();
    uint64_t count = 0, sum = 0;
    int m = 0, i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 v = _mm256_loadu_ps(x + i), over = _mm256_cmp_ps(v, h, _CMP_GT_OQ);
        const __m256 inside = _mm256_andnot_ps(over, _mm256_cmp_ps(v, l, _CMP_GE_OQ));
        if (w)
            sums = _mm256_add_epi64(sums, fixed8(_mm256_and_ps(_mm256_loadu_ps(w + i), over)));
        else
            count += (unsigned)__builtin_popcount((unsigned)_mm256_movemask_ps(over));
        for (unsigned bits = (unsigned)_mm256_movemask_ps(inside); bits; bits &= bits - 1)
            at[m++] = i + __builtin_ctz(bits);
    }
    for (; i < n; i++)
        if (x[i] > high)
            sum += w ? fr_fixed(w[i]) : FR_FIXED_ONE;
        else if (x[i] >= low)
            at[m++] = i;
    *above += sum + sum4(sums) + (count << FR_FIXED_BITS);
    return m;
}
