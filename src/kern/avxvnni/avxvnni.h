// avxvnni.h — products for AVX2 + AVX-VNNI without AVX-512. Same bits as ref/. All else is avx2's.
#ifndef FR_KERN_AVXVNNI_AVXVNNI_H
#define FR_KERN_AVXVNNI_AVXVNNI_H
#include "kern/avx2/avx2.h"

FR_MATMUL_DECLARE(avxvnni); // matmul_k32.c, matmul_k256.c; float weights: avx2

#endif
