// half.h — exact conversions between f32 and the 16-bit float formats, in integers alone.
//
// They give the bits that hardware conversion gives with round to nearest even, on every CPU and
// whatever its flush-to-zero state. NaN stays NaN (quiet, its upper payload bits kept).
#ifndef FR_KERN_HALF_H
#define FR_KERN_HALF_H
#include <stdint.h>
#include <string.h>

static inline uint32_t fr_f32_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float fr_f32_from_bits(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline float fr_f16_to_f32(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    const uint32_t exponent = (h >> 10) & 0x1fu;
    uint32_t fraction = h & 0x3ffu;
    if (exponent == 0x1f) { // infinity, NaN (made quiet)
        const uint32_t quiet = fraction ? 0x400000u : 0;
        return fr_f32_from_bits(sign | 0x7f800000u | quiet | fraction << 13);
    }
    if (exponent) return fr_f32_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
    if (!fraction) return fr_f32_from_bits(sign);
    uint32_t e = 113; // subnormal: shift the leading one up to the hidden place
    while (!(fraction & 0x400u)) {
        fraction <<= 1;
        e--;
    }
    return fr_f32_from_bits(sign | e << 23 | (fraction & 0x3ffu) << 13);
}

// Round to nearest even; what does not fit becomes infinity.
static inline uint16_t fr_f16_from_f32(float x) {
    const uint32_t u = fr_f32_bits(x);
    const uint32_t sign = (u >> 16) & 0x8000u;
    const uint32_t a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | ((a >> 13) & 0x3ffu));
    if (a >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); // from 65520 on nearest is infinity
    if (a >= 0x38800000u) { // normal: a carry out of the fraction raises the exponent, as it should
        const uint32_t odd = (a >> 13) & 1u;
        return (uint16_t)(sign | ((a - 0x38000000u + 0xfffu + odd) >> 13));
    }
    if (a <= 0x33000000u) return (uint16_t)sign; // up to 2^-25 nearest (even) is zero
    const uint32_t significand = (a & 0x7fffffu) | 0x800000u;
    const uint32_t shift = 126u - (a >> 23); // 14..24: value = significand * 2^-24 / 2^shift
    const uint32_t rest = significand & ((1u << shift) - 1u), half = 1u << (shift - 1u);
    uint32_t q = significand >> shift;
    q += rest > half || (rest == half && (q & 1u));
    return (uint16_t)(sign | q);
}

// The same, but finite and infinite values beyond the range become the largest finite one, ±65504.
// NaN stays NaN.
static inline uint16_t fr_f16_from_f32_sat(float x) {
    const uint16_t h = fr_f16_from_f32(x);
    return (h & 0x7fffu) == 0x7c00u ? (uint16_t)(h - 1u) : h;
}

static inline float fr_bf16_to_f32(uint16_t b) {
    return fr_f32_from_bits((uint32_t)b << 16);
}

// The bf16 of 2^(e - 128), half the scale that the byte e stands for in MXFP4 (E8M0 of the OCP's
// Microscaling Formats 1.0: 2^(e - 127); 255 is NaN).
static inline uint16_t fr_bf16_of_e8m0(uint8_t e) {
    if (e == 255) return 0x7fc0;
    return (uint16_t)(e < 2 ? 0x20 << e : (e - 1) << 7); // the first two are subnormal
}

#endif
