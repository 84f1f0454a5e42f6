// lanes.h — what the AVX2 kernels share: exp and tanh in eight lanes, the joining of 16 partial
// sums, the largest lane.
#ifndef FR_KERN_AVX2_LANES_H
#define FR_KERN_AVX2_LANES_H
#include "kern/math.h"
#include "kern/tile.h"
#include <immintrin.h>
#include <stdint.h>

// fr_exp (kern/math.h) in every lane. min with x as the second operand keeps NaN.
FR_INLINE __m256 fr_exp8(__m256 x) {
    const __m256 magic = _mm256_set1_ps(0x1.8p23f);
    const __m256 below = _mm256_cmp_ps(x, _mm256_set1_ps(-87.0f), _CMP_LT_OQ);
    x = _mm256_min_ps(_mm256_set1_ps(88.0f), x);
    const __m256 t = _mm256_fmadd_ps(x, _mm256_set1_ps(0x1.715476p+0f), magic);
    const __m256 n = _mm256_sub_ps(t, magic);
    __m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(-0x1.62e400p-1f), x);
    r = _mm256_fmadd_ps(n, _mm256_set1_ps(-0x1.7f7d1cp-20f), r);
    __m256 p = _mm256_set1_ps(1.0f / 720);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 120));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 24));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 6));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    // The constants' own bits fall out of the shift: only those of n + 127 stay.
    const __m256i e = _mm256_add_epi32(_mm256_castps_si256(t), _mm256_set1_epi32(127));
    const __m256 power = _mm256_castsi256_ps(_mm256_slli_epi32(e, 23));
    return _mm256_andnot_ps(below, _mm256_mul_ps(p, power));
}

// fr_tanh in every lane: both of its forms, then the one that counts there.
FR_INLINE __m256 fr_tanh8(__m256 x) {
    const __m256 sign = _mm256_and_ps(x, _mm256_set1_ps(-0.0f)), one = _mm256_set1_ps(1.0f);
    const __m256 a = _mm256_xor_ps(x, sign), z = _mm256_mul_ps(a, a);
    __m256 p = _mm256_set1_ps(FR_TANH_6);
    p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(FR_TANH_5));
    p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(FR_TANH_4));
    p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(FR_TANH_3));
    p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(FR_TANH_2));
    p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(FR_TANH_1));
    p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(FR_TANH_0));
    const __m256 near = _mm256_fmadd_ps(_mm256_mul_ps(a, z), p, a);
    const __m256 two = _mm256_set1_ps(2.0f);
    const __m256 e = _mm256_add_ps(fr_exp8(_mm256_mul_ps(two, a)), one);
    const __m256 far = _mm256_sub_ps(one, _mm256_div_ps(two, e));
    const __m256 y = _mm256_blendv_ps(far, near, _mm256_cmp_ps(a, one, _CMP_LT_OQ));
    return _mm256_or_ps(y, sign);
}

// The largest lane, none of them NaN; of two zeros either.
FR_INLINE float fr_largest_lane(__m256 a) {
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

// The sum of 16 partial sums in the one order: halves onto each other, 8, 4, 2, 1.
FR_INLINE float fr_join16(__m256 low, __m256 high) {
    const __m256 a8 = _mm256_add_ps(low, high);
    const __m128 a4 = _mm_add_ps(_mm256_castps256_ps128(a8), _mm256_extractf128_ps(a8, 1));
    const __m128 a2 = _mm_add_ps(a4, _mm_movehl_ps(a4, a4));
    return _mm_cvtss_f32(_mm_add_ss(a2, _mm_movehdup_ps(a2)));
}

#endif
