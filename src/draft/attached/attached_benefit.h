// attached_benefit.h — which nodes of a tree carry rows that guess ahead, and how many each.
//
// A node may carry a chain of up to `steps` *attached rows*: rows of the target's own pass that
// guess the tokens after it. If it is the last node accepted, the next step has guesses as deep as
// its chain is long. So the i-th attached row of node c is worth
//     term(c) (worth[i] - worth[i - 1])     [PPD §4.2, proposition 4.3, with term(c) for p(c)]
// tokens, where term(c) is the probability that c is the last one accepted (tree/expect.h) and
// worth[k] is what a step with guesses k deep brings beyond plain decoding, less what its rows
// take. Attached rows take trunk time and no head's. Those that are worth more than they cost are
// attached, the greatest gain for its cost first. A node may carry none, which is needed where rows
// are few.
#ifndef FR_DRAFT_ATTACHED_ATTACHED_BENEFIT_H
#define FR_DRAFT_ATTACHED_ATTACHED_BENEFIT_H
#include "decode/budget.h"
#include "decode/trial.h"
#include "tree/accuracy.h"

enum { FR_ATTACHED_STEPS = 7 };

typedef struct fr_attached_benefit {
    int steps;    // longest chain, 1..FR_ATTACHED_STEPS
    int ensemble; // rows of the pass per attached row (PPD's ensemble)
    double share
        [FR_ATTACHED_STEPS]; // share of the layers that attached row i + 1 computes: it joins late
    double worth[FR_ATTACHED_STEPS + 1]; // tokens; [0] is 0
    bool expected;                       // worth was set from accuracies
    fr_trial trial;                      // of attaching rows where none pay
} fr_attached_benefit;

void fr_attached_benefit_begin(fr_attached_benefit *r); // a new request; what was learned stays

// Chains and ensemble are within bounds, every share is one, worth[0] is 0 and the others numbers.
bool fr_attached_benefit_is_sound(const fr_attached_benefit *r);

// Sets worth from accuracies before any step was seen: that of the best tree of guesses k deep at
// the present costs. Does nothing the second time.
void fr_attached_benefit_expect(fr_attached_benefit *r, const fr_accuracy *a,
                                const fr_budget *budget, int context);
// Learns from a step with guesses k deep (1..steps): with guesses only i deep it would have brought
// tokens[i] more than plain decoding, i in 1..k. worth moves a little towards that.
void fr_attached_benefit_learn(fr_attached_benefit *r, int k, const double tokens[]);

// n_attached[c]: how many attached rows node c gets, at most `most` in all. Where none pay, the
// root gets a full chain now and then if the request can afford to try.
void fr_attached_benefit_choose(fr_attached_benefit *r, const fr_budget *budget,
                                const fr_tree *tree, int most, int context,
                                uint8_t n_attached[FR_TREE_MAX]);
// The rows that these attached rows take.
fr_extra_rows fr_attached_benefit_extra(const fr_attached_benefit *r, const fr_tree *tree,
                                        const uint8_t n_attached[FR_TREE_MAX]);

#endif
