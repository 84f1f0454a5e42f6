// copied.h — the head of an answer that repeats its prompt: what is measured there is copying.
#ifndef LAB_CMD_REPLAY_COPIED_H
#define LAB_CMD_REPLAY_COPIED_H
#include <stdint.h>

// How many tokens the head has: pieces of at least 8 tokens that stand in the prompt, the first of
// them beginning within the first 24 tokens, the others within 4 after the piece before. 0: none.
int lab_copied_head(const int32_t *prompt, int n_prompt, const int32_t *answer, int n);

#endif
