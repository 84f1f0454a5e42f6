// shape.h — trees of ranks: which guesses run in a pass, before their tokens are known.
//
// Node 0 is the root, the token that is already sure. Every other node stands for "the guess of
// this rank at this depth" (rank 0 the likeliest) and becomes a token when a drafter has guessed. A
// shape is pure data of fixed size: it owns nothing, and only reading one from text can fail.
#ifndef FR_TREE_SHAPE_H
#define FR_TREE_SHAPE_H
#include "base/status.h"
#include "tree/tree.h"
#include <stddef.h>

enum { FR_SHAPE_RANKS = 256 }; // ranks are 0..255

typedef struct fr_shape_node {
    int16_t parent; // -1: the root
    uint8_t rank, depth;
    double prob; // that it is reached and right; the root's is 1
} fr_shape_node;

// 1 <= n <= FR_TREE_MAX; parents before children; depth is the parent's + 1, at most
// FR_TREE_MAX_DEPTH; children of a node have different ranks; prob is 0 or more and not above the
// parent's.
typedef struct fr_shape {
    int n;
    fr_shape_node node[FR_TREE_MAX];
} fr_shape;

typedef struct fr_shape_limits { // of a shape to be built
    int nodes;                   // root included, 1..FR_TREE_MAX
    int depth;                   // 0..FR_TREE_MAX_DEPTH
    int children;                // of one node
} fr_shape_limits;

void fr_shape_begin(fr_shape *s); // the root alone
// Appends a child; -1: the shape is full or deep enough. The parent has no child of that rank yet.
int fr_shape_add(fr_shape *s, int parent, int rank, double prob);
int fr_shape_child(const fr_shape *s, int parent, int rank); // -1: none
// The children of a node by ascending rank; returns how many.
int fr_shape_children(const fr_shape *s, int parent, int16_t child[FR_TREE_MAX]);
int fr_shape_depth(const fr_shape *s);     // of its deepest node
bool fr_shape_is_sound(const fr_shape *s); // the invariant above

// Drops the nodes of `tree` whose path of ranks is not in the shape. Where parts of a SPEC give two
// children of a node the same rank, the first one stays.
void fr_shape_pick(const fr_shape *s, fr_tree *tree);

// Text: one path of ranks a line, `0.0.1` being rank 1 under rank 0 under rank 0; blank lines and
// what follows a # do not count. The nodes on the way to a path belong to the shape whether they
// have lines or not. Probabilities are not part of the text: all are 1 after reading.
//
// FR_EDATA where the n bytes are no such text, name a path twice, or name none; the sentence gives
// the line. `s` is then undefined.
fr_status fr_shape_read(fr_shape *s, const char *text, size_t n, fr_error *err);

#endif
