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
    float score;     // estimated probability that it is reached and right
} fr_node;

typedef struct fr_tree {
    int n;
    int max_nodes; // root included; 1..FR_TREE_MAX
    int max_depth; // 0..FR_TREE_MAX_DEPTH
    fr_node node[FR_TREE_MAX];
} fr_tree;

// A tree of the root alone, which may grow to max_nodes nodes of depth max_depth (both clamped).
void fr_tree_begin(fr_tree *t, int32_t root, int max_nodes, int max_depth);
// The child of `parent` that holds id, or -1.
int fr_tree_child(const fr_tree *t, int parent, int32_t id);
// The child of `parent` that holds id: the one already there (its score becomes the larger) or a
// new one; -1: no room.
int fr_tree_add(fr_tree *t, int parent, int32_t id, float score, int drafter);

#endif
