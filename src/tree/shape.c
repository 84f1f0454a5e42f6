// shape.c — builds and checks a shape. Then it picks from a tree the nodes that the shape has.
#include "tree/shape.h"
#include <assert.h>

void fr_shape_begin(fr_shape *s) {
    s->n = 1;
    s->node[0] = (fr_shape_node){.parent = -1, .prob = 1};
}

int fr_shape_add(fr_shape *s, int parent, int rank, double prob) {
    assert(parent >= 0 && parent < s->n && rank >= 0 && rank < FR_SHAPE_RANKS);
    const int depth = s->node[parent].depth + 1;
    if (s->n == FR_TREE_MAX || depth > FR_TREE_MAX_DEPTH) return -1;
    s->node[s->n] = (fr_shape_node){
        .parent = (int16_t)parent, .rank = (uint8_t)rank, .depth = (uint8_t)depth, .prob = prob};
    return s->n++;
}

int fr_shape_child(const fr_shape *s, int parent, int rank) {
    for (int i = parent + 1; i < s->n; i++)
        if (s->node[i].parent == parent && s->node[i].rank == rank) return i;
    return -1;
}

int fr_shape_children(const fr_shape *s, int parent, int16_t child[FR_TREE_MAX]) {
    int n = 0;
    for (int i = parent + 1; i < s->n; i++) {
        if (s->node[i].parent != parent) continue;
        int k = n++;
        for (; k > 0 && s->node[child[k - 1]].rank > s->node[i].rank; k--)
            child[k] = child[k - 1];
        child[k] = (int16_t)i;
    }
    return n;
}

static bool check_node(const fr_shape *s, int i) {
    const fr_shape_node *node = &s->node[i];
    if (node->parent < 0 || node->parent >= i) return false;
    const fr_shape_node *parent = &s->node[node->parent];
    return node->depth == parent->depth + 1 && node->depth <= FR_TREE_MAX_DEPTH &&
           node->prob >= 0 && node->prob <= parent->prob && // neither holds of a NaN
           fr_shape_child(s, node->parent, node->rank) == i;
}

bool fr_shape_is_sound(const fr_shape *s) {
    if (s->n < 1 || s->n > FR_TREE_MAX) return false;
    const fr_shape_node *root = &s->node[0];
    if (root->parent != -1 || root->depth || root->rank || root->prob != 1) return false;
    for (int i = 1; i < s->n; i++)
        if (!check_node(s, i)) return false;
    return true;
}

int fr_shape_depth(const fr_shape *s) {
    int depth = 0;
    for (int i = 1; i < s->n; i++)
        if (s->node[i].depth > depth) depth = s->node[i].depth;
    return depth;
}

void fr_shape_pick(const fr_shape *s, fr_tree *tree) {
    int at[FR_TREE_MAX] = {0};     // the shape's node of each of the tree's; -1: none
    bool taken[FR_TREE_MAX] = {0}; // of the shape's
    bool keep[FR_TREE_MAX] = {true};
    for (int i = 1; i < tree->n; i++) {
        const fr_node *node = &tree->node[i];
        at[i] = at[node->parent] < 0 ? -1 : fr_shape_child(s, at[node->parent], node->rank);
        keep[i] = at[i] >= 0 && !taken[at[i]];
        if (keep[i])
            taken[at[i]] = true;
        else
            at[i] = -1;
    }
    fr_tree_retain(tree, keep);
}
