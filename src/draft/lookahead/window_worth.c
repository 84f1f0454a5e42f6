#include "draft/lookahead/window_worth.h"
#include <stddef.h>

enum { FIRST_WAIT = 8, LONGEST_WAIT = 128, TRIAL = 16 };
static const double BELIEF = 1.0 / 24; // in one pass's figures

void fr_window_worth_begin(fr_window_worth *w) {
    w->idle = w->trial = 0;
    w->wait = FIRST_WAIT;
}

void fr_window_worth_learn(fr_window_worth *w, double tokens) {
    w->tokens += BELIEF * (tokens - w->tokens);
}

static bool begins_trial(fr_window_worth *w, const fr_pace *pace, double cost, int context) {
    if (++w->idle < w->wait || !fr_pace_affords(pace, TRIAL * cost, context)) return false;
    w->idle = 0;
    w->wait = w->wait < LONGEST_WAIT ? 2 * w->wait : LONGEST_WAIT;
    w->trial = TRIAL - 1;
    return true;
}

bool fr_window_worth_rides(fr_window_worth *w, const fr_pace *pace, const fr_late *rows,
                           int context) {
    const double cost = fr_pace_pass(pace, 1, rows, context) - fr_pace_pass(pace, 1, NULL, context);
    const bool affords = fr_pace_affords(pace, cost, context);
    if (w->tokens * fr_pace_price(pace, context) > cost && affords) {
        w->idle = 0;
        w->wait = FIRST_WAIT;
        return true;
    }
    if (w->trial > 0) {
        w->trial--;
        return affords;
    }
    return begins_trial(w, pace, cost, context);
}
