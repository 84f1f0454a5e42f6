// quantize.c — activations to int8, AVX2.
//
// Eight groups at a time, in the order of their places in the activations, so that scales and sums
// are vectors: largest values and sums of codes meet across lanes in one tree for all eight, and
// one division serves them.
#include "kern/avx2/tile.h"
#include "kern/quantize_walk.h"
#include <math.h>
#include <string.h>

enum { GROUPS = 8 };

FR_INLINE __m256i join(const bool largest, __m256i a, __m256i b) {
    return largest ? _mm256_max_epu32(a, b) : _mm256_add_epi32(a, b);
}

// Dword i of each 128 bits: the largest (unsigned) or the sum of the four of v[i] there.
FR_INLINE __m256i join_lanes4(const bool largest, const __m256i *v) {
    __m256i two[2];
    FR_UNROLL
    for (int i = 0; i < 2; i++)
        two[i] = join(largest, _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]),
                      _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]));
    return join(largest, _mm256_unpacklo_epi64(two[0], two[1]),
                _mm256_unpackhi_epi64(two[0], two[1]));
}

// Lane i: the same of the eight lanes of v[i].
FR_INLINE __m256i join_lanes8(const bool largest, const __m256i *v) {
    const __m256i a = join_lanes4(largest, v), b = join_lanes4(largest, v + 4);
    return join(largest, _mm256_permute2x128_si256(a, b, 0x20),
                _mm256_permute2x128_si256(a, b, 0x31));
}

FR_INLINE __m256i largest_of(const int count, const float *x) {
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i most = _mm256_setzero_si256();
    FR_UNROLL
    for (int i = 0; i < count; i += 8) {
        const __m256i bits = _mm256_loadu_si256((const __m256i *)(x + i));
        most = _mm256_max_epu32(most, _mm256_and_si256(bits, magnitude));
    }
    return most;
}

FR_INLINE __m256i round_eight(const float *x, __m256 inverse) {
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), inverse));
}

// 32 codes. `usable` is 0 where `inverse` is 0: there a value that is no number would become -128.
FR_INLINE __m256i codes_of(const float *x, __m256 inverse, __m256i usable) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); // packs work within 128 bits
    const __m256i ab = _mm256_packs_epi32(round_eight(x, inverse), round_eight(x + 8, inverse));
    const __m256i cd =
        _mm256_packs_epi32(round_eight(x + 16, inverse), round_eight(x + 24, inverse));
    const __m256i codes = _mm256_packs_epi16(_mm256_and_si256(ab, usable), //
                                             _mm256_and_si256(cd, usable));
    return _mm256_permutevar8x32_epi32(codes, order);
}

FR_INLINE __m256i sums_of_four(__m256i codes) {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), codes),
                             _mm256_set1_epi16(1));
}

// The first `groups` lanes to p.
FR_INLINE void put(void *p, __m256 lanes, int groups) {
    _Alignas(32) float all[GROUPS];
    if (groups == GROUPS) {
        _mm256_storeu_ps(p, lanes);
        return;
    }
    _mm256_store_ps(all, lanes);
    memcpy(p, all, (size_t)groups * sizeof *all);
}

// `groups` groups of `count` values (32 or 128) from x[i] on: their codes, one group after the
// other, to q, their scales to *d; returns the sum of each group's codes, of 32 values.
FR_INLINE __m256i quantize_groups(const int count, int8_t *q, __m256 *d, const float *const *x,
                                  int groups) {
    __m256i v[GROUPS];
    _Alignas(32) float inverse[GROUPS];
    _Alignas(32) int32_t usable[GROUPS];
    for (int g = 0; g < GROUPS; g++)
        v[g] = g < groups ? largest_of(count, x[g]) : _mm256_setzero_si256();
    // |x| as bits has the order of the numbers, NaN above all. Codes of a group that is not finite,
    // or next to nothing, are 0.
    const __m256 amax = _mm256_castsi256_ps(join_lanes8(true, v)), c127 = _mm256_set1_ps(127.0f);
    const __m256 finite = _mm256_cmp_ps(amax, _mm256_set1_ps(INFINITY), _CMP_LT_OQ);
    const __m256 some = _mm256_cmp_ps(amax, _mm256_set1_ps(1e-30f), _CMP_NLT_UQ);
    const __m256 both = _mm256_and_ps(finite, some);
    _mm256_store_ps(inverse, _mm256_and_ps(both, _mm256_div_ps(c127, amax)));
    _mm256_store_ps((float *)(void *)usable, both);
    const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
    const __m256 scale = _mm256_and_ps(some, _mm256_div_ps(amax, c127));
    *d = _mm256_blendv_ps(nan, scale, finite);
    for (int g = 0; g < groups; g++, q += count) {
        const __m256 inv = _mm256_broadcast_ss(inverse + g);
        FR_UNROLL
        for (int i = 0; i < count; i += 32) {
            const __m256i codes = codes_of(x[g] + i, inv, broadcast(usable + g));
            _mm256_storeu_si256((__m256i *)(q + i), codes);
            if (count == 32) v[g] = sums_of_four(codes);
        }
    }
    return count == 32 ? join_lanes8(false, v) : v[0];
}

// s16[16] and s32[8] of 256 codes.
FR_INLINE void sums_of_256(int16_t *s16, int16_t *s32, const int8_t *q) {
    __m256i v[8]; // a half of each: 16 codes
    FR_UNROLL
    for (int i = 0; i < 8; i++)
        v[i] = sums_of_four(_mm256_loadu_si256((const __m256i *)(q + 32 * i)));
    const __m256i all = _mm256_packs_epi32(join_lanes4(false, v), join_lanes4(false, v + 4));
    const __m128i even = _mm256_castsi256_si128(all), odd = _mm256_extracti128_si256(all, 1);
    _mm_storeu_si128((__m128i *)s16, _mm_unpacklo_epi16(even, odd));
    _mm_storeu_si128((__m128i *)(s16 + 8), _mm_unpackhi_epi16(even, odd));
    _mm_storeu_si128((__m128i *)s32, _mm_add_epi16(even, odd));
}

static void quantize_32(const fr_act *a, fr_quantize_walk w, size_t cell, size_t end) {
    const float *x[GROUPS];
    __m256 d;
    for (int groups; cell < end; cell += (size_t)groups) {
        groups = fr_quantize_take(&w, x, GROUPS, end - cell);
        const __m256i sum = quantize_groups(32, a->q + 32 * cell, &d, x, groups);
        put(a->d + cell, d, groups);
        put(a->s + cell, _mm256_castsi256_ps(sum), groups);
        put(a->ds + cell, _mm256_mul_ps(d, _mm256_cvtepi32_ps(sum)), groups);
    }
}

static void quantize_256(const fr_act *a, fr_quantize_walk w, size_t cell, size_t end) {
    const float *x[GROUPS];
    __m256 d;
    for (int groups; cell < end; cell += (size_t)groups / 2) {
        groups = fr_quantize_take(&w, x, GROUPS, 2 * (end - cell));
        quantize_groups(FR_GROUP_K, a->q + 256 * cell, &d, x, groups);
        put(a->d + 2 * cell, d, groups);
        for (size_t i = cell; i < cell + (size_t)groups / 2; i++)
            sums_of_256(a->s16 + 16 * i, a->s32 + 8 * i, a->q + 256 * i);
    }
}

void fr_quantize_avx2(const fr_act *a, const float *x, int ldx, int b0, int b1) {
    const fr_quantize_walk w = fr_quantize_walk_from(a, x, ldx, b0);
    const size_t from = (size_t)b0 * (size_t)a->n, to = (size_t)b1 * (size_t)a->n;
    (a->kind == FR_ACT_Q32 ? quantize_32 : quantize_256)(a, w, from, to);
}
