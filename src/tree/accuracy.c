#include "tree/accuracy.h"
#include <assert.h>

void fr_accuracy_count(fr_accuracy *a, int depth, const int32_t *guess, int n, int32_t came) {
    assert(depth >= 1 && depth <= FR_ACCURACY_DEPTHS);
    a->tried[depth - 1]++;
    for (int r = 0; r < n && r < FR_ACCURACY_RANKS; r++)
        if (guess[r] == came) {
            a->right[depth - 1][r]++;
            return;
        }
}

double fr_accuracy_rate(const fr_accuracy *a, int depth, int rank) {
    assert(depth >= 1 && rank >= 0);
    if (depth > FR_ACCURACY_DEPTHS || rank >= FR_ACCURACY_RANKS || !a->tried[depth - 1]) return 0;
    return (double)a->right[depth - 1][rank] / (double)a->tried[depth - 1];
}

void fr_accuracy_weigh(const fr_accuracy *a, fr_shape *s) {
    for (int i = 1; i < s->n; i++) {
        fr_shape_node *node = &s->node[i];
        node->prob = s->node[node->parent].prob * fr_accuracy_rate(a, node->depth, node->rank);
    }
}
