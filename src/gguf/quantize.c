// quantize.c — f32 to q8_0.
#include "gguf/writer.h"
#include "kern/half.h"
#include <assert.h>
#include <math.h>
#include <string.h>

// Nearest even for |x| < 2^22, by the rounding of the addition itself; no libm, no rounding mode
// but the default.
static float nearest(float x) {
    const float magic = 12582912.0f; // 1.5 * 2^23
    return (x + magic) - magic;
}

static void quantize_block(const float *src, uint8_t *dst) {
    float largest = 0;
    for (int i = 0; i < 32; i++) {
        const float a = fabsf(src[i]);
        assert(isfinite(a));
        if (a > largest) largest = a;
    }
    const uint16_t stored = fr_f16_from_f32_sat(largest / 127.0f);
    const float d = fr_f16_to_f32(stored);
    memcpy(dst, &stored, 2);
    for (int i = 0; i < 32; i++) {
        float q = d > 0 ? src[i] / d : 0;
        q = q > 127    ? 127
            : q < -127 ? -127
                       : q; // before rounding: a saturated d leaves large quotients
        dst[2 + i] = (uint8_t)(int8_t)nearest(q);
    }
}

void fr_gguf_quantize_q8_0(const float *src, void *dst, int64_t n) {
    assert(n % 32 == 0);
    for (int64_t b = 0; b < n / 32; b++)
        quantize_block(src + b * 32, (uint8_t *)dst + b * 34);
}
