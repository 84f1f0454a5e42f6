// window_benefit.h — whether to attach rows that bring guesses only later.
//
// Rows of a window give nothing to their own pass; their n-grams are proposed in later ones. They
// are attached while the tokens of these proposals, less the cost of the candidates' rows, are
// worth more than the time of the window itself. The gain is only seen while the window is
// attached. A window that does not pay is tried again (decode/trial.h), for the passes that fill a
// window and show its gain, if the request can afford all of them (decode/budget.h).
#ifndef FR_DRAFT_LOOKAHEAD_WINDOW_BENEFIT_H
#define FR_DRAFT_LOOKAHEAD_WINDOW_BENEFIT_H
#include "decode/budget.h"
#include "decode/trial.h"

typedef struct fr_window_benefit {
    double tokens;  // recent tokens a pass; at first the expected value
    fr_trial trial; // of attaching it where it does not pay
    int trial_left; // passes of the current trial
} fr_window_benefit;

void fr_window_benefit_begin(fr_window_benefit *w); // a new request; what was learned stays
// The rest of a trial is less than the whole; the tokens are a number.
bool fr_window_benefit_is_sound(const fr_window_benefit *w);
// Whether these rows are attached in the next pass, after `context` slots.
bool fr_window_benefit_pays(fr_window_benefit *w, const fr_budget *budget,
                            const fr_extra_rows *rows, int context);
// A pass with the window attached had candidates of it, worth so many tokens.
void fr_window_benefit_learn(fr_window_benefit *w, double tokens);
// The same from the tree of that pass: the tokens that candidates of `part` were expected to bring,
// less what their rows take. is_of_window: which of them count, by their kind; NULL: all do.
void fr_window_benefit_learn_tree(fr_window_benefit *w, const fr_budget *budget,
                                  const fr_tree *tree, int part, bool (*is_of_window)(int kind),
                                  int context);

#endif
