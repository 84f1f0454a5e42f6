// budget.h — the cost of passes and the worth of tokens, tracked through one request.
//
// A row pays when the tokens that it is expected to bring are worth more than the time that it
// adds. The worth of a token is its cost at present: at most a plain pass, less if drafts are
// accepted. It is never worth more than a token of the best pass that could be run now, because a
// token left out of this pass comes in the next one at about that cost. Passes are predicted by the
// measured cost (tree/cost.h), corrected by what they took in this request. Where texts are read in
// the same passes, a token saves no pass but only its row, an equal share of the pass.
//
// Where a model has experts, each pass reports how many it read. From this number, and not from the
// time, the budget learns how much the text's rows share beyond the rows that were timed. So rows
// that choose alike are not taken for a machine that is fast at the moment.
//
// A *plain pass* is one row of every member.
//
// The account holds the time gained over plain decoding, by the same predictions, so a slow moment
// of the machine is not charged to drafting. Rows beyond the root are paid from the gain, from 1 %
// of the time spent, and from the allowance: half a plain pass, or more where drafting itself takes
// passes. If the rows are expected to be right at least half of the time, the request may overdraw
// the account by two plain passes. Otherwise early misses would block a copy that has just been
// found. So a request whose drafts are never right loses no more than that.
#ifndef FR_DECODE_BUDGET_H
#define FR_DECODE_BUDGET_H
#include "tree/cost.h"
#include "tree/tree.h"

enum { FR_BUDGET_GROUPS = 12, FR_BUDGET_NODES = 256 }; // of row counts; to choose from at most

typedef struct fr_budget {
    fr_cost cost;
    bool measured;                  // false: cost is a guess, of the shape that all machines have
    int members;                    // texts that share the passes; their roots are rows of each
    fr_extra_rows read;             // rows of texts that are read in the passes of the moment
    double drift;                   // seconds taken over predicted, all passes
    double group[FR_BUDGET_GROUPS]; // the same of passes of about so many rows, over drift
    int seen[FR_BUDGET_GROUPS];     // passes that this was learned from
    double seconds, tokens;         // of recent steps: older ones fade
    double draft;                   // recent seconds of drafting for a step
    double gained, spent;           // seconds: gained over plain decoding; of all steps
    double allowance;               // plain passes that a request may lose to begin with
} fr_budget;

// cost NULL or without points: nothing was measured, so `guess` (NULL: of a model without experts) is
// used and scaled by the first pass.
void fr_budget_open(fr_budget *p, const fr_cost *cost, const fr_cost *guess);
void fr_budget_begin(fr_budget *p); // a new request; corrections stay
// One more request among others, with this allowance (0: the usual one).
void fr_budget_join(fr_budget *p, double allowance, int context);
// The cost is sound and has points; corrections are above 0, and no time or number of tokens below.
bool fr_budget_is_sound(const fr_budget *p);

// Seconds of a pass with logits on `rows` rows, the other members' roots and the `extra` rows
// besides (NULL: none), after `context` slots.
double fr_budget_pass(const fr_budget *p, int rows, const fr_extra_rows *extra, int context);
// The same, with every row; 0: nothing was measured, and no pass seen that would give the guess a
// scale.
double fr_budget_predict(const fr_budget *p, int rows, const fr_extra_rows *extra, int context);
// Seconds that one more token is worth after `context` slots.
double fr_budget_token_cost(const fr_budget *p, int context);
// What the last `own` of the `rows` rows add to the cost of such a pass, in units of the present
// token cost.
double fr_budget_rows_cost(const fr_budget *p, int rows, int own, const fr_extra_rows *extra,
                           int context);
// Whether the account allows `seconds` to be lost on a trial after `context` slots.
bool fr_budget_affords(const fr_budget *p, double seconds, int context);

// Whether the measured cost no longer fits this machine: many times, passes of some row counts took
// a quarter more, or a fifth less, than it predicts, compared with the others.
bool fr_budget_disagrees(const fr_budget *p);

// How many nodes of the tree, the best by score, are worth their rows: 1 (the root alone) to
// tree->n. The `extra` rows are in the pass besides.
int fr_budget_choose(const fr_budget *p, const fr_tree *tree, const fr_extra_rows *extra,
                     int context);
// The same of n nodes by their scores, descending, on top of `rows` rows that the pass has anyway:
// how many of them, 0 to n.
int fr_budget_choose_from(const fr_budget *p, const float *score, int n, int rows,
                          const fr_extra_rows *extra, int context);
// What a step wants of its pass, and what the budget gives: the one question of a step.
typedef struct fr_budget_wish {
    const float *score; // [n] of candidates to choose from, descending
    int n;
    int settled;         // candidates that are in the pass anyway
    fr_extra_rows extra; // rows, about, that drafters will attach
    int n_roots;         // texts that decode; 0: a whole chunk of prompts is read
    int n_readers;       // texts that read prompts: a row each at least
    int read_context;    // their committed slots, on average
    int most_read;       // rows of a chunk
    double read_times;   // plain passes that a pass which reads may take
    int context;         // committed slots of texts that decode, on average
} fr_budget_wish;
typedef struct fr_budget_answer {
    int candidates; // of the n, the best
    int read;       // rows of prompts
} fr_budget_answer;
// First the candidates are chosen, beside the rows of prompts that fit a pass without candidates.
// Then as many rows of prompts as the time of the pass permits.
fr_budget_answer fr_budget_plan(const fr_budget *p, const fr_budget_wish *wish);

// As extra rows: n rows of a prompt that has `own_context` committed slots, in a pass whose other
// texts have `context` on average.
fr_extra_rows fr_budget_reading(const fr_budget *p, int n, int own_context, int context);
// How many rows of such a text, at most `most`, may come along with `rows` rows and the `extra`
// ones before the pass takes `times` that of a plain one.
int fr_budget_reads(const fr_budget *p, double times, int rows, const fr_extra_rows *extra,
                    int most, int own_context, int context);

typedef struct fr_budget_step { // what a pass had, took, and gave
    int rows;                   // of one text; the other members' roots are besides
    const fr_extra_rows *extra; // NULL: none
    const fr_extra_rows *read;  // of texts that are read; NULL: none
    int context;
    int tokens;
    double pass_seconds;
    double draft_seconds; // before it
    int experts;          // that it read; 0: the model has none
} fr_budget_step;

// Learns from a step. The cost of reading is not charged to drafting.
void fr_budget_learn(fr_budget *p, const fr_budget_step *step);

#endif
