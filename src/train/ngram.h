// ngram.h — the n-gram encoder of Chimera's drafter: a *green* state of the last n tokens alone.
//
// With t = [nrm(e_i); nrm(e_{i-1}); ...; nrm(e_{i-n+1})] / n the normed embeddings of the target,
// zero before the text's first token, nrm(v) = v / sqrt(mean(v²) + 1e-6), and h = silu(W_1 t +
// b_1):
//     residual  g = W_2 (t + h)        [Chimera, arXiv 2402.15758, section 3.2.1, as its code has
//     it] layers    g = W_2 h              [the same, as its text has it] wide      g = W_3 t + W_2
//     h      the residual form with a narrower h
// The embeddings are frozen, so gradients end at the weights.
#ifndef FR_TRAIN_NGRAM_H
#define FR_TRAIN_NGRAM_H
#include "model/model.h"
#include "train/gemm.h"
#include "train/linear_fit.h"
#include "train/param.h"

enum { FR_NGRAM_LONGEST = 5 };

typedef enum fr_ngram_form { FR_NGRAM_WIDE, FR_NGRAM_RESIDUAL, FR_NGRAM_LAYERS } fr_ngram_form;
enum { FR_NGRAM_FORMS = 3 };
const char *fr_ngram_form_name(fr_ngram_form form);

typedef struct fr_ngram_shape {
    int d, n; // width of the target; tokens
    fr_ngram_form form;
    int hidden; // of h; residual: n d
    int max_rows;
} fr_ngram_shape;

typedef struct fr_ngram_encoder {
    fr_ngram_shape shape;
    fr_params *params;  // borrowed
    fr_gemm *gemm;      // borrowed
    int w1, b1, w2, w3; // numbers of the parameters; w3 -1: absent
    float *t;           // [rows][n d]: the caller's, by fr_ngram_read
    float *u;           // [rows][hidden]: W_1 t + b_1, then its gradient
    float *h;           // [rows][hidden]: silu(u), or t + silu(u)
    float *dh;          // [rows][hidden]
    size_t bytes;
} fr_ngram_encoder;

// Names the parameters (before fr_params_alloc).
void fr_ngram_add_params(fr_ngram_encoder *e, fr_params *params, const fr_ngram_shape *shape);
fr_status fr_ngram_open(fr_ngram_encoder *e, fr_gemm *gemm, fr_error *err); // FR_ENOMEM
void fr_ngram_close(fr_ngram_encoder *e);                                   // {0} is fine
void fr_ngram_start(fr_ngram_encoder *e, uint64_t seed);                    // first values

// t of row `row`, of the n-gram that ends with ids[at].
void fr_ngram_read(const fr_ngram_encoder *e, const fr_model *target, const int32_t *ids, int at,
                   int row);
void fr_ngram_forward(fr_ngram_encoder *e, float *g, int rows);         // g [rows][d]
void fr_ngram_backward(fr_ngram_encoder *e, const float *dg, int rows); // after it, once

// The map that a fit to data sets: W_3, or W_2 of the residual form; -1: the form has none.
int fr_ngram_linear(const fr_ngram_encoder *e);

#endif
