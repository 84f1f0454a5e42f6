#include "draft/kit/fixed_tree.h"
#include "tree/best_shape.h"

void fr_fixed_tree_plan(fr_fixed_tree *f, const fr_trained *t, int nodes, int depth) {
    const fr_shape_limits limits = {.nodes = nodes, .depth = depth, .children = FR_TRAINED_RANKS};
    fr_best_shape(&f->shape, &t->pack->accuracy, &limits);
}

void fr_fixed_tree_begin(fr_fixed_tree *f) {
    f->place[0] = 0;
}

void fr_fixed_tree_offer(fr_fixed_tree *f, fr_trained *t, int node, const fr_likely *likely,
                         int n) {
    int16_t child[FR_TREE_MAX];
    if (fr_drafter_is_watched(&t->base)) { // each node of the path is continued, whatever the shape
        const int at = fr_trained_follow(t, node, likely, n);
        if (at >= 0) f->place[at] = 0;
        return;
    }
    const int n_children = fr_shape_children(&f->shape, f->place[node], child);
    for (int i = 0; i < n_children; i++) {
        const int rank = f->shape.node[child[i]].rank;
        const int at = rank < n ? fr_trained_offer_one(t, node, &likely[rank], rank) : -1;
        if (at >= 0) f->place[at] = child[i];
    }
}

int fr_fixed_tree_next(fr_fixed_tree *f, fr_trained *t, const fr_context *c, const fr_tree *tree) {
    fr_beam *b = &t->beam;
    int16_t child[FR_TREE_MAX];
    int n = 0;
    const int from = b->level;
    if (!fr_trained_next(t, c, tree, FR_LEVEL_FREE)) return 0;
    for (int i = from; i < b->n && n < FR_BEAM_WIDTH; i++)
        if (fr_shape_children(&f->shape, f->place[i], child)) b->frontier[n++] = (int16_t)i;
    return b->n_frontier = n;
}
