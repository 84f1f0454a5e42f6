// attached_benefit.c — first the worth of guesses k deep: expected from accuracies, then learned. Then
// the choice: the chain with the best gain for its time grows until none pays; where none does, a
// full chain on the root is tried now and then.
#include "draft/attached/attached_benefit.h"
#include "base/mean.h"
#include "tree/best_shape.h"
#include "tree/expect.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { NODES = 17 };
static const fr_pauses PAUSES = {.shortest = 8, .longest = 128};
static const double OF_STEP = 1.0 / 24; // weight of one step in the mean

void fr_attached_benefit_begin(fr_attached_benefit *r) {
    r->trial = (fr_trial){0};
    assert(fr_attached_benefit_is_sound(r));
}

bool fr_attached_benefit_is_sound(const fr_attached_benefit *r) {
    if (r->steps < 1 || r->steps > FR_ATTACHED_STEPS || r->ensemble < 1) return false;
    for (int i = 0; i < r->steps; i++) {
        if (!(r->share[i] >= 0 && r->share[i] <= 1)) return false;
        if (r->worth[i + 1] != r->worth[i + 1]) return false; // NaN
    }
    return r->worth[0] == 0 && fr_trial_is_sound(&r->trial);
}

// ---------------------------------------------------------------- what guesses are worth

// Tokens that the best shape k deep brings beyond plain decoding, less what the rows of its
// candidates take.
static double worth_of(const fr_accuracy *a, int k, const fr_budget *budget, int context) {
    fr_shape s;
    double best = 0, sum = 0;
    fr_best_shape(&s, a,
                  &(fr_shape_limits){.nodes = NODES, .depth = k, .children = FR_ACCURACY_RANKS});
    for (int n = 1; n < s.n; n++) {
        sum += s.node[n].prob;
        const double net = sum - fr_budget_rows_cost(budget, n + 1, n, NULL, context);
        if (net > best) best = net;
    }
    return best;
}

void fr_attached_benefit_expect(fr_attached_benefit *r, const fr_accuracy *a,
                                const fr_budget *budget, int context) {
    if (r->expected) return;
    r->expected = true;
    for (int k = 1; k <= r->steps; k++)
        r->worth[k] = worth_of(a, k, budget, context);
}

void fr_attached_benefit_learn(fr_attached_benefit *r, int k, const double tokens[]) {
    for (int i = 1; i <= k; i++)
        fr_follow(&r->worth[i], tokens[i], OF_STEP);
    assert(fr_attached_benefit_is_sound(r));
}

// ---------------------------------------------------------------- which nodes carry chains

typedef struct choice { // of attached rows so far
    const fr_attached_benefit *r;
    const fr_budget *budget;
    int nodes, context, count;
    fr_extra_rows rows;
} choice;

static double seconds(const choice *c, fr_extra_rows rows) {
    return fr_budget_pass(c->budget, c->nodes, &rows, c->context);
}

// `rows` with attached rows from..to-1 of a node added.
static fr_extra_rows with(fr_extra_rows rows, const fr_attached_benefit *r, int from, int to) {
    for (int i = from; i < to; i++) {
        rows.rows += r->ensemble;
        rows.trunk += r->ensemble * r->share[i];
    }
    return rows;
}

// Lengthens the chain of the node that gains most for its time; false: no longer chain pays.
static bool improve(choice *c, const double *term, uint8_t *n_attached, double price, int most) {
    const double bare = seconds(c, (fr_extra_rows){0}), before = seconds(c, c->rows);
    double best = 1;
    int node = -1, length = 0;
    for (int at = 0; at < c->nodes; at++)
        for (int k = n_attached[at] + 1; k <= c->r->steps && c->count + k - n_attached[at] <= most;
             k++) {
            const double gain = term[at] * (c->r->worth[k] - c->r->worth[n_attached[at]]) * price;
            if (gain <= 0) continue;
            const double after = seconds(c, with(c->rows, c->r, n_attached[at], k));
            const double cost = after - before;
            if (!fr_budget_affords(c->budget, after - bare, c->context)) continue;
            const double ratio = cost > 0 ? gain / cost : HUGE_VAL;
            if (ratio <= best) continue;
            best = ratio;
            node = at;
            length = k;
        }
    if (node < 0) return false;
    c->rows = with(c->rows, c->r, n_attached[node], length);
    c->count += length - n_attached[node];
    n_attached[node] = (uint8_t)length;
    return true;
}

// Puts a full chain on the root if the pause is over and the request can afford it.
static void try_again(fr_attached_benefit *r, choice *c, int most, uint8_t *n_attached) {
    fr_trial_idle(&r->trial);
    if (!fr_trial_is_due(&r->trial, &PAUSES) || most < r->steps) return;
    const fr_extra_rows none = {0};
    const double cost = seconds(c, with(none, r, 0, r->steps)) - seconds(c, none);
    if (!fr_budget_affords(c->budget, cost, c->context)) return;
    n_attached[0] = (uint8_t)r->steps;
    fr_trial_begin(&r->trial);
}

void fr_attached_benefit_choose(fr_attached_benefit *r, const fr_budget *budget,
                                const fr_tree *tree, int most, int context,
                                uint8_t n_attached[FR_TREE_MAX]) {
    double term[FR_TREE_MAX];
    choice c = {.r = r, .budget = budget, .nodes = tree->n, .context = context};
    const double price = fr_budget_token_cost(budget, context);
    assert(fr_attached_benefit_is_sound(r));
    memset(n_attached, 0, (size_t)tree->n);
    fr_tree_terms(tree, term);
    while (improve(&c, term, n_attached, price, most))
        continue;
    if (c.count) {
        fr_trial_used(&r->trial);
        fr_trial_pays(&r->trial);
        return;
    }
    try_again(r, &c, most, n_attached);
}

fr_extra_rows fr_attached_benefit_extra(const fr_attached_benefit *r, const fr_tree *tree,
                                        const uint8_t n_attached[FR_TREE_MAX]) {
    fr_extra_rows rows = {0};
    for (int c = 0; c < tree->n; c++)
        rows = with(rows, r, 0, n_attached[c]);
    return rows;
}
