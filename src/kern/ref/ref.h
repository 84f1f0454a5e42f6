// ref.h — the reference kernels: plain C, slow, final. docs/numerics.md says the same in words.
#ifndef FR_KERN_REF_REF_H
#define FR_KERN_REF_REF_H
#include "kern/kern.h"

// Products and quantisation (matmul.c, quantize.c). NULL where a type id does not exist.
extern fr_matmul_fn *const fr_matmul_table_scalar[FR_TYPE_LIMIT];
void fr_quantize_scalar(const fr_act *a, const float *x, int ldx, int b0, int b1);

#endif
