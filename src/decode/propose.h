// propose.h — the trees of a step, before any row is chosen. Private to step.c.
#ifndef FR_DECODE_PROPOSE_H
#define FR_DECODE_PROPOSE_H
#include "decode/group.h"

// Every member's drafter proposes. Drafters with passes of their own wait for them; one pass of
// each network serves all who wait for it, until nobody does.
void fr_propose_trees(fr_decoder *const *members, int n);

#endif
