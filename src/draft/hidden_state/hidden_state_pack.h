// hidden_state_pack.h — settings of packs of hidden-state: a draft block and a token bias.
#ifndef FR_DRAFT_HIDDEN_STATE_HIDDEN_STATE_PACK_H
#define FR_DRAFT_HIDDEN_STATE_HIDDEN_STATE_PACK_H
#include "draft/kit/draft_block_pack.h"
#include <assert.h>

enum { FR_PACK_RANK = 1024 };

typedef struct fr_hidden_state_pack {
    fr_draft_block_pack base;
    int rank;  // of the bias by the token before; 0: none
    bool gate; // ... which the state opens and closes
} fr_hidden_state_pack;

extern const fr_pack_form fr_hidden_state_form;
static inline const fr_hidden_state_pack *fr_hidden_state_pack_of(const fr_pack *p) {
    assert(p->form == &fr_hidden_state_form);
    return p->settings;
}

#endif
