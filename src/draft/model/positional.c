#include "draft/model/positional.h"
#include "base/mean.h"
#include <assert.h>

static const double OF_TOKEN = 0.03; // weight of one token in the mean

void fr_positional_open(fr_positional *p) {
    static const double expected[FR_GUESSES] = {0.75, 0.1, 0.04, 0.02};
    for (int r = 0; r < FR_GUESSES; r++)
        p->right[r] = expected[r];
    fr_shape_begin(&p->shape);
}

void fr_positional_learn(fr_positional *p, int rank) {
    for (int r = 0; r < FR_GUESSES; r++)
        fr_follow(&p->right[r], r == rank ? 1 : 0, OF_TOKEN);
}

bool fr_positional_is_sound(const fr_positional *p) {
    double sum = 0; // one guess at most is right, but for rounding
    for (int r = 0; r < FR_GUESSES; r++) {
        if (!(p->right[r] >= 0)) return false;
        sum += p->right[r];
    }
    return sum < 1 + 1e-9 && fr_shape_is_sound(&p->shape);
}

static void solve(fr_positional *p, const fr_shape_limits *limits) {
    fr_shape_limits l = *limits;
    if (l.children > FR_GUESSES) l.children = FR_GUESSES;
    assert(fr_positional_is_sound(p));
    fr_sequoia_solve(&p->table, p->right, &l);
    fr_shape_begin(&p->shape);
}

bool fr_positional_plan(fr_positional *p, const fr_budget *budget, double level_seconds,
                        const fr_shape_limits *limits, int context) {
    int n, depth;
    solve(p, limits);
    fr_sequoia_choose(&p->table, &budget->cost, level_seconds / budget->drift, context, &n, &depth);
    if (n > 1) fr_sequoia_shape(&p->table, n, depth, &p->shape);
    return n > 1;
}

void fr_positional_plan_size(fr_positional *p, const fr_shape_limits *limits) {
    solve(p, limits);
    const fr_shape_limits *l = &p->table.limits; // as clamped
    int n = l->nodes;
    while (n > 1 && fr_sequoia_tokens(&p->table, n, l->depth) <= 0)
        n--;
    if (n > 1) fr_sequoia_shape(&p->table, n, l->depth, &p->shape);
}
