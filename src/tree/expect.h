// expect.h — what a tree is expected to bring, from the probabilities of its nodes.
//
// prob(c) is the probability that node c is accepted, all nodes above it included. The passes in
// which c is accepted but none of its children are those in which it is the *last*:
//     term(c) = prob(c) - sum of prob over the children of c.
// The terms of all nodes, the root's included, sum to 1, and sum of depth * term is the expected
// length. A term is below 0 only where the children were given more than their parent has.
#ifndef FR_TREE_EXPECT_H
#define FR_TREE_EXPECT_H
#include "tree/shape.h"

// Expected number of accepted candidates: the sum of prob over all nodes but the root. A pass is
// expected to bring one token more.  [PPD §4.2, proposition 4.1]
double fr_shape_expect(const fr_shape *s);

// term[i] = the probability that node i is the last one accepted.
void fr_shape_terms(const fr_shape *s, double term[FR_TREE_MAX]);
void fr_tree_terms(const fr_tree *t, double term[FR_TREE_MAX]);

#endif
