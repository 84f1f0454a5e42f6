// top.h — the largest of many floats, in order.
#ifndef FR_BASE_TOP_H
#define FR_BASE_TOP_H
#include <stdint.h>

// The `most` (1 or more) largest finite values of x[0..n), descending, of equal ones the lower index
// first, and where they stand. Returns how many: fewer where there are fewer. NaN and infinities are
// never chosen.
int fr_top(const float *x, int n, int most, int32_t *index, float *value);

#endif
