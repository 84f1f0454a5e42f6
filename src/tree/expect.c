#include "tree/expect.h"

double fr_shape_expect(const fr_shape *s) {
    double sum = 0;
    for (int i = 1; i < s->n; i++)
        sum += s->node[i].prob;
    return sum;
}

void fr_shape_terms(const fr_shape *s, double term[FR_TREE_MAX]) {
    term[0] = 1;
    for (int i = 1; i < s->n; i++) {
        term[i] = s->node[i].prob;
        term[s->node[i].parent] -= s->node[i].prob;
    }
}

void fr_tree_terms(const fr_tree *t, double term[FR_TREE_MAX]) {
    term[0] = 1;
    for (int i = 1; i < t->n; i++) {
        term[i] = (double)t->node[i].score;
        term[t->node[i].parent] -= (double)t->node[i].score;
    }
}
