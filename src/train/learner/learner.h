// learner.h — the interface of a method for the training loop: gradients on batches, counts, a
// pack.
//
// The loop (train.h) owns data, optimizer, schedule and checkpoints; a *learner* owns a method's
// parameters and mathematics, one file a method. Most read the frozen target only for embeddings
// and head rows: everything else about the target is in the samples. Those whose rows are attached
// to the target (attached_learner.h) also run its passes. Opening may fail; learn and judge cannot,
// but they may stop in the middle when `watch` ends the work.
#ifndef FR_TRAIN_LEARNER_LEARNER_H
#define FR_TRAIN_LEARNER_LEARNER_H
#include "base/watch.h"
#include "draft/pack/pack.h"
#include "gguf/writer.h"
#include "model/model.h"
#include "train/data/draft_vocab.h"
#include "train/math/gemm.h"
#include "train/math/param.h"
#include "tree/accuracy.h"

enum { FR_BATCH_SAMPLES = 256, FR_DEPTHS = 8, FR_RANKS = FR_ACCURACY_RANKS };

// Conversations, each cut to what fits: samples are independent contexts that begin at their row 0.
typedef struct fr_batch {
    int n;    // samples
    int rows; // of all of them
    fr_sample sample[FR_BATCH_SAMPLES];
} fr_batch;

// What a batch gave. Depth k counts the k-th drafted token (k - 1 the index).
typedef struct fr_tally {
    double loss; // sum over `weight` terms, nats
    double weight;
    double part[FR_DEPTHS]; // loss by depth, of tried[] rows
    // Of rows with a target token at this depth: how often the guess of rank r was that token.
    double tried[FR_DEPTHS], right[FR_DEPTHS][FR_RANKS];
    // Rows whose best guesses at all depths before were right, and of these those of this depth.
    double reached[FR_DEPTHS], followed[FR_DEPTHS];
} fr_tally;

typedef struct fr_learner fr_learner;
typedef struct fr_learner_ops {
    // Adds the gradient of the *sum* of the batch's loss terms to params.grad, and counts. The
    // loop divides by the weight of all batches (and machines) of a step.
    void (*learn)(fr_learner *l, const fr_batch *batch, uint64_t noise, fr_tally *tally);
    void (*judge)(fr_learner *l, const fr_batch *batch, fr_tally *tally); // held-out: counts alone
    // First values from data, for learners with `fit_rows`: all batches, then the end. Absent:
    // none. If it is stopped (see above), parameters may be partly set.
    fr_status (*fit_add)(fr_learner *l, const fr_batch *batch, fr_error *err); // FR_ENOMEM
    void (*fit_end)(fr_learner *l);
    // Adds the method's own metadata and tensors (matrices as `type`, or `halves`).
    void (*write)(const fr_learner *l, fr_gguf_writer *w, fr_type type);
    // Takes what stands in a pack that training begins with. Absent: parameters by their names.
    // FR_EDATA.
    fr_status (*read)(fr_learner *l, const fr_gguf *pack, fr_error *err);
    // After that: rows that what the pack did not give wants to be fitted to. Absent: 0.
    uint64_t (*fit_rest)(const fr_learner *l);
    size_t (*workspace)(const fr_learner *l); // bytes it holds besides parameters
    void (*close)(fr_learner *l);
} fr_learner_ops;

struct fr_learner { // embedded first in a method's own struct
    const fr_learner_ops *ops;
    const char *name; // the method's
    fr_params params;
    const fr_model *target;      // borrowed
    const fr_draft_vocab *vocab; // borrowed
    fr_gemm *gemm;               // borrowed
    const fr_watch *watch;       // borrowed, set by the loop; NULL: all is wanted
    double done;                 // share of the training done, set by the loop before every step
    double settled;              // ... after which the objective no longer changes (early stopping)
    int depth;                   // tokens that it learns to draft
    bool halves;                 // matrices of its pack are F16 where others are Q8_0
    double rate;                 // default of the highest learning rate
    uint64_t fit_rows;           // rows that its first values want to be fitted to; 0: none
};

typedef struct fr_learner_config {
    const fr_model *target;
    const fr_draft_vocab *vocab;
    const fr_shard_format *format;
    fr_gemm *gemm;
    int depth;    // 0: the method's default
    int max_rows; // of a batch
    uint64_t seed;
    float rope_base;            // of the block that the pack of --init gives; 0: it gives none
    const char *const *options; // KEY=VALUE list of the method's own, NULL-terminated; or NULL
} fr_learner_config;

// The constructor of a method. FR_EARG: an option; FR_ENOMEM.
typedef fr_status fr_learner_open_fn(fr_learner **out, const fr_learner_config *config,
                                     fr_error *err);

// ---------------------------------------------------------------- methods

typedef struct fr_learner_start { // the data known before a training opens
    int n_layer;                  // of the target
    const fr_pack *init;          // the pack that it continues from; NULL: none
    bool captures;                // states are captured for it, so their layers can be chosen
} fr_learner_start;

enum { FR_LEARNER_DEFAULTS = 4, FR_LEARNER_DEFAULT = 64 }; // settings; bytes of one

typedef struct fr_learner_method {
    const char *name;
    fr_learner_open_fn *open;
    bool passes;      // runs the target's passes: wants its weights packed and all threads
    int batch_rows;   // default rows of a batch: costly steps want many
    const char *what; // one line for a list; NULL: that of the drafter of this name
    // KEY=VALUE of keys whose default depends on the start; how many. NULL: none.
    int (*defaults)(const fr_learner_start *start,
                    char setting[FR_LEARNER_DEFAULTS][FR_LEARNER_DEFAULT]);
} fr_learner_method;

#endif
