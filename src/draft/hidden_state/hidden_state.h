// hidden_state.h — what tests look at, and the lab (lab/draft/states_ways.c); the method itself stands
// in shared/config.h.
#ifndef FR_DRAFT_HIDDEN_STATE_HIDDEN_STATE_H
#define FR_DRAFT_HIDDEN_STATE_HIDDEN_STATE_H
#include "decode/drafter.h"
#include "draft/hidden_state/state_tree.h"
#include "draft/hidden_state/states.h"

// Of a drafter of this kind: its chains, and how trees grow from them.
fr_states *fr_hidden_state_states(fr_drafter *d);
const fr_state_grower *fr_hidden_state_grower(const fr_drafter *d);

#endif
