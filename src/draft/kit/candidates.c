#include "draft/kit/candidates.h"

bool fr_candidates_next(fr_candidates *c, float least, fr_candidate *best) {
    int b = 0;
    if (!c->n) return false;
    for (int i = 1; i < c->n; i++)
        if (c->waiting[i].score > c->waiting[b].score) b = i;
    *best = c->waiting[b];
    if (best->score < least) return false;
    c->waiting[b] = c->waiting[--c->n];
    return true;
}

int fr_candidate_enter(const fr_candidate *c, fr_tree *tree, int part) {
    const int before = tree->n;
    const int node = fr_tree_add(tree, c->node, c->id, c->score, part);
    if (node == before) {
        tree->node[node].kind = c->kind;
        tree->node[node].rank = c->rank;
    }
    return node;
}
