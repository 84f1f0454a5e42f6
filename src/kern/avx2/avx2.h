// avx2.h — the kernels for AVX2 + FMA + F16C. Same bits as ref/.
#ifndef FR_KERN_AVX2_AVX2_H
#define FR_KERN_AVX2_AVX2_H
#include "kern/kern.h"

// Products and quantisation (matmul*.c, quantize.c). NULL where a type id does not exist.
extern fr_matmul_fn *const fr_matmul_table_avx2[FR_TYPE_LIMIT];
void fr_quantize_avx2(const fr_act *a, const float *x, int ldx, int b0, int b1);

#endif
