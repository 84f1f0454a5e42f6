#include "draft/lookahead/window_benefit.h"
#include "base/mean.h"
#include <assert.h>
#include <stddef.h>

static const fr_pauses PAUSES = {.shortest = 8, .longest = 128};
enum { TRIAL = 16 };                    // passes: a window fills, and its n-grams are used
static const double OF_PASS = 1.0 / 24; // weight of one pass in the mean

void fr_window_benefit_begin(fr_window_benefit *w) {
    w->trial = (fr_trial){0};
    w->trial_left = 0;
}

void fr_window_benefit_learn(fr_window_benefit *w, double tokens) {
    fr_follow(&w->tokens, tokens, OF_PASS);
    assert(fr_window_benefit_is_sound(w));
}

void fr_window_benefit_learn_tree(fr_window_benefit *w, const fr_budget *budget,
                                  const fr_tree *tree, int part, bool (*is_of_window)(int kind),
                                  int context) {
    double tokens = 0;
    int own = 0;
    for (int i = 1; i < tree->n; i++) {
        const fr_node *node = &tree->node[i];
        if (node->drafter != part || (is_of_window && !is_of_window(node->kind))) continue;
        tokens += (double)node->score;
        own++;
    }
    fr_window_benefit_learn(w, tokens - fr_budget_rows_cost(budget, tree->n, own, NULL, context));
}

bool fr_window_benefit_is_sound(const fr_window_benefit *w) {
    return w->trial_left >= 0 && w->trial_left < TRIAL && w->tokens == w->tokens &&
           fr_trial_is_sound(&w->trial);
}

static bool begins_trial(fr_window_benefit *w, const fr_budget *budget, double cost, int context) {
    fr_trial_idle(&w->trial);
    if (!fr_trial_is_due(&w->trial, &PAUSES)) return false;
    if (!fr_budget_affords(budget, TRIAL * cost, context)) return false;
    fr_trial_begin(&w->trial);
    w->trial_left = TRIAL - 1;
    return true;
}

bool fr_window_benefit_pays(fr_window_benefit *w, const fr_budget *budget,
                            const fr_extra_rows *rows, int context) {
    assert(fr_window_benefit_is_sound(w));
    const double cost =
        fr_budget_pass(budget, 1, rows, context) - fr_budget_pass(budget, 1, NULL, context);
    const bool affords = fr_budget_affords(budget, cost, context);
    if (w->tokens * fr_budget_token_cost(budget, context) > cost && affords) {
        fr_trial_used(&w->trial);
        fr_trial_pays(&w->trial);
        return true;
    }
    if (w->trial_left > 0) {
        w->trial_left--;
        return affords;
    }
    return begins_trial(w, budget, cost, context);
}
