// quantize.c — activations to int8: the definition (docs/numerics.md, "Activations to int8").
#include "kern/half.h"
#include "kern/ref/ref.h"

// One group of `count` values: codes to q, the scale is returned.
static float quantize_group(int8_t *q, const float *x, int count) {
    uint32_t largest = 0; // of |x|, compared as bits: the order of the numbers, NaN above all
    for (int i = 0; i < count; i++) {
        const uint32_t bits = fr_f32_bits(x[i]) & 0x7fffffffu;
        if (bits > largest) largest = bits;
    }
    const float amax = fr_f32_from_bits(largest);
    if (largest >= 0x7f800000u || amax < 1e-30f) {
        for (int i = 0; i < count; i++)
            q[i] = 0;
        return largest >= 0x7f800000u ? fr_f32_from_bits(0x7fc00000u) : 0.0f;
    }
    const float inv = 127.0f / amax;
    for (int i = 0; i < count; i++) {
        const float t = x[i] * inv + 0x1.8p23f; // rounds to an integer, nearest even
        q[i] = (int8_t)(int)(t - 0x1.8p23f);
    }
    return amax / 127.0f;
}

static int sum(const int8_t *q, int count) {
    int s = 0;
    for (int i = 0; i < count; i++)
        s += q[i];
    return s;
}

void fr_quantize_scalar(const fr_act *a, const float *x, int ldx, int b0, int b1) {
    const int block = a->kind == FR_ACT_Q32 ? 32 : 256;
    for (int b = b0; b < b1; b++)
        for (int r = 0; r < a->n; r++) {
            const size_t cell = (size_t)b * (size_t)a->n + (size_t)r;
            const float *in = x + (size_t)r * (size_t)ldx + (size_t)b * (size_t)block;
            int8_t *q = a->q + cell * (size_t)block;
            if (a->kind == FR_ACT_Q32) {
                a->d[cell] = quantize_group(q, in, 32);
                a->s[cell] = sum(q, 32);
                a->ds[cell] = a->d[cell] * (float)a->s[cell];
                continue;
            }
            for (int g = 0; g < 2; g++)
                a->d[2 * cell + (size_t)g] =
                    quantize_group(q + FR_GROUP_K * g, in + FR_GROUP_K * g, FR_GROUP_K);
            for (int j = 0; j < 16; j++)
                a->s16[16 * cell + (size_t)j] = (int16_t)sum(q + 16 * j, 16);
            for (int j = 0; j < 8; j++)
                a->s32[8 * cell + (size_t)j] = (int16_t)sum(q + 32 * j, 32);
        }
}
