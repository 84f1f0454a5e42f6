// draft_at_once.h — what drafters do over several steps' passes, at once in passes of its own.
#ifndef FR_TESTS_SUPPORT_DRAFT_AT_ONCE_H
#define FR_TESTS_SUPPORT_DRAFT_AT_ONCE_H
#include "draft/hidden_state/states.h"

// Guesses through the block, and all their slots.
static inline void guess_at_once(fr_draft_block *c, const fr_draft_block_guess *guess, int n,
                                 uint8_t wants, int *slot) {
    fr_draft_block_put_guesses(c, guess, n, wants);
    fr_draft_batch_run(c->block.batch);
    for (int i = 0; i < n; i++)
        slot[i] = fr_draft_block_slot(c, i);
}

// A chain of states behind the root.
static inline void draft_at_once(fr_states *s, int32_t root, int length) {
    fr_states_start(s, root, length);
    const fr_context untimed = {0};
    do {
        fr_draft_pass *pass = fr_states_want(s).pass;
        pass->run(pass);
    } while (fr_states_got(s, &untimed));
}

#endif
