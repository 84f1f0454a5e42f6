// quantize_walk.h — activations by groups, in the order of their places: for quantisers that take
// several groups at a time.
#ifndef FR_KERN_QUANTIZE_WALK_H
#define FR_KERN_QUANTIZE_WALK_H
#include "kern/kern.h"

// Where the groups lie in x: block, row, group.
typedef struct fr_quantize_walk {
    const float *x;
    int ldx, n, block, count; // values of a block and of a group
    int b, r, in_block;       // the next
} fr_quantize_walk;

static inline fr_quantize_walk fr_quantize_walk_from(const fr_act *a, const float *x, int ldx,
                                                     int b) {
    const bool small = a->kind == FR_ACT_Q32;
    return (fr_quantize_walk){x, ldx, a->n, small ? 32 : 256, small ? 32 : FR_GROUP_K, b, 0, 0};
}

static inline const float *fr_quantize_next(fr_quantize_walk *w) {
    const float *at =
        w->x + (size_t)w->r * (size_t)w->ldx + (size_t)w->b * (size_t)w->block + w->in_block;
    w->in_block += w->count;
    if (w->in_block < w->block) return at;
    w->in_block = 0;
    if (++w->r < w->n) return at;
    w->r = 0;
    w->b++;
    return at;
}

// The next groups, `most` or as many as are left; returns how many.
static inline int fr_quantize_take(fr_quantize_walk *w, const float **x, int most, size_t left) {
    const int groups = left < (size_t)most ? (int)left : most;
    for (int g = 0; g < groups; g++)
        x[g] = fr_quantize_next(w);
    return groups;
}

#endif
