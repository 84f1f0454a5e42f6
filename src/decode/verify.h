// verify.h — one walk of the tree: which candidates count, and the token after them.
//
// Every rule fills v->path, v->n_path and v->next. `ids` holds the n_ids known tokens with the root
// last and has room for a path: the walk appends the tokens of the path behind them (v->n_path of
// them, the last being v->next), so that a repeat penalty sees at each node the text before it.
// Logits of the nodes walked are changed.
//
// Nothing is drawn from logits that are not finite (finite.h). Exact and rejection end the path
// before such a node, where plain decoding would fail too; if the root is such a node there is no
// path. Typical gives no path if any node that it looks at is such a node. Where there is no path
// v->n_path is 0 and v->broken is the node.
#ifndef FR_DECODE_VERIFY_H
#define FR_DECODE_VERIFY_H
#include "decode/drafter.h"
#include "decode/rules.h"

// At each node the target's own token for the next position is drawn (greedy, or with the noise of
// that position); where a child holds it the walk goes on there, else it stops and the token is the
// next root. Every token is thereby the one that plain decoding gives.
void fr_verify_exact(fr_verdict *v, const fr_tree *tree, fr_forward *forward, fr_sampler *sampler,
                     int32_t *ids, int n_ids);

// The same walk where rejection sampling says the token: the target's distribution, other bytes.
void fr_verify_rejection(fr_verdict *v, const fr_tree *tree, fr_forward *forward,
                         fr_sampler *sampler, fr_rejection *rejection, int32_t *ids, int n_ids);

// The longest path of typical nodes, of equally long ones the most probable; then the target's own
// draw. All branches are looked at, each node at most once.
void fr_verify_typical(fr_verdict *v, const fr_tree *tree, fr_forward *forward, fr_sampler *sampler,
                       const fr_typical *typical, int32_t *ids, int n_ids);

#endif
