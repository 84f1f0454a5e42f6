// learn_chimera.h — the parts of Chimera's learner: its options, initial values and objective,
// and the replacements of its n-grams.
#ifndef FR_DRAFT_CHIMERA_TRAIN_LEARN_CHIMERA_H
#define FR_DRAFT_CHIMERA_TRAIN_LEARN_CHIMERA_H
#include "train/block/ngram_encoder.h"
#include "train/block/unrolled_batch.h"
#include "train/learner/loss.h"
#include "train/math/linear_fit.h"

typedef struct fr_chimera_options {
    int ngram, hidden, ffn, depth;
    fr_pack_encoder form;
    float feature;
    bool residual, own_heads, fit;
} fr_chimera_options;

typedef struct fr_chimera_head { // numbers of parameters; -1: absent
    int state, chain, norm;
} fr_chimera_head;

typedef struct fr_chimera_learner fr_chimera_learner;

// What the chain reads and is to say, where it is not what ours does (lab/train). With `read`
// something else makes the encoder's input ngram.t than the embeddings of n-grams.
typedef struct fr_chimera_source {
    void (*add_params)(fr_chimera_learner *m, const fr_unrolled_shape *block);
    void (*read)(fr_chimera_learner *m);                  // for the batch that stands in the chain
    void (*back)(fr_chimera_learner *m, const float *dt); // NULL: nothing of it is learned
    bool ngram_context; // n-gram states stand for the context's rows too, in place of the target's
    bool hard;          // labels are the tokens that came
} fr_chimera_source;

struct fr_chimera_learner {
    fr_learner learner; // first
    fr_chimera_options options;
    const fr_chimera_source *source; // borrowed; NULL: n-grams
    fr_unrolled chain;
    fr_unrolled_batch batch;
    fr_train_encoder ngram;
    fr_chimera_head head[FR_DEPTHS];
    fr_loss loss;
    fr_linear_fit fit;
    float *f, *z, *y, *dy; // [bases][d]: states of the bases; before and after the norm; gradient
    float *std;            // [d]
};

// Opens a learner at the beginning of a block of fr_alloc_zero, which an error frees, as closing
// does.
fr_status fr_chimera_learner_open(fr_chimera_learner *m, const fr_chimera_source *source,
                                  const fr_learner_config *config, fr_error *err);

// Defaults, then KEY=VALUE words. FR_EARG.
fr_status fr_chimera_read_options(fr_chimera_options *o, const fr_learner_config *config,
                                  fr_error *err);
void fr_chimera_start(fr_chimera_learner *m, uint64_t seed); // of encoder and heads, without data
// t of the encoder for the batch that stands in the chain.
void fr_chimera_read_ngrams(fr_chimera_learner *m, const fr_batch *batch);

// First values from data, as in learner.h: how many rows, of batches, then the end.
uint64_t fr_chimera_fit_rows(const fr_chimera_learner *m);
// The same where a pack was read: 0 where it gave the encoder's map.
uint64_t fr_chimera_fit_rest(const fr_learner *l);
size_t fr_chimera_fit_bytes(const fr_chimera_learner *m);
fr_status fr_chimera_fit_add(fr_chimera_learner *m, const fr_batch *batch, fr_error *err);
void fr_chimera_fit_end(fr_chimera_learner *m);

#endif
