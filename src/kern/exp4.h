// exp4.h — the exp of kern/math.h in four lanes, for code outside the kernels.
//
// Products and sums are rounded apart here: where a CPU has no fused addition, as on baseline
// x86-64, it would be a call for every lane. So the bits are not those of fr_exp, and the results
// may steer a draft, never the target's own draws.
#ifndef FR_KERN_EXP4_H
#define FR_KERN_EXP4_H
#include "base/lanes.h"

// e^x in each lane for x of -87 to 88, to a millionth of it. What a lane beyond these or with NaN
// gives means nothing.
static inline fr_f32x4 fr_exp4_within(fr_f32x4 x) {
    const float magic = 0x1.8p23f; // its unit is 1: adding it rounds to an integer
    const fr_f32x4 t = x * 0x1.715476p+0f + magic, n = t - magic;
    const fr_f32x4 r = x - n * 0x1.62e400p-1f - n * 0x1.7f7d1cp-20f;
    fr_f32x4 p = r * (1.0f / 720) + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const fr_i32x4 power = ((fr_i32x4)t - 0x4b400000 + 127) << 23;
    return p * (fr_f32x4)power;
}

#endif
