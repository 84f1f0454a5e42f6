#include "tree/tree.h"
#include <assert.h>

static int clamp(int v, int low, int high) {
    return v < low ? low : v > high ? high : v;
}

void fr_tree_begin(fr_tree *t, int32_t root, int max_nodes, int max_depth) {
    t->n = 1;
    t->max_nodes = clamp(max_nodes, 1, FR_TREE_MAX);
    t->max_depth = clamp(max_depth, 0, FR_TREE_MAX_DEPTH);
    t->node[0] = (fr_node){.id = root, .parent = -1, .first_child = -1, .next = -1, .score = 1};
}

int fr_tree_child(const fr_tree *t, int parent, int32_t id) {
    for (int c = t->node[parent].first_child; c >= 0; c = t->node[c].next)
        if (t->node[c].id == id) return c;
    return -1;
}

int fr_tree_add(fr_tree *t, int parent, int32_t id, float score, int drafter) {
    assert(parent >= 0 && parent < t->n);
    int c = fr_tree_child(t, parent, id);
    if (c >= 0) {
        if (score > t->node[c].score) t->node[c].score = score;
        return c;
    }
    if (t->n >= t->max_nodes || t->node[parent].depth >= t->max_depth) return -1;
    t->node[t->n] = (fr_node){.id = id,
                              .parent = (int16_t)parent,
                              .first_child = -1,
                              .next = t->node[parent].first_child,
                              .depth = (uint8_t)(t->node[parent].depth + 1),
                              .drafter = (uint8_t)drafter,
                              .score = score};
    t->node[parent].first_child = (int16_t)t->n;
    return t->n++;
}
