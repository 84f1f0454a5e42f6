// beam.h — EAGLE-2's dynamic tree: a beam of guesses by cumulative probability, then the best of
// all of them.
//
// This is the bookkeeping alone. A drafter evaluates the nodes of the frontier (first the root)
// with its model, offers guesses after each of them, and requests the next level, any number of
// times. Then all offered nodes compete, expanded or not, and the best are added to the tree
// [EAGLE-2 §4.1 expansion, §4.2 reranking]. A node's score is the product of the probabilities on
// its path. So no node has a higher score than its parent, and the best ones form a tree.
#ifndef FR_TREE_BEAM_H
#define FR_TREE_BEAM_H
#include "tree/tree.h"

enum {
    FR_BEAM_WIDTH = 16,  // most nodes of a frontier
    FR_BEAM_NODES = 1024 // most nodes in all: the root and levels of width * children each
};

typedef struct fr_beam_node {
    int32_t id;
    int16_t parent; // -1: the root
    uint8_t depth, rank, kind;
    float prob; // as of a tree's node; the caller may set it
    float score;
} fr_beam_node;

// Nodes are in the order of their offering, parents before children. Those from `level` on are
// newer than the frontier.
typedef struct fr_beam {
    int n, level;
    int width;                       // of frontiers, 1..FR_BEAM_WIDTH
    int n_frontier;                  // nodes that need expanding,
    int16_t frontier[FR_BEAM_WIDTH]; // best first
    fr_beam_node node[FR_BEAM_NODES];
} fr_beam;

// The root alone, which is the frontier. `width` is clamped.
void fr_beam_begin(fr_beam *b, int32_t root, int width);
// Offers id as what follows node `parent` of the frontier with probability p (at most 1), to be
// counted as of `kind` (tree/hits.h). A parent's children come likeliest first, one after the
// other, and no id twice. Returns the new node, or -1 when there is no room.
int fr_beam_offer(fr_beam *b, int parent, int32_t id, float p, int kind);
// Makes the `width` best of the nodes offered since the last call the frontier (of equal ones those
// offered first; none of score 0). Returns n_frontier; 0: there is nothing to expand.
int fr_beam_next(fr_beam *b);
// The frontier is within the beam and older than `level`; parents come before children, one deeper
// each; no node's score is below 0 or above its parent's.
bool fr_beam_is_sound(const fr_beam *b);
// Adds the best of all offered nodes to `tree`, as many as it still has room for and within its
// depth (of equal ones those offered first), in the order of their offering.
void fr_beam_fill(const fr_beam *b, int drafter, fr_tree *tree);

#endif
