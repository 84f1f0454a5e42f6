// One row by itself, eight lanes at a time; the rest is computed as in ref/.
#include "kern/avx2/avx2.h"
#include "kern/avx2/lanes.h"
#include "kern/math.h"
#include <math.h>

void fr_rmsnorm_avx2(float *y, const float *x, const float *w, int n, float eps) {
    __m256 low = _mm256_setzero_ps(), high = low;
    int i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m256 x0 = _mm256_loadu_ps(x + i), x1 = _mm256_loadu_ps(x + i + 8);
        low = _mm256_fmadd_ps(x0, x0, low);
        high = _mm256_fmadd_ps(x1, x1, high);
    }
    if (i < n) { // fma(0, 0, a) leaves the other lanes as they are
        float rest[16] = {0};
        memcpy(rest, x + i, (size_t)(n - i) * sizeof *x);
        const __m256 x0 = _mm256_loadu_ps(rest), x1 = _mm256_loadu_ps(rest + 8);
        low = _mm256_fmadd_ps(x0, x0, low);
        high = _mm256_fmadd_ps(x1, x1, high);
    }
    const float factor = 1.0f / sqrtf(fr_join16(low, high) / (float)n + eps);
    const __m256 f = _mm256_set1_ps(factor);
    for (i = 0; i + 8 <= n; i += 8) {
        __m256 v = _mm256_mul_ps(_mm256_loadu_ps(x + i), f);
        if (w) v = _mm256_mul_ps(v, _mm256_loadu_ps(w + i));
        _mm256_storeu_ps(y + i, v);
    }
    for (; i < n; i++)
        y[i] = w ? (x[i] * factor) * w[i] : x[i] * factor;
}

static float mean_of(const float *x, int n) {
    __m256 low = _mm256_setzero_ps(), high = low;
    int i = 0;
    for (; i + 16 <= n; i += 16) {
        low = _mm256_add_ps(low, _mm256_loadu_ps(x + i));
        high = _mm256_add_ps(high, _mm256_loadu_ps(x + i + 8));
    }
    float rest[16] = {0}; // a + 0 leaves the other lanes as they are
    memcpy(rest, x + i, (size_t)(n - i) * sizeof *x);
    low = _mm256_add_ps(low, _mm256_loadu_ps(rest));
    high = _mm256_add_ps(high, _mm256_loadu_ps(rest + 8));
    return fr_join16(low, high) / (float)n;
}

// The mean of (x - mean)^2.
static float variance_of(const float *x, int n, float mean) {
    const __m256 m = _mm256_set1_ps(mean);
    __m256 low = _mm256_setzero_ps(), high = low;
    int i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m256 d0 = _mm256_sub_ps(_mm256_loadu_ps(x + i), m);
        const __m256 d1 = _mm256_sub_ps(_mm256_loadu_ps(x + i + 8), m);
        low = _mm256_fmadd_ps(d0, d0, low);
        high = _mm256_fmadd_ps(d1, d1, high);
    }
    float rest[16] = {0}; // fma(0, 0, a) leaves the other lanes as they are
    for (int l = 0; i + l < n; l++)
        rest[l] = x[i + l] - mean;
    const __m256 d0 = _mm256_loadu_ps(rest), d1 = _mm256_loadu_ps(rest + 8);
    low = _mm256_fmadd_ps(d0, d0, low);
    high = _mm256_fmadd_ps(d1, d1, high);
    return fr_join16(low, high) / (float)n;
}

void fr_layernorm_avx2(float *y, const float *x, const float *w, const float *b, int n, float eps) {
    const float mean = mean_of(x, n), factor = 1.0f / sqrtf(variance_of(x, n, mean) + eps);
    const __m256 m = _mm256_set1_ps(mean), f = _mm256_set1_ps(factor);
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(x + i), m), f);
        if (w) v = _mm256_mul_ps(v, _mm256_loadu_ps(w + i));
        if (b) v = _mm256_add_ps(v, _mm256_loadu_ps(b + i));
        _mm256_storeu_ps(y + i, v);
    }
    for (; i < n; i++) {
        const float v = (x[i] - mean) * factor, weighted = w ? v * w[i] : v;
        y[i] = b ? weighted + b[i] : weighted;
    }
}

void fr_add_avx2(float *y, const float *x, int n) {
    int i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(y + i), _mm256_loadu_ps(x + i)));
    for (; i < n; i++)
        y[i] += x[i];
}

void fr_scale_avx2(float *y, float factor, int n) {
    const __m256 f = _mm256_set1_ps(factor);
    int i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_loadu_ps(y + i), f));
    for (; i < n; i++)
        y[i] *= factor;
}

void fr_add_times_avx2(float *y, float factor, const float *x, int n) {
    const __m256 f = _mm256_set1_ps(factor);
    int i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_fmadd_ps(f, _mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i)));
    for (; i < n; i++)
        y[i] = __builtin_fmaf(factor, x[i], y[i]);
}

void fr_silu_mul_avx2(float *y, const float *gate, const float *up, int n) {
    const __m256 one = _mm256_set1_ps(1.0f), sign = _mm256_set1_ps(-0.0f);
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 x = _mm256_loadu_ps(gate + i);
        const __m256 d = _mm256_add_ps(one, fr_exp8(_mm256_xor_ps(x, sign)));
        const __m256 s = _mm256_div_ps(x, d);
        _mm256_storeu_ps(y + i, _mm256_mul_ps(s, _mm256_loadu_ps(up + i)));
    }
    for (; i < n; i++)
        y[i] = fr_silu(gate[i]) * up[i];
}

// fr_gelu in every lane.
FR_INLINE __m256 gelu8(__m256 x) {
    const __m256 one = _mm256_set1_ps(1.0f), two = _mm256_set1_ps(2.0f);
    const __m256 cubic =
        _mm256_fmadd_ps(_mm256_mul_ps(_mm256_set1_ps(0.044715f), x), _mm256_mul_ps(x, x), x);
    const __m256 z = _mm256_mul_ps(_mm256_set1_ps(0x1.988454p-1f), cubic);
    const __m256 d = _mm256_add_ps(fr_exp8(_mm256_mul_ps(two, z)), one);
    const __m256 t = _mm256_sub_ps(one, _mm256_div_ps(two, d));
    const __m256 half = _mm256_mul_ps(_mm256_set1_ps(0.5f), x);
    return _mm256_mul_ps(half, _mm256_add_ps(one, t));
}

void fr_clamped_mul_avx2(float *y, const float *gate, const float *up, int n) {
    const __m256 one = _mm256_set1_ps(1.0f), most = _mm256_set1_ps(FR_CLAMP_AT);
    const __m256 least = _mm256_set1_ps(-FR_CLAMP_AT), sign = _mm256_set1_ps(-0.0f);
    const __m256 rate = _mm256_set1_ps(FR_CLAMP_RATE);
    int i = 0;
    for (; i + 8 <= n; i += 8) { // the second operand stays where it is NaN
        const __m256 g = _mm256_min_ps(most, _mm256_loadu_ps(gate + i));
        const __m256 u = _mm256_max_ps(least, _mm256_min_ps(most, _mm256_loadu_ps(up + i)));
        const __m256 e = fr_exp8(_mm256_xor_ps(_mm256_mul_ps(rate, g), sign));
        const __m256 s = _mm256_div_ps(g, _mm256_add_ps(one, e));
        _mm256_storeu_ps(y + i, _mm256_mul_ps(s, _mm256_add_ps(u, one)));
    }
    for (; i < n; i++)
        y[i] = fr_clamped(gate[i], up[i]);
}

void fr_gelu_mul_avx2(float *y, const float *gate, const float *up, int n) {
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 g = gelu8(_mm256_loadu_ps(gate + i));
        _mm256_storeu_ps(y + i, _mm256_mul_ps(g, _mm256_loadu_ps(up + i)));
    }
    for (; i < n; i++)
        y[i] = fr_gelu(gate[i]) * up[i];
}

void fr_gelu_avx2(float *y, const float *x, int n) {
    int i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, gelu8(_mm256_loadu_ps(x + i)));
    for (; i < n; i++)
        y[i] = fr_gelu(x[i]);
}

void fr_softcap_avx2(float *x, int n, float cap) {
    const __m256 c = _mm256_set1_ps(cap);
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 t = fr_tanh8(_mm256_div_ps(_mm256_loadu_ps(x + i), c));
        _mm256_storeu_ps(x + i, _mm256_mul_ps(c, t));
    }
    for (; i < n; i++)
        x[i] = fr_softcap(x[i], cap);
}

static void rotate_pair(float *px, float *py, float c, float s) {
    const float x = *px, y = *py;
    *px = __builtin_fmaf(x, c, -(y * s));
    *py = __builtin_fmaf(x, s, y * c);
}

static void rope_halves(float *head, const float *cs, int half) {
    int i = 0;
    for (; i + 8 <= half; i += 8) {
        const __m256 a = _mm256_loadu_ps(cs + 2 * i), b = _mm256_loadu_ps(cs + 2 * i + 8);
        const __m256d cc = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88));
        const __m256d ss = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0xdd));
        const __m256 c = _mm256_castpd_ps(_mm256_permute4x64_pd(cc, 0xd8));
        const __m256 s = _mm256_castpd_ps(_mm256_permute4x64_pd(ss, 0xd8));
        const __m256 x = _mm256_loadu_ps(head + i), y = _mm256_loadu_ps(head + half + i);
        _mm256_storeu_ps(head + i, _mm256_fmsub_ps(x, c, _mm256_mul_ps(y, s)));
        _mm256_storeu_ps(head + half + i, _mm256_fmadd_ps(x, s, _mm256_mul_ps(y, c)));
    }
    for (; i < half; i++)
        rotate_pair(head + i, head + half + i, cs[2 * i], cs[2 * i + 1]);
}

static void rope_pairs(float *head, const float *cs, int half) {
    int i = 0;
    for (; i + 4 <= half; i += 4) {
        const __m256 v = _mm256_loadu_ps(head + 2 * i), c_s = _mm256_loadu_ps(cs + 2 * i);
        const __m256 s_c = _mm256_permute_ps(c_s, 0xb1);
        const __m256 y_terms = _mm256_mul_ps(_mm256_movehdup_ps(v), s_c);
        // even lanes x*c - y*s, odd lanes x*s + y*c
        const __m256 turned = _mm256_fmaddsub_ps(_mm256_moveldup_ps(v), c_s, y_terms);
        _mm256_storeu_ps(head + 2 * i, turned);
    }
    for (; i < half; i++)
        rotate_pair(head + 2 * i, head + 2 * i + 1, cs[2 * i], cs[2 * i + 1]);
}

void fr_rope_avx2(float *head, const float *cs, int n_rot, bool neox) {
    if (neox)
        rope_halves(head, cs, n_rot / 2);
    else
        rope_pairs(head, cs, n_rot / 2);
}

// max with the new value as the first operand drops NaN.
static float largest(const float *x, int n) {
    __m256 a = _mm256_set1_ps(-INFINITY), b = a;
    int i = 0;
    for (; i + 16 <= n; i += 16) {
        a = _mm256_max_ps(_mm256_loadu_ps(x + i), a);
        b = _mm256_max_ps(_mm256_loadu_ps(x + i + 8), b);
    }
    float lane[8], best = -INFINITY;
    _mm256_storeu_ps(lane, _mm256_max_ps(a, b));
    for (int l = 0; l < 8; l++)
        best = lane[l] > best ? lane[l] : best;
    for (; i < n; i++)
        best = x[i] > best ? x[i] : best;
    return best;
}

int fr_argmax_avx2(const float *x, int n) {
    enum { PART = 4096 }; // searched again, from the cache, when it holds the largest
    float best = -INFINITY;
    int part = -1;
    for (int i = 0; i < n; i += PART) {
        const float m = largest(x + i, n - i < PART ? n - i : PART);
        if (m > best) best = m, part = i;
    }
    if (part >= 0) {
        while (x[part] != best)
            part++;
        return part;
    }
    for (int i = 0; i < n; i++) // nothing above -inf: the first that is a number, if any
        if (x[i] == x[i]) return i;
    return 0;
}
