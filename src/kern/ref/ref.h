// ref.h — the reference kernels: plain C, slow, final. docs/numerics.md says the same in words.
#ifndef FR_KERN_REF_REF_H
#define FR_KERN_REF_REF_H
#include "kern/matmul.h"

FR_MATMUL_DECLARE(scalar); // matmul.c
void fr_quantize_scalar(const fr_act *a, const float *x, int ldx, int b0, int b1);

#endif
