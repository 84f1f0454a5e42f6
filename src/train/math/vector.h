// vector.h — loops over floats that the compiler turns into vectors.
//
// Training needs no fixed bits across machines, only speed and the same bits on the same machine.
// FR_CLONES compiles a function for several instruction sets; the best one is picked at start.
#ifndef FR_TRAIN_MATH_VECTOR_H
#define FR_TRAIN_MATH_VECTOR_H
#include "kern/math.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FR_CLONES
#endif

// e^x for x of -87 to 88, the values at these ends beyond them and for NaN.
static inline __attribute__((always_inline)) float fr_vector_exp(float x) {
    x = x > -87.0f ? x : -87.0f;
    x = x < 88.0f ? x : 88.0f;
    return fr_exp_within(x);
}

#endif
