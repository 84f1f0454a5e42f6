#include "tree/hits.h"
#include <assert.h>

void fr_hits_expect(fr_hits *h, int kind, float rate, float weight) {
    assert(kind >= 0 && kind < FR_HIT_KINDS);
    h->kind[kind] = fr_mean_expect(rate, weight);
}

float fr_hits_rate(const fr_hits *h, int kind, float prob) {
    const float rate = prob * (h->kind[kind].weight > 0 ? fr_mean_value(&h->kind[kind]) : 0.5f);
    return rate < 0.001f ? 0.001f : rate > 0.999f ? 0.999f : rate;
}

void fr_hits_count(fr_hits *h, int kind, float prob, bool right) {
    fr_mean_add_weighted(&h->kind[kind], right, prob, h->memory);
}

void fr_hits_learn(fr_hits *h, const fr_tree *tree, int part, const int32_t *followed, int n) {
    for (int i = 0, node = 0; i < n && node >= 0; i++) {
        for (int c = tree->node[node].first_child; c >= 0; c = tree->node[c].next) {
            const fr_node *child = &tree->node[c];
            if (child->drafter == part)
                fr_hits_count(h, child->kind, child->prob, child->id == followed[i]);
        }
        node = fr_tree_child(tree, node, followed[i]);
    }
    assert(fr_hits_is_sound(h));
}

bool fr_hits_is_sound(const fr_hits *h) {
    if (!(h->memory == 0 || h->memory > 1)) return false;
    for (int k = 0; k < FR_HIT_KINDS; k++)
        if (!fr_mean_is_sound(&h->kind[k]) || (h->kind[k].sum > 0 && h->kind[k].weight <= 0))
            return false;
    return true;
}
