// ppd.c — first gives prompts to the nodes of one tree, then builds the trees of all states and
// their steady state. The search climbs from several starts over the candidates of each state; fit
// does so for every number of rows.
#include "tree/ppd.h"
#include "tree/best_shape.h"
#include "tree/expect.h"
#include <assert.h>
#include <string.h>

int fr_ppd_assign(const fr_shape *s, const double accepted[], int m, int budget,
                  uint8_t prompts[FR_TREE_MAX]) {
    double term[FR_TREE_MAX];
    int left = m * (s->n - 1);
    fr_shape_terms(s, term);
    memset(prompts, m, (size_t)s->n);
    while (left > 0) {
        double least = 0;
        int from = -1;
        for (int c = 1; c < s->n; c++) {
            if (!prompts[c]) continue;
            const double loss = term[c] * (accepted[prompts[c]] - accepted[prompts[c] - 1]);
            // Of equal losses the last node goes first: it is the least likely one.
            if (from >= 0 && loss > least) continue;
            least = loss;
            from = c;
        }
        if (left <= budget && least > 0) break;
        prompts[from]--;
        left--;
    }
    return left;
}

// P(i|k) of all states, then how often each comes, then R.
static void solve(fr_ppd *p) {
    const int m = p->limits.prompts;
    double term[FR_TREE_MAX];
    p->chain = (fr_markov){.n = m + 1};
    for (int k = 0; k <= m; k++) {
        fr_shape_terms(&p->state[k].shape, term);
        for (int c = 0; c < p->state[k].shape.n; c++)
            p->chain.move[k][p->state[k].prompts[c]] += term[c];
    }
    fr_markov_steady(&p->chain, m, p->share); // a text begins with m prompts on its last token
    p->accepted = 0;
    for (int k = 0; k <= m; k++)
        p->accepted += p->share[k] * p->state[k].accepted;
}

static int room_of(const fr_ppd_limits *l) {
    return l->rows - 1 - l->prompts * l->ensemble;
}

// The best shapes of the most candidates that may ever fit; their first n nodes are the best n.
typedef struct fr_widest {
    fr_shape shape[FR_MARKOV_STATES];
} fr_widest;

static void widest(fr_widest *w, const fr_accuracy *a, const fr_ppd_limits *l) {
    for (int k = 0; k <= l->prompts; k++)
        fr_best_shape(
            &w->shape[k], a,
            &(fr_shape_limits){.nodes = 1 + room_of(l), .depth = k, .children = l->children});
}

static void build(fr_ppd *p, const fr_widest *w, const fr_ppd_limits *l, const int candidates[]) {
    const int m = l->prompts, room = room_of(l);
    double accepted[FR_MARKOV_STATES];
    p->limits = *l;
    for (int k = 0; k <= m; k++) {
        fr_ppd_state *state = &p->state[k];
        const int n = k ? 1 + fr_tree_clamp(candidates[k], 0, room) : 1;
        state->shape.n = n < w->shape[k].n ? n : w->shape[k].n;
        memcpy(state->shape.node, w->shape[k].node,
               (size_t)state->shape.n * sizeof *state->shape.node);
        accepted[k] = state->accepted = fr_shape_expect(&state->shape);
    }
    for (int k = 0; k <= m; k++) {
        fr_ppd_state *state = &p->state[k];
        const int budget = (room - (state->shape.n - 1)) / l->ensemble;
        const int given = fr_ppd_assign(&state->shape, accepted, m, budget, state->prompts);
        state->rows = state->shape.n + l->ensemble * (m + given);
    }
    solve(p);
}

static void check(const fr_ppd_limits *l) {
    assert(l->prompts >= 1 && l->prompts <= FR_PPD_PROMPTS && l->ensemble >= 1);
    assert(room_of(l) >= 0);
    (void)l;
}

void fr_ppd_build(fr_ppd *p, const fr_accuracy *a, const fr_ppd_limits *limits,
                  const int candidates[]) {
    fr_widest w;
    check(limits);
    widest(&w, a, limits);
    build(p, &w, limits, candidates);
}

double fr_ppd_two_passes(const fr_ppd *p, int k) {
    double sum = p->state[k].accepted;
    for (int i = 0; i <= p->limits.prompts; i++)
        sum += p->chain.move[k][i] * p->state[i].accepted;
    return sum;
}

double fr_ppd_speed(const fr_ppd *p, const fr_cost *cost, double step_seconds, int context) {
    double seconds = step_seconds;
    for (int k = 0; k <= p->limits.prompts; k++) {
        const fr_ppd_state *s = &p->state[k];
        const int attached = s->rows - s->shape.n;
        const fr_extra_rows extra = {
            .rows = attached, .trunk = attached * (p->limits.share > 0 ? p->limits.share : 1)};
        seconds += p->share[k] * fr_cost_with(cost, s->shape.n, &extra, context);
    }
    return (1 + p->accepted) / seconds;
}

// What the search raises: R, or tokens a second where passes have a cost.
typedef struct fr_goal {
    const fr_cost *cost; // NULL: R
    double step_seconds;
    int context;
} fr_goal;

static double worth(const fr_ppd *p, const fr_goal *g) {
    return g->cost ? fr_ppd_speed(p, g->cost, g->step_seconds, g->context) : p->accepted;
}

// Tries every number of candidates for state k and keeps the best in candidates[k] and, built, in
// *p. Returns whether it is better than the one before.
static bool improve(fr_ppd *p, const fr_widest *w, const fr_goal *g, int *candidates, int k) {
    const int before = candidates[k], most = w->shape[k].n - 1;
    int best = before;
    double highest = worth(p, g) * (1 + 1e-12); // more than a rounding
    fr_ppd trial;
    for (int n = 1; n <= most && n <= room_of(&p->limits); n++) {
        candidates[k] = n;
        build(&trial, w, &p->limits, candidates);
        if (worth(&trial, g) <= highest) continue;
        highest = worth(&trial, g);
        *p = trial;
        best = n;
    }
    candidates[k] = best;
    return best != before;
}

// Changes one number of candidates at a time, until no change makes the trees better.
static void climb(fr_ppd *p, const fr_widest *w, const fr_ppd_limits *l, const fr_goal *g,
                  int *candidates) {
    build(p, w, l, candidates);
    for (bool rose = true; rose;) {
        rose = false;
        for (int k = 1; k <= l->prompts; k++)
            rose |= improve(p, w, g, candidates, k);
    }
}

// Climbs from 1, 2, 4, 8, ... candidates in every state: a single climb sometimes ends in a local
// optimum.
static void search(fr_ppd *p, const fr_widest *w, const fr_ppd_limits *l, const fr_goal *g) {
    fr_ppd trial;
    for (int n = 1; n == 1 || n <= room_of(l); n *= 2) {
        int candidates[FR_MARKOV_STATES];
        for (int k = 0; k <= l->prompts; k++)
            candidates[k] = n;
        climb(&trial, w, l, g, candidates);
        if (n == 1 || worth(&trial, g) > worth(p, g)) *p = trial;
    }
}

void fr_ppd_choose(fr_ppd *p, const fr_accuracy *a, const fr_ppd_limits *limits) {
    fr_widest w;
    check(limits);
    widest(&w, a, limits);
    search(p, &w, limits, &(fr_goal){.cost = NULL});
}

double fr_ppd_fit(fr_ppd *p, const fr_accuracy *a, const fr_ppd_limits *limits, const fr_cost *cost,
                  double step_seconds, int context) {
    const fr_goal goal = {cost, step_seconds, context};
    fr_widest w;
    fr_ppd trial;
    fr_ppd_limits l = *limits;
    double best = -1;
    check(limits);
    widest(&w, a, limits);
    for (l.rows = 1 + l.prompts * l.ensemble; l.rows <= limits->rows; l.rows++) {
        search(&trial, &w, &l, &goal);
        const double speed = worth(&trial, &goal);
        if (speed <= best) continue;
        best = speed;
        *p = trial;
    }
    return best;
}
