#include "tree/hits.h"
#include <assert.h>

void fr_hits_expect(fr_hits *h, int kind, float rate, float weight) {
    assert(kind >= 0 && kind < FR_HIT_KINDS);
    h->kind[kind] = fr_mean_expect(rate, weight);
}

float fr_hits_rate(const fr_hits *h, int kind) {
    if (h->kind[kind].weight <= 0) return 0.5f;
    const float rate = fr_mean_value(&h->kind[kind]);
    return rate < 0.001f ? 0.001f : rate > 0.999f ? 0.999f : rate;
}

void fr_hits_count(fr_hits *h, int kind, bool right) {
    fr_mean_add(&h->kind[kind], right, h->memory);
}

void fr_hits_learn(fr_hits *h, const fr_tree *tree, int part, const int32_t *followed, int n) {
    for (int i = 0, node = 0; i < n && node >= 0; i++) {
        for (int c = tree->node[node].first_child; c >= 0; c = tree->node[c].next)
            if (tree->node[c].drafter == part)
                fr_hits_count(h, tree->node[c].kind, tree->node[c].id == followed[i]);
        node = fr_tree_child(tree, node, followed[i]);
    }
    assert(fr_hits_is_sound(h));
}

bool fr_hits_is_sound(const fr_hits *h) {
    if (!(h->memory == 0 || h->memory > 1)) return false;
    for (int k = 0; k < FR_HIT_KINDS; k++)
        if (!fr_mean_is_sound(&h->kind[k]) || h->kind[k].sum > 1.0001f * h->kind[k].weight)
            return false;
    return true;
}
