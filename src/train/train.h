// train.h — the training loop: steps from batches, judgements in between, checkpoints, the best
// parameters.
//
// A step takes a fixed number of batches, divided among the processes of `comm`; their gradients
// are summed, divided by their weight, cut to norm 1 and given to AdamW. Now and then the held-out
// samples are judged; the parameters of the least held-out loss are kept, and a training that does
// not improve on them over `patience` judgements ends early, but not while something will still
// change: the learned steps (fr_learner.settled), the folder, or averaging. Over the last part of
// the training, if that is requested, the parameters after every step are averaged, and their mean
// is judged and kept [stochastic weight averaging, Izmailov et al. 2018]. With a number of steps
// every decision depends on steps alone, so an interrupted training that was resumed ends with the
// same bits as one that was not; with a time, on the clock of process 0. Work that an interrupt
// stops in the middle (a step, a judgement, the fit of first values) counts as not begun, and is
// done again.
#ifndef FR_TRAIN_TRAIN_H
#define FR_TRAIN_TRAIN_H
#include "train/comm.h"
#include "train/learner/batches.h"
#include "train/learner/learner.h"

typedef struct fr_train_point { // of the loss curve, one a judgement
    uint64_t step, rows;        // rows: learned so far, repeated ones again
    double seconds, rate;
    double loss;      // mean over the steps since the last point; NaN: there was none
    double held_loss; // the rest is of what was held out
    double tokens_per_pass;
    double accuracy[FR_DEPTHS]; // share of rows whose best guess at each depth was right
    double error[FR_DEPTHS];    // its standard error, were other texts held out; NaN: unknown
} fr_train_point;

typedef struct fr_train_state { // where a training stands; a checkpoint keeps it
    uint64_t step, rows;
    uint64_t epoch, at;      // of the batches
    double seconds;          // of all runs
    double prepared;         // ... and what went before the first of them
    uint64_t next_judgement; // step; trainings by time go by next_seconds
    double next_seconds;
    double best_loss;
    uint64_t best_step, best_rows;
    double best_seconds;
    int32_t judgements, since_best; // judgements: 0: nothing is best yet
    int32_t stopped;                // early, nothing got better
    int32_t fitted;                 // first values are, where they are wanted so
    uint64_t averaged;              // steps in the mean
    uint64_t part;                  // of the data: whose epoch and at these are
    fr_tally recent;                // of the steps since the last point
    fr_tally best;                  // of what was held out
} fr_train_state;

typedef struct fr_train_phase { // what takes long besides steps
    const char *what, *unit;    // what NULL: steps are made
    uint64_t done, total;       // units
} fr_train_phase;

typedef struct fr_train fr_train;
typedef struct fr_train_config {
    uint64_t steps;                   // or
    double seconds;                   // how long, with the preparation; one of them is 0
    double prepared;                  // seconds that the data took, if this run made them
    double rate;                      // the highest learning rate
    double rate_end;                  // share of it that is left at the end
    double average;                   // share of the way whose parameters are averaged
    int n_shares;                     // folders that come one after the other; 0: all at once
    double share[FR_DATASET_FOLDERS]; // ... of the way of each
    int batch_rows, accumulate;       // batches of a step: accumulate on every process
    int judgements;                   // on the way, besides the first; 1 or more
    int patience;                     // judgements without a gain; 0: continues in any case
    uint64_t seed;
    const char *identity;    // KEY=VALUE lines: what a checkpoint must agree with
    const char *checkpoint;  // its file
    double checkpoint_every; // seconds
    bool resume;             // from the checkpoint
    // After every step and many times in it and in every phase, on process 0: false ends the run
    // with FR_EINTR.
    bool (*watch)(void *user, const fr_train *t);
    // Before a checkpoint, on process 0, when the best parameters are other ones than at the last
    // call; they stand in the learner meanwhile. FR_OK continues.
    fr_status (*keep)(void *user, const fr_train *t, fr_error *err);
    void *user;
} fr_train_config;

struct fr_train { // read-only for others
    fr_train_config config;
    fr_learner *learner; // borrowed, like the next two
    const fr_dataset *data;
    const fr_comm *comm;
    fr_train_state state;
    fr_train_phase phase;
    fr_train_point *curve;
    size_t n_points, curve_room;
    fr_batches part[FR_DATASET_FOLDERS]; // the samples to learn from: all, or a folder each
    int n_parts;
    fr_batches held;
    fr_batch *batch;
    float *best;                            // [n_floats]
    float *mean;                            // [n_floats] of the averaged steps; or NULL
    double before, started, saved, judging; // seconds: of earlier runs; clock at the start of this
                                            // one, at the last checkpoint; a judgement's length
    uint64_t kept_step;                     // best_step at the last keep, plus 1
    char was_length[64]; // of the run that wrote the checkpoint, as its identity has it; or ""
    fr_watch watch;      // the learner's, while it runs
    bool interrupted;    // `watch` has ended the work in process 0
};

// FR_ENOMEM; FR_EDATA: a folder with a share has nothing to learn from; with resume FR_EIO,
// FR_EDATA: the checkpoint is missing, damaged or of another training. All processes fail together.
fr_status fr_train_open(fr_train *t, const fr_train_config *config, fr_learner *learner,
                        const fr_dataset *data, const fr_comm *comm, fr_error *err);
void fr_train_close(fr_train *t); // {0} is fine
// Runs to the end. FR_EINTR: interrupted, FR_EDATA: the loss is no number any more, FR_EIO, and
// what `keep` gives. In all cases but FR_EDATA and FR_ENOMEM the best parameters were kept and a
// checkpoint was tried, in this order: where one does not fit the disk any more the other may.
fr_status fr_train_run(fr_train *t, fr_error *err);
double fr_train_done(const fr_train *t); // share of the way, 0..1
// Its memory besides the learner: the best parameters, and their mean if it is wanted.
size_t fr_train_bytes(const fr_learner *l, double average);
size_t fr_train_checkpoint_bytes(const fr_train *t);

#endif
