// amx.h — products of many rows with K types on AMX tiles (int8). Same bits as ref/.
#ifndef FR_KERN_AMX_AMX_H
#define FR_KERN_AMX_AMX_H
#include "kern/kern.h"

// Rows from which tiles are used; fewer go to AVX-512. From counting instructions: unpacking a
// superblock for the tiles costs about as much as 22 rows save.
enum { FR_AMX_ROWS = 32 };

fr_matmul_fn fr_matmul_q2_k_amx, fr_matmul_q3_k_amx, fr_matmul_q4_k_amx, fr_matmul_q5_k_amx,
    fr_matmul_q6_k_amx, fr_matmul_iq4_xs_amx;

#endif
