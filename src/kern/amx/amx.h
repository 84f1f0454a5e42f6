// amx.h — products of many rows on AMX tiles (int8). Same bits as ref/.
#ifndef FR_KERN_AMX_AMX_H
#define FR_KERN_AMX_AMX_H
#include "kern/matmul.h"

// Whether n rows go through tiles, of a type whose tiles pay from `least` on.
static inline bool fr_tiles_pay(int least, int n) {
    return n >= least && n <= FR_MAX_ROWS;
}

#endif
