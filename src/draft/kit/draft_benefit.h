// draft_benefit.h — what a pass of the draft model takes, and whether another one pays.
//
// A draft pass pays when the tokens that its guesses are expected to bring, at the present token
// cost (decode/budget.h), are worth more than its own time and that of the target's rows. Its own
// time is kept relative to the target's pass of as many rows: at first by the bytes of the weights,
// then as measured. How right its best guess will be is expected from the last ones, before the
// pass is made.
//
// Before it drafts, the draft model must evaluate the text that it has not read yet, which costs
// time now and pays off over the rest of the answer. This is done once the gains missed by not
// drafting reach a fixed part of that cost. So it never happens in short answers, nor in texts that
// a cheaper drafter predicts. The request's account must afford a pass, so a draft model that is
// confident and wrong soon stops drafting.
#ifndef FR_DRAFT_KIT_DRAFT_BENEFIT_H
#define FR_DRAFT_KIT_DRAFT_BENEFIT_H
#include "decode/budget.h"
#include "decode/trial.h"

enum {
    FR_DRAFT_GROUPS = 6, // of row counts: 1, 2, 4, 8, 16, more
    FR_DRAFT_CHUNK = 64, // rows of text that a draft model reads in one pass, at most
};

typedef struct fr_draft_benefit {
    double ratio[FR_DRAFT_GROUPS]; // own seconds over the target's; 0: not yet seen
    double usual;                  // where nothing was seen: as the weights are
    float confidence;              // of recent best guesses: how often right, and how probable
    float yield;    // recent worth of all guesses of a step, in tokens; 0: not followed
    fr_trial trial; // of drafting where it does not pay
    double missed;  // seconds that drafting would have gained since it last did
    double spent;   // seconds of this step's passes
    bool tried;     // drafted in this request
} fr_draft_benefit;

void fr_draft_benefit_open(fr_draft_benefit *w, double usual);
void fr_draft_benefit_begin(fr_draft_benefit *w); // a new request
// No ratio or time is below 0, the confidence is a probability.
bool fr_draft_benefit_is_sound(const fr_draft_benefit *w);

double fr_draft_benefit_pass(const fr_draft_benefit *w, const fr_budget *budget, int rows,
                             int context);
void fr_draft_benefit_learn(fr_draft_benefit *w, const fr_budget *budget, int rows, int context,
                            double seconds);
// Learns of a best guess: how probable it was held to be, and later whether it was right (1 or 0).
void fr_draft_benefit_saw(fr_draft_benefit *w, float best_guess);
// Learns of a proposal: the tokens that its rows are expected to bring, less what those beyond the
// first take.
void fr_draft_benefit_proposed(fr_draft_benefit *w, float tokens);

// Whether to draft in this step. `unread`: rows that it has not read, 1 or more; `covered`: the
// probability that the tree already has the next token; `left`: tokens still wanted.
bool fr_draft_benefit_start(fr_draft_benefit *w, const fr_budget *budget, int unread, float covered,
                            int left, int context);
// The same with `covered` and `left` taken from a tree that others have begun.
bool fr_draft_benefit_start_on(fr_draft_benefit *w, const fr_budget *budget, int unread,
                               const fr_tree *tree, int context);
// How many of the n best nodes to expand, their scores descending, in one more pass; the
// target's pass would have target_rows rows without. 0: the pass does not pay.
int fr_draft_benefit_rows(const fr_draft_benefit *w, const fr_budget *budget, const float *score,
                          int n, int target_rows, int context);

#endif
