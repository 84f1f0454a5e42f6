// choose.h — the candidate rows of a pass, over all members of a group.
#ifndef FR_DECODE_CHOOSE_H
#define FR_DECODE_CHOOSE_H
#include "decode/group.h"

// Most nodes that the member may propose, the root included, in a pass of n_roots members.
int fr_choose_most(const fr_decoder *d, int n_roots);

// Makes each member's `tree` of its proposal. Where the size is settled (the user gave one, the
// member does not adapt, or its candidates were drawn at random) the member gets that tree. All
// other members compete: the n nodes of highest score among all of them are taken, with the n for
// which (1 + sum of the n largest scores) * token cost - L(n) is greatest. L(n) is the cost of the
// pass behind `context` slots, with the `read` rows besides.
// [goodput: TurboSpec, Liu et al. 2024, §4; rows over requests: AdaServe, Li et al. 2025, §4]
void fr_choose_rows(const fr_decoder_group *g, fr_decoder *const *members, int n,
                    const fr_extra_rows *read, int context);

#endif
