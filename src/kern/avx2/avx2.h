// avx2.h — the kernels for AVX2 + FMA + F16C. Same bits as ref/.
#ifndef FR_KERN_AVX2_AVX2_H
#define FR_KERN_AVX2_AVX2_H
#include "kern/matmul.h"

FR_MATMUL_DECLARE(avx2); // matmul*.c
void fr_quantize_avx2(const fr_act *a, const float *x, int ldx, int b0, int b1);

#endif
