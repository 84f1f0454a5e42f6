#include "draft/hidden_state/state_reuse.h"
#include <assert.h>

static const float MEMORY = 32, EXPECTED = 4; // steps; the expected value counts as so many
static const fr_pauses PAUSES = {.shortest = 33, .longest = 33}; // a look costs one step

bool fr_state_reuse_possible(int left, int age) {
    return left >= FR_REUSE_LEAST && age < FR_REUSE_AGE;
}

static int left_group(fr_state_reuse_mode mode, int left) {
    if (mode == FR_REUSE_FRESH) return 0;
    return left < FR_REUSE_LEFT ? left : FR_REUSE_LEFT;
}

static int age_group(fr_state_reuse_mode mode, int age) {
    return mode == FR_REUSE_FRESH ? 0 : age < FR_REUSE_AGE ? age : FR_REUSE_AGE - 1;
}

double fr_state_reuse_tokens(const fr_state_reuse *r, fr_state_reuse_mode mode,
                             const fr_state_reuse_case *c) {
    const int left = left_group(mode, c->left), age = age_group(mode, c->age);
    const double expected = mode == FR_REUSE_KEPT ? c->kept : c->fresh;
    const fr_mean *seen = &r->seen[mode][left][age];
    return (EXPECTED * expected + seen->sum) / (EXPECTED + seen->weight);
}

void fr_state_reuse_learn(fr_state_reuse *r, fr_state_reuse_mode mode, int left, int age,
                          int tokens) {
    fr_mean_add(&r->seen[mode][left_group(mode, left)][age_group(mode, age)], (float)tokens,
                MEMORY);
    assert(fr_state_reuse_is_sound(r));
}

bool fr_state_reuse_is_sound(const fr_state_reuse *r) {
    for (int mode = 0; mode < FR_REUSE_MODES; mode++) {
        if (!fr_trial_is_sound(&r->trial[mode])) return false;
        for (int left = 0; left <= FR_REUSE_LEFT; left++)
            for (int age = 0; age < FR_REUSE_AGE; age++) {
                const fr_mean *seen = &r->seen[mode][left][age];
                if (!fr_mean_is_sound(seen) || seen->weight > MEMORY) return false;
            }
    }
    return true;
}

static double seconds_of(fr_state_reuse_mode mode, const fr_state_reuse_case *c) {
    return c->pass + (mode == FR_REUSE_KEPT ? 0 : c->draft);
}

static double speed_of(const fr_state_reuse *r, fr_state_reuse_mode mode,
                       const fr_state_reuse_case *c) {
    return fr_state_reuse_tokens(r, mode, c) / seconds_of(mode, c);
}

fr_state_reuse_mode fr_state_reuse_choose(fr_state_reuse *r, const fr_state_reuse_case *c,
                                          const fr_budget *budget, int context) {
    const bool possible[FR_REUSE_MODES] = {[FR_REUSE_FRESH] = true,
                                           [FR_REUSE_KEPT] =
                                               fr_state_reuse_possible(c->left, c->age),
                                           [FR_REUSE_FUSED] = c->left > 0};
    fr_state_reuse_mode best = FR_REUSE_FRESH, longest = FR_REUSE_FRESH;
    for (int i = 0; i < FR_REUSE_MODES; i++) {
        if (!possible[i]) continue;
        fr_trial_idle(&r->trial[i]);
        if (speed_of(r, i, c) > speed_of(r, best, c)) best = i;
        if (r->trial[i].idle > r->trial[longest].idle) longest = i;
    }
    const double lost =
        seconds_of(longest, c) - fr_state_reuse_tokens(r, longest, c) / speed_of(r, best, c);
    if (fr_trial_is_due(&r->trial[longest], &PAUSES) && fr_budget_affords(budget, lost, context)) {
        fr_trial_begin(&r->trial[longest]);
        return longest;
    }
    fr_trial_used(&r->trial[best]);
    return best;
}
