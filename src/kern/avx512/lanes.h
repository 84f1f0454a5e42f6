// lanes.h — sums and maxima across the 16 lanes, exp and tanh, as docs/numerics.md has them.
#ifndef FR_KERN_AVX512_LANES_H
#define FR_KERN_AVX512_LANES_H
#include "kern/avx512/isa.h"
#include "kern/math.h"

// a[l] += a[l+8], a[l] += a[l+4], a[l] += a[l+2], a[0] + a[1].
FR_INLINE float fr_join_lanes(__m512 a) {
    const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}

// The largest lane, none of them NaN; of two zeros either.
FR_INLINE float fr_largest_lane(__m512 a) {
    const __m256 h = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}

// fr_exp in every lane.
FR_INLINE __m512 fr_exp16(__m512 x) {
    const __m512 magic = _mm512_set1_ps(0x1.8p23f);
    const __mmask16 alive = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.0f), _CMP_NLT_UQ);
    x = _mm512_min_ps(_mm512_set1_ps(88.0f), x); // NaN stays: the second operand wins
    const __m512 t = _mm512_fmadd_ps(x, _mm512_set1_ps(0x1.715476p+0f), magic);
    const __m512 n = _mm512_sub_ps(t, magic);
    __m512 r = _mm512_fmadd_ps(n, _mm512_set1_ps(-0x1.62e400p-1f), x);
    r = _mm512_fmadd_ps(n, _mm512_set1_ps(-0x1.7f7d1cp-20f), r);
    __m512 p = _mm512_set1_ps(1.0f / 720);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 120));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 24));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 6));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
    const __m512i power = _mm512_slli_epi32(
        _mm512_add_epi32(_mm512_castps_si512(t), _mm512_set1_epi32(127 - 0x4b400000)), 23);
    return _mm512_maskz_mul_ps(alive, p, _mm512_castsi512_ps(power));
}

// fr_tanh in every lane: both of its forms, then the one that counts there.
FR_INLINE __m512 fr_tanh16(__m512 x) {
    const __m512 one = _mm512_set1_ps(1.0f), two = _mm512_set1_ps(2.0f);
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i sign = _mm512_and_si512(bits, _mm512_set1_epi32(INT32_MIN));
    const __m512 a = _mm512_castsi512_ps(_mm512_xor_si512(bits, sign)), z = _mm512_mul_ps(a, a);
    __m512 p = _mm512_set1_ps(FR_TANH_6);
    p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(FR_TANH_5));
    p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(FR_TANH_4));
    p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(FR_TANH_3));
    p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(FR_TANH_2));
    p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(FR_TANH_1));
    p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(FR_TANH_0));
    const __m512 near = _mm512_fmadd_ps(_mm512_mul_ps(a, z), p, a);
    const __m512 e = _mm512_add_ps(fr_exp16(_mm512_mul_ps(two, a)), one);
    const __m512 far = _mm512_sub_ps(one, _mm512_div_ps(two, e));
    const __m512 y = _mm512_mask_mov_ps(far, _mm512_cmp_ps_mask(a, one, _CMP_LT_OQ), near);
    return _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(y), sign));
}

#endif
