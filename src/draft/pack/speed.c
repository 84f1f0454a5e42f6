// speed.c — takes from the form which share of a plain pass drafting so deep takes. Then it tries
// every depth and tree size, or the planned trees of attached rows, and returns the greatest speed.
#include "draft/pack/speed.h"
#include "decode/budget.h"
#include "draft/pack/form.h"
#include "tree/best_shape.h"
#include "tree/expect.h"
#include "tree/ppd.h"

enum {
    NODES = 33,
    ATTACHED_ROWS = 24,
    CONTEXT = 256
}; // most rows; tokens that are assumed to stand before

double fr_pack_head_share(const fr_pack *p, const fr_pack_target *t) {
    return 34.0 / 32 * p->n_draft * p->d / (double)t->weights;
}

double fr_pack_own_share(const fr_pack *p, const fr_pack_target *t) {
    return (double)p->bytes / (double)t->weights;
}

// Where guesses run in the pass themselves: the best trees of all states (tree/ppd.h).
static double speed_attached(const fr_pack *p, const fr_cost *cost, double plain,
                             const fr_pack_target *t) {
    const fr_pack_chains chains = p->form->chains(p, t->layers);
    const fr_ppd_limits limits = {.rows = ATTACHED_ROWS,
                                  .prompts = p->depth,
                                  .ensemble = chains.ensemble,
                                  .children = FR_ACCURACY_RANKS,
                                  .share = chains.share};
    fr_ppd trees;
    if (limits.rows < 1 + p->depth * chains.ensemble) return 0; // never pays
    const double speed = fr_ppd_fit(&trees, &p->accuracy, &limits, cost,
                                    p->form->share(p, p->depth, t) * plain, CONTEXT);
    return speed * plain;
}

double fr_pack_speed(const fr_pack *p, const fr_cost *cost, int layers, uint64_t weights) {
    const fr_pack_target t = {layers, weights};
    fr_budget budget;
    double best = 1;
    fr_budget_open(&budget, cost, NULL);
    const double plain = fr_cost_pass(&budget.cost, 1, 1, CONTEXT);
    if (p->form->chains) {
        const double attached = speed_attached(p, &budget.cost, plain, &t);
        return attached > best ? attached : best;
    }
    for (int depth = 1; depth <= p->depth; depth++) {
        fr_shape shape;
        const fr_shape_limits limits = {
            .nodes = NODES, .depth = depth, .children = FR_ACCURACY_RANKS};
        fr_best_shape(&shape, &p->accuracy, &limits);
        for (int n = shape.n; n > 1; n = --shape.n) { // its first n nodes are the best n
            const double seconds =
                fr_cost_pass(&budget.cost, n, n, CONTEXT) + p->form->share(p, depth, &t) * plain;
            const double speed = (1 + fr_shape_expect(&shape)) * plain / seconds;
            if (speed > best) best = speed;
        }
    }
    return best;
}
