#include "draft/pack_speed.h"
#include "decode/pace.h"
#include "tree/expand.h"
#include "tree/expect.h"

enum { NODES = 33, CONTEXT = 256 }; // most rows; tokens that are reckoned to stand before

// Share of a plain pass that drafting `depth` tokens ahead takes.
static double draft_share(const fr_pack *p, int depth, uint64_t weights) {
    const double head = 34.0 / 32 * p->n_draft * p->d / (double)weights; // of Q8_0
    const double own = (double)p->bytes / (double)weights;
    const bool own_heads = p->kind == FR_PACK_MEDUSA && p->variant == FR_MEDUSA_OWN_HEADS;
    switch (p->kind) {
    case FR_PACK_MEDUSA:
        if (p->variant == FR_MEDUSA_HYDRA) return own + depth * head;
        return own + (own_heads ? 0 : head);
    case FR_PACK_EAGLE:
        return depth * (own + head);
    case FR_PACK_HIDDEN_STATE:
        break;
    }
    return depth * own + head; // one product of the head for all states
}

double fr_pack_speed(const fr_pack *p, const fr_cost *cost, uint64_t weights) {
    fr_pace pace;
    double best = 1;
    fr_pace_open(&pace, cost, true);
    const double plain = fr_cost_pass(&pace.cost, 1, 1, CONTEXT);
    for (int depth = 1; depth <= p->depth; depth++) {
        fr_shape shape;
        const fr_shape_limits limits = {
            .nodes = NODES, .depth = depth, .children = FR_ACCURACY_RANKS};
        fr_expand(&shape, &p->accuracy, &limits);
        for (int n = shape.n; n > 1; n = --shape.n) { // its first n nodes are the best n
            const double seconds =
                fr_cost_pass(&pace.cost, n, n, CONTEXT) + draft_share(p, depth, weights) * plain;
            const double speed = (1 + fr_shape_expect(&shape)) * plain / seconds;
            if (speed > best) best = speed;
        }
    }
    return best;
}
