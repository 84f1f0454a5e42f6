#include "draft/attached/riders.h"
#include "tree/expand.h"
#include "tree/expect.h"
#include <math.h>
#include <string.h>

enum { NODES = 17, FIRST_WAIT = 8, LONGEST_WAIT = 128 };
static const double BELIEF = 1.0 / 24; // in one step's figures

void fr_riders_begin(fr_riders *r) {
    r->idle = 0;
    r->wait = FIRST_WAIT;
}

// ---------------------------------------------------------------- what guesses are worth

// Tokens beyond plain decoding of the best shape k deep: its candidates are paid for with time at
// the price of a token.
static double worth_of(const fr_accuracy *a, int k, const fr_pace *pace, int context) {
    fr_shape s;
    double best = 0, sum = 0;
    fr_expand(&s, a, &(fr_shape_limits){.nodes = NODES, .depth = k, .children = FR_ACCURACY_RANKS});
    for (int n = 1; n < s.n; n++) {
        sum += s.node[n].prob;
        const double net = sum - fr_pace_rows_cost(pace, n + 1, n, NULL, context);
        if (net > best) best = net;
    }
    return best;
}

void fr_riders_expect(fr_riders *r, const fr_accuracy *a, const fr_pace *pace, int context) {
    if (r->expected) return;
    r->expected = true;
    for (int k = 1; k <= r->steps; k++)
        r->worth[k] = worth_of(a, k, pace, context);
}

void fr_riders_learn(fr_riders *r, int k, const double tokens[]) {
    for (int i = 1; i <= k; i++)
        r->worth[i] += BELIEF * (tokens[i] - r->worth[i]);
}

// ---------------------------------------------------------------- who carries

typedef struct choice { // of riders so far
    const fr_riders *r;
    const fr_pace *pace;
    int nodes, context, count;
    fr_late rows;
} choice;

static double seconds(const choice *c, fr_late rows) {
    return fr_pace_pass(c->pace, c->nodes, &rows, c->context);
}

// These rows and those of the riders from..to-1 of a node.
static fr_late with(fr_late rows, const fr_riders *r, int from, int to) {
    for (int i = from; i < to; i++) {
        rows.rows += r->ensemble;
        rows.trunk += r->ensemble * r->share[i];
    }
    return rows;
}

// The longer chain of one node that gains most for its time; false: none pays.
static bool improve(choice *c, const double *term, uint8_t *carry, double price, int most) {
    const double bare = seconds(c, (fr_late){0}), before = seconds(c, c->rows);
    double best = 1;
    int node = -1, length = 0;
    for (int at = 0; at < c->nodes; at++)
        for (int k = carry[at] + 1; k <= c->r->steps && c->count + k - carry[at] <= most; k++) {
            const double gain = term[at] * (c->r->worth[k] - c->r->worth[carry[at]]) * price;
            if (gain <= 0) continue;
            const double after = seconds(c, with(c->rows, c->r, carry[at], k));
            const double cost = after - before;
            if (!fr_pace_affords(c->pace, after - bare, c->context)) continue;
            const double ratio = cost > 0 ? gain / cost : HUGE_VAL;
            if (ratio <= best) continue;
            best = ratio;
            node = at;
            length = k;
        }
    if (node < 0) return false;
    c->rows = with(c->rows, c->r, carry[node], length);
    c->count += length - carry[node];
    carry[node] = (uint8_t)length;
    return true;
}

// A full chain on the root, if it is time and the request can pay for it.
static void try_again(fr_riders *r, choice *c, int most, uint8_t *carry) {
    if (++r->idle < r->wait || most < r->steps) return;
    const fr_late none = {0};
    const double cost = seconds(c, with(none, r, 0, r->steps)) - seconds(c, none);
    if (!fr_pace_affords(c->pace, cost, c->context)) return;
    carry[0] = (uint8_t)r->steps;
    r->idle = 0;
    r->wait = r->wait < LONGEST_WAIT ? 2 * r->wait : LONGEST_WAIT;
}

void fr_riders_choose(fr_riders *r, const fr_pace *pace, const fr_tree *tree, int most, int context,
                      uint8_t carry[FR_TREE_MAX]) {
    double term[FR_TREE_MAX];
    choice c = {.r = r, .pace = pace, .nodes = tree->n, .context = context};
    const double price = fr_pace_price(pace, context);
    memset(carry, 0, (size_t)tree->n);
    fr_tree_terms(tree, term);
    while (improve(&c, term, carry, price, most))
        continue;
    if (c.count) {
        r->idle = 0;
        r->wait = FIRST_WAIT;
        return;
    }
    try_again(r, &c, most, carry);
}

fr_late fr_riders_rows(const fr_riders *r, const fr_tree *tree, const uint8_t carry[FR_TREE_MAX]) {
    fr_late rows = {0};
    for (int c = 0; c < tree->n; c++)
        rows = with(rows, r, 0, carry[c]);
    return rows;
}
