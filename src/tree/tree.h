// tree.h — candidate tokens of one pass: pure data on ids and scores.
//
// Node 0 is the *root*: the token that is already sure but not yet evaluated. Every other node is a
// guess at the token after its parent. Nodes are appended, so parents come before children; two
// children of a node never hold the same id.
#ifndef FR_TREE_TREE_H
#define FR_TREE_TREE_H
#include <stdbool.h>
#include <stdint.h>

enum { FR_TREE_MAX = 128, FR_TREE_MAX_DEPTH = 63 };

typedef struct fr_node {
    int32_t id;
    int16_t parent;      // -1: the root
    int16_t first_child; // -1: none; children form a list through `next`
    int16_t next;
    uint8_t depth;   // 0: the root
    uint8_t drafter; // which part of the SPEC proposed it
    uint8_t rank; // its place among the guesses of its drafter for this position, 0 the likeliest
    uint8_t kind; // which of its drafter's hit rates it counts for (hits.h)
    float prob;   // given its parent, by its drafter's distribution; 1 where there is none
    float score;  // estimated probability that it is reached and right
} fr_node;

// The distribution that the children of a node were drawn from at random. The drafter owns the
// memory until it proposes again. p sums to 1 over the n tokens listed, which the target has too;
// all others have probability 0. The number of draws must be settled before the first draw is seen.
// If draws were left out for want of room afterwards, the rest would not follow this distribution.
typedef struct fr_dist {
    const int32_t *id;
    const float *p;
    int n;
    const int16_t *draw; // nodes in the order drawn; with replacement one may stand there again
    int n_draws;
    bool replace; // drawn with replacement [SpecInfer §4.3], which no drafter here does
} fr_dist;

typedef struct fr_tree {
    int n;
    int max_nodes; // root included; 1..FR_TREE_MAX
    int max_depth; // 0..FR_TREE_MAX_DEPTH
    fr_node node[FR_TREE_MAX];
    const fr_dist *dist[FR_TREE_MAX]; // of a node's children; NULL: they were chosen, not drawn
} fr_tree;

static inline int fr_tree_clamp(int v, int low, int high) {
    return v < low ? low : v > high ? high : v;
}

// A tree of the root alone, which may grow to max_nodes nodes of depth max_depth (both clamped).
void fr_tree_begin(fr_tree *t, int32_t root, int max_nodes, int max_depth);
// The child of `parent` that holds id, or -1.
int fr_tree_child(const fr_tree *t, int parent, int32_t id);
// The child of `parent` that holds id: the one already there (its score becomes the larger) or a
// new one; -1: no room.
int fr_tree_add(fr_tree *t, int parent, int32_t id, float score, int drafter);
// The scores of all nodes but the root, descending; how many.
int fr_tree_scores(const fr_tree *t, float score[FR_TREE_MAX]);
// n <= max_nodes; parents before children, one deeper each, within max_depth; every node stands once
// in the list of its parent, where no other has its id; no score is below 0.
bool fr_tree_is_sound(const fr_tree *t);
// Whether any nodes were drawn from a distribution.
bool fr_tree_is_drawn(const fr_tree *t);
// Drops all but the n best nodes by score, in the order they have (root included; of equal ones
// those added first stay). A child's score above its parent's counts as its parent's. Not for trees
// with distributions: candidates that were drawn must not be picked over.
void fr_tree_keep(fr_tree *t, int n);
// Drops nodes i > 0 with keep[i] false, and what hangs under them; the others stay in order. Not
// for trees with distributions.
void fr_tree_retain(fr_tree *t, const bool *keep);

#endif
