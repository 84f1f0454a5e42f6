// compose.h — several drafters whose candidates share one tree.
//
// The parts propose one after the other, the cheapest first, into the same tree. Equal guesses
// merge, and a part may read the present tree and add nothing. Their needs of the target's passes
// are united. Two parts that both read layers of the residual, or both attach linear maps, cannot
// be composed unless they read the same layers.
#ifndef FR_DRAFT_COMPOSE_H
#define FR_DRAFT_COMPOSE_H
#include "decode/drafter.h"

enum { FR_COMPOSE_PARTS = 4 };

// Takes the n parts over, which it closes with itself; after an error they stay the caller's.
// FR_EUNSUP: needs that cannot be united; FR_ENOMEM.
fr_status fr_compose_open(fr_drafter **out, fr_drafter *const *parts, int n, fr_error *err);

#endif
