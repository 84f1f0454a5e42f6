// resume.h — what the loop (train.c) and its checkpoints share.
#ifndef FR_TRAIN_RESUME_H
#define FR_TRAIN_RESUME_H
#include "train/train.h"

// Keeps the best parameters, then writes the checkpoint, on process 0. If both fail the first error
// is reported.
fr_status fr_train_save(fr_train *t, fr_error *err);
// What stands in the checkpoint, for all processes. FR_EIO, FR_EDATA.
fr_status fr_train_resume(fr_train *t, fr_error *err);

// Whether first values are still to be fitted.
bool fr_train_wants_fit(const fr_train *t);
// The current samples to learn from.
static inline fr_batches *fr_train_batches(fr_train *t) {
    return &t->part[t->state.part];
}

#endif
