// trial.h — pauses a kind of drafting that does not pay at present, and tries it again later.
//
// Whether drafting pays, or a window, attached rows, an old chain of states, is only seen while it
// is done. So a kind that is expected not to pay rests for a *pause* of some steps. Then it is
// tried, if the account of the request can afford that (budget.h); the caller checks this. Every
// trial doubles the pause before the next one, up to a limit. As soon as the kind is expected to
// pay, the pause is the shortest again.
#ifndef FR_DECODE_TRIAL_H
#define FR_DECODE_TRIAL_H
#include <stdbool.h>

typedef struct fr_pauses { // in steps; 1 <= shortest <= longest
    int shortest, longest;
} fr_pauses;

// {0}: a request begins. Neither is below 0.
typedef struct fr_trial {
    int idle;   // steps since it was last used, of those that count
    int trials; // since it was last expected to pay
} fr_trial;

// One more step without it.
void fr_trial_idle(fr_trial *t);
// Whether the pause is over. It stays over until the trial begins.
bool fr_trial_is_due(const fr_trial *t, const fr_pauses *p);
void fr_trial_begin(fr_trial *t); // it is tried now
void fr_trial_used(fr_trial *t);  // it is used now, and that is no trial
void fr_trial_pays(fr_trial *t);  // it is expected to pay, used or not
bool fr_trial_is_sound(const fr_trial *t);

#endif
