// draw.c — what draws from logits, AVX-512. Weights are bound by the arithmetic of exp, the rest by
// loads.
#include "kern/avx512/avx512.h"
#include "kern/avx512/lanes.h"
#include "kern/math.h"
#include <math.h>

void fr_run_max_avx512(float *most, const float *x, int n) {
    const __m512 none = _mm512_set1_ps(-INFINITY);
    for (; n > 0; n -= FR_RUN, x += FR_RUN) {
        __m512 a = none; // as the second operand: NaN is dropped
        for (int i = 0; i < FR_RUN && i < n; i += 16) {
            const __mmask16 lanes = fr_lane_mask(n - i);
            const __m512 v = _mm512_maskz_loadu_ps(lanes, x + i);
            a = _mm512_max_ps(_mm512_mask_mov_ps(none, lanes, v), a);
        }
        *most++ = fr_largest_lane(a);
    }
}

// fr_fixed in eight lanes: the product is exact, the conversion rounds to nearest even.
FR_INLINE __m512i fixed8(__m256 w) {
    return _mm512_cvtps_epi64(_mm256_mul_ps(w, _mm256_set1_ps(0x1p40f)));
}

FR_INLINE __m512i fixed16(__m512 w) {
    return _mm512_add_epi64(fixed8(_mm512_castps512_ps256(w)),
                            fixed8(_mm512_extractf32x8_ps(w, 1)));
}

FR_INLINE uint64_t sum8(__m512i a) {
    uint64_t lane[8], sum = 0;
    _mm512_storeu_si512(lane, a);
    for (int l = 0; l < 8; l++)
        sum += lane[l];
    return sum;
}

uint64_t fr_weigh_avx512(float *w, const float *x, int n, float best, float rate, float low) {
    const __m512 b = _mm512_set1_ps(best), r = _mm512_set1_ps(rate), l = _mm512_set1_ps(low);
    __m512i sums = _mm512_setzero_si512();
    for (int i = 0; i < n; i += 16) {
        const __mmask16 lanes = fr_lane_mask(n - i);
        const __m512 v = _mm512_maskz_loadu_ps(lanes, x + i);
        const __mmask16 kept = _mm512_cmp_ps_mask(v, l, _CMP_GE_OQ) & lanes;
        const __m512 e = _mm512_maskz_mov_ps(kept, fr_exp16(_mm512_mul_ps(_mm512_sub_ps(v, b), r)));
        _mm512_mask_storeu_ps(w + i, lanes, e);
        sums = _mm512_add_epi64(sums, fixed16(e));
    }
    return sum8(sums);
}

typedef struct interval {
    __m512 low, high;
    __m512i index; // of the next 16
    int32_t *at;
    int m;
} interval;

// Collects the indices of those of 16 that lie in the interval; gives those above it. Compressed in
// a register, as to memory it is slow on Zen 4; stored whole (at has room for all) and without a
// jump.
FR_INLINE __mmask16 collect(interval *r, __m512 v, __mmask16 lanes) {
    const __mmask16 over = _mm512_cmp_ps_mask(v, r->high, _CMP_GT_OQ) & lanes;
    const __mmask16 from_low = _mm512_cmp_ps_mask(v, r->low, _CMP_GE_OQ) & lanes;
    const __mmask16 in = (__mmask16)(from_low & ~over);
    const __m512i found = _mm512_maskz_compress_epi32(in, r->index);
    if (lanes == 0xffff)
        _mm512_storeu_si512(r->at + r->m, found);
    else
        _mm512_mask_storeu_ps(r->at + r->m, fr_lane_mask(__builtin_popcount(in)),
                              _mm512_castsi512_ps(found));
    r->m += __builtin_popcount(in);
    r->index = _mm512_add_epi32(r->index, _mm512_set1_epi32(16));
    return over;
}

int fr_split_avx512(int32_t *at, const float *x, const float *w, int n, float low, float high,
                    uint64_t *above) {
    interval r = {_mm512_set1_ps(low), _mm512_set1_ps(high),
                  _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), at, 0};
    __m512i sums = _mm512_setzero_si512();
    uint64_t count = 0;
    int i = 0;
    if (w)
        for (; i + 16 <= n; i += 16) {
            const __mmask16 over = collect(&r, _mm512_loadu_ps(x + i), 0xffff);
            sums = _mm512_add_epi64(sums, fixed16(_mm512_maskz_loadu_ps(over, w + i)));
        }
    else
        for (; i + 16 <= n; i += 16)
            count += (unsigned)__builtin_popcount(collect(&r, _mm512_loadu_ps(x + i), 0xffff));
    if (i < n) {
        const __mmask16 lanes = fr_lane_mask(n - i);
        const __mmask16 over = collect(&r, _mm512_maskz_loadu_ps(lanes, x + i), lanes);
        if (w)
            sums = _mm512_add_epi64(sums, fixed16(_mm512_maskz_loadu_ps(over, w + i)));
        else
            count += (unsigned)__builtin_popcount(over);
    }
    *above += sum8(sums) + (count << FR_FIXED_BITS);
    return r.m;
}
