// unrolled_batch.h — conversations as the bases of a chain: what its learners share.
//
// A *base* is a row i of a sample from which a chain starts; guess k of it is to say the
// distribution of row i + k. Rows that are an answer's and have a distribution count; a sample's
// first row is no base, its state is like no other's. Guess k weighs 0.8^(k-1) [Medusa, arXiv
// 2401.10774].
#ifndef FR_TRAIN_BLOCK_UNROLLED_BATCH_H
#define FR_TRAIN_BLOCK_UNROLLED_BATCH_H
#include "train/block/unrolled.h"
#include "train/learner/loss.h"

typedef struct fr_unrolled_batch {
    const fr_model *target;   // borrowed
    fr_unrolled *chain;       // borrowed
    int depth;                // guesses; a batch may have fewer than it was opened for
    int ahead;                // guess k is the chain's step k + ahead
    int tap[FR_SHARD_TAPS];   // places of the chain's taps among the samples'; -1: the final state
    const fr_sample **sample; // [bases]: whose row at[base] is
    int *at;                  // [bases]
    bool *real;               // [bases]: its steps read real tokens
    // Of one guess: the bases that count, and the rows whose tokens are known last.
    int counted, *base, *last;
    fr_loss_row *want;
    fr_loss_got *got;                // [counted]
    fr_loss_got *all[FR_DEPTHS + 1]; // [bases] of each guess
    float *distance;                 // [counted]
    double extra;                    // the part of the loss besides the guesses' cross entropy
    size_t bytes;
} fr_unrolled_batch;

// For all rows of the chain. `ahead`: 1 where the chain's rows are given, else 0. FR_ENOMEM.
fr_status fr_unrolled_batch_open(fr_unrolled_batch *b, fr_unrolled *chain, const fr_model *target,
                                 int depth, fr_error *err);
void fr_unrolled_batch_close(fr_unrolled_batch *b); // {0} is fine

// States, embeddings, positions, bases and tokens of a batch into the chain. A share `feed` of the
// bases, chosen by `noise`, reads the real tokens after the first.
void fr_unrolled_batch_set(fr_unrolled_batch *b, const fr_batch *batch, float feed, uint64_t noise);

void fr_unrolled_batch_list(fr_unrolled_batch *b, int k); // counted, base, last, want of guess k
void fr_unrolled_batch_keep(fr_unrolled_batch *b, int k); // got, for the tally
// Adds by * weight * SmoothL1((G - true state) / std) of the counted rows of guess k to `extra`,
// and its gradient to the chain's dg; rows without a loss are left out.
void fr_unrolled_batch_feature(fr_unrolled_batch *b, int k, float by, const float *std);
// Counts all guesses. A chain is followed as long as its guesses count and the best are right.
void fr_unrolled_batch_tally(const fr_unrolled_batch *b, fr_tally *tally);

#endif
