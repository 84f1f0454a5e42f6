// draft_benefit.c — first predicts what a draft pass takes, from its measured ratio to the target's
// pass. Then it decides whether to draft in a step and how many rows another pass gets.
#include "draft/kit/draft_benefit.h"
#include "base/mean.h"
#include <assert.h>

static const float EXPECTED = 0.85f; // of the best guess, before anything was seen
static const double OF_PASS = 0.15;  // share of one pass in the ratio of its row count
static const float OF_GUESS = 0.05f; // of one step in what guesses are worth; of a step without
static const float OF_PAUSE = 0.02f; // drafting in the way back to what was expected
static const fr_pauses PAUSES = {.shortest = 16, .longest = 128};
enum { FIRST_TRIAL = 4, PATIENCE = 12 };
enum { LONG_ANSWER = 128 }; // tokens assumed to be left where no end is known

void fr_draft_benefit_open(fr_draft_benefit *w, double usual) {
    *w = (fr_draft_benefit){.usual = usual};
    fr_draft_benefit_begin(w);
}

void fr_draft_benefit_begin(fr_draft_benefit *w) {
    w->confidence = EXPECTED;
    w->yield = 0;
    w->trial = (fr_trial){0};
    w->missed = 0;
    w->tried = false;
    assert(fr_draft_benefit_is_sound(w));
}

bool fr_draft_benefit_is_sound(const fr_draft_benefit *w) {
    for (int g = 0; g < FR_DRAFT_GROUPS; g++)
        if (!(w->ratio[g] >= 0)) return false;
    if (!(w->usual >= 0 && w->missed >= 0 && w->spent >= 0)) return false;
    return w->confidence >= 0 && w->confidence <= 1 && w->yield == w->yield &&
           fr_trial_is_sound(&w->trial);
}

// ---------------------------------------------------------------- seconds

static int group_of(int rows) {
    int g = 0;
    while (g < FR_DRAFT_GROUPS - 1 && rows > 1 << g)
        g++;
    return g;
}

// A group that was not seen yet has the ratio of the nearest smaller one.
static double ratio_of(const fr_draft_benefit *w, int rows) {
    for (int g = group_of(rows); g >= 0; g--)
        if (w->ratio[g] > 0) return w->ratio[g];
    return w->usual;
}

// The target's pass by the shape of its cost. The budget's corrections for single row counts are
// left out: one more row takes 2 to 5 % of a pass, and such corrections differ by more from one
// count to the next.
static double target_pass(const fr_budget *budget, int rows, int context) {
    return fr_cost_pass(&budget->cost, rows, rows, context) * budget->drift;
}

static double one_pass(const fr_draft_benefit *w, const fr_budget *budget, int rows, int context) {
    return ratio_of(w, rows) * target_pass(budget, rows, context);
}

double fr_draft_benefit_pass(const fr_draft_benefit *w, const fr_budget *budget, int rows,
                             int context) {
    const int chunks = rows / FR_DRAFT_CHUNK, rest = rows % FR_DRAFT_CHUNK;
    return (chunks ? chunks * one_pass(w, budget, FR_DRAFT_CHUNK, context) : 0) +
           (rest ? one_pass(w, budget, rest, context) : 0);
}

void fr_draft_benefit_learn(fr_draft_benefit *w, const fr_budget *budget, int rows, int context,
                            double seconds) {
    const double target = target_pass(budget, rows, context);
    w->spent += seconds;
    if (rows > FR_DRAFT_CHUNK || target <= 0) return;
    double *ratio = &w->ratio[group_of(rows)];
    const double seen = seconds / target, before = ratio_of(w, rows);
    // A single slow pass is an outlier: the bound keeps it from moving the ratio far.
    *ratio = before;
    fr_follow(ratio, seen < 3 * before ? seen : 3 * before, OF_PASS);
    assert(fr_draft_benefit_is_sound(w));
}

void fr_draft_benefit_saw(fr_draft_benefit *w, float best_guess) {
    fr_follow_f32(&w->confidence, best_guess, OF_GUESS);
}

void fr_draft_benefit_proposed(fr_draft_benefit *w, float tokens) {
    fr_follow_f32(&w->yield, tokens, OF_GUESS);
}

// ---------------------------------------------------------------- whether it pays

// Seconds that `more` rows add to the target's pass of `rows` rows.
static double rows_more(const fr_budget *budget, int rows, int more, int context) {
    return target_pass(budget, rows + more, context) - target_pass(budget, rows, context);
}

// A pause ends when the confidence has come back to its usual value, or by a trial that the request
// can afford. The first trial of a request is made in any case: the user asked for this drafter.
static bool try_again(fr_draft_benefit *w, const fr_budget *budget, double cost, int context) {
    fr_follow_f32(&w->confidence, EXPECTED, OF_PAUSE);
    fr_trial_idle(&w->trial);
    if (!w->tried && w->trial.idle >= FIRST_TRIAL) {
        fr_trial_used(&w->trial);
    } else {
        if (!fr_trial_is_due(&w->trial, &PAUSES)) return false;
        if (!fr_budget_affords(budget, cost, context)) return false;
        fr_trial_begin(&w->trial);
    }
    w->tried = true;
    return true;
}

bool fr_draft_benefit_start(fr_draft_benefit *w, const fr_budget *budget, int unread, float covered,
                            int left, int context) {
    assert(fr_draft_benefit_is_sound(w));
    w->spent = 0;
    const double one = fr_draft_benefit_pass(w, budget, 1, context);
    const double cost = one + rows_more(budget, 1, 1, context);
    const float tokens = w->confidence > w->yield ? w->confidence : w->yield;
    const double open = tokens > covered ? tokens - covered : 0;
    const double gain = open * fr_budget_token_cost(budget, context) - cost;
    const double reading = fr_draft_benefit_pass(w, budget, unread, context) - one;
    if (gain > 0) {
        fr_trial_pays(&w->trial);
        w->missed += gain;
        if (reading > gain * left || w->missed < reading / PATIENCE ||
            !fr_budget_affords(budget, cost, context))
            return false;
        w->missed = 0;
        w->tried = true;
        return true;
    }
    if (tokens * fr_budget_token_cost(budget, context) > cost)
        return false; // others' candidates cover this step
    return try_again(w, budget, cost + reading, context);
}

bool fr_draft_benefit_start_on(fr_draft_benefit *w, const fr_budget *budget, int unread,
                               const fr_tree *tree, int context) {
    float covered = 0;
    for (int k = tree->node[0].first_child; k >= 0; k = tree->node[k].next)
        covered += tree->node[k].score;
    // A tree of the greatest depth does not show where the answer ends.
    const int left = tree->max_depth < FR_TREE_MAX_DEPTH ? tree->max_depth + 1 : LONG_ANSWER;
    return fr_draft_benefit_start(w, budget, unread, covered, left, context);
}

int fr_draft_benefit_rows(const fr_draft_benefit *w, const fr_budget *budget, const float *score,
                          int n, int target_rows, int context) {
    const double price = fr_budget_token_cost(budget, context);
    double tokens = 0, best = 0;
    int rows = 0;
    for (int k = 1; k <= n; k++) {
        tokens += score[k - 1] * w->confidence;
        const double cost = fr_draft_benefit_pass(w, budget, k, context) +
                            rows_more(budget, target_rows, k, context);
        const double worth = tokens * price - cost;
        if (worth <= best || !fr_budget_affords(budget, w->spent + cost, context)) continue;
        best = worth;
        rows = k;
    }
    return rows;
}
