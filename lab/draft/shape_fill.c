#include "lab/draft/shape_fill.h"

void fr_shape_fill(const fr_shape *s, const fr_guesses *g, int drafter, fr_tree *tree) {
    int at[FR_TREE_MAX] = {0}; // the tree's node of each node; -1: left out
    for (int i = 1; i < s->n; i++) {
        const fr_shape_node *node = &s->node[i];
        at[i] = -1;
        if (at[node->parent] < 0 || node->depth > g->depths || node->rank >= g->ranks) continue;
        const int32_t id = g->id[(node->depth - 1) * g->ranks + node->rank];
        if (id < 0) continue;
        const int before = tree->n;
        at[i] = fr_tree_add(tree, at[node->parent], id, (float)node->prob, drafter);
        if (tree->n > before) tree->node[at[i]].rank = node->rank;
    }
}

void fr_accuracy_weigh(const fr_accuracy *a, fr_shape *s) {
    for (int i = 1; i < s->n; i++) {
        fr_shape_node *node = &s->node[i];
        node->prob = s->node[node->parent].prob * fr_accuracy_rate(a, node->depth, node->rank);
    }
}
