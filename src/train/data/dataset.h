// dataset.h — the samples of some folders of shards, and which of them are kept for judging.
//
// The order of samples is that of a hash of their keys, which is independent of how they were made.
// The first of them are *held out*: by default 2 %, at least 4 and at most 64. They are never
// trained on, and are the same for every run on the same data, with any limit of rows. Texts with
// the same question are never on both sides. A text in two folders counts once, if the template
// wrote it the same way.
#ifndef FR_TRAIN_DATA_DATASET_H
#define FR_TRAIN_DATA_DATASET_H
#include "train/data/shard.h"

enum { FR_DATASET_FOLDERS = 16, FR_HELD_OUT_LEAST = 4, FR_HELD_OUT_MOST = 64 };

typedef struct fr_dataset_place {
    uint64_t order, key;
    uint64_t question;      // hash of the tokens before the first answer
    int32_t folder, sample; // which one of which folder
    int32_t rows, answers;  // as cut
} fr_dataset_place;

typedef struct fr_dataset {
    fr_shards *shards[FR_DATASET_FOLDERS];
    int n_shards;
    fr_shard_format format;
    fr_dataset_place *place; // [n_held + n_train], held out first
    int n_held, n_train;
    int max_rows;
    uint64_t rows, answers, held_rows; // rows and answers: without the held-out ones
    uint64_t hash; // of keys, lengths and the cut: identifies the data of training and judging
} fr_dataset;

typedef struct fr_dataset_limits {
    int max_rows;  // longer samples are cut
    uint64_t rows; // trains on so many at most, but on one sample at least; 0: on all
    int held_out;  // samples; 0: 2 %
} fr_dataset_limits;

// Opens `n` folders. FR_EDATA: folders of different targets or forms, too few samples, and the
// errors of fr_shards_open; FR_EARG: too many folders; FR_EIO, FR_ENOMEM. progress may be NULL;
// FR_EINTR: it ended the work.
fr_status fr_dataset_open(fr_dataset *d, const char *const *folders, int n, const char *target,
                          const fr_dataset_limits *limits, fr_progress_fn *progress, void *user,
                          fr_error *err);
void fr_dataset_close(fr_dataset *d); // {0} is fine
// Sample i in that order: 0..n_held-1 are held out, then come those to train on.
void fr_dataset_sample(const fr_dataset *d, int i, fr_sample *out);

#endif
