// quantize.c — activations to int8, AVX-512.
//
// Sixteen groups at a time, in the order of their places in the activations, so that scales and
// sums are vectors: largest values and sums of codes meet across lanes in one tree for all sixteen,
// and one division serves them.
#include "kern/avx512/avx512.h"
#include "kern/avx512/isa.h"
#include "kern/quantize_walk.h"
#include <math.h>

enum { GROUPS = 16 };

FR_INLINE __m512i join(const bool largest, __m512i a, __m512i b) {
    return largest ? _mm512_max_epu32(a, b) : _mm512_add_epi32(a, b);
}

// Lane i: the largest (unsigned) or the sum of the 16 lanes of v[i].
FR_INLINE __m512i join_lanes16(const bool largest, const __m512i *v) {
    __m512i two[8], four[4], half[2];
    FR_UNROLL
    for (int i = 0; i < 8; i++)
        two[i] = join(largest, _mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]),
                      _mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]));
    FR_UNROLL
    for (int i = 0; i < 4; i++)
        four[i] = join(largest, _mm512_unpacklo_epi64(two[2 * i], two[2 * i + 1]),
                       _mm512_unpackhi_epi64(two[2 * i], two[2 * i + 1]));
    FR_UNROLL
    for (int i = 0; i < 2; i++)
        half[i] = join(largest, _mm512_shuffle_i32x4(four[2 * i], four[2 * i + 1], 0x88),
                       _mm512_shuffle_i32x4(four[2 * i], four[2 * i + 1], 0xdd));
    return join(largest, _mm512_shuffle_i32x4(half[0], half[1], 0x88),
                _mm512_shuffle_i32x4(half[0], half[1], 0xdd));
}

// `groups` groups of `count` values (32 or 128) from x[i] on: their codes, one group after the
// other, to q, their scales to d; returns the sum of each group's codes.
FR_INLINE __m512i quantize_groups(const int count, int8_t *q, float *d, const float *const *x,
                                  int groups) {
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    __m512i v[GROUPS];
    _Alignas(64) float inverse[GROUPS];
    for (int g = 0; g < GROUPS; g++) {
        v[g] = _mm512_setzero_si512();
        if (g >= groups) continue;
        FR_UNROLL
        for (int i = 0; i < count; i += 16) {
            const __m512i bits = _mm512_loadu_si512((const void *)(x[g] + i));
            v[g] = _mm512_max_epu32(v[g], _mm512_and_si512(bits, magnitude));
        }
    }
    // |x| as bits has the order of the numbers, NaN above all. A group that is not finite, or next
    // to nothing, is multiplied by 0; a result that is no number becomes the code 0 too.
    const __m512i largest = join_lanes16(true, v);
    const __m512 amax = _mm512_castsi512_ps(largest), c127 = _mm512_set1_ps(127.0f);
    const __mmask16 finite = _mm512_cmp_ps_mask(amax, _mm512_set1_ps(INFINITY), _CMP_LT_OQ);
    const __mmask16 some = _mm512_cmp_ps_mask(amax, _mm512_set1_ps(1e-30f), _CMP_NLT_UQ);
    _mm512_store_ps(inverse, _mm512_maskz_mov_ps(finite & some, _mm512_div_ps(c127, amax)));
    const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000));
    const __m512 scale = _mm512_maskz_mov_ps(some, _mm512_div_ps(amax, c127));
    _mm512_mask_storeu_ps(d, fr_lane_mask(groups), _mm512_mask_mov_ps(nan, finite, scale));
    for (int g = 0; g < groups; g++, q += count) {
        const __m512 inv = _mm512_set1_ps(inverse[g]);
        v[g] = _mm512_setzero_si512();
        FR_UNROLL
        for (int i = 0; i < count; i += 16) {
            const __m512i code = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x[g] + i), inv));
            const __m128i bytes = _mm512_cvtepi32_epi8(code);
            _mm_storeu_si128((__m128i *)(void *)(q + i), bytes);
            v[g] = _mm512_add_epi32(v[g], _mm512_cvtepi8_epi32(bytes));
        }
    }
    return count == 32 ? join_lanes16(false, v) : v[0];
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

static void quantize_32(const fr_act *a, fr_quantize_walk w, size_t cell, size_t end) {
    const float *x[GROUPS];
    for (int groups; cell < end; cell += (size_t)groups) {
        groups = fr_quantize_take(&w, x, GROUPS, end - cell);
        const __m512i sum = quantize_groups(32, a->q + 32 * cell, a->d + cell, x, groups);
        const __mmask16 lanes = fr_lane_mask(groups);
        const __m512 d = _mm512_maskz_loadu_ps(lanes, a->d + cell);
        _mm512_mask_storeu_ps((float *)(void *)(a->s + cell), lanes, _mm512_castsi512_ps(sum));
        _mm512_mask_storeu_ps(a->ds + cell, lanes, _mm512_mul_ps(d, _mm512_cvtepi32_ps(sum)));
    }
}

static void quantize_256(const fr_act *a, fr_quantize_walk w, size_t cell, size_t end) {
    const float *x[GROUPS];
    for (int groups; cell < end; cell += (size_t)groups / 2) {
        groups = fr_quantize_take(&w, x, GROUPS, 2 * (end - cell));
        quantize_groups(FR_GROUP_K, a->q + 256 * cell, a->d + 2 * cell, x, groups);
        for (size_t i = cell; i < cell + (size_t)groups / 2; i++)
            sums_of_256(a->s16 + 16 * i, a->s32 + 8 * i, a->q + 256 * i);
    }
}

void fr_quantize_avx512(const fr_act *a, const float *x, int ldx, int b0, int b1) {
    const bool small = a->kind == FR_ACT_Q32;
    const fr_quantize_walk w = fr_quantize_walk_from(a, x, ldx, b0);
    const size_t from = (size_t)b0 * (size_t)a->n, to = (size_t)b1 * (size_t)a->n;
    (small ? quantize_32 : quantize_256)(a, w, from, to);
}
