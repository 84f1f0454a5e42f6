// riders.h — which nodes of a tree carry rows that guess ahead, and how many each.
//
// A node may carry a chain of up to `steps` *riders*: rows of the target's own pass that guess the
// tokens behind it. If it is the last node accepted, the next step has guesses as deep as its chain
// is long. So the i-th rider of node c is worth
//     term(c) (worth[i] - worth[i - 1])     [PPD §4.2, proposition 4.3, with term(c) for p(c)]
// tokens, where term(c) is the probability that c is the last one accepted (tree/expect.h) and
// worth[k] is what a step with guesses k deep brings beyond plain decoding, the time of its rows
// already paid. Riders take trunk time and no head's. Those that are worth more than they cost
// ride, dearest gain for its price first; a node may carry none, which few rows need.
#ifndef FR_DRAFT_ATTACHED_RIDERS_H
#define FR_DRAFT_ATTACHED_RIDERS_H
#include "decode/pace.h"
#include "tree/accuracy.h"

enum { FR_RIDER_STEPS = 7 };

typedef struct fr_riders {
    int steps;                        // longest chain, 1..FR_RIDER_STEPS
    int ensemble;                     // rows that a rider is
    double share[FR_RIDER_STEPS];     // of the layers that rider i + 1 runs through: it joins late
    double worth[FR_RIDER_STEPS + 1]; // tokens; [0] is 0
    bool expected;                    // worth was set from accuracies
    int idle, wait;                   // steps since riders last rode; until they are tried again
} fr_riders;

void fr_riders_begin(fr_riders *r); // a new request; what was learned stays

// Before anything was seen: worth from accuracies, for the best tree of so deep guesses at these
// prices. Does nothing the second time.
void fr_riders_expect(fr_riders *r, const fr_accuracy *a, const fr_pace *pace, int context);
// A step had guesses k deep (1..steps); had only the first i of them counted, it would have brought
// tokens[i] more than plain decoding, i in 1..k. A little of it is believed.
void fr_riders_learn(fr_riders *r, int k, const double tokens[]);

// carry[c]: how many riders node c gets. Where none pay, a full chain rides on the root now and
// then if the request can afford to try. At most `most` riders in all.
void fr_riders_choose(fr_riders *r, const fr_pace *pace, const fr_tree *tree, int most, int context,
                      uint8_t carry[FR_TREE_MAX]);
// The rows that these riders take.
fr_late fr_riders_rows(const fr_riders *r, const fr_tree *tree, const uint8_t carry[FR_TREE_MAX]);

#endif
