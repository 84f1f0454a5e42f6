#include "draft/lookahead/window_benefit.h"
#include <stddef.h>

enum { FIRST_WAIT = 8, LONGEST_WAIT = 128, TRIAL = 16 };
static const double BELIEF = 1.0 / 24; // weight of one pass's figures

void fr_window_benefit_begin(fr_window_benefit *w) {
    w->idle = w->trial = 0;
    w->wait = FIRST_WAIT;
}

void fr_window_benefit_learn(fr_window_benefit *w, double tokens) {
    w->tokens += BELIEF * (tokens - w->tokens);
}

static bool begins_trial(fr_window_benefit *w, const fr_budget *budget, double cost, int context) {
    if (++w->idle < w->wait || !fr_budget_affords(budget, TRIAL * cost, context)) return false;
    w->idle = 0;
    w->wait = w->wait < LONGEST_WAIT ? 2 * w->wait : LONGEST_WAIT;
    w->trial = TRIAL - 1;
    return true;
}

bool fr_window_benefit_pays(fr_window_benefit *w, const fr_budget *budget,
                            const fr_extra_rows *rows, int context) {
    const double cost =
        fr_budget_pass(budget, 1, rows, context) - fr_budget_pass(budget, 1, NULL, context);
    const bool affords = fr_budget_affords(budget, cost, context);
    if (w->tokens * fr_budget_token_cost(budget, context) > cost && affords) {
        w->idle = 0;
        w->wait = FIRST_WAIT;
        return true;
    }
    if (w->trial > 0) {
        w->trial--;
        return affords;
    }
    return begins_trial(w, budget, cost, context);
}
