#include "lab/draft/merge.h"
#include <assert.h>

// at[k][i]: where node i of tree k stands in the union; -1: not taken.
typedef struct fr_union {
    const fr_tree *const *tree;
    int n;
    int16_t at[FR_MERGE_TREES][FR_TREE_MAX];
} fr_union;

// The best node of tree k that is not taken though its parent is, if it beats *score.
static int best_of(const fr_union *u, const fr_tree *out, int k, float *score) {
    int best = -1;
    for (int i = 1; i < u->tree[k]->n; i++) {
        const fr_node *node = &u->tree[k]->node[i];
        const int parent = u->at[k][node->parent];
        if (u->at[k][i] >= 0 || parent < 0 || out->node[parent].depth >= out->max_depth) continue;
        const float above = out->node[parent].score;
        const float bounded = node->score < above ? node->score : above;
        if (bounded <= *score) continue;
        *score = bounded;
        best = i;
    }
    return best;
}

// Node `made` of the union is the same node of every tree that has it.
static void take(fr_union *u, const fr_tree *out, int made) {
    const fr_node *node = &out->node[made];
    for (int k = 0; k < u->n; k++)
        for (int i = 1; i < u->tree[k]->n; i++) {
            const fr_node *same = &u->tree[k]->node[i];
            if (same->id == node->id && u->at[k][same->parent] == node->parent)
                u->at[k][i] = (int16_t)made;
        }
}

void fr_tree_merge(fr_tree *out, const fr_tree *const *tree, int n) {
    fr_union u = {.tree = tree, .n = n};
    assert(n >= 1 && n <= FR_MERGE_TREES && out->n == 1);
    for (int k = 0; k < n; k++) {
        assert(tree[k]->node[0].id == out->node[0].id);
        for (int i = 1; i < tree[k]->n; i++)
            u.at[k][i] = -1;
    }
    while (out->n < out->max_nodes) {
        float score = -1;
        int from = -1, best = -1;
        for (int k = 0; k < n; k++) {
            const int i = best_of(&u, out, k, &score);
            if (i < 0) continue;
            from = k;
            best = i;
        }
        if (best < 0) break;
        const fr_node *node = &tree[from]->node[best];
        const int made = fr_tree_add(out, u.at[from][node->parent], node->id, score, node->drafter);
        out->node[made].rank = node->rank;
        out->node[made].kind = node->kind;
        out->node[made].prob = node->prob;
        take(&u, out, made);
    }
    assert(fr_tree_is_sound(out));
}
