// shape_fill.h — a shape that is settled before a text is seen, and the tree that guesses make of it.
#ifndef LAB_DRAFT_SHAPE_FILL_H
#define LAB_DRAFT_SHAPE_FILL_H
#include "tree/accuracy.h"

// What a drafter guesses for the tokens after the root: id[(k - 1) * ranks + r] at depth k, rank r;
// below 0: no guess.
typedef struct fr_guesses {
    const int32_t *id;
    int depths, ranks;
} fr_guesses;

// Adds the shape's nodes to `tree` as tokens, with their ranks and with their probabilities as
// scores. Nodes without a guess or without room are left out, and what hangs under them.
void fr_shape_fill(const fr_shape *s, const fr_guesses *g, int drafter, fr_tree *tree);

// Sets the probabilities of all nodes by the product distribution.
void fr_accuracy_weigh(const fr_accuracy *a, fr_shape *s);

#endif
