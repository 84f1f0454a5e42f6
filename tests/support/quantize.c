// quantize.c — f32 to any type, for tests: every sub-block by its own range, no search.
#include "quantize.h"
#include "kern/dequant.h"
#include "kern/half.h"
#include "kern/iq.h"
#include "support/bf16.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static void store_u16(uint8_t *p, uint32_t v) {
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

// Stores x as f16 and gives what is now stored, so that the integers are chosen for the scale as
// read back.
static float store_f16(uint8_t *p, float x) {
    const uint16_t h = fr_f16_from_f32_sat(x);
    store_u16(p, h);
    return fr_f16_to_f32(h);
}

// round(x / d), kept in low..high; 0 (or the nearest allowed) for d = 0.
static int level(float x, float d, int low, int high) {
    const float q = d != 0 ? rintf(x / d) : 0;
    return q < (float)low ? low : q > (float)high ? high : (int)q;
}

static float largest(const float *x, int n) {
    float a = 0;
    for (int i = 0; i < n; i++)
        a = fmaxf(a, fabsf(x[i]));
    return a;
}

// The range of x together with 0, so that the offset of q2_k, q4_k, q5_k (−dmin·n ≤ 0) can reach
// its low end.
static void range(const float *x, int n, float *low, float *high) {
    *low = *high = 0;
    for (int i = 0; i < n; i++) {
        *low = fminf(*low, x[i]);
        *high = fmaxf(*high, x[i]);
    }
}

static void put_nibble(uint8_t *q, int i, int v) {
    if (i < 16)
        q[i] = (uint8_t)((q[i] & 0xf0) | v);
    else
        q[i - 16] = (uint8_t)((q[i - 16] & 15) | v << 4);
}

// d · (q − zero), q in 0..2·zero−1; the fifth bits, if any, at `fifth`.
static void symmetric32(const float *x, uint8_t *b, uint8_t *fifth, uint8_t *nibbles, int zero) {
    const float d = store_f16(b, largest(x, 32) / (float)(zero - 1));
    for (int i = 0; i < 32; i++) {
        const int q = level(x[i], d, -zero, zero - 1) + zero;
        put_nibble(nibbles, i, q & 15);
        if (fifth) fifth[i / 8] |= (uint8_t)(q >> 4 << i % 8);
    }
}

// d · q + m, q in 0..top.
static void ranged32(const float *x, uint8_t *b, uint8_t *fifth, uint8_t *nibbles, int top) {
    float low = x[0], high = x[0];
    for (int i = 1; i < 32; i++) {
        low = fminf(low, x[i]);
        high = fmaxf(high, x[i]);
    }
    const float d = store_f16(b, (high - low) / (float)top), m = store_f16(b + 2, low);
    for (int i = 0; i < 32; i++) {
        const int q = level(x[i] - m, d, 0, top);
        put_nibble(nibbles, i, q & 15);
        if (fifth) fifth[i / 8] |= (uint8_t)(q >> 4 << i % 8);
    }
}

static void block_q8_0(const float *x, uint8_t *b) {
    const float d = store_f16(b, largest(x, 32) / 127);
    for (int i = 0; i < 32; i++)
        b[2 + i] = (uint8_t)(int8_t)level(x[i], d, -127, 127);
}

// The index of the value nearest to x / d.
static int table_index(const int8_t values[16], float x, float d) {
    int best = 7;
    const float t = d != 0 ? x / d : 0;
    for (int k = 0; k < 16; k++)
        if (fabsf(t - values[k]) < fabsf(t - values[best])) best = k;
    return best;
}

static void block_iq4_nl(const float *x, uint8_t *b) {
    const float d = store_f16(b, largest(x, 32) / 113);
    for (int i = 0; i < 32; i++)
        put_nibble(b + 2, i, table_index(fr_iq4_values, x[i], d));
}

static void block_iq4_xs(const float *x, uint8_t *b) {
    const float d = store_f16(b, largest(x, 256) / (113 * 31));
    for (int sub = 0; sub < 8; sub++) {
        const float *part = x + sub * 32;
        const int s = level(largest(part, 32) / 113, d, 0, 31) + 32;
        b[4 + sub / 2] |= (uint8_t)((s & 15) << sub % 2 * 4);
        b[2 + sub / 4] |= (uint8_t)(s >> 4 << sub % 4 * 2);
        for (int i = 0; i < 32; i++)
            put_nibble(b + 8 + sub * 16, i,
                       table_index(fr_iq4_values, part[i], d * (float)(s - 32)));
    }
}

// The least power of two with which the largest value reaches.
static void block_mxfp4(const float *x, uint8_t *b) {
    const float most = largest(x, 32);
    while (b[0] < 254 && 12 * fr_bf16_to_f32(fr_bf16_of_e8m0(b[0])) < most)
        b[0]++;
    const float d = fr_bf16_to_f32(fr_bf16_of_e8m0(b[0]));
    for (int i = 0; i < 32; i++)
        put_nibble(b + 1, i, most > 0 ? table_index(fr_mxfp4_values, x[i], d) : 0);
}

// The grid's entry that is nearest to eight sizes in units of d / 8 * scale.
static int grid_entry(const float *x, float unit) {
    int best = 0;
    float least = INFINITY;
    for (int e = 0; e < 1024; e++) {
        float error = 0;
        for (int i = 0; i < 8; i++) {
            const float off = fabsf(x[i]) - unit * fr_iq2_values[fr_iq2_s_grid[e] >> 2 * i & 3];
            error += off * off;
        }
        if (error < least) least = error, best = e;
    }
    return best;
}

static void block_iq2_s(const float *x, uint8_t *b) {
    const float d = store_f16(b, largest(x, 256) * 8 / (43 * 31));
    for (int s = 0; s < 16; s++) {
        const float *part = x + 16 * s;
        const float steps = d > 0 ? largest(part, 16) * 8 / (43 * d) : 0;
        const int scale = (int)fminf(15, fmaxf(0, ceilf((steps - 1) / 2)));
        b[74 + s / 2] |= (uint8_t)(scale << s % 2 * 4);
        for (int k = 0; k < 16; k++)
            b[34 + 2 * s + k / 8] |= (uint8_t)((part[k] < 0) << k % 8);
        for (int half = 0; half < 2; half++) {
            const int e = grid_entry(part + 8 * half, d / 8 * (float)(2 * scale + 1)),
                      at = 2 * s + half;
            b[2 + at] = (uint8_t)e;
            b[66 + at / 4] |= (uint8_t)(e >> 8 << at % 4 * 2);
        }
    }
}

static void put_pair(uint8_t *q, int i, int v) {
    q[i / 128 * 32 + i % 32] |= (uint8_t)(v << i % 128 / 32 * 2);
}

// Scales and minima of sub-blocks of `len`, as small integers times d and dmin: what q2_k, q4_k and
// q5_k share.
typedef struct ranges {
    float d, dmin;
    int scale[16], minimum[16];
} ranges;

static ranges find_ranges(const float *x, int len, int top, int top_scale, uint8_t *d_at,
                          uint8_t *m_at) {
    ranges r = {0};
    float step[16], depth[16], most_step = 0, most_depth = 0;
    const int n = 256 / len;
    for (int s = 0; s < n; s++) {
        float low, high;
        range(x + s * len, len, &low, &high);
        step[s] = (high - low) / (float)top;
        depth[s] = -low;
        most_step = fmaxf(most_step, step[s]);
        most_depth = fmaxf(most_depth, depth[s]);
    }
    r.d = store_f16(d_at, most_step / (float)top_scale);
    r.dmin = store_f16(m_at, most_depth / (float)top_scale);
    for (int s = 0; s < n; s++) {
        // Rounded up: a step too small would cut the range's end off.
        r.scale[s] = r.d > 0 ? (int)fminf(ceilf(step[s] / r.d), (float)top_scale) : 0;
        r.minimum[s] = level(depth[s], r.dmin, 0, top_scale);
    }
    return r;
}

static int ranged_level(const ranges *r, int sub, float x, int top) {
    return level(x + r->dmin * (float)r->minimum[sub], r->d * (float)r->scale[sub], 0, top);
}

static void block_q2_k(const float *x, uint8_t *b) {
    const ranges r = find_ranges(x, 16, 3, 15, b + 80, b + 82);
    for (int s = 0; s < 16; s++)
        b[s] = (uint8_t)(r.scale[s] | r.minimum[s] << 4);
    for (int i = 0; i < 256; i++)
        put_pair(b + 16, i, ranged_level(&r, i / 16, x[i], 3));
}

static void put_k_scales(uint8_t *p, const ranges *r) {
    for (int s = 0; s < 4; s++) {
        p[s] = (uint8_t)(r->scale[s] | r->scale[s + 4] >> 4 << 6);
        p[s + 4] = (uint8_t)(r->minimum[s] | r->minimum[s + 4] >> 4 << 6);
        p[s + 8] = (uint8_t)((r->scale[s + 4] & 15) | (r->minimum[s + 4] & 15) << 4);
    }
}

// q4_k (fifth NULL) and q5_k.
static void block_k(const float *x, uint8_t *b, uint8_t *fifth, uint8_t *nibbles) {
    const int top = fifth ? 31 : 15;
    const ranges r = find_ranges(x, 32, top, 63, b, b + 2);
    put_k_scales(b + 4, &r);
    for (int i = 0; i < 256; i++) {
        const int q = ranged_level(&r, i / 32, x[i], top);
        nibbles[i / 64 * 32 + i % 32] |= (uint8_t)((q & 15) << i % 64 / 32 * 4);
        if (fifth) fifth[i % 32] |= (uint8_t)(q >> 4 << i / 32);
    }
}

static void block_q3_k(const float *x, uint8_t *b) {
    const float d = store_f16(b + 108, largest(x, 256) / (3 * 31));
    for (int s = 0; s < 16; s++) {
        const int scale = level(largest(x + s * 16, 16) / 3, d, 0, 31) + 32;
        b[96 + s % 8] |= (uint8_t)((scale & 15) << s / 8 * 4);
        b[104 + s % 4] |= (uint8_t)(scale >> 4 << s / 4 * 2);
        for (int k = 0; k < 16; k++) {
            const int i = s * 16 + k, q = level(x[i], d * (float)(scale - 32), -4, 3) + 4;
            put_pair(b + 32, i, q & 3);
            b[i % 32] |= (uint8_t)(q >> 2 << i / 32);
        }
    }
}

static void block_q6_k(const float *x, uint8_t *b) {
    const float d = store_f16(b + 208, largest(x, 256) / (31 * 127));
    for (int s = 0; s < 16; s++) {
        const int scale = level(largest(x + s * 16, 16) / 31, d, 0, 127);
        b[192 + s] = (uint8_t)scale;
        for (int k = 0; k < 16; k++) {
            const int i = s * 16 + k, q = level(x[i], d * (float)scale, -32, 31) + 32;
            b[i / 128 * 64 + i % 64] |= (uint8_t)((q & 15) << i % 128 / 64 * 4);
            put_pair(b + 128, i, q >> 4);
        }
    }
}

static void quantize_block(fr_type type, const float *x, uint8_t *b) {
    switch (type) {
    case FR_TYPE_F32:
        memcpy(b, x, 4);
        return;
    case FR_TYPE_F16:
        store_u16(b, fr_f16_from_f32_sat(x[0]));
        return;
    case FR_TYPE_BF16:
        store_u16(b, fr_bf16_from_f32(x[0]));
        return;
    case FR_TYPE_Q4_0:
        symmetric32(x, b, NULL, b + 2, 8);
        return;
    case FR_TYPE_Q4_1:
        ranged32(x, b, NULL, b + 4, 15);
        return;
    case FR_TYPE_Q5_0:
        symmetric32(x, b, b + 2, b + 6, 16);
        return;
    case FR_TYPE_Q5_1:
        ranged32(x, b, b + 4, b + 8, 31);
        return;
    case FR_TYPE_Q8_0:
        block_q8_0(x, b);
        return;
    case FR_TYPE_Q2_K:
        block_q2_k(x, b);
        return;
    case FR_TYPE_Q3_K:
        block_q3_k(x, b);
        return;
    case FR_TYPE_Q4_K:
        block_k(x, b, NULL, b + 16);
        return;
    case FR_TYPE_Q5_K:
        block_k(x, b, b + 16, b + 48);
        return;
    case FR_TYPE_Q6_K:
        block_q6_k(x, b);
        return;
    case FR_TYPE_IQ4_NL:
        block_iq4_nl(x, b);
        return;
    case FR_TYPE_IQ4_XS:
        block_iq4_xs(x, b);
        return;
    case FR_TYPE_MXFP4:
        block_mxfp4(x, b);
        return;
    case FR_TYPE_IQ2_S:
        block_iq2_s(x, b);
        return;
    case FR_UNWRITTEN_TYPES:
        break;
    }
    assert(!"a type that tests write");
}

bool fr_test_quantizes(fr_type type) {
#define YES(id, NAME, ...) [FR_TYPE_##NAME] = true,
    static const bool quantizes[FR_TYPE_LIMIT] = {FR_TYPES(YES, YES, YES, FR_NO_ROW, FR_NO_ROW)};
    return quantizes[type];
}

void fr_test_quantize(fr_type type, const float *src, void *dst, int64_t n) {
    const fr_qtype *q = fr_qtype_of((uint32_t)type);
    assert(q && n % q->block == 0);
    memset(dst, 0, (size_t)(n / q->block * q->bytes));
    for (int64_t k = 0; k < n / q->block; k++)
        quantize_block(type, src + k * q->block, (uint8_t *)dst + k * q->bytes);
}

// Half a step of the coarsest sub-block, plus what rounding its scale (one part in 2 · top_scale)
// moves the far end, plus a little for f16.
float fr_test_quantize_bound(fr_type type) {
    switch (type) {
    case FR_TYPE_F32:
        return 0;
    case FR_TYPE_F16:
        return 1.0f / 2048;
    case FR_TYPE_BF16:
        return 1.0f / 256;
    case FR_TYPE_Q4_0:
        return 0.5f / 7 + 0.001f;
    case FR_TYPE_Q4_1:
        return 0.5f * 2 / 15 + 0.003f;
    case FR_TYPE_Q5_0:
        return 0.5f / 15 + 0.001f;
    case FR_TYPE_Q5_1:
        return 0.5f * 2 / 31 + 0.003f;
    case FR_TYPE_Q8_0:
        return 0.5f / 127 + 0.001f;
    case FR_TYPE_Q2_K:
        return 0.5f * 2 / 3 + 2 * 0.5f / 15 + 0.1f;
    case FR_TYPE_Q3_K:
        return 0.5f / 3 + 0.5f / 31 + 0.01f;
    case FR_TYPE_Q4_K:
        return 0.5f * 2 / 15 + 2 * 0.5f / 63 + 0.01f;
    case FR_TYPE_Q5_K:
        return 0.5f * 2 / 31 + 2 * 0.5f / 63 + 0.01f;
    case FR_TYPE_Q6_K:
        return 0.5f / 31 + 0.5f / 127 + 0.002f;
    case FR_TYPE_IQ4_NL:
        return 0.5f * 24 / 113 + 0.002f;
    case FR_TYPE_IQ4_XS:
        return 0.5f * 24 / 113 + 0.5f / 31 + 0.01f;
    case FR_TYPE_MXFP4: // half of 12 - 8, d up to 1/6 of the largest
        return 2.0f / 6 + 0.001f;
    case FR_TYPE_IQ2_S: // an eighth of 43 is the least; few of all combinations are in the grid
        return 0.9f;
    case FR_UNWRITTEN_TYPES:
        break;
    }
    assert(!"a type that tests write");
    return 0;
}
