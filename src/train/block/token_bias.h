// token_bias.h — a score for every pair of tokens that follow each other, at a low rank.
//
// In addition to the logits of a state, token v after token u scores b_v · (nrm(W_1 e_u) *
// sigmoid(W_g G)): the token that is known last enters after the states, which are made without it.
// Without W_g the gate is 1: a bigram table of rank r.
#ifndef FR_TRAIN_BLOCK_TOKEN_BIAS_H
#define FR_TRAIN_BLOCK_TOKEN_BIAS_H
#include "train/math/gemm.h"
#include "train/math/param.h"

typedef struct fr_train_bias {
    int d, rank, v, max_rows;
    int token, gate, out;            // numbers of parameters; gate -1: none
    fr_params *params;               // borrowed
    fr_gemm *gemm;                   // borrowed
    float *raw, *all, *dall;         // [rows][rank]: W_1 e, its norm, the gradient into that
    float *some, *open, *phi, *dphi; // [rows][rank], of one step
    float *block;
    size_t bytes;
} fr_train_bias;

void fr_train_bias_add_params(fr_train_bias *x, fr_params *p, int d, int rank, int v, bool gate);
fr_status fr_train_bias_open(fr_train_bias *x, fr_gemm *gemm, int max_rows,
                             fr_error *err);                     // FR_ENOMEM
void fr_train_bias_close(fr_train_bias *x);                      // {0} is fine
void fr_train_bias_start(const fr_train_bias *x, uint64_t seed); // the scores begin as zeros

// Of all tokens of a batch: e [n][d].
void fr_train_bias_tokens(fr_train_bias *x, const float *e, int n);
// x->phi of n rows: g [n][d] their states, at their tokens' places among those of the batch.
void fr_train_bias_forward(fr_train_bias *x, const float *g, const int *at, int n);
// From x->dphi: adds to the gradients of tokens (no place twice) and of the gate; the gradient into
// g is written to dg (false: there is none).
bool fr_train_bias_backward(fr_train_bias *x, float *dg, const float *g, const int *at, int n);
// After all steps: from tokens to W_1. fr_train_bias_tokens cleared their gradients.
void fr_train_bias_tokens_backward(fr_train_bias *x, const float *e, int n);

#endif
