// choose.h — the candidate rows of a pass, over all members of a group.
#ifndef FR_DECODE_CHOOSE_H
#define FR_DECODE_CHOOSE_H
#include "decode/group.h"

// Most nodes that the member may propose, the root included, in a pass of n_roots members.
int fr_choose_most(const fr_decoder *d, int n_roots);

// Makes each member's `tree` of its proposal. Where the user gave a size, or the candidates were
// drawn at random, that is what a member gets. Over all others the rows go to whoever's nodes are
// likeliest, as many as are worth what they add to the pass behind `context` slots, with `read`
// rows besides: the n for which (1 + sum of the n largest scores) * token cost - L(n) is greatest.
// [goodput: TurboSpec, Liu et al. 2024, §4; rows over requests: AdaServe, Li et al. 2025, §4]
void fr_choose_rows(const fr_decoder_group *g, fr_decoder *const *members, int n,
                    const fr_extra_rows *read, int context);

#endif
