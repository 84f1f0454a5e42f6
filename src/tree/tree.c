// tree.c — adds nodes to a tree, merging equal children. Then it keeps the best n by score, or
// whatever nodes the caller names, and links them anew.
#include "tree/tree.h"
#include <assert.h>
#include <stddef.h>

void fr_tree_begin(fr_tree *t, int32_t root, int max_nodes, int max_depth) {
    t->n = 1;
    t->max_nodes = fr_tree_clamp(max_nodes, 1, FR_TREE_MAX);
    t->max_depth = fr_tree_clamp(max_depth, 0, FR_TREE_MAX_DEPTH);
    t->node[0] = (fr_node){.id = root, .parent = -1, .first_child = -1, .next = -1, .score = 1};
    t->dist[0] = NULL;
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
                              .prob = 1,
                              .score = score};
    t->node[parent].first_child = (int16_t)t->n;
    t->dist[t->n] = NULL;
    return t->n++;
}

int fr_tree_scores(const fr_tree *t, float score[FR_TREE_MAX]) {
    int n = 0;
    for (int i = 1; i < t->n; i++) {
        int k = n++;
        for (; k > 0 && score[k - 1] < t->node[i].score; k--)
            score[k] = score[k - 1];
        score[k] = t->node[i].score;
    }
    return n;
}

// Walks the list of a node's children, counting them; *n stays below t->n, whatever the links say.
static bool children_are_sound(const fr_tree *t, int parent, int *n) {
    for (int c = t->node[parent].first_child; c >= 0; c = t->node[c].next) {
        if (c <= parent || c >= t->n || ++*n >= t->n) return false;
        const fr_node *node = &t->node[c];
        if (node->parent != parent || node->depth != t->node[parent].depth + 1) return false;
        if (node->depth > t->max_depth || !(node->score >= 0)) return false;
    }
    return true;
}

bool fr_tree_is_sound(const fr_tree *t) {
    int n_children = 0;
    if (t->max_nodes < 1 || t->max_nodes > FR_TREE_MAX || t->n < 1 || t->n > t->max_nodes)
        return false;
    if (t->max_depth < 0 || t->max_depth > FR_TREE_MAX_DEPTH) return false;
    if (t->node[0].parent != -1 || t->node[0].depth) return false;
    for (int i = 0; i < t->n; i++)
        if (!children_are_sound(t, i, &n_children)) return false;
    if (n_children != t->n - 1) return false; // so every node stands in its parent's list
    for (int i = 1; i < t->n; i++)            // of two with the same id the first one is found
        if (fr_tree_child(t, t->node[i].parent, t->node[i].id) != i) return false;
    return true;
}

bool fr_tree_is_drawn(const fr_tree *t) {
    for (int i = 0; i < t->n; i++)
        if (t->dist[i]) return true;
    return false;
}

// The n-th largest of the scores of nodes 1.., none above its parent's; how many stand above it.
static float bound_of(fr_tree *t, int n, int *above) {
    float sorted[FR_TREE_MAX];
    for (int i = 1; i < t->n; i++) {
        fr_node *node = &t->node[i];
        if (node->score > t->node[node->parent].score) node->score = t->node[node->parent].score;
    }
    fr_tree_scores(t, sorted);
    *above = 0;
    while (*above < n && sorted[*above] > sorted[n - 1])
        ++*above;
    return sorted[n - 1];
}

void fr_tree_retain(fr_tree *t, const bool *keep) {
    int16_t to[FR_TREE_MAX] = {0};
    int kept = 1;
    t->node[0].first_child = -1;
    for (int i = 1; i < t->n; i++) {
        fr_node node = t->node[i];
        to[i] = -1;
        if (!keep[i] || to[node.parent] < 0) continue;
        node.parent = to[node.parent];
        node.first_child = -1;
        node.next = t->node[node.parent].first_child;
        t->node[node.parent].first_child = to[i] = (int16_t)kept;
        t->node[kept++] = node;
    }
    t->n = kept;
    assert(fr_tree_is_sound(t));
}

void fr_tree_keep(fr_tree *t, int n) {
    bool keep[FR_TREE_MAX] = {true};
    int above;
    if (n >= t->n) return;
    const float bound = n > 1 ? bound_of(t, n - 1, &above) : 2;
    int ties = n > 1 ? n - 1 - above : 0;
    for (int i = 1; i < t->n; i++) {
        const fr_node *node = &t->node[i];
        keep[i] = keep[node->parent] && node->score >= bound;
        if (keep[i] && node->score == bound) keep[i] = ties-- > 0;
    }
    fr_tree_retain(t, keep);
}
