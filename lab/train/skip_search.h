// skip_search.h — which sublayers a draft may leave out: searches over sets, by what a set is
// worth.
//
// Backward elimination begins with all sublayers and leaves out, one after the other, the one that
// costs least divergence from the whole model for the bytes that it saves; the fastest set on the
// way is kept. Flips try single sublayers in and out of the best set. Bayesian optimisation, the
// paper's own way, models speed over relaxed booleans (gauss.h) and tries the set that is expected
// to improve most.  [Draft & Verify, Zhang et al. 2023, §3.3]
// What a set is worth is the caller's function, so the searches know no model. They end where the
// caller has seen enough, with the best set so far.
#ifndef LAB_TRAIN_SKIP_SEARCH_H
#define LAB_TRAIN_SKIP_SEARCH_H
#include "base/status.h"

enum { FR_SKIP_MOST = 1024 }; // sublayers

typedef struct fr_skip_value {
    double divergence; // KL(whole || without) of a token's distribution, nats
    double speed;      // expected tokens over those of plain decoding
} fr_skip_value;

typedef struct fr_skip_search {
    int n;                 // sublayers
    const uint64_t *bytes; // [n] that leaving one out saves
    // Of a set [n]; one that was left unjudged has a speed of 0.
    void (*judge)(void *user, const uint8_t *skip, fr_skip_value *value);
    // After every judgement; false: enough.
    bool (*watch)(void *user, const struct fr_skip_search *s);
    void *user;
    // Where it stands; zeroed on opening.
    int judgements;
    bool ended; // the caller has had enough
    uint8_t best[FR_SKIP_MOST];
    fr_skip_value best_value; // of a set that leaves something out; speed 0: none was judged
} fr_skip_search;

void fr_skip_eliminate(fr_skip_search *s); // from the whole model on
// From the best set, whose value is taken anew: each sublayer in or out while that makes it faster,
// until none does.
void fr_skip_flip(fr_skip_search *s);
// `most` judgements (2 or more), begun with the best set and sets near it. FR_ENOMEM.
fr_status fr_skip_bayes(fr_skip_search *s, int most, uint64_t seed, fr_error *err);

// Of a search by time, in seconds: what the data left of `all`, but a tenth of it however long that
// took.
double fr_skip_seconds(double all, double prepared);

#endif
