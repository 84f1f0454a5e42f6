#include "tree/markov.h"

// The chain with `start` as state 0, which it returns to once in a long while.
static void prepare(const fr_markov *c, int start, double move[][FR_MARKOV_STATES]) {
    const double anew = 1e-12;
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < c->n; j++) {
            const int from = i == 0 ? start : i == start ? 0 : i;
            const int to = j == 0 ? start : j == start ? 0 : j;
            move[i][j] = (1 - anew) * c->move[from][to] + (j == 0 ? anew : 0);
        }
}

void fr_markov_steady(const fr_markov *c, int start, double share[FR_MARKOV_STATES]) {
    double move[FR_MARKOV_STATES][FR_MARKOV_STATES], seen[FR_MARKOV_STATES], sum = 1;
    prepare(c, start, move);
    // Without state s, a way through it leads straight from its source to its target.
    for (int s = c->n - 1; s > 0; s--) {
        double leave = 0;
        for (int j = 0; j < s; j++)
            leave += move[s][j];
        for (int i = 0; i < s; i++) {
            move[i][s] /= leave;
            for (int j = 0; j < s; j++)
                move[i][j] += move[i][s] * move[s][j];
        }
    }
    seen[0] = 1;
    for (int s = 1; s < c->n; s++) {
        seen[s] = 0;
        for (int i = 0; i < s; i++)
            seen[s] += seen[i] * move[i][s];
        sum += seen[s];
    }
    for (int i = 0; i < c->n; i++)
        share[i == 0 ? start : i == start ? 0 : i] = seen[i] / sum;
}
