// green.h — Chimera's green states: what the pack's encoder says of an n-gram of tokens.
//
// With t = [nrm(e_i); nrm(e_{i-1}); ...] / n the embeddings of the last n tokens, zero before the
// text's first, nrm(v) = v / sqrt(mean(v^2) + 1e-6), and h = silu(W_1 t + b_1):
//     wide g = W_3 t + W_2 h;   residual g = W_2 (t + h);   layers g = W_2 h
// [Chimera, arXiv 2402.15758, §3.2.1]  A state is a function of the tokens alone.
//
// Opening may fail, nothing else does, and nothing else allocates. Pack and target must outlive it.
#ifndef FR_DRAFT_GREEN_H
#define FR_DRAFT_GREEN_H
#include "draft/linear.h"
#include "draft/pack.h"

enum { FR_GREEN_ROWS = 16 }; // n-grams of one call

typedef struct fr_green {
    const fr_pack *pack;
    const fr_model *target; // for embeddings
    fr_matrix hidden, out, skip;
    float *bias, *ones; // [hidden]
    float *t, *h, *y;   // [FR_GREEN_ROWS] of t_stride, h_stride, stride
    int t_stride, h_stride, stride;
    fr_linear linear;
    fr_arena arena;
    uint64_t bytes; // of the weights
} fr_green;

fr_status fr_green_open(fr_green *g, const fr_pack *pack, const fr_model *target, fr_error *err);
void fr_green_close(fr_green *g); // a zeroed one is fine

// x[i] (ldx floats from one to the next) becomes the state of n-gram i of n (1..FR_GREEN_ROWS);
// gram[i] are its tokens, the newest first, -1 before the text.
void fr_green_states(fr_green *g, const int32_t gram[][FR_PACK_NGRAM], int n, float *x, int ldx);

#endif
