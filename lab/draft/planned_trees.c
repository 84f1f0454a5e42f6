// planned_trees.c — plans a tree and its attached rows for every state: dynamic, static or random.
// In a step it fills the plan's shape with guesses, then gives each node the rows that are planned.
#include "lab/draft/planned_trees.h"
#include "tree/best_shape.h"
#include <string.h>

enum {
    CHILDREN = FR_ACCURACY_RANKS,
    FITTED_MOST = 32, // rows among which the fastest are looked for
};

// ---------------------------------------------------------------- static and random

// As many candidates as there are rows for when each carries a full chain.
static void plan_static(fr_ppd *t, const fr_accuracy *a) {
    const int m = t->limits.prompts, each = 1 + m * t->limits.ensemble;
    fr_ppd_state *s = &t->state[m];
    const int nodes = t->limits.rows / each;
    fr_best_shape(
        &s->shape, a,
        &(fr_shape_limits){.nodes = nodes > 1 ? nodes : 1, .depth = m, .children = CHILDREN});
    memset(s->prompts, m, (size_t)s->shape.n);
    s->rows = s->shape.n * each;
}

static uint32_t draw(uint64_t *dice, int below) {
    *dice = *dice * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*dice >> 33) * (uint64_t)below >> 31);
}

// Keeps the numbers of candidates and of attached rows and draws their places at random.
static void plan_random(fr_ppd *t, const fr_accuracy *a) {
    uint64_t dice = 1;
    for (int k = 0; k <= t->limits.prompts; k++) {
        fr_ppd_state *s = &t->state[k];
        const int nodes = s->shape.n;
        int rows = -t->limits.prompts; // the root keeps its own
        for (int c = 0; c < nodes; c++)
            rows += s->prompts[c];
        fr_shape_begin(&s->shape);
        while (s->shape.n < nodes) {
            const int parent = (int)draw(&dice, s->shape.n), rank = (int)draw(&dice, CHILDREN);
            if (s->shape.node[parent].depth < k && fr_shape_child(&s->shape, parent, rank) < 0)
                fr_shape_add(&s->shape, parent, rank, 1);
        }
        fr_accuracy_weigh(a, &s->shape);
        memset(s->prompts, 0, (size_t)nodes);
        s->prompts[0] = (uint8_t)t->limits.prompts;
        for (; rows > 0 && nodes > 1; rows--) {
            int c;
            do
                c = 1 + (int)draw(&dice, nodes - 1);
            while (s->prompts[c] == t->limits.prompts);
            s->prompts[c]++;
        }
    }
}

// ---------------------------------------------------------------- making them

static fr_ppd_limits limits_of(const fr_planned *p, const fr_attached_benefit *r) {
    fr_ppd_limits l = {.rows = p->rows ? p->rows : FITTED_MOST,
                       .prompts = r->steps,
                       .ensemble = r->ensemble,
                       .children = CHILDREN};
    const int least = 1 + l.prompts * l.ensemble;
    for (int i = 0; i < r->steps; i++)
        l.share += r->share[i] / r->steps;
    if (l.rows < least) l.rows = least;
    return l;
}

void fr_planned_make(fr_planned *p, const fr_attached_benefit *r, const fr_accuracy *a,
                     const fr_cost *cost, int context) {
    if (p->made) return;
    p->made = true;
    const fr_ppd_limits limits = limits_of(p, r);
    if (p->rows)
        fr_ppd_choose(&p->trees, a, &limits);
    else
        fr_ppd_fit(&p->trees, a, &limits, cost, 0, context);
    if (p->kind == FR_PLAN_STATIC) plan_static(&p->trees, a);
    if (p->kind == FR_PLAN_RANDOM) plan_random(&p->trees, a);
}

// ---------------------------------------------------------------- in a step

void fr_planned_fill(fr_planned *p, const fr_guesses *guesses, int part, fr_tree *tree) {
    fr_shape_fill(&p->trees.state[guesses->depths].shape, guesses, part, tree);
}

// As many attached rows as are planned, or as there is room for.
static uint8_t take(int planned, int *most) {
    const int n = planned < *most ? planned : *most;
    *most -= n;
    return (uint8_t)n;
}

void fr_planned_attach(fr_planned *p, int state, int part, const fr_tree *tree, int most,
                       uint8_t n_attached[FR_TREE_MAX]) {
    const fr_ppd_state *s = &p->trees.state[state];
    p->node[0] = 0;
    n_attached[0] = take(p->trees.limits.prompts, &most); // in every state, so that state 0 ends
    for (int i = 1; i < tree->n; i++) {
        const fr_node *n = &tree->node[i];
        const int above = p->node[n->parent];
        p->node[i] = n->drafter == part && above >= 0
                         ? (int16_t)fr_shape_child(&s->shape, above, n->rank)
                         : -1;
        n_attached[i] = p->node[i] >= 0 ? take(s->prompts[p->node[i]], &most) : 0;
    }
}
