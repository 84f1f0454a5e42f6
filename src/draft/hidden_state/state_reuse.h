// state_reuse.h — whether a step drafts from a new chain of states, from the rest of the last
// one, or from both. chain_cache.h describes the rest of a chain after a pass.
//
// A step in a mode gives tau(mode) tokens and costs the target's pass and the drafting of that
// mode. The mode with the most tokens a second is taken: reuse if tau_reuse / L_v exceeds tau_fresh
// / (L_v + L_d). tau follows the results of steps, separately for each number of depths left and
// age of the chain. A mode that was possible and not taken for a while is tried again, if the
// account of the request can afford the possible loss.
#ifndef FR_DRAFT_HIDDEN_STATE_STATE_REUSE_H
#define FR_DRAFT_HIDDEN_STATE_STATE_REUSE_H
#include "base/mean.h"
#include "decode/budget.h"
#include "decode/trial.h"

typedef enum fr_state_reuse_mode {
    FR_REUSE_FRESH, // a new chain
    FR_REUSE_KEPT,  // the rest of the last one: no pass of the block
    FR_REUSE_FUSED, // a new one, its logits plus lambda times those of the last one
    FR_REUSE_MODES,
    FR_REUSE_AUTO = FR_REUSE_MODES,
} fr_state_reuse_mode;

enum {
    FR_REUSE_LEFT = 8,  // numbers of depths left are distinguished up to this one
    FR_REUSE_AGE = 2,   // steps in a row that may draft from the same chain
    FR_REUSE_LEAST = 2, // depths left that are worth a step
};

typedef struct fr_state_reuse {
    fr_mean seen[FR_REUSE_MODES][FR_REUSE_LEFT + 1][FR_REUSE_AGE]; // tokens of steps
    fr_trial trial[FR_REUSE_MODES]; // of modes; steps count in which a mode was possible
} fr_state_reuse;

typedef struct fr_state_reuse_case { // a step
    int left, age;                   // of the last chain: depths, steps that drafted from it since
    double fresh, kept;              // tokens expected of a step in these modes where none was seen
    double pass, draft;              // seconds of the target's pass, and of a new chain
} fr_state_reuse_case;

// One of those before FR_REUSE_AUTO.
fr_state_reuse_mode fr_state_reuse_choose(fr_state_reuse *r, const fr_state_reuse_case *c,
                                          const fr_budget *budget, int context);
// A step in `mode` brought `tokens`; left and age are those of its case.
void fr_state_reuse_learn(fr_state_reuse *r, fr_state_reuse_mode mode, int left, int age,
                          int tokens);
bool fr_state_reuse_is_sound(
    const fr_state_reuse *r); // its means and trials are, and no mean is too sure
// Tokens expected of a step in this mode.
double fr_state_reuse_tokens(const fr_state_reuse *r, fr_state_reuse_mode mode,
                             const fr_state_reuse_case *c);
// Whether there is enough left of a chain that is not too old.
bool fr_state_reuse_possible(int left, int age);

#endif
