// tally.h — what batches gave, added up, and what follows from it.
#ifndef FR_TRAIN_LEARNER_TALLY_H
#define FR_TRAIN_LEARNER_TALLY_H
#include "train/learner/loss.h"

// Counts a row's guess at depth k (from 0). *alive: its best guesses at all depths before were
// right; updated. A depth at which nothing counts ends it: whoever calls clears *alive there.
void fr_tally_count(fr_tally *t, int k, float weight, const fr_loss_got *got, bool *alive);

double fr_tally_loss(const fr_tally *t); // mean by weight, nats; 0 of nothing
// Tokens a pass that the best chain of `depth` guesses brings: 1 + the sum over depths of the
// product of the shares followed.
double fr_tally_tokens_per_pass(const fr_tally *t, int depth);
// The share of rows whose guess of each rank at depth k was right, given that the best guesses
// before were. Only the best rank is counted so; its misses are distributed to the others in the
// proportion that they have among all rows.
void fr_tally_accuracy(const fr_tally *t, int k, float by_rank[FR_RANKS]);

#endif
