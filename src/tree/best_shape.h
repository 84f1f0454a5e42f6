// best_shape.h — the best shape for guesses whose accuracies are known.
#ifndef FR_TREE_BEST_SHAPE_H
#define FR_TREE_BEST_SHAPE_H
#include "tree/accuracy.h"

// The shape whose nodes have the greatest sum of probabilities under the product distribution,
// among all within the limits: the likeliest paths, one after the other. The order of adding nodes
// does not depend on their final number, so the first n nodes of a shape are the best shape of n
// nodes. Guesses that were never right get no node. [Medusa, "Optimized Tree Construction"; PPD
// §4.2, proposition 4.1]
void fr_best_shape(fr_shape *s, const fr_accuracy *a, const fr_shape_limits *limits);

#endif
