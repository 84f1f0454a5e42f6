// likeliest.h — the likeliest tokens of a draft's logits, and how probable it holds them.
#ifndef FR_DRAFT_KIT_LIKELIEST_H
#define FR_DRAFT_KIT_LIKELIEST_H
#include <stdint.h>

enum { FR_LIKELY_MOST = 64 };

typedef struct fr_likely {
    int32_t index; // in the draft vocabulary
    float p;       // softmax over all logits
} fr_likely;

// The `most` (1..FR_LIKELY_MOST) largest of n logits, descending, of equal ones the lower index
// first; returns how many: fewer where there are fewer, 0 where none is a finite number. NaN is
// never chosen.
int fr_likeliest(const float *logits, int n, int most, fr_likely *out);

#endif
