// batches.h — the order in which samples are learned: batches of a bounded number of rows.
//
// Every epoch is a permutation of its own, a function of (seed, epoch); a batch takes the next
// samples of it as long as they fit, FR_BATCH_SAMPLES at most, and ends with the epoch. So (epoch,
// at) is the whole position of a training in its data.
#ifndef FR_TRAIN_LEARNER_BATCHES_H
#define FR_TRAIN_LEARNER_BATCHES_H
#include "train/data/dataset.h"
#include "train/learner/learner.h"

typedef struct fr_batches {
    const fr_dataset *data; // borrowed
    int first, span;        // samples of the data's order,
    int folder, n;          // ... all of which take part, or those of one folder; -1: all
    int rows;               // of a batch at most; no sample has more
    bool shuffled;
    uint64_t seed, epoch;
    int at;         // samples of the epoch that were given out
    int32_t *order; // [span], n of them of the epoch
} fr_batches;

// FR_ENOMEM. shuffled false: the data's own order in every epoch.
fr_status fr_batches_open(fr_batches *b, const fr_dataset *data, int first, int n, int rows,
                          bool shuffled, uint64_t seed, fr_error *err);
void fr_batches_close(fr_batches *b); // {0} is fine
// Leaves only the samples of this folder of the data, from the beginning; n may be 0 then.
void fr_batches_of_folder(fr_batches *b, int folder);
void fr_batches_seek(fr_batches *b, uint64_t epoch, int at);
// The next batch, never an empty one; the samples point into the data's mapping.
void fr_batches_next(fr_batches *b, fr_batch *out);

#endif
