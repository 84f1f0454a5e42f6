// quantize.c — activations to int8. Bound by loads; a group's values are read twice from L1.
#include "kern/avx2/tile.h"
#include "kern/half.h"

// The largest |x| of a group as bits: the order of the numbers, NaN above all.
FR_INLINE uint32_t largest_of(const float *x, int count) {
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i most = _mm256_setzero_si256();
    for (int i = 0; i < count; i += 8)
        most = _mm256_max_epu32(
            most, _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(x + i)), magnitude));
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

FR_INLINE __m256i round_eight(const float *x, __m256 inv) {
    const __m256 magic = _mm256_set1_ps(0x1.8p23f); // rounds to an integer, nearest even
    const __m256 t = _mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(x), inv), magic);
    return _mm256_cvttps_epi32(_mm256_sub_ps(t, magic));
}

// 32 codes, and their sums of 16.
FR_INLINE void codes_of(int8_t *q, const float *x, __m256 inv, int sums[2]) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); // packs work within 128 bits
    const __m256i ab = _mm256_packs_epi32(round_eight(x, inv), round_eight(x + 8, inv));
    const __m256i cd = _mm256_packs_epi32(round_eight(x + 16, inv), round_eight(x + 24, inv));
    const __m256i v = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(ab, cd), order);
    _mm256_storeu_si256((__m256i *)q, v);
    const __m256i fours =
        _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), v), _mm256_set1_epi16(1));
    const __m256i twos = _mm256_add_epi32(fours, _mm256_shuffle_epi32(fours, 0x4e));
    const __m256i all = _mm256_add_epi32(twos, _mm256_shuffle_epi32(twos, 0xb1));
    sums[0] = _mm_cvtsi128_si32(_mm256_castsi256_si128(all));
    sums[1] = _mm_cvtsi128_si32(_mm256_extracti128_si256(all, 1));
}

// One group of 32 or 128: codes, sums of 16 codes each; the scale is returned.
FR_INLINE float quantize_group(int8_t *q, const float *x, int count, int *sums) {
    const uint32_t largest = largest_of(x, count);
    const float amax = fr_f32_from_bits(largest);
    if (largest >= 0x7f800000u || amax < 1e-30f) {
        for (int i = 0; i < count; i += 32)
            _mm256_storeu_si256((__m256i *)(q + i), _mm256_setzero_si256());
        for (int i = 0; i < count / 16; i++)
            sums[i] = 0;
        return largest >= 0x7f800000u ? fr_f32_from_bits(0x7fc00000u) : 0.0f;
    }
    const __m256 inv = _mm256_set1_ps(127.0f / amax);
    for (int i = 0; i < count; i += 32)
        codes_of(q + i, x + i, inv, sums + i / 16);
    return amax / 127.0f;
}

static void quantize_q32(const fr_act *a, const float *x, size_t cell) {
    int sums[2];
    a->d[cell] = quantize_group(a->q + 32 * cell, x, 32, sums);
    a->s[cell] = sums[0] + sums[1];
    a->ds[cell] = a->d[cell] * (float)a->s[cell];
}

static void quantize_q256(const fr_act *a, const float *x, size_t cell) {
    int sums[16];
    for (size_t g = 0; g < 2; g++)
        a->d[2 * cell + g] = quantize_group(a->q + 256 * cell + FR_GROUP_K * g, x + FR_GROUP_K * g,
                                            FR_GROUP_K, sums + 8 * g);
    for (size_t j = 0; j < 16; j++)
        a->s16[16 * cell + j] = (int16_t)sums[j];
    for (size_t j = 0; j < 8; j++)
        a->s32[8 * cell + j] = (int16_t)(sums[2 * j] + sums[2 * j + 1]);
}

void fr_quantize_avx2(const fr_act *a, const float *x, int ldx, int b0, int b1) {
    const size_t block = a->kind == FR_ACT_Q32 ? 32 : 256;
    for (int b = b0; b < b1; b++)
        for (int r = 0; r < a->n; r++) {
            const size_t cell = (size_t)b * (size_t)a->n + (size_t)r;
            const float *in = x + (size_t)r * (size_t)ldx + (size_t)b * block;
            if (a->kind == FR_ACT_Q32)
                quantize_q32(a, in, cell);
            else
                quantize_q256(a, in, cell);
        }
}
