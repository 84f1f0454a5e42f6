// shortlist.h — the likeliest tokens of a draft's logits, as they are: what a beam chooses from.
//
// Unlike likeliest.h it takes no exponentials: the scores are not final yet when the list is made.
#ifndef FR_DRAFT_KIT_SHORTLIST_H
#define FR_DRAFT_KIT_SHORTLIST_H
#include <stdint.h>

enum { FR_SHORTLIST_MOST = 256 };

typedef struct fr_shortlist {
    int n;
    int32_t index[FR_SHORTLIST_MOST]; // in the draft vocabulary
    float z[FR_SHORTLIST_MOST];       // logits
} fr_shortlist;

// The `most` (1..FR_SHORTLIST_MOST) largest of n logits in no order, or all where there are fewer.
// Which of equal ones is settled by the logits alone. NaN and -inf are never chosen.
void fr_shortlist_take(fr_shortlist *list, const float *logits, int n, int most);

#endif
