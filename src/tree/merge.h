// merge.h — several proposals become one tree.
#ifndef FR_TREE_MERGE_H
#define FR_TREE_MERGE_H
#include "tree/tree.h"

enum { FR_MERGE_TREES = 8 };

// Fills `out`, just begun, with the union of n trees (1..FR_MERGE_TREES) of the same root: nodes
// with the same tokens on their paths are one node, which has the score, drafter, rank and kind of
// the best scored (of equal ones, of the first tree's). A score above the parent's counts as the
// parent's. Within out's depth, the best nodes by score are taken, as many as it holds, best first;
// a node never without its parent. Not for trees with distributions: what was drawn may not be
// picked over.
void fr_tree_merge(fr_tree *out, const fr_tree *const *tree, int n);

#endif
