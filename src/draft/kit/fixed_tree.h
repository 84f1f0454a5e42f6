// fixed_tree.h — guesses at the places of one shape, whatever their scores: EAGLE's and Chimera's
// static trees, where a trained drafter's beam grows by probability otherwise.
#ifndef FR_DRAFT_KIT_FIXED_TREE_H
#define FR_DRAFT_KIT_FIXED_TREE_H
#include "draft/kit/trained.h"

typedef struct fr_fixed_tree {
    fr_shape shape;
    int16_t place[FR_BEAM_NODES]; // of a node of the beam in the shape
} fr_fixed_tree;

// The best shape of `nodes` nodes, the root included, and `depth` levels by the pack's accuracies.
void fr_fixed_tree_plan(fr_fixed_tree *f, const fr_trained *t, int nodes, int depth);
void fr_fixed_tree_begin(fr_fixed_tree *f); // a step: the beam is the root alone
// Offers those of a distribution's n likeliest guesses after a node that the shape has.
void fr_fixed_tree_offer(fr_fixed_tree *f, fr_trained *t, int node, const fr_likely *likely, int n);
// The next level: the frontier becomes the newest nodes that the shape has children for.
int fr_fixed_tree_next(fr_fixed_tree *f, fr_trained *t, const fr_context *c, const fr_tree *tree);

#endif
