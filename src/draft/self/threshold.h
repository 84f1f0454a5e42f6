// threshold.h — how sure a draft must be of a token to continue after it, adapted to what was
// accepted.
//
// Drafting stops after the first token whose probability is below the threshold. After a step the
// share accepted, a moving mean m, is compared with 0.9. Below it the threshold rises by a
// hundredth. At or above it the threshold falls by a hundredth, unless the draft ran to its full
// length. A tenth of that step is taken.  [Draft & Verify, Zhang et al. 2023, §3.4]
#ifndef FR_DRAFT_SELF_THRESHOLD_H
#define FR_DRAFT_SELF_THRESHOLD_H
#include <stdbool.h>

typedef struct fr_threshold {
    double value; // 0..1
    double share; // m
} fr_threshold;

// A new request: 0.8 where the target takes its likeliest token, 0.5 where it draws.
void fr_threshold_begin(fr_threshold *t, bool greedy);
bool fr_threshold_is_sound(const fr_threshold *t); // both are shares
// Of `drafted` tokens in a row (1 or more) `accepted` were right; `full`: it ran to its full
// length.
void fr_threshold_learn(fr_threshold *t, int drafted, int accepted, bool full);

#endif
