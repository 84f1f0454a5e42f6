// quantize_k.c — f32 to Q6_K and Q4_K. Every sub-block is given the scale (and minimum) with the
// least squared error among some; then scales become codes of the block's own, and values are
// rounded anew by what the codes say. Layouts are those of kern/dequant.c.
#include "gguf/writer.h"
#include "kern/half.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 256 };

static int rounded(float x, int low, int high) {
    const float y = nearbyintf(x);
    return y >= (float)high ? high
           : y > (float)low ? (int)y
                            : low; // NaN too: of a block of zeros, almost
}

static float store_f16(uint8_t *to, float x) {
    const uint16_t h = fr_f16_from_f32_sat(x);
    to[0] = (uint8_t)h;
    to[1] = (uint8_t)(h >> 8);
    return fr_f16_to_f32(h);
}

// ---------------------------------------------------------------- Q6_K: 16 values, codes -32..31

// The scale s for which the sum of (x - s q)^2 is least: for given codes s = sum(x q) / sum(q q),
// which takes sum(x q)^2 / sum(q q) off the error.
static float best_scale(const float *x) {
    float most = 0, best = 0, gain = 0;
    for (int i = 0; i < 16; i++)
        if (fabsf(x[i]) > fabsf(most)) most = x[i];
    for (int step = -8; step <= 8 && most != 0; step++) {
        const float guess = most / (-32 - 0.5f * (float)step);
        float xq = 0, qq = 0;
        for (int i = 0; i < 16; i++) {
            const float q = (float)rounded(x[i] / guess, -32, 31);
            xq += x[i] * q;
            qq += q * q;
        }
        if (qq == 0 || xq * xq / qq <= gain) continue;
        gain = xq * xq / qq;
        best = xq / qq;
    }
    return best;
}

static void q6_k(const float *x, uint8_t *to) {
    float scale[16], most = 0;
    for (int s = 0; s < 16; s++) {
        scale[s] = best_scale(x + 16 * s);
        most = fmaxf(most, fabsf(scale[s]));
    }
    memset(to, 0, 210);
    const float d = store_f16(to + 208, most / 127);
    for (int s = 0; s < 16; s++) {
        const int code = d > 0 ? rounded(scale[s] / d, -128, 127) : 0;
        const float step = d * (float)code;
        to[192 + s] = (uint8_t)code;
        for (int i = 16 * s; i < 16 * s + 16; i++) {
            const int q = step != 0 ? rounded(x[i] / step, -32, 31) + 32 : 32;
            to[i / 128 * 64 + i % 64] |= (uint8_t)((q & 15) << i % 128 / 64 * 4);
            to[128 + i / 128 * 32 + i % 32] |= (uint8_t)(q >> 4 << i % 128 / 32 * 2);
        }
    }
}

// ---------------------------------------------------------------- Q4_K: 32 values, codes 0..15

typedef struct line { // x is about scale * q - minimum; neither is below 0
    float scale, minimum;
} line;

// The line through given codes with the least squared error, and that error.
static float fit_line(const float *x, const int *q, line *to) {
    float sq = 0, sqq = 0, sx = 0, sxq = 0, error = 0;
    for (int i = 0; i < 32; i++) {
        sq += (float)q[i];
        sqq += (float)(q[i] * q[i]);
        sx += x[i];
        sxq += x[i] * (float)q[i];
    }
    const float spread = 32 * sqq - sq * sq;
    *to = (line){0};
    if (spread > 0) {
        to->scale = (32 * sxq - sq * sx) / spread;
        to->minimum = (to->scale * sq - sx) / 32;
    }
    if (to->minimum <= 0) *to = (line){.scale = sqq > 0 ? sxq / sqq : 0};
    if (to->scale < 0) to->scale = 0;
    for (int i = 0; i < 32; i++) {
        const float e = x[i] - to->scale * (float)q[i] + to->minimum;
        error += e * e;
    }
    return error;
}

static line best_line(const float *x) {
    float low = 0, high = 0, least = INFINITY;
    line best = {0};
    for (int i = 0; i < 32; i++) {
        low = fminf(low, x[i]);
        high = fmaxf(high, x[i]);
    }
    for (int step = -4; step <= 16 && high > low; step++) {
        const float scale = (high - low) / (15 + 0.25f * (float)step);
        int q[32];
        line fit;
        for (int i = 0; i < 32; i++)
            q[i] = rounded((x[i] - low) / scale, 0, 15);
        const float error = fit_line(x, q, &fit);
        if (error >= least) continue;
        least = error;
        best = fit;
    }
    return best;
}

// Six bits for each scale and minimum: of the first four sub-blocks in bytes 0..7, of the others the
// low four bits in bytes 8..11 and the high ones on top of the first bytes.
static void store_codes(uint8_t *to, int s, int scale, int minimum) {
    if (s < 4) {
        to[s] |= (uint8_t)scale;
        to[s + 4] |= (uint8_t)minimum;
        return;
    }
    to[s + 4] = (uint8_t)((scale & 15) | (minimum & 15) << 4);
    to[s - 4] |= (uint8_t)(scale >> 4 << 6);
    to[s] |= (uint8_t)(minimum >> 4 << 6);
}

static void q4_k(const float *x, uint8_t *to) {
    line fit[8];
    float scale = 0, minimum = 0;
    for (int s = 0; s < 8; s++) {
        fit[s] = best_line(x + 32 * s);
        scale = fmaxf(scale, fit[s].scale);
        minimum = fmaxf(minimum, fit[s].minimum);
    }
    memset(to, 0, 144);
    const float d = store_f16(to, scale / 63), dmin = store_f16(to + 2, minimum / 63);
    for (int s = 0; s < 8; s++) {
        const int a = d > 0 ? rounded(fit[s].scale / d, 0, 63) : 0;
        const int b = dmin > 0 ? rounded(fit[s].minimum / dmin, 0, 63) : 0;
        const float step = d * (float)a, below = dmin * (float)b;
        store_codes(to + 4, s, a, b);
        for (int i = 32 * s; i < 32 * s + 32; i++) {
            const int q = step > 0 ? rounded((x[i] + below) / step, 0, 15) : 0;
            to[16 + i / 64 * 32 + i % 32] |= (uint8_t)(q << i % 64 / 32 * 4);
        }
    }
}

// ---------------------------------------------------------------- any

typedef void quantize_fn(const float *src, void *dst, int64_t n);

static void keep(const float *src, void *dst, int64_t n) {
    memcpy(dst, src, sizeof *src * (size_t)n);
}

static void by_blocks(fr_type type, void (*block)(const float *x, uint8_t *to), const float *src,
                      uint8_t *dst, int64_t n) {
    for (int64_t i = 0; i < n; i += BLOCK, dst += fr_qtype_of((uint32_t)type)->bytes)
        block(src + i, dst);
}

static void blocks_q6_k(const float *src, void *dst, int64_t n) {
    by_blocks(FR_TYPE_Q6_K, q6_k, src, dst, n);
}

static void blocks_q4_k(const float *src, void *dst, int64_t n) {
    by_blocks(FR_TYPE_Q4_K, q4_k, src, dst, n);
}

static quantize_fn *const QUANTIZE[FR_TYPE_LIMIT] = {[FR_TYPE_F32] = keep,
                                                     [FR_TYPE_Q8_0] = fr_gguf_quantize_q8_0,
                                                     [FR_TYPE_Q6_K] = blocks_q6_k,
                                                     [FR_TYPE_Q4_K] = blocks_q4_k};

bool fr_gguf_quantizes(fr_type type) {
    return QUANTIZE[type];
}

void fr_gguf_quantize(fr_type type, const float *src, void *dst, int64_t n) {
    assert(fr_gguf_quantizes(type) && n % fr_qtype_of((uint32_t)type)->block == 0);
    QUANTIZE[type](src, dst, n);
}
