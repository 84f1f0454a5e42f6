// quantize.c — activations to int8, AVX-512. Bound by loads; the sums come from vpdpbusd with ones.
#include "kern/avx512/avx512.h"
#include "kern/avx512/isa.h"

// Largest of |x| as bits: the order of the numbers, NaN above all. count: a multiple of 16.
FR_INLINE uint32_t largest_of(const float *x, const int count) {
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    __m512i m = _mm512_setzero_si512();
    for (int i = 0; i < count; i += 16)
        m = _mm512_max_epu32(m, _mm512_and_si512(_mm512_loadu_si512(x + i), magnitude));
    const __m256i h = _mm256_max_epu32(_mm512_castsi512_si256(m), _mm512_extracti64x4_epi64(m, 1));
    __m128i q = _mm_max_epu32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
    q = _mm_max_epu32(q, _mm_shuffle_epi32(q, 0x4e));
    q = _mm_max_epu32(q, _mm_shuffle_epi32(q, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(q);
}

// One group of `count` values: codes to q, the scale is returned.
FR_INLINE float quantize_group(int8_t *q, const float *x, const int count) {
    const uint32_t largest = largest_of(x, count);
    float amax;
    memcpy(&amax, &largest, sizeof amax);
    if (largest >= 0x7f800000u || amax < 1e-30f) {
        const uint32_t nan = 0x7fc00000u;
        memset(q, 0, (size_t)count);
        if (largest < 0x7f800000u) return 0.0f;
        memcpy(&amax, &nan, sizeof amax);
        return amax;
    }
    const __m512 inv = _mm512_set1_ps(127.0f / amax);
    for (int i = 0; i < count; i += 16) {
        const __m512i code = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + i), inv));
        _mm_storeu_si128((__m128i *)(void *)(q + i), _mm512_cvtepi32_epi8(code));
    }
    return amax / 127.0f;
}

// Sums of 16 codes, in every dword of their 128-bit lane; q: 64 codes.
FR_INLINE __m512i sums_of_16(const int8_t *q) {
    const __m512i fours = _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(1),
                                              _mm512_loadu_si512((const void *)q));
    const __m512i pairs = _mm512_add_epi32(fours, _mm512_shuffle_epi32(fours, 0x4e));
    return _mm512_add_epi32(pairs, _mm512_shuffle_epi32(pairs, 0xb1));
}

// s16[16] and s32[8] of 256 codes.
FR_INLINE void sums_of_256(int16_t *s16, int16_t *s32, const int8_t *q) {
    __m512i s = sums_of_16(q); // dword 4l + i becomes the sum of codes 64i + 16l ..
    s = _mm512_mask_blend_epi32(0x2222, s, sums_of_16(q + 64));
    s = _mm512_mask_blend_epi32(0x4444, s, sums_of_16(q + 128));
    s = _mm512_mask_blend_epi32(0x8888, s, sums_of_16(q + 192));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m256i sums = _mm512_cvtepi32_epi16(_mm512_permutexvar_epi32(order, s));
    _mm256_storeu_si256((__m256i *)(void *)s16, sums);
    const __m256i twos = _mm256_madd_epi16(sums, _mm256_set1_epi16(1));
    _mm_storeu_si128((__m128i *)(void *)s32, _mm256_cvtepi32_epi16(twos));
}

FR_INLINE int sum_of_32(const int8_t *q) {
    const __m256i ones = _mm256_set1_epi8(1);
    const __m256i twos =
        _mm256_maddubs_epi16(ones, _mm256_loadu_si256((const __m256i *)(const void *)q));
    const __m256i fours = _mm256_madd_epi16(twos, _mm256_set1_epi16(1));
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(fours), _mm256_extracti128_si256(fours, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
    return _mm_cvtsi128_si32(s);
}

void fr_quantize_avx512(const fr_act *a, const float *x, int ldx, int b0, int b1) {
    const size_t block = a->kind == FR_ACT_Q32 ? 32 : 256;
    for (int b = b0; b < b1; b++)
        for (int r = 0; r < a->n; r++) {
            const size_t cell = (size_t)b * (size_t)a->n + (size_t)r;
            const float *in = x + (size_t)r * (size_t)ldx + (size_t)b * block;
            int8_t *q = a->q + cell * block;
            if (a->kind == FR_ACT_Q32) {
                a->d[cell] = quantize_group(q, in, 32);
                a->s[cell] = sum_of_32(q);
                a->ds[cell] = a->d[cell] * (float)a->s[cell];
                continue;
            }
            a->d[2 * cell] = quantize_group(q, in, FR_GROUP_K);
            a->d[2 * cell + 1] = quantize_group(q + FR_GROUP_K, in + FR_GROUP_K, FR_GROUP_K);
            sums_of_256(a->s16 + 16 * cell, a->s32 + 8 * cell, q);
        }
}
