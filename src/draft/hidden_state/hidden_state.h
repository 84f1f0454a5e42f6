// hidden_state.h — what tests look at; the constructor stands in registry.h.
#ifndef FR_DRAFT_HIDDEN_STATE_HIDDEN_STATE_H
#define FR_DRAFT_HIDDEN_STATE_HIDDEN_STATE_H
#include "decode/drafter.h"
#include "draft/hidden_state/states.h"

fr_states *fr_hidden_state_states(fr_drafter *d); // of a drafter of this kind

#endif
