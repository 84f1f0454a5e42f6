// spread.h — how far shares of right guesses would lie apart on other held-out texts.
//
// Texts are judged in batches. The share over all of them is a ratio of two sums, R / T; its
// standard error is
//     sqrt(n / (n-1) sum_i (r_i - p t_i)^2) / T,     p = R / T,  r_i, t_i of batch i of n
// [Cochran, Sampling Techniques, §2.11]. All of it are sums, so that processes add theirs.
#ifndef FR_TRAIN_LEARNER_SPREAD_H
#define FR_TRAIN_LEARNER_SPREAD_H
#include "train/learner/learner.h"

typedef struct fr_spread { // {0}: nothing was judged
    double batches;
    double rr[FR_DEPTHS], rt[FR_DEPTHS], tt[FR_DEPTHS];
} fr_spread;

// A batch was judged: the tally before it and after it.
void fr_spread_add(fr_spread *s, const fr_tally *before, const fr_tally *after);
// The standard error of the share of best guesses that were right at a depth; NaN of one batch.
double fr_spread_error(const fr_spread *s, const fr_tally *all, int depth);

#endif
