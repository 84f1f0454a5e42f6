// loss.h — soft cross entropy over the draft vocabulary, together with the product that gives it.
//
// logits of row i = sum over terms of w x_i; the loss of the row is its weight times
// -sum_v p(v) log softmax(logits)(v), p being the target's distribution of that token, cut to the draft
// vocabulary and normalised there (the hard token where the sample has no distribution). A row
// whose likeliest token is not in the draft vocabulary has no loss: there is nothing right to say
// [EAGLE-3's code does so]. Logits exist for a chunk of rows at a time. Nothing here can fail but
// open.
#ifndef FR_TRAIN_LEARNER_LOSS_H
#define FR_TRAIN_LEARNER_LOSS_H
#include "train/learner/learner.h"

typedef struct fr_loss_term { // adds x wᵀ to the logits
    const float *x;           // [rows][k], stride ldx
    int ldx, k;
    const float *w; // [V'][k]
    float *dx;      // gradient, [rows][k] with stride ldx, overwritten; NULL: judging
    float *dw;      // gradient, added to; NULL: w is frozen
} fr_loss_term;

typedef struct fr_loss_row { // what the logits of this row are to say
    const fr_sample *sample; // NULL: nothing; the row has no loss and no rank
    int row;                 // ids[row + 1] of the sample, and its distribution
    float weight;
} fr_loss_row;

// What guess k, from 1, weighs: 0.8^(k-1) [Medusa §2.2.1, arXiv 2401.10774].
float fr_loss_weight(int k);

typedef struct fr_loss_got {
    float nats;  // without the weight; NaN: the row has no loss
    int rank;    // of the token that came among the guesses, 0 the best; -1: not in the vocabulary
    float first; // the same of the first term's logits alone, where they count too (fr_loss_first)
} fr_loss_got;

typedef struct fr_loss {
    const fr_draft_vocab *vocab; // borrowed
    fr_gemm *gemm;               // borrowed
    int top;                     // tokens of a distribution in the samples
    int ld;                      // stride of logits
    float *logits;               // [FR_LOSS_CHUNK][ld]
    float *first;                // [FR_LOSS_CHUNK][ld] of the first term alone; or NULL
    float first_weight;
    bool hard; // the tokens that came are the distributions: no distillation
} fr_loss;

enum { FR_LOSS_CHUNK = 256 };

// top: tokens of a distribution in the samples. FR_ENOMEM.
fr_status fr_loss_open(fr_loss *l, const fr_draft_vocab *vocab, fr_gemm *gemm, int top,
                       fr_error *err);
// From now on, when there are several terms and gradients are wanted, adds an auxiliary loss:
// `weight` times the cross entropy of the first term's logits alone. They are computed anyway, so
// it takes no further product. FR_ENOMEM.
fr_status fr_loss_first(fr_loss *l, float weight, fr_error *err);
void fr_loss_close(fr_loss *l); // {0} is fine
size_t fr_loss_bytes(const fr_loss *l);
// Loss, ranks and (where a term has dx) gradients of the sum of weighted losses.
void fr_loss_run(fr_loss *l, const fr_loss_term *terms, int n_terms, const fr_loss_row *rows, int n,
                 fr_loss_got *got);

#endif
