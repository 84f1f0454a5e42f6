// vector.c — norm, activation functions, RoPE and argmax, AVX-512. All bound by loads.
#include "kern/avx512/avx512.h"
#include "kern/avx512/lanes.h"
#include <math.h>

void fr_rmsnorm_avx512(float *y, const float *x, const float *w, int n, float eps) {
    __m512 sum = _mm512_setzero_ps();
    for (int i = 0; i < n; i += 16) { // a lane past n adds 0*0: no bit changes
        const __m512 v = _mm512_maskz_loadu_ps(fr_lane_mask(n - i), x + i);
        sum = _mm512_fmadd_ps(v, v, sum);
    }
    const __m512 factor = _mm512_set1_ps(1.0f / sqrtf(fr_join_lanes(sum) / (float)n + eps));
    for (int i = 0; i < n; i += 16) {
        const __mmask16 lanes = fr_lane_mask(n - i);
        __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, x + i), factor);
        if (w) v = _mm512_mul_ps(v, _mm512_maskz_loadu_ps(lanes, w + i));
        _mm512_mask_storeu_ps(y + i, lanes, v);
    }
}

static float mean_of(const float *x, int n) {
    __m512 sum = _mm512_setzero_ps();
    for (int i = 0; i < n; i += 16) // a lane past n adds 0: no bit changes
        sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(fr_lane_mask(n - i), x + i));
    return fr_join_lanes(sum) / (float)n;
}

// The mean of (x - mean)^2.
static float variance_of(const float *x, int n, float mean) {
    const __m512 m = _mm512_set1_ps(mean);
    __m512 sum = _mm512_setzero_ps();
    for (int i = 0; i < n; i += 16) {
        const __mmask16 lanes = fr_lane_mask(n - i);
        const __m512 d = _mm512_sub_ps(_mm512_maskz_loadu_ps(lanes, x + i), m);
        const __m512 kept = _mm512_maskz_mov_ps(lanes, d);
        sum = _mm512_fmadd_ps(kept, kept, sum);
    }
    return fr_join_lanes(sum) / (float)n;
}

void fr_layernorm_avx512(float *y, const float *x, const float *w, const float *b, int n,
                         float eps) {
    const float mean = mean_of(x, n);
    const __m512 factor = _mm512_set1_ps(1.0f / sqrtf(variance_of(x, n, mean) + eps));
    const __m512 m = _mm512_set1_ps(mean);
    for (int i = 0; i < n; i += 16) {
        const __mmask16 lanes = fr_lane_mask(n - i);
        __m512 v = _mm512_mul_ps(_mm512_sub_ps(_mm512_maskz_loadu_ps(lanes, x + i), m), factor);
        if (w) v = _mm512_mul_ps(v, _mm512_maskz_loadu_ps(lanes, w + i));
        if (b) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(lanes, b + i));
        _mm512_mask_storeu_ps(y + i, lanes, v);
    }
}

void fr_add_avx512(float *y, const float *x, int n) {
    for (int i = 0; i < n; i += 16) {
        const __mmask16 lanes = fr_lane_mask(n - i);
        const __m512 v =
            _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, y + i), _mm512_maskz_loadu_ps(lanes, x + i));
        _mm512_mask_storeu_ps(y + i, lanes, v);
    }
}

void fr_scale_avx512(float *y, float factor, int n) {
    const __m512 f = _mm512_set1_ps(factor);
    for (int i = 0; i < n; i += 16) {
        const __mmask16 lanes = fr_lane_mask(n - i);
        _mm512_mask_storeu_ps(y + i, lanes, _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, y + i), f));
    }
}

void fr_add_times_avx512(float *y, float factor, const float *x, int n) {
    const __m512 f = _mm512_set1_ps(factor);
    for (int i = 0; i < n; i += 16) {
        const __mmask16 lanes = fr_lane_mask(n - i);
        const __m512 u = _mm512_maskz_loadu_ps(lanes, x + i),
                     v = _mm512_maskz_loadu_ps(lanes, y + i);
        _mm512_mask_storeu_ps(y + i, lanes, _mm512_fmadd_ps(f, u, v));
    }
}

void fr_silu_mul_avx512(float *y, const float *gate, const float *up, int n) {
    const __m512 one = _mm512_set1_ps(1.0f);
    const __m512i sign = _mm512_set1_epi32(INT32_MIN);
    for (int i = 0; i < n; i += 16) {
        const __mmask16 lanes = fr_lane_mask(n - i);
        const __m512 x = _mm512_maskz_loadu_ps(lanes, gate + i);
        const __m512 u = _mm512_maskz_loadu_ps(lanes, up + i);
        const __m512 minus = _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(x), sign));
        const __m512 silu = _mm512_div_ps(x, _mm512_add_ps(one, fr_exp16(minus)));
        _mm512_mask_storeu_ps(y + i, lanes, _mm512_mul_ps(silu, u));
    }
}

void fr_clamped_mul_avx512(float *y, const float *gate, const float *up, int n) {
    const __m512 one = _mm512_set1_ps(1.0f), most = _mm512_set1_ps(FR_CLAMP_AT);
    const __m512 least = _mm512_set1_ps(-FR_CLAMP_AT), rate = _mm512_set1_ps(FR_CLAMP_RATE);
    const __m512i sign = _mm512_set1_epi32(INT32_MIN);
    for (int i = 0; i < n; i += 16) { // the second operand stays where it is NaN
        const __mmask16 lanes = fr_lane_mask(n - i);
        const __m512 g = _mm512_min_ps(most, _mm512_maskz_loadu_ps(lanes, gate + i));
        const __m512 below = _mm512_min_ps(most, _mm512_maskz_loadu_ps(lanes, up + i));
        const __m512 u = _mm512_max_ps(least, below), x = _mm512_mul_ps(rate, g);
        const __m512 minus = _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(x), sign));
        const __m512 s = _mm512_div_ps(g, _mm512_add_ps(one, fr_exp16(minus)));
        _mm512_mask_storeu_ps(y + i, lanes, _mm512_mul_ps(s, _mm512_add_ps(u, one)));
    }
}

// fr_gelu in every lane.
FR_INLINE __m512 gelu16(__m512 x) {
    const __m512 one = _mm512_set1_ps(1.0f), two = _mm512_set1_ps(2.0f);
    const __m512 cube =
        _mm512_fmadd_ps(_mm512_mul_ps(_mm512_set1_ps(0.044715f), x), _mm512_mul_ps(x, x), x);
    const __m512 z = _mm512_mul_ps(_mm512_set1_ps(0x1.988454p-1f), cube);
    const __m512 e = _mm512_add_ps(fr_exp16(_mm512_mul_ps(two, z)), one);
    const __m512 t = _mm512_sub_ps(one, _mm512_div_ps(two, e));
    const __m512 half = _mm512_mul_ps(_mm512_set1_ps(0.5f), x);
    return _mm512_mul_ps(half, _mm512_add_ps(one, t));
}

void fr_gelu_mul_avx512(float *y, const float *gate, const float *up, int n) {
    for (int i = 0; i < n; i += 16) {
        const __mmask16 lanes = fr_lane_mask(n - i);
        const __m512 g = gelu16(_mm512_maskz_loadu_ps(lanes, gate + i));
        const __m512 u = _mm512_maskz_loadu_ps(lanes, up + i);
        _mm512_mask_storeu_ps(y + i, lanes, _mm512_mul_ps(g, u));
    }
}

void fr_gelu_avx512(float *y, const float *x, int n) {
    for (int i = 0; i < n; i += 16) {
        const __mmask16 lanes = fr_lane_mask(n - i);
        _mm512_mask_storeu_ps(y + i, lanes, gelu16(_mm512_maskz_loadu_ps(lanes, x + i)));
    }
}

void fr_softcap_avx512(float *x, int n, float cap) {
    const __m512 c = _mm512_set1_ps(cap);
    for (int i = 0; i < n; i += 16) {
        const __mmask16 lanes = fr_lane_mask(n - i);
        const __m512 t = fr_tanh16(_mm512_div_ps(_mm512_maskz_loadu_ps(lanes, x + i), c));
        _mm512_mask_storeu_ps(x + i, lanes, _mm512_mul_ps(c, t));
    }
}

// The pairs of `cs` are (cos, sin); x and y of 16 pairs lie n_rot/2 apart.
static void rope_neox(float *head, const float *cs, int n_rot) {
    const int half = n_rot / 2;
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    for (int i = 0; i < half; i += 16) {
        const __mmask16 lanes = fr_lane_mask(half - i);
        const __m512 a = _mm512_maskz_loadu_ps(fr_lane_mask(n_rot - 2 * i), cs + 2 * i);
        const int left = n_rot - 2 * i - 16;
        const __m512 b = _mm512_maskz_loadu_ps(left > 0 ? fr_lane_mask(left) : 0, cs + 2 * i + 16);
        const __m512 c = _mm512_permutex2var_ps(a, even, b), s = _mm512_permutex2var_ps(a, odd, b);
        const __m512 x = _mm512_maskz_loadu_ps(lanes, head + i);
        const __m512 y = _mm512_maskz_loadu_ps(lanes, head + half + i);
        _mm512_mask_storeu_ps(head + i, lanes, _mm512_fmsub_ps(x, c, _mm512_mul_ps(y, s)));
        _mm512_mask_storeu_ps(head + half + i, lanes, _mm512_fmadd_ps(x, s, _mm512_mul_ps(y, c)));
    }
}

// Pairs side by side: even lanes get x*c - y*s, odd lanes x*s + y*c.
static void rope_pairs(float *head, const float *cs, int n_rot) {
    for (int i = 0; i < n_rot; i += 16) {
        const __mmask16 lanes = fr_lane_mask(n_rot - i);
        const __m512 v = _mm512_maskz_loadu_ps(lanes, head + i);
        const __m512 w = _mm512_maskz_loadu_ps(lanes, cs + i);
        const __m512 x = _mm512_moveldup_ps(v), y = _mm512_movehdup_ps(v);
        const __m512 swapped = _mm512_permute_ps(w, 0xb1);
        _mm512_mask_storeu_ps(head + i, lanes, _mm512_fmaddsub_ps(x, w, _mm512_mul_ps(y, swapped)));
    }
}

void fr_rope_avx512(float *head, const float *cs, int n_rot, bool neox) {
    if (neox)
        rope_neox(head, cs, n_rot);
    else
        rope_pairs(head, cs, n_rot);
}

int fr_argmax_avx512(const float *x, int n) {
    __m512 best = _mm512_set1_ps(-INFINITY);
    __m512i where = _mm512_set1_epi32(INT32_MAX);
    __m512i index = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int i = 0; i < n; i += 16) {
        const __mmask16 lanes = fr_lane_mask(n - i);
        const __m512 v = _mm512_maskz_loadu_ps(lanes, x + i);
        const __mmask16 more = _mm512_cmp_ps_mask(v, best, _CMP_GT_OQ) & lanes;
        best = _mm512_mask_mov_ps(best, more, v);
        where = _mm512_mask_mov_epi32(where, more, index);
        index = _mm512_add_epi32(index, _mm512_set1_epi32(16));
    }
    float value[16];
    int32_t at[16];
    _mm512_storeu_ps(value, best);
    _mm512_storeu_si512(at, where);
    int found = 0;
    for (int l = 1; l < 16; l++)
        if (value[l] > value[found] || (value[l] == value[found] && at[l] < at[found])) found = l;
    if (at[found] != INT32_MAX) return at[found];
    for (int i = 0; i < n; i++) // nothing above -inf
        if (x[i] == -INFINITY) return i;
    return 0;
}
