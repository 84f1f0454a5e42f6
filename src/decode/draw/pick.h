// pick.h — the place in a row, best first, where the running sum of weights passes a number.
//
// Best first is: the larger value, of equal ones the lower index. Values that are certainly before
// or after the place are dropped, and only the few others are sorted. Weights are added as
// fixed-point integers (fr_fixed), so the result does not depend on the method, and equals that of
// sorting everything and walking.
#ifndef FR_DECODE_DRAW_PICK_H
#define FR_DECODE_DRAW_PICK_H
#include "kern/kern.h"

typedef struct fr_pick { // workspace
    const fr_kern *kern;
    int32_t *at, *found; // [n] each
    float *x, *w;
    bool tied; // of the last pick: an equal value may follow it
} fr_pick;

fr_status fr_pick_open(fr_pick *p, const fr_kern *kern, int n, fr_error *err);
void fr_pick_close(fr_pick *p);

// The index of the first, best first, at which the sum of fr_fixed(w) exceeds `target`; where it
// never does, one of the last. w NULL: each weighs FR_FIXED_ONE. `total` is the sum of all: it
// guides the search and does not change the result. n: 1 up to that of fr_pick_open.
int fr_pick_at(fr_pick *p, const float *x, const float *w, int n, uint64_t target, uint64_t total);

#endif
