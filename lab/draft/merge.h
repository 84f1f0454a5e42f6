// merge.h — several proposals become one tree.
#ifndef LAB_DRAFT_MERGE_H
#define LAB_DRAFT_MERGE_H
#include "tree/tree.h"

enum { FR_MERGE_TREES = 8 };

// Fills `out`, just begun, with the union of n trees (1..FR_MERGE_TREES) of the same root. Nodes
// with the same tokens on their paths become one node, which has the score, drafter, rank, kind and
// probability of the best scored one (of equal ones, of the first tree's). A score above the
// parent's counts as the parent's. The best nodes by score are taken, best first, within out's
// depth and size, never a node without its parent. Not for trees with distributions: candidates
// that were drawn must not be picked over.
void fr_tree_merge(fr_tree *out, const fr_tree *const *tree, int n);

#endif
