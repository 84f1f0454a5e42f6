// budget.c — predicts passes from the measured cost and the corrections seen in this request, and
// chooses the tree size that gains most time. After each step it learns corrections, the cost of a
// token and the account.
#include "decode/budget.h"
#include "base/mean.h"
#include <assert.h>
#include <stddef.h>

// Shares of one pass in what passes of its row count, and all passes, take over what was predicted;
// what a step leaves of older ones in the cost of a token.
static const double OF_GROUP = 0.05, OF_DRIFT = 0.1, OF_DRAFT = 0.1, OF_SHARED = 0.1, KEPT = 0.95;

void fr_budget_open(fr_budget *p, const fr_cost *cost, const fr_cost *guess) {
    *p = (fr_budget){.members = 1, .drift = 1, .allowance = 0.5, .measured = cost && cost->n > 0};
    p->cost = p->measured ? *cost : guess ? *guess : fr_cost_guess(0, 0, 0, 0);
    for (int i = 0; i < FR_BUDGET_GROUPS; i++)
        p->group[i] = 1;
    assert(fr_budget_is_sound(p));
}

void fr_budget_begin(fr_budget *p) {
    p->seconds = p->tokens = p->gained = p->spent = 0;
    assert(fr_budget_is_sound(p));
}

bool fr_budget_is_sound(const fr_budget *p) {
    if (!fr_cost_is_sound(&p->cost) || !p->cost.n || !(p->drift > 0)) return false;
    for (int g = 0; g < FR_BUDGET_GROUPS; g++)
        if (!(p->group[g] > 0) || p->seen[g] < 0) return false;
    return p->tokens >= 0 && p->spent >= 0 && p->draft >= 0 && p->allowance >= 0 &&
           p->gained == p->gained;
}

static int group_of(int rows, const fr_extra_rows *extra) {
    static const int last[FR_BUDGET_GROUPS - 1] = {1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64};
    const double trunk = rows + (extra ? extra->trunk : 0);
    int g = 0;
    while (g < FR_BUDGET_GROUPS - 1 && trunk > last[g] + 1e-9)
        g++;
    return g;
}

double fr_budget_pass(const fr_budget *p, int rows, const fr_extra_rows *extra, int context) {
    const int others = p->members - 1, all = rows + others;
    const double keys = others * context * p->cost.key; // of the other members' texts
    return (fr_cost_with(&p->cost, all, extra, context) + keys) * p->drift *
           p->group[group_of(all, extra)];
}

double fr_budget_predict(const fr_budget *p, int rows, const fr_extra_rows *extra, int context) {
    return p->measured || p->spent > 0 ? fr_budget_pass(p, rows, extra, context) : 0;
}

void fr_budget_join(fr_budget *p, double allowance, int context) {
    const double plain = fr_budget_pass(p, 1, NULL, context), most = 4 * plain;
    if (p->gained > most) p->gained = most;
    p->gained += (allowance > 0 ? allowance : p->allowance) * plain / p->members;
}

double fr_budget_token_cost(const fr_budget *p, int context) {
    const double rows = p->members + p->read.rows;
    const double plain = fr_budget_pass(p, 1, &p->read, context) / rows;
    const double recent = p->tokens > 0 ? p->seconds / p->tokens : plain;
    return recent < plain ? recent : plain;
}

double fr_budget_rows_cost(const fr_budget *p, int rows, int own, const fr_extra_rows *extra,
                           int context) {
    const double all = fr_budget_pass(p, rows, extra, context);
    return (all - fr_budget_pass(p, rows - own, extra, context)) / fr_budget_token_cost(p, context);
}

bool fr_budget_affords(const fr_budget *p, double seconds, int context) {
    const double plain = fr_budget_pass(p, 1, NULL, context);
    return seconds <= p->gained + 0.01 * (p->spent + plain) + p->allowance * plain;
}

bool fr_budget_disagrees(const fr_budget *p) {
    enum { OFTEN = 48 };
    for (int g = 0; g < FR_BUDGET_GROUPS; g++)
        if (p->measured && p->seen[g] >= OFTEN && (p->group[g] > 1.25 || p->group[g] < 0.8))
            return true;
    return false;
}

// Seconds of a token in the best of these passes. What a good one leaves out, the next one brings at
// about this cost.
static double best_token_cost(const fr_budget *p, const float *score, int n,
                              const double *seconds) {
    double tokens = p->members, best = (seconds[0] + p->draft) / tokens;
    for (int k = 1; k <= n; k++) {
        tokens += score[k - 1];
        const double cost = (seconds[k] + p->draft) / tokens;
        if (cost < best) best = cost;
    }
    return best;
}

int fr_budget_choose_from(const fr_budget *p, const float *score, int n, int rows,
                          const fr_extra_rows *extra, int context) {
    double seconds[FR_BUDGET_NODES + 1], tokens = 0, most = 0; // most: what the best size gains
    int best = 0;
    assert(n <= FR_BUDGET_NODES);
    for (int k = 0; k <= n; k++)
        seconds[k] = fr_budget_pass(p, rows + k, extra, context);
    const double present = fr_budget_token_cost(p, context),
                 possible = best_token_cost(p, score, n, seconds),
                 token_worth = possible < present ? possible : present,
                 overdraft = 2 * fr_budget_pass(p, 1, NULL, context);
    for (int k = 1; k <= n; k++) {
        tokens += score[k - 1];
        const double takes = seconds[k] - seconds[0];
        const double may_overdraw = 2 * tokens >= k ? overdraft : 0;
        const double gain = tokens * token_worth - takes;
        if (gain <= most || !fr_budget_affords(p, takes - may_overdraw, context)) continue;
        most = gain;
        best = k;
    }
    return best;
}

int fr_budget_choose(const fr_budget *p, const fr_tree *tree, const fr_extra_rows *extra,
                     int context) {
    float score[FR_TREE_MAX];
    const int n = fr_tree_scores(tree, score);
    return 1 + fr_budget_choose_from(p, score, n, 1, extra, context);
}

fr_extra_rows fr_budget_reading(const fr_budget *p, int n, int own_context, int context) {
    const double keys = p->cost.key * own_context, rows = p->cost.key_row * n;
    return (fr_extra_rows){
        .rows = n, .trunk = n, .attention = n ? keys + rows * (own_context - context) : 0};
}

int fr_budget_reads(const fr_budget *p, double times, int rows, const fr_extra_rows *extra,
                    int most, int own_context, int context) {
    const double plain = fr_budget_pass(p, 1, NULL, context);
    int n = 0;
    while (n < most) {
        fr_extra_rows all = fr_budget_reading(p, n + 1, own_context, context);
        if (extra) fr_extra_rows_add(&all, extra);
        if (fr_budget_pass(p, rows, &all, context) > times * plain) break;
        n++;
    }
    return n;
}

static int rows_to_read(const fr_budget *p, const fr_budget_wish *w, int rows,
                        const fr_extra_rows *extra) {
    int read = w->most_read;
    if (!w->n_readers) return 0;
    if (w->n_roots)
        read = fr_budget_reads(p, w->read_times, rows, extra, read, w->read_context, w->context);
    return read < w->n_readers ? w->n_readers : read;
}

fr_budget_answer fr_budget_plan(const fr_budget *p, const fr_budget_wish *w) {
    fr_budget_answer a = {0};
    fr_extra_rows extra = w->extra;
    const fr_extra_rows read =
        fr_budget_reading(p, rows_to_read(p, w, 1, NULL), w->read_context, w->context);
    fr_extra_rows_add(&extra, &read);
    a.candidates = fr_budget_choose_from(p, w->score, w->n, 1 + w->settled, &extra, w->context);
    a.read = rows_to_read(p, w, 1 + w->settled + a.candidates, &w->extra);
    return a;
}

// A single slow pass is an outlier: the bound keeps it from moving the estimate far.
static double bounded(double ratio) {
    return ratio > 2 ? 2 : ratio < 0.5 ? 0.5 : ratio;
}

// The part of the experts that unrelated rows would read, and the step's rows did not. Where the step
// does not show it: the running mean of earlier steps.
static double shared_by(const fr_budget *p, int rows, const fr_extra_rows *all, int experts) {
    const fr_cost *c = &p->cost;
    const double more = fr_cost_experts(c, rows, all) - c->experts[0];
    const bool timed = rows + all->rows <= c->rows[c->n - 1];
    if (!experts || !timed || more < c->experts[0] / 2) return c->shared;
    const double shared = 1 - (experts - c->experts[0]) / more;
    return shared < -1 ? -1 : shared > 1 ? 1 : shared;
}

static void learn_times(fr_budget *p, int group, double ratio) {
    if (p->measured || p->spent > 0) {
        fr_follow(&p->group[group], p->group[group] * bounded(ratio), OF_GROUP);
        fr_follow(&p->drift, p->drift * bounded(ratio), OF_DRIFT);
    } else {
        p->drift *= ratio; // the guessed cost has no scale before the first pass
    }
    p->seen[group]++;
}

// The times that are compared are those of the experts that this pass read.
void fr_budget_learn(fr_budget *p, const fr_budget_step *s) {
    fr_extra_rows all = s->extra ? *s->extra : (fr_extra_rows){0};
    if (s->read) fr_extra_rows_add(&all, s->read);
    const int rows = s->rows + p->members - 1, group = group_of(rows, &all);
    double shared = p->cost.shared;
    p->cost.shared = shared_by(p, rows, &all, s->experts);
    fr_follow(&shared, p->cost.shared, OF_SHARED);
    learn_times(p, group, s->pass_seconds / fr_budget_pass(p, s->rows, &all, s->context));
    const double seconds = fr_budget_pass(p, s->rows, s->extra, s->context) + s->draft_seconds;
    p->cost.shared = shared;
    fr_follow(&p->draft, s->draft_seconds, OF_DRAFT);
    fr_fade(&p->seconds, seconds, KEPT);
    fr_fade(&p->tokens, s->tokens, KEPT);
    p->gained += s->tokens * fr_budget_pass(p, 1, NULL, s->context) / p->members - seconds;
    p->spent += seconds;
    assert(fr_budget_is_sound(p));
}
