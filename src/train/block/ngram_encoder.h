// ngram_encoder.h — the n-gram encoder of Chimera's drafter: a state of the last n tokens alone.
//
// With t = [nrm(e_i); nrm(e_{i-1}); ...; nrm(e_{i-n+1})] / n the normed embeddings of the target,
// zero before the text's first token, nrm(v) = v / sqrt(mean(v²) + 1e-6), and h = silu(W_1 t +
// b_1):
//     residual  g = W_2 (t + h)     [Chimera, arXiv 2402.15758, section 3.2.1, as its code has it]
//     layers    g = W_2 h           [the same, as its text has it]
//     wide      g = W_3 t + W_2 h   the residual form with a narrower h
// The embeddings are frozen, so gradients end at the weights, unless the caller provides t.
#ifndef FR_TRAIN_BLOCK_NGRAM_ENCODER_H
#define FR_TRAIN_BLOCK_NGRAM_ENCODER_H
#include "draft/chimera/chimera_pack.h"
#include "train/math/gemm.h"
#include "train/math/param.h"

typedef struct fr_train_encoder_shape {
    int d, n; // width of the target; tokens
    fr_pack_encoder form;
    int hidden; // of h; residual: n d
    int max_rows;
} fr_train_encoder_shape;

typedef struct fr_train_encoder {
    fr_train_encoder_shape shape;
    fr_params *params;  // borrowed
    fr_gemm *gemm;      // borrowed
    int w1, b1, w2, w3; // numbers of the parameters; w3 -1: absent
    float *t;           // [rows][n d]: the caller's, mostly by fr_train_encoder_read
    float *u;           // [rows][hidden]: W_1 t + b_1, then its gradient
    float *h;           // [rows][hidden]: silu(u), or t + silu(u)
    float *dh;          // [rows][hidden]
    size_t bytes;
} fr_train_encoder;

// Names the parameters (before fr_params_alloc).
void fr_train_encoder_add_params(fr_train_encoder *e, fr_params *params,
                                 const fr_train_encoder_shape *shape);
fr_status fr_train_encoder_open(fr_train_encoder *e, fr_gemm *gemm, fr_error *err); // FR_ENOMEM
void fr_train_encoder_close(fr_train_encoder *e);                                   // {0} is fine
void fr_train_encoder_start(fr_train_encoder *e, uint64_t seed);                    // first values

// t of row `row`, of the n-gram that ends with ids[at].
void fr_train_encoder_read(const fr_train_encoder *e, const fr_model *target, const int32_t *ids,
                           int at, int row);
void fr_train_encoder_forward(fr_train_encoder *e, float *g, int rows); // g [rows][d]
// After it, once. dt [rows][n d] becomes the gradient of t; NULL: not wanted.
void fr_train_encoder_backward(fr_train_encoder *e, const float *dg, float *dt, int rows);

// The map that a fit to data sets: W_3, or W_2 of the residual form; -1: the form has none.
int fr_train_encoder_linear(const fr_train_encoder *e);

#endif
