// accept_rules.h — rules of acceptance other than the target's own draw: rejection sampling and
// typical acceptance. Functions on distributions; the walk that uses them is verify.h. A workspace
// is opened with a group (FR_ENOMEM); nothing else here fails or allocates.
//
// *Rejection* keeps the target's distribution p for all candidates. Children that were drawn from a
// distribution q are tested in the order drawn, child x passing with probability min(1, p(x)/q(x));
// after a rejection p becomes norm(max(p - q, 0)). At the end the token is drawn from the rest of
// p.
// - One draw: the chain's rule.  [Leviathan 2023, Algorithm 1; Chen 2023, Algorithm 2]
// - With replacement q stays as it is.  [SpecInfer 2024, §4.3: multi-step speculative sampling]
// - Without replacement q loses x and is normalised again; an empty q ends the tests.  [EAGLE 2024,
//   appendix: multi-round speculative sampling; Sequoia 2024, §3.2]
// - A child that was chosen and not drawn has a one-hot q: it passes with probability p(x), and a
//   rejection takes x out of p.  [EAGLE-2 2024, as published] Each such child, and each token that
//   is no child, thus comes with its share of p; one draw from p says which, for all of them at
//   once, and the outcome does not depend on which candidates there were. Testing a chosen child
//   against a q that it was not drawn from would favour it.
// If a node has children of both kinds the draws are tested first. The chosen ones may depend on
// the draws, because the rest of p is correct for each of them.
#ifndef FR_DECODE_ACCEPT_RULES_H
#define FR_DECODE_ACCEPT_RULES_H
#include "decode/draw/sampler.h"
#include "tree/tree.h"

typedef struct fr_rejection { // workspace of the rule
    int n_vocab;
    fr_chance *left; // [n_vocab] the rest of p, summing to about 1
    float *q;        // [n_vocab] the rest of q, by token; all 0 between calls
} fr_rejection;

fr_status fr_rejection_open(fr_rejection *r, int n_vocab, fr_error *err);
void fr_rejection_close(fr_rejection *r);

// The token after `node` where the target's distribution is p[0..n): a child's (it is accepted) or
// another one. Random numbers: FR_NOISE_ACCEPT at `position`, the token's own.
int32_t fr_rejection_token(fr_rejection *r, const fr_chance *p, int n, const fr_tree *tree,
                           int node, uint64_t seed, int position);

// *Typical* acceptance: a child counts if its probability exceeds min(epsilon, delta e^-H), H the
// entropy of p. Where p is peaked few tokens count, where it is flat many do. This does not keep
// the target's distribution.  [Medusa 2024, §2.3.1]
typedef struct fr_typical {
    double epsilon, delta;
} fr_typical;
extern const fr_typical fr_typical_default; // 0.09, 0.3, as in Medusa's programs

double fr_typical_threshold(const fr_typical *t, const fr_chance *p, int n);

#endif
