#include "tree/hits.h"
#include <assert.h>

void fr_hits_expect(fr_hits *h, int kind, float rate, float weight) {
    assert(kind >= 0 && kind < FR_HIT_KINDS);
    h->kind[kind] = fr_mean_expect(rate, weight);
}

void fr_hits_expect_probabilities(fr_hits *h) {
    const float firm = 20;
    for (int kind = 0; kind < FR_HIT_KINDS; kind++)
        fr_hits_expect(h, kind, 1, firm);
    h->memory = 200;
    h->corrects = true;
}

int fr_hits_kind_of_depth(int depth) {
    return (depth < FR_HIT_DEPTHS ? depth : FR_HIT_DEPTHS) - 1;
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

static bool kind_is_sound(const fr_mean *kind, bool corrects) {
    if (!fr_mean_is_sound(kind)) return false;
    return kind->sum <= 1.0001f * kind->weight || (corrects && kind->weight > 0);
}

bool fr_hits_is_sound(const fr_hits *h) {
    if (!(h->memory == 0 || h->memory > 1)) return false;
    for (int k = 0; k < FR_HIT_KINDS; k++)
        if (!kind_is_sound(&h->kind[k], h->corrects)) return false;
    return true;
}
