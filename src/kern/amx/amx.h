// amx.h — products of many rows on AMX tiles (int8). Same bits as ref/.
#ifndef FR_KERN_AMX_AMX_H
#define FR_KERN_AMX_AMX_H
#include "kern/kern.h"

fr_matmul_fn fr_matmul_q4_0_amx, fr_matmul_q4_1_amx, fr_matmul_q5_0_amx, fr_matmul_q5_1_amx,
    fr_matmul_q8_0_amx, fr_matmul_iq4_nl_amx, fr_matmul_q2_k_amx, fr_matmul_q3_k_amx,
    fr_matmul_q4_k_amx, fr_matmul_q5_k_amx, fr_matmul_q6_k_amx, fr_matmul_iq4_xs_amx;

// Whether n rows go through tiles, of a type whose tiles pay from `least` on.
static inline bool fr_tiles_pay(int least, int n) {
    return n >= least && n <= FR_MAX_ROWS;
}

#endif
