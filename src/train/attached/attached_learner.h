// attached_learner.h — shared by learners of rows attached to the target: the places of their
// chains, and their objective.
//
// A *base* is a row q >= 1 of a sample whose next token to draft is an answer's. Row i of a chain
// under it guesses what row q + i of the sample predicts: against the distribution of that row,
// where it is an answer's, with weight 0.8^(i-1) [Medusa §2.2.1, PPD]. A guess may be `members`
// rows, next to each other in the trunk's steps: the mean of their final states goes to the head,
// which is the mean of their logits; or a sum with weights that are learned [PPD, appendix B.6]. A
// batch goes through the trunk in pieces of at most FR_ATTACHED_LEARNER_ROWS attached rows, so that
// memory does not grow with how many short texts a batch holds.
#ifndef FR_TRAIN_ATTACHED_ATTACHED_LEARNER_H
#define FR_TRAIN_ATTACHED_ATTACHED_LEARNER_H
#include "train/attached/trunk.h"
#include "train/learner/learner.h"
#include "train/learner/loss.h"

enum {
    FR_ATTACHED_LEARNER_ROWS = 1024,
    FR_ATTACHED_LEARNER_POINTS = 64,
    FR_ATTACHED_LEARNER_JUDGED = 24,
    FR_ATTACHED_LEARNER_DEPTH = 3,
    FR_ATTACHED_LEARNER_GUESSES = 7
};

typedef struct fr_attached_learner fr_attached_learner;
struct fr_attached_learner { // embedded first in a learner's own struct
    fr_learner learner;
    void (*enter)(fr_attached_learner *a); // sets trunk.in of the chains that hang there
    void (*leave)(fr_attached_learner *a); // adds trunk.dx to the parameters' gradients
    int points;           // most bases of a sample; judging, at most FR_ATTACHED_LEARNER_JUDGED
    int last;             // learning, bases lie among so many last rows of a sample; 0: anywhere
    int guesses, members; // of a base; rows of a guess
    int weights;          // parameter [guesses * members], of the sum; -1: the mean
    int head;             // parameter [V'][d], a head of its own [B.4]; -1: the target's
    bool hard;            // learns the tokens that came, not the target's distributions
    fr_trunk_context context;
    fr_trunk trunk;
    fr_loss loss;
    // Of a batch: the bases, sample by sample.
    const fr_batch *batch;
    int n_bases, max_bases;
    int *sample, *row; // [max_bases] number in the batch; row of the sample
    int *first;        // [FR_BATCH_SAMPLES] rows of the context before each sample's
    // Of a piece, [guesses * bases] rows, those of a guess together.
    int at, n, max_piece; // its bases
    float *state, *dstate;
    fr_loss_row *want;
    fr_loss_got *got;
    size_t bytes; // of the lists and states
};

// After all from `learner` to `hard` is set; shape->steps is guesses * members. taps: residuals
// that `enter` reads of the context. FR_EUNSUP, FR_ENOMEM; an error leaves what
// fr_attached_learner_close takes away.
fr_status fr_attached_learner_open(fr_attached_learner *a, const fr_learner_config *config,
                                   const fr_trunk_shape *shape, const int *taps, int n_taps,
                                   fr_error *err);
void fr_attached_learner_close(fr_attached_learner *a); // all but the learner's own; parameters too
size_t fr_attached_learner_bytes(const fr_attached_learner *a);

// Operations of such a learner: bases are drawn by the noise; judging, they lie evenly.
void fr_attached_learner_learn(fr_learner *l, const fr_batch *batch, uint64_t noise,
                               fr_tally *tally);
void fr_attached_learner_judge(fr_learner *l, const fr_batch *batch, fr_tally *tally);

// Tokens to draft: `asked`, or the default if it is 0. FR_EARG: more than a tally counts.
fr_status fr_attached_learner_depth(int *depth, int asked, fr_error *err);

#endif
