// lanes.h — four floats at a time, in code outside the kernels: every x86-64 and every 64-bit ARM
// has vectors of 16 bytes, so no instruction set is required. A comparison gives a mask: all bits
// of a lane where it holds, none where it does not.
#ifndef FR_BASE_LANES_H
#define FR_BASE_LANES_H
#include <stdint.h>
#include <string.h>

typedef float fr_f32x4 __attribute__((vector_size(16)));
typedef int32_t fr_i32x4 __attribute__((vector_size(16)));

static inline fr_f32x4 fr_f32x4_load(const float *x) {
    fr_f32x4 v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline fr_f32x4 fr_f32x4_all(float x) {
    return (fr_f32x4){x, x, x, x};
}

// `yes` where the mask is set, `no` elsewhere.
static inline fr_f32x4 fr_f32x4_either(fr_i32x4 mask, fr_f32x4 yes, fr_f32x4 no) {
    return (fr_f32x4)((mask & (fr_i32x4)yes) | (~mask & (fr_i32x4)no));
}

#endif
