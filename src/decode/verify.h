// verify.h — one walk of the tree: which candidates count, and the token after them.
//
// Every rule fills v->path, v->n_path and v->next, and appends the tokens of the path after the
// known ones (v->n_path of them, the last being v->next), so that a repeat penalty sees at each
// node the text before it. Logits of the nodes walked are changed.
//
// Nothing is drawn from logits that are not finite (finite.h). Exact and rejection end the path
// before such a node, where plain decoding would fail too; if the root is such a node there is no
// path. Typical gives no path if any node that it looks at is such a node. Where there is no path
// v->n_path is 0 and v->broken is the node.
#ifndef FR_DECODE_VERIFY_H
#define FR_DECODE_VERIFY_H
#include "decode/accept_rules.h"
#include "decode/drafter.h"
#include "decode/draw/logprobs.h"

typedef struct fr_verify_room { // what a thread needs to verify a text, one after the other
    fr_sampler sampler;
    fr_rejection rejection;   // of that rule alone
    fr_logprob_scorer scorer; // open once scores were wanted
} fr_verify_room;

fr_status fr_verify_room_open(fr_verify_room *r, const fr_kern *kern, int n_vocab, fr_error *err);
fr_status fr_verify_room_score(fr_verify_room *r, fr_error *err); // opens its scorer
void fr_verify_room_close(fr_verify_room *r);                     // a zeroed one is fine

typedef struct fr_verification { // what a rule is given
    const fr_tree *tree;
    fr_forward *forward;
    fr_row_places places;      // of the nodes, in the pass
    fr_verify_room *room;      // whose sampler has begun with the request's settings
    const fr_typical *typical; // of that rule alone
    int32_t *ids;              // [n_ids] known tokens, the root last, and room for a path
    int n_ids;
    fr_logprobs *scores; // [FR_TREE_MAX_DEPTH + 1] of the path's tokens; NULL: none are wanted
    bool drawn;          // ... of what they are drawn from, not the model's own
} fr_verification;

typedef struct fr_rule_ops {
    const char *name;
    bool same_bytes;        // as plain decoding
    bool same_distribution; // at least
    void (*verify)(fr_verdict *v, const fr_verification *a);
} fr_rule_ops;

// By fr_rule.
// - exact: at each node the target's own token for the next position is drawn (greedy, or with the
//   noise of that position). If a child has this token the walk continues there; else it stops and
//   the token is the next root. So every token is the one of plain decoding.
// - rejection: the same walk, but rejection sampling determines the token. This keeps the target's
//   distribution, not the bytes. It uses noise of its own at every node, because whether a place
//   has candidates may depend on the noise of the target's draws there.
// - typical: the longest path of typical nodes, of equally long ones the most probable; then the
//   target's own draw. All branches are looked at, each node at most once.
extern const fr_rule_ops fr_rules[FR_RULES];

#endif
