// markov.h — how often a Markov chain of few states is in each of them.
#ifndef FR_TREE_MARKOV_H
#define FR_TREE_MARKOV_H

enum { FR_MARKOV_STATES = 8 };

typedef struct fr_markov {
    int n;                                           // states, 1..FR_MARKOV_STATES
    double move[FR_MARKOV_STATES][FR_MARKOV_STATES]; // [from][to]; rows sum to 1
} fr_markov;

// share[i] = the part of a long time that a chain which began in state `start` spends in state i;
// they sum to 1 and solve share * move = share. To make them unique where states never come back
// to `start`, the chain is thought to begin anew once in 10¹² steps.
//
// Elimination without subtractions, so no share loses digits.  [Grassmann, Taksar, Heyman 1985]
void fr_markov_steady(const fr_markov *c, int start, double share[FR_MARKOV_STATES]);

#endif
