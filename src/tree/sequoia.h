// sequoia.h — the best shape if the quality of a guess depends on its rank alone.
//
// p[b] is the probability that the child of rank b is the right one, given that its parent was,
// the same at every depth (positional acceptance). T(n, l, b) is the greatest expected number of
// tokens, the root's included, of a shape of n nodes and depth at most l whose root has the
// children 0..b-1:
//     T(1, l, 0) = 1,    T(n, l, b) = max over y of T(y, l, b - 1) + p[b - 1] * max_b' T(n - y, l -
//     1, b').
// [Sequoia (Chen et al. 2024), tree construction]  The table is large: heap or static memory, taken
// when something opens. Filling it takes nodes² * depth * children steps.
#ifndef FR_TREE_SEQUOIA_H
#define FR_TREE_SEQUOIA_H
#include "tree/cost.h"
#include "tree/shape.h"

enum { FR_SEQUOIA_NODES = 64, FR_SEQUOIA_DEPTH = 16, FR_SEQUOIA_CHILDREN = 16 };

typedef struct fr_sequoia {
    fr_shape_limits limits; // clamped to the sizes above
    double p[FR_SEQUOIA_CHILDREN];
    // T, [nodes][depth][children]; 0: there is no such shape.
    double tokens[FR_SEQUOIA_NODES + 1][FR_SEQUOIA_DEPTH + 1][FR_SEQUOIA_CHILDREN + 1];
    uint8_t rest[FR_SEQUOIA_NODES + 1][FR_SEQUOIA_DEPTH + 1][FR_SEQUOIA_CHILDREN + 1]; // its y
    uint8_t children[FR_SEQUOIA_NODES + 1][FR_SEQUOIA_DEPTH + 1]; // the best b'
} fr_sequoia;

// p holds limits->children probabilities, their sum at most 1; those from FR_SEQUOIA_CHILDREN on
// are ignored.
void fr_sequoia_solve(fr_sequoia *q, const double *p, const fr_shape_limits *limits);
// Expected tokens of the best shape of exactly n nodes and depth at most l (both within the
// limits); 0: there is none.
double fr_sequoia_tokens(const fr_sequoia *q, int n, int depth);
// Builds that shape, which must exist.
void fr_sequoia_shape(const fr_sequoia *q, int n, int depth, fr_shape *s);

// The size that costs least time a token: the n and l that minimise
//     (l * level_seconds + pass(n)) / T(n, l)     [Sequoia, hardware-aware tree optimizer]
// where a level of drafting takes level_seconds and pass(n) is that of n rows, all with logits,
// after `context` slots. n = 1, l = 0 is plain decoding. Returns the seconds a token.
double fr_sequoia_choose(const fr_sequoia *q, const fr_cost *cost, double level_seconds,
                         int context, int *n, int *depth);

#endif
