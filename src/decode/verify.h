// verify.h — one walk of the tree: which candidates the target would have said itself.
#ifndef FR_DECODE_VERIFY_H
#define FR_DECODE_VERIFY_H
#include "decode/drafter.h"

// The `exact` rule. At each node the target's own token for the next position is drawn (greedy, or
// with the noise of that position); where a child holds it the walk goes on there, else it stops
// and the token is the next root. Every token is thereby the one that plain decoding gives. `ids`
// holds the n_ids known tokens with the root last and has room for the path: the walk appends the
// drawn tokens behind them (v->n_path of them, the last being v->next).
void fr_verify_exact(fr_verdict *v, const fr_tree *tree, fr_forward *forward, fr_sampler *sampler,
                     int32_t *ids, int n_ids);

#endif
