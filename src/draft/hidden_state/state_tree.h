// state_tree.h — a tree of tokens from distributions that do not depend on its tokens.
//
// Depth k of the tree has one distribution, the logits of a chain's k-th state. The bias from a
// node's own token is added when the node is expanded (token_bias.h). So a node costs no pass, and
// the tree may have any width: a beam of the best nodes of each depth, then the best of all of them
// (tree/beam.h). Nothing here can fail.
#ifndef FR_DRAFT_HIDDEN_STATE_STATE_TREE_H
#define FR_DRAFT_HIDDEN_STATE_STATE_TREE_H
#include "decode/drafter.h"
#include "draft/hidden_state/token_bias.h"
#include "tree/beam.h"
#include "tree/hits.h"

enum {
    FR_STATE_CHILDREN = 8, // guesses after one node
    // ... for a watch, with probabilities among the list's tokens
    FR_STATE_RANKS = FR_ACCURACY_RANKS,
};

typedef struct fr_state_dist { // of one depth
    fr_shortlist list;
    const float *gate; // [rank], where scores are biased by the token before
    bool reused;       // of a chain that was drafted in an earlier step
} fr_state_dist;

typedef struct fr_state_grower {
    const int32_t *ids;         // of the draft vocabulary
    fr_token_bias *token_bias;  // NULL: none
    const fr_hits *hits;        // of fr_state_kind: a node's score is its parent's times its rate
    int width;                  // nodes expanded at each depth, 1..FR_BEAM_WIDTH
    float least;                // score of nodes that are worth a place
    const fr_dist_watch *watch; // (decode/drafter.h) NULL, or its `next` NULL: none
} fr_state_grower;

// Fills the beam with the guesses of n distributions after the root; dist[0] is of depth 1.
void fr_state_tree_grow(const fr_state_grower *g, int32_t root, const fr_state_dist *dist, int n,
                        fr_beam *beam);

// The kind of a guess (tree/hits.h): whether its distribution is a reused one, and its depth. Its
// probability is that among the tokens of the list.
int fr_state_kind(bool reused, int depth);

#endif
