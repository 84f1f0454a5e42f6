// amx.h — products of many rows on AMX tiles (int8). Same bits as ref/.
#ifndef FR_KERN_AMX_AMX_H
#define FR_KERN_AMX_AMX_H
#include "kern/matmul.h"

enum { FR_AMX_ROWS = 256 }; // whose sums a kernel holds; more rows go through a panel in parts

static inline int fr_amx_part(int n, int first) { // rows of the part that begins at `first`
    return n - first < FR_AMX_ROWS ? n - first : FR_AMX_ROWS;
}

// Whether n rows go through tiles, of a type whose tiles pay from `least` on.
static inline bool fr_tiles_pay(int least, int n) {
    return n >= least && n <= FR_MAX_ROWS;
}

#endif
