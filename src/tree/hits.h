// hits.h — how often guesses of a kind were right, given that their parent was.
//
// A drafter sorts its guesses into kinds of its own (the length of a match, the depth) and scores a
// node as its parent's score times the hit rate of its kind. Where a distribution gives each guess a
// probability, the rate is by how much guesses of the kind were right more or less often than their
// probabilities say, and the probability is a factor besides. The rates start from what the drafter
// expects and follow the text; what happened long ago is forgotten.
#ifndef FR_TREE_HITS_H
#define FR_TREE_HITS_H
#include "base/mean.h"
#include "tree/tree.h"

enum {
    FR_HIT_KINDS = 64,
    FR_HIT_DEPTHS = 4, // kinds by depth: 1, 2, 3, more
};

typedef struct fr_hits {
    fr_mean kind[FR_HIT_KINDS]; // sum: tries that were right; weight: the sum of their `prob`
    float memory;               // tries that count at most; 0: no bound
    bool corrects;              // tries have probabilities, so more may be right than these say
} fr_hits;

// Expects kind k to be right at `rate`, as firmly as after `weight` tries.
void fr_hits_expect(fr_hits *h, int kind, float rate, float weight);
// Expects guesses of all kinds to be right as often as their probabilities say.
void fr_hits_expect_probabilities(fr_hits *h);
int fr_hits_kind_of_depth(int depth); // depth 1 or more; 0..FR_HIT_DEPTHS-1
// In [0.001, 0.999]; half of prob for a kind never tried. prob: by a distribution, 1 where there is
// none.
float fr_hits_rate(const fr_hits *h, int kind, float prob);
void fr_hits_count(fr_hits *h, int kind, float prob, bool right);
// No kind was right more often than tried, but for rounding, or than its probabilities allow.
bool fr_hits_is_sound(const fr_hits *h);

// Counts the nodes of `tree` that drafter `part` proposed, from the root along the n tokens that
// really followed it.
void fr_hits_learn(fr_hits *h, const fr_tree *tree, int part, const int32_t *followed, int n);

#endif
