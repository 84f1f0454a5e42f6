#include "decode/pace.h"
#include <string.h>

// Relative seconds of passes where nothing was measured: memory bounds few rows, arithmetic many.
static const fr_cost GUESS = {.n = 5,
                              .rows = {1, 4, 8, 16, 32},
                              .trunk = {0.85, 1.02, 1.45, 2.6, 5.1},
                              .head = {0.15, 0.18, 0.25, 0.45, 0.9}};

void fr_pace_open(fr_pace *p, const fr_cost *cost, bool adapt) {
    *p = (fr_pace){.adapt = adapt, .drift = 1, .credit = 0.5, .measured = cost && cost->n > 0};
    p->cost = p->measured ? *cost : GUESS;
    for (int i = 0; i < FR_PACE_GROUPS; i++)
        p->group[i] = 1;
}

void fr_pace_begin(fr_pace *p) {
    p->seconds = p->tokens = p->gained = p->spent = 0;
}

static int group_of(int rows, const fr_late *late) {
    static const int last[FR_PACE_GROUPS - 1] = {1, 2, 4, 6, 8, 12, 16};
    const double trunk = rows + (late ? late->trunk : 0);
    int g = 0;
    while (g < FR_PACE_GROUPS - 1 && trunk > last[g] + 1e-9)
        g++;
    return g;
}

double fr_pace_pass(const fr_pace *p, int rows, const fr_late *late, int context) {
    return fr_cost_late(&p->cost, rows, late, context) * p->drift * p->group[group_of(rows, late)];
}

double fr_pace_price(const fr_pace *p, int context) {
    const double plain = fr_pace_pass(p, 1, NULL, context);
    const double late = p->tokens > 0 ? p->seconds / p->tokens : plain;
    return late < plain ? late : plain;
}

double fr_pace_rows_cost(const fr_pace *p, int rows, int own, const fr_late *late, int context) {
    const double all = fr_pace_pass(p, rows, late, context);
    return (all - fr_pace_pass(p, rows - own, late, context)) / fr_pace_price(p, context);
}

bool fr_pace_affords(const fr_pace *p, double seconds, int context) {
    const double plain = fr_pace_pass(p, 1, NULL, context);
    return seconds <= p->gained + 0.01 * (p->spent + plain) + p->credit * plain;
}

bool fr_pace_disagrees(const fr_pace *p) {
    enum { OFTEN = 48 };
    for (int g = 0; g < FR_PACE_GROUPS; g++)
        if (p->measured && p->seen[g] >= OFTEN && (p->group[g] > 1.25 || p->group[g] < 0.8))
            return true;
    return false;
}

int fr_pace_choose(const fr_pace *p, const fr_tree *tree, const fr_late *late, int context) {
    float score[FR_TREE_MAX];
    int m = 0, best_n = 1;
    for (int i = 1; i < tree->n; i++) { // descending
        int k = m++;
        for (; k > 0 && score[k - 1] < tree->node[i].score; k--)
            score[k] = score[k - 1];
        score[k] = tree->node[i].score;
    }
    const double price = fr_pace_price(p, context), trust = 2 * fr_pace_pass(p, 1, NULL, context);
    const double root = fr_pace_pass(p, 1, late, context);
    double tokens = 0, best = 0; // of the rows beyond the root; the most seconds that a size brings
    for (int n = 2; n <= tree->n; n++) {
        tokens += score[n - 2];
        const double takes = fr_pace_pass(p, n, late, context) - root;
        const double trusted = 2 * tokens >= n - 1 ? trust : 0;
        const double brings = tokens * price - takes;
        if (brings <= best || !fr_pace_affords(p, takes - trusted, context)) continue;
        best = brings;
        best_n = n;
    }
    return best_n;
}

static void follow(double *value, double seen, double share) {
    *value += share * (seen - *value);
}

// One slow pass is the machine's moment, not what passes take.
static double bounded(double ratio) {
    return ratio > 2 ? 2 : ratio < 0.5 ? 0.5 : ratio;
}

void fr_pace_learn(fr_pace *p, int rows, const fr_late *late, int context, int tokens,
                   double pass_seconds, double draft_seconds) {
    const int g = group_of(rows, late);
    const double ratio = pass_seconds / fr_pace_pass(p, rows, late, context);
    if (p->measured || p->spent > 0) {
        follow(&p->group[g], p->group[g] * bounded(ratio), 0.05);
        follow(&p->drift, p->drift * bounded(ratio), 0.1);
    } else {
        p->drift *= ratio; // the guess knows no machine
    }
    p->seen[g]++;
    const double seconds = fr_pace_pass(p, rows, late, context) + draft_seconds;
    p->seconds = 0.95 * p->seconds + seconds;
    p->tokens = 0.95 * p->tokens + tokens;
    p->gained += tokens * fr_pace_pass(p, 1, NULL, context) - seconds;
    p->spent += seconds;
}
