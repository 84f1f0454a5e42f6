// vector.h — loops over floats that the compiler turns into vectors.
//
// Training needs no fixed bits across machines, only speed and the same bits on the same machine.
// FR_CLONES compiles a function for several instruction sets; the best one is picked at start.
#ifndef FR_TRAIN_MATH_VECTOR_H
#define FR_TRAIN_MATH_VECTOR_H
#include "kern/half.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FR_CLONES
#endif

// e^x within 3 units of the last place for x of -87 to 88, the values at these ends beyond them:
// kern/math.h's sequence without its branches.
static inline __attribute__((always_inline)) float fr_vector_exp(float x) {
    const float magic = 0x1.8p23f;
    x = x > -87.0f ? x : -87.0f;
    x = x < 88.0f ? x : 88.0f;
    const float t = __builtin_fmaf(x, 0x1.715476p+0f, magic), n = t - magic;
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

#endif
