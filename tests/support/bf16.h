// bf16.h — f32 to bf16, for tests alone: the program reads bf16 and never writes it.
#ifndef FR_TEST_BF16_H
#define FR_TEST_BF16_H
#include "kern/half.h"

// Rounds to nearest even; NaN stays NaN.
static inline uint16_t fr_bf16_from_f32(float x) {
    const uint32_t u = fr_f32_bits(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(u >> 16 | 0x40u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

#endif
