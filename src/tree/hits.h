// hits.h — how often guesses of a kind were right, given that their parent was.
//
// A drafter sorts its guesses into kinds of its own (the length of a match, the probability that a
// small model gives) and scores a node as its parent's score times the hit rate of its kind. The
// rates start from what the drafter expects and follow the text; what happened long
// ago is forgotten.
#ifndef FR_TREE_HITS_H
#define FR_TREE_HITS_H
#include "base/mean.h"
#include "tree/tree.h"

enum { FR_HIT_KINDS = 64 };

typedef struct fr_hits {
    fr_mean kind[FR_HIT_KINDS]; // how often right, of how many tries
    float memory;               // tries that count at most; 0: no bound
} fr_hits;

// Expects kind k to be right at `rate`, as firmly as after `weight` tries.
void fr_hits_expect(fr_hits *h, int kind, float rate, float weight);
float fr_hits_rate(const fr_hits *h, int kind); // in [0.001, 0.999]; 0.5 for a kind never tried
void fr_hits_count(fr_hits *h, int kind, bool right);
bool fr_hits_is_sound(
    const fr_hits *h); // no kind was right more often than tried, but for rounding

// Counts the nodes of `tree` that drafter `part` proposed, from the root along the n tokens that
// really followed it.
void fr_hits_learn(fr_hits *h, const fr_tree *tree, int part, const int32_t *followed, int n);

#endif
