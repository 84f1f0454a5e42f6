#include "tree/best_shape.h"
#include <assert.h>

// Ranks by falling accuracy: a rank may have been right more often than the one before it.
typedef struct fr_order {
    int rank[FR_ACCURACY_DEPTHS + 1][FR_ACCURACY_RANKS];
} fr_order;

static void sort_ranks(fr_order *o, const fr_accuracy *a) {
    for (int depth = 1; depth <= FR_ACCURACY_DEPTHS; depth++) {
        int *rank = o->rank[depth];
        for (int r = 0; r < FR_ACCURACY_RANKS; r++) {
            const double rate = fr_accuracy_rate(a, depth, r);
            int k = r;
            for (; k > 0 && fr_accuracy_rate(a, depth, rank[k - 1]) < rate; k--)
                rank[k] = rank[k - 1];
            rank[k] = r;
        }
    }
}

void fr_best_shape(fr_shape *s, const fr_accuracy *a, const fr_shape_limits *limits) {
    fr_order order;
    int n_children[FR_TREE_MAX] = {0};
    sort_ranks(&order, a);
    fr_shape_begin(s);
    while (s->n < limits->nodes && s->n < FR_TREE_MAX) {
        // The next child of every node is the likeliest one that it lacks.
        int parent = -1, rank = 0;
        double best = 0;
        for (int i = 0; i < s->n; i++) {
            const int depth = s->node[i].depth + 1, k = n_children[i];
            if (depth > limits->depth || depth > FR_ACCURACY_DEPTHS) continue;
            if (k == limits->children || k == FR_ACCURACY_RANKS) continue;
            const int r = order.rank[depth][k];
            const double prob = s->node[i].prob * fr_accuracy_rate(a, depth, r);
            if (prob <= best) continue;
            best = prob;
            parent = i;
            rank = r;
        }
        if (parent < 0) break;
        n_children[parent]++;
        fr_shape_add(s, parent, rank, best);
    }
    assert(fr_shape_is_sound(s));
}
