// accuracy.h — how often the guess of each rank at each depth is the target's token.
//
// A[k][r] = P(the guess of rank r for the k-th token after the root is right), counted along text
// that the target wrote, for each depth apart from the others.  [Medusa, "Optimized Tree
// Construction"]  A path of ranks is taken to be right with the product of its guesses' accuracies
// (the product distribution).
#ifndef FR_TREE_ACCURACY_H
#define FR_TREE_ACCURACY_H
#include "tree/shape.h"

enum { FR_ACCURACY_DEPTHS = 16, FR_ACCURACY_RANKS = 10 };

typedef struct fr_accuracy {                               // {0}: nothing counted
    uint64_t tried[FR_ACCURACY_DEPTHS];                    // positions at which depth k + 1
    uint64_t right[FR_ACCURACY_DEPTHS][FR_ACCURACY_RANKS]; // ... was guessed, rank r rightly
} fr_accuracy;

// A[depth][rank], depth 1 or more; 0 where nothing was counted.
double fr_accuracy_rate(const fr_accuracy *a, int depth, int rank);

#endif
