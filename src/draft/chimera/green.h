// green.h — Chimera's green states: what the pack's encoder says of an n-gram of tokens.
//
// With t = [nrm(e_i); nrm(e_{i-1}); ...] / n the embeddings of the last n tokens, zero before the
// text's first, nrm(v) = v / sqrt(mean(v^2) + 1e-6), and h = silu(W_1 t + b_1):
//     wide g = W_3 t + W_2 h;   residual g = W_2 (t + h);   layers g = W_2 h
// [Chimera, arXiv 2402.15758, §3.2.1]  A state is a function of the tokens alone, so it is kept
// once it was computed (ngram_memory.h), with the same bits.
//
// Opening may fail, nothing else does. Pack and target must outlive it.
#ifndef FR_DRAFT_CHIMERA_GREEN_H
#define FR_DRAFT_CHIMERA_GREEN_H
#include "draft/chimera/ngram_memory.h"
#include "draft/kit/linear.h"
#include "draft/pack/pack.h"

enum { FR_GREEN_ROWS = 16 }; // n-grams of one call

typedef struct fr_green_options {
    int cache;         // states kept in memory; 0: none
    const char *store; // folder of those that fall out; NULL: none
} fr_green_options;

typedef struct fr_green {
    const fr_pack *pack;
    const fr_model *target; // for embeddings
    fr_matrix hidden, out, skip;
    float *bias, *ones;   // [hidden]
    float *t, *h, *y, *g; // [FR_GREEN_ROWS] of t_stride, h_stride, stride twice
    int t_stride, h_stride, stride;
    fr_linear linear;
    fr_arena arena;
    bool remembers;
    fr_ngram_memory memory;
    uint64_t bytes; // of the weights
} fr_green;

// FR_ENOMEM, FR_EIO: the store.
fr_status fr_green_open(fr_green *g, const fr_pack *pack, const fr_model *target,
                        const fr_green_options *options, fr_error *err);
void fr_green_close(fr_green *g); // a zeroed one is fine

// x[i] (ldx floats from one to the next) becomes the state of gram[i], i < n (1..FR_GREEN_ROWS): of
// the pack's n tokens, or fewer at the text's beginning.
void fr_green_states(fr_green *g, const fr_ngram *gram, int n, float *x, int ldx);

#endif
