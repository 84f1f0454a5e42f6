#include "tree/beam.h"
#include <assert.h>

void fr_beam_begin(fr_beam *b, int32_t root, int width) {
    b->width = width < 1 ? 1 : width > FR_BEAM_WIDTH ? FR_BEAM_WIDTH : width;
    b->n = b->level = 1;
    b->node[0] = (fr_beam_node){.id = root, .parent = -1, .score = 1};
    b->n_frontier = 1;
    b->frontier[0] = 0;
}

int fr_beam_offer(fr_beam *b, int parent, int32_t id, float p, int kind) {
    assert(parent >= 0 && parent < b->level);
    if (b->n == FR_BEAM_NODES) return -1;
    const fr_beam_node *above = &b->node[parent], *last = &b->node[b->n - 1];
    const bool first = last->parent != parent;
    b->node[b->n] = (fr_beam_node){.id = id,
                                   .parent = (int16_t)parent,
                                   .depth = (uint8_t)(above->depth + 1),
                                   .rank = first ? 0 : (uint8_t)(last->rank + 1),
                                   .kind = (uint8_t)kind,
                                   .prob = 1,
                                   .score = above->score * (p < 1 ? p : 1)};
    return b->n++;
}

// Puts node i into the list of the `most` best by score, descending; earlier ones win ties.
// Returns the list's length.
static int insert_best(const fr_beam *b, int16_t *list, int n, int most, int i) {
    if (n == most && (most == 0 || b->node[i].score <= b->node[list[n - 1]].score)) return n;
    int k = n < most ? n++ : n - 1;
    for (; k > 0 && b->node[list[k - 1]].score < b->node[i].score; k--)
        list[k] = list[k - 1];
    list[k] = (int16_t)i;
    return n;
}

int fr_beam_next(fr_beam *b) {
    b->n_frontier = 0;
    for (int i = b->level; i < b->n; i++)
        if (b->node[i].score > 0)
            b->n_frontier = insert_best(b, b->frontier, b->n_frontier, b->width, i);
    b->level = b->n;
    assert(fr_beam_is_sound(b));
    return b->n_frontier;
}

bool fr_beam_is_sound(const fr_beam *b) {
    if (b->n < 1 || b->n > FR_BEAM_NODES || b->level < 1 || b->level > b->n) return false;
    if (b->width < 1 || b->width > FR_BEAM_WIDTH) return false;
    if (b->n_frontier < 0 || b->n_frontier > b->width) return false;
    for (int i = 0; i < b->n_frontier; i++)
        if (b->frontier[i] < 0 || b->frontier[i] >= b->level) return false;
    if (b->node[0].parent != -1 || b->node[0].depth) return false;
    for (int i = 1; i < b->n; i++) {
        const fr_beam_node *node = &b->node[i];
        if (node->parent < 0 || node->parent >= i) return false;
        const fr_beam_node *above = &b->node[node->parent];
        if (node->depth != above->depth + 1) return false;
        if (!(node->score >= 0 && node->score <= above->score)) return false;
    }
    return true;
}

void fr_beam_fill(const fr_beam *b, int drafter, fr_tree *tree) {
    int16_t best[FR_TREE_MAX], at[FR_BEAM_NODES];
    bool chosen[FR_BEAM_NODES] = {true};
    int n = 0;
    for (int i = 1; i < b->n; i++)
        if (b->node[i].depth <= tree->max_depth)
            n = insert_best(b, best, n, tree->max_nodes - tree->n, i);
    for (int i = 0; i < n; i++)
        chosen[best[i]] = true;
    at[0] = 0;
    for (int i = 1; i < b->n; i++) {
        const fr_beam_node *node = &b->node[i];
        at[i] = -1;
        if (!chosen[i] || at[node->parent] < 0) continue;
        const int before = tree->n;
        at[i] = (int16_t)fr_tree_add(tree, at[node->parent], node->id, node->score, drafter);
        if (tree->n == before) continue;
        tree->node[at[i]].rank = node->rank;
        tree->node[at[i]].kind = node->kind;
        tree->node[at[i]].prob = node->prob;
    }
}
