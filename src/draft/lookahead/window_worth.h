// window_worth.h — whether rows ride that bring guesses only later.
//
// Rows of a window give nothing to the pass they ride in; what they make is proposed in later ones.
// So they ride while the tokens that come of it, the time of their candidates already paid, are
// worth more than the time of the window itself. What comes of it is only seen while it rides;
// where it does not pay it is tried again after 8, 16, ... steps, for as many passes as it takes to
// fill a window and see, if the request can afford all of them (decode/pace.h).
#ifndef FR_DRAFT_LOOKAHEAD_WINDOW_WORTH_H
#define FR_DRAFT_LOOKAHEAD_WINDOW_WORTH_H
#include "decode/pace.h"

typedef struct fr_window_worth {
    double tokens;         // a pass, of late; what was expected before anything was seen
    int idle, wait, trial; // steps since it last rode; until a trial; passes left of one
} fr_window_worth;

void fr_window_worth_begin(fr_window_worth *w); // a new request; what was learned stays
// Whether these rows ride in the next pass, behind `context` slots.
bool fr_window_worth_rides(fr_window_worth *w, const fr_pace *pace, const fr_late *rows,
                           int context);
// A pass that they rode in had candidates of theirs, worth so many tokens.
void fr_window_worth_learn(fr_window_worth *w, double tokens);

#endif
