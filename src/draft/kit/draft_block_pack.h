// draft_block_pack.h — settings of packs with a draft block (draft_block.h), as forms of several
// drafters begin theirs.
#ifndef FR_DRAFT_KIT_DRAFT_BLOCK_PACK_H
#define FR_DRAFT_KIT_DRAFT_BLOCK_PACK_H
#include "draft/pack/block.h"

enum { FR_PACK_TAPS = 8 };

typedef struct fr_draft_block_pack { // embedded first in a form's settings
    fr_pack_block block;
    bool pure;                      // the block reads no tokens
    bool null;                      // a vector stands for a token that is not known
    int n_taps, taps[FR_PACK_TAPS]; // layers, ascending, whose residuals make the states of a text;
                                    // the target's last: its final state. None: that alone
} fr_draft_block_pack;

static inline const fr_draft_block_pack *fr_draft_block_pack_of(const fr_pack *p) {
    return p->settings;
}
const fr_pack_block *fr_draft_block_pack_block(const fr_pack *p); // fr_pack_form.block

void fr_draft_block_pack_tensors(const fr_pack *p, fr_pack_tensors *list);
// The member "block", with the token bias that hidden-state packs have (rank 0: none).
void fr_draft_block_pack_members(const fr_pack *p, int rank, bool gate, json_t *to);
void fr_draft_block_pack_words(const fr_pack *p, FILE *to); // what the block reads, and its depth

#endif
