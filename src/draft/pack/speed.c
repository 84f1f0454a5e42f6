// speed.c — first the share of a plain pass that drafting so deep takes, by kind. Then it tries
// every depth and tree size, or the planned trees of attached rows, and returns the greatest speed.
#include "draft/pack/speed.h"
#include "decode/budget.h"
#include "tree/best_shape.h"
#include "tree/expect.h"
#include "tree/ppd.h"

enum {
    NODES = 33,
    ATTACHED_ROWS = 24,
    CONTEXT = 256
}; // most rows; tokens that are assumed to stand before

// The block's share of the target's weights, as Q8_0.
static double block_share(const fr_pack *p, uint64_t weights) {
    const double heads = p->n_head + p->n_kv, attention = 2.0 * heads * p->head_dim * p->d;
    return 34.0 / 32 * (attention + 3.0 * p->d_ff * p->d) / (double)weights;
}

// The share of the layers that a draft runs through, the target's head as Q8_0.
static double exit_share(const fr_pack *p, int layers, uint64_t weights) {
    const double head = 34.0 / 32 * p->n_vocab * p->d / (double)weights;
    return (double)p->exit / layers * (head < 1 ? 1 - head : 0);
}

// What makes states of several layers, read for the rows of the text alone.
static double taps_share(const fr_pack *p, uint64_t weights) {
    return 34.0 / 32 * p->n_taps * p->d * p->d / (double)weights;
}

// Share of a plain pass that drafting `depth` tokens ahead takes.
static double draft_share(const fr_pack *p, int depth, int layers, uint64_t weights) {
    const double head = 34.0 / 32 * p->n_draft * p->d / (double)weights; // of Q8_0
    const double own = (double)p->bytes / (double)weights;
    const bool own_heads = p->variant == FR_MEDUSA_OWN_HEADS;
    switch (p->kind) {
    case FR_PACK_MEDUSA:
        if (p->variant == FR_MEDUSA_HYDRA) return own + depth * head;
        return own + (own_heads ? 0 : head);
    case FR_PACK_CHIMERA: // its encoder's states come from a table most of the time
        return own + (depth - 1) * block_share(p, weights) + (own_heads ? 0 : depth * head);
    case FR_PACK_EAGLE:
        return depth * (own + head) - (depth - 1) * taps_share(p, weights);
    case FR_PACK_LAYER_SKIP:
        return depth * (double)p->share;
    case FR_PACK_EARLY_EXIT: // the pass saves the layers of all rows but those that begin in it
        return depth * (exit_share(p, layers, weights) + own + head);
    case FR_PACK_PPD:
    case FR_PACK_HIDDEN_TRANSFER:
        return head;
    case FR_PACK_HIDDEN_STATE:
        break;
    }
    return depth * own + head; // one product of the head for all states
}

_Static_assert((int)FR_PACK_ATTACHED <= (int)FR_PPD_PROMPTS, "trees serve every pack");

// Where guesses run in the pass themselves: the best trees of all states (tree/ppd.h).
static double speed_attached(const fr_pack *p, const fr_cost *cost, int layers, double plain,
                             uint64_t weights) {
    fr_ppd_limits limits = {.rows = ATTACHED_ROWS,
                            .prompts = p->depth,
                            .ensemble = p->ensemble,
                            .children = FR_ACCURACY_RANKS};
    fr_ppd trees;
    for (int i = 0; i < p->depth; i++)
        limits.share += (double)(layers - p->layer[i]) / layers / p->depth;
    if (limits.rows < 1 + p->depth * p->ensemble) return 0; // never pays
    const double speed = fr_ppd_fit(&trees, &p->accuracy, &limits, cost,
                                    draft_share(p, p->depth, layers, weights) * plain, CONTEXT);
    return speed * plain;
}

double fr_pack_speed(const fr_pack *p, const fr_cost *cost, int layers, uint64_t weights) {
    fr_budget budget;
    double best = 1;
    fr_budget_open(&budget, cost);
    const double plain = fr_cost_pass(&budget.cost, 1, 1, CONTEXT);
    if (p->kind == FR_PACK_PPD || p->kind == FR_PACK_HIDDEN_TRANSFER) {
        const double attached = speed_attached(p, &budget.cost, layers, plain, weights);
        return attached > best ? attached : best;
    }
    for (int depth = 1; depth <= p->depth; depth++) {
        fr_shape shape;
        const fr_shape_limits limits = {
            .nodes = NODES, .depth = depth, .children = FR_ACCURACY_RANKS};
        fr_best_shape(&shape, &p->accuracy, &limits);
        for (int n = shape.n; n > 1; n = --shape.n) { // its first n nodes are the best n
            const double seconds = fr_cost_pass(&budget.cost, n, n, CONTEXT) +
                                   draft_share(p, depth, layers, weights) * plain;
            const double speed = (1 + fr_shape_expect(&shape)) * plain / seconds;
            if (speed > best) best = speed;
        }
    }
    return best;
}
