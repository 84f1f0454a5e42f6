// math.h — exp, tanh, sine, cosine, logarithm and power with fixed code, so that every CPU and every
// C library gives the same bits. Only IEEE operations are used, in the written order.
#ifndef FR_KERN_MATH_H
#define FR_KERN_MATH_H
#include "kern/exact_math.h"
#include "kern/half.h"

// e^x in f32, for x in -87..88 alone, within 3 units of the last place; NaN stays NaN. Without a
// branch: for loops that the compiler turns into vectors. The vector kernels repeat this sequence
// lane by lane (docs/numerics.md); exp4.h has it with products and sums rounded apart.
static inline __attribute__((always_inline)) float fr_exp_within(float x) {
    const float magic = 0x1.8p23f; // its unit is 1: adding it rounds to an integer
    float t = __builtin_fmaf(x, 0x1.715476p+0f, magic);
    float n = t - magic;
    float r = __builtin_fmaf(n, -0x1.62e400p-1f, x);
    r = __builtin_fmaf(n, -0x1.7f7d1cp-20f, r);
    float p = 1.0f / 720;
    p = __builtin_fmaf(p, r, 1.0f / 120);
    p = __builtin_fmaf(p, r, 1.0f / 24);
    p = __builtin_fmaf(p, r, 1.0f / 6);
    p = __builtin_fmaf(p, r, 0.5f);
    p = __builtin_fmaf(p, r, 1.0f);
    p = __builtin_fmaf(p, r, 1.0f);
    return p * fr_f32_from_bits((fr_f32_bits(t) - 0x4b400000u + 127u) << 23);
}

// The same for any x: +0 below -87, e^88 above 88.
static inline float fr_exp(float x) {
    if (x < -87.0f) return 0.0f;
    if (x > 88.0f) x = 88.0f;
    return fr_exp_within(x);
}

// Weights of a draw are added as integers, whose sums are the same in any order: w in 0..1 as a
// multiple of 2^-40, nearest even. Up to 2^23 of them can be added.
enum { FR_FIXED_BITS = 40 };
#define FR_FIXED_ONE (UINT64_C(1) << FR_FIXED_BITS)
static inline uint64_t fr_fixed(float w) {
    const double shifted = (double)w * 0x1p40 + 0x1p52; // its unit is 1
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    return bits - UINT64_C(0x4330000000000000);
}

// 1 / (1 + e^-x)
static inline float fr_sigmoid(float x) {
    return 1.0f / (1.0f + fr_exp(-x));
}

// x / (1 + e^-x)
static inline float fr_silu(float x) {
    return x / (1.0f + fr_exp(-x));
}

// The gated unit of gpt-oss: gate and up are cut off at 7 and +-7. NaN stays NaN.
#define FR_CLAMP_AT   7.0f
#define FR_CLAMP_RATE 1.702f
static inline float fr_clamped(float gate, float up) {
    const float g = gate > FR_CLAMP_AT ? FR_CLAMP_AT : gate;
    const float below = up > FR_CLAMP_AT ? FR_CLAMP_AT : up;
    const float u = below < -FR_CLAMP_AT ? -FR_CLAMP_AT : below;
    return g / (1.0f + fr_exp(-(FR_CLAMP_RATE * g))) * (u + 1.0f);
}

// tanh a = a + a^3 p(a^2) for 0 <= a < 1. p is the polynomial of degree 6 with the least largest
// relative error in tanh (4.6e-9), rounded to floats. All instruction sets use these coefficients.
#define FR_TANH_0 (-0x1.55553cp-2f)
#define FR_TANH_1 0x1.110be2p-3f
#define FR_TANH_2 (-0x1.b96224p-5f)
#define FR_TANH_3 0x1.600994p-6f
#define FR_TANH_4 (-0x1.0460ccp-7f)
#define FR_TANH_5 0x1.2da50ep-9f
#define FR_TANH_6 (-0x1.77dd66p-12f)

// tanh x, odd to the bit, within 1.2 units of the last place; NaN stays NaN. Below 1 it is a
// polynomial, because 1 - 2/(e^2x + 1) cancels there.
static inline float fr_tanh(float x) {
    const uint32_t sign = fr_f32_bits(x) & 0x80000000u;
    const float a = fr_f32_from_bits(fr_f32_bits(x) ^ sign), z = a * a;
    float y;
    if (a < 1.0f) {
        float p = FR_TANH_6;
        p = __builtin_fmaf(p, z, FR_TANH_5);
        p = __builtin_fmaf(p, z, FR_TANH_4);
        p = __builtin_fmaf(p, z, FR_TANH_3);
        p = __builtin_fmaf(p, z, FR_TANH_2);
        p = __builtin_fmaf(p, z, FR_TANH_1);
        p = __builtin_fmaf(p, z, FR_TANH_0);
        y = __builtin_fmaf(a * z, p, a);
    } else {
        y = 1.0f - 2.0f / (fr_exp(2.0f * a) + 1.0f);
    }
    return fr_f32_from_bits(fr_f32_bits(y) | sign);
}

// x within -cap..cap, and near x where |x| is far below cap.
static inline float fr_softcap(float x, float cap) {
    return cap * fr_tanh(x / cap);
}

// GELU, tanh form: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
static inline float fr_gelu(float x) {
    float z = 0x1.988454p-1f * __builtin_fmaf(0.044715f * x, x * x, x);
    float t = 1.0f - 2.0f / (fr_exp(2.0f * z) + 1.0f);
    return (0.5f * x) * (1.0f + t);
}

// Sine and cosine: absolute error below 1e-15 for |x| <= 1e7, growing in proportion up to 1e9;
// beyond that, and if it is not finite, the angle counts as 0.
void fr_sincos(double x, double *sine, double *cosine);
double fr_log(double x);           // natural logarithm, 2 ulp; -inf at 0, NaN below
double fr_exp_f64(double x);       // e^x, 2 ulp; inf above 709.78, 0 below -745.13
double fr_pow(double x, double y); // x > 0: e^(y log x), relative error about |y log x| * 2e-16

#endif
