// ngram_encoder.h — Chimera's n-gram states: the output of the pack's encoder for an n-gram of
// tokens.
//
// With t = [nrm(e_i); nrm(e_{i-1}); ...] / n the embeddings of the last n tokens, zero before the
// text's first, nrm(v) = v / sqrt(mean(v^2) + 1e-6), and h = silu(W_1 t + b_1):
//     wide g = W_3 t + W_2 h;   residual g = W_2 (t + h);   layers g = W_2 h
// [Chimera, arXiv 2402.15758, §3.2.1] A state is a function of the tokens alone, so it is stored
// after it was computed (ngram_memory.h), with the same bits.
//
// Opening may fail, nothing else does. Pack and target must outlive it.
#ifndef FR_DRAFT_CHIMERA_NGRAM_ENCODER_H
#define FR_DRAFT_CHIMERA_NGRAM_ENCODER_H
#include "draft/chimera/chimera_pack.h"
#include "draft/chimera/ngram_memory.h"
#include "draft/shared/linear.h"
#include "draft/shared/weights.h"

enum { FR_NGRAM_ENCODER_ROWS = 16 }; // n-grams of one call

typedef struct fr_ngram_encoder_options {
    int cache;         // states kept in memory; 0: none
    const char *store; // folder of those that fall out; NULL: none
} fr_ngram_encoder_options;

typedef struct fr_ngram_encoder {
    const fr_pack *pack;
    const fr_model *target;               // for embeddings
    const fr_matrix *hidden, *out, *skip; // of the weights; skip: NULL where the encoder has none
    const float *bias;                    // [hidden]
    float *ones;                          // [hidden]
    float *t, *h, *y, *g; // [FR_NGRAM_ENCODER_ROWS] of t_stride, h_stride, stride twice
    int t_stride, h_stride, stride;
    fr_linear linear;
    fr_arena arena;
    bool remembers;
    fr_ngram_memory memory;
    uint64_t bytes; // of the weights
} fr_ngram_encoder;

// The weights must outlive it. FR_ENOMEM, FR_EIO: the store.
fr_status fr_ngram_encoder_open(fr_ngram_encoder *g, fr_pack_weights *w,
                                const fr_ngram_encoder_options *options, fr_error *err);
void fr_ngram_encoder_close(fr_ngram_encoder *g); // a zeroed one is fine

// x[i] (ldx floats from one to the next) becomes the state of gram[i], i < n
// (1..FR_NGRAM_ENCODER_ROWS): of the pack's n tokens, or fewer at the text's beginning.
void fr_ngram_encoder_states(fr_ngram_encoder *g, const fr_ngram *gram, int n, float *x, int ldx);

#endif
