// unrolled.h — one decoder block that is fed its own output: the module of EAGLE-like drafters.
//
// A row of input is a state s (a true hidden state of the target, later the block's own output) and
// a token t (its embedding, or a learned null vector where no token is known yet):
//     x = W_f (nrm(s) g_f) + W_e (nrm(t) g_e) + b            [EAGLE, arXiv 2401.15077, section 3.1]
//     x += W_o attention(nrm(x) g_attn);  x += W_down(silu(W_gate m) * (W_up m)),  m = nrm(x) g_ffn
//     G = nrm(x) g_out,     nrm(v) = v / sqrt(mean(v²) + 1e-6)
// G is what the head reads and the state of the next step. In training the chains of all bases of a
// batch are unrolled together with the attention of attention.h. The context's rows give keys and
// values; queries and what follows exist for the bases alone.
//
// With `taps` the state of a context's row is made of several rows of the target, that of a layer
// each:
//     s = W_t [nrm(r_1) * g_1; nrm(r_2) * g_2; ...]                      [EAGLE-3, arXiv 2503.01840]
// and steps from the second on read G as before. The gains only bring channels to one size; they
// are not learned, as W_t could take them in.
//
// With `given` the block is not fed its own output: x of a context's row is its true state, and x
// of step k >= 2 is a row of `given` that the caller filled. There is no step 1 [Chimera, arXiv
// 2402.15758, section 3.2.2: mature and n-gram states] unless `first` is set, which makes the block
// a layer of a transformer. With `given_context` x of a context's row is a given row too, that of
// its own token, and zeros for the first row of a context, whose token has no given row.
//
// Order of calls: fr_unrolled_context, fr_unrolled_step_forward(1..n); then
// fr_unrolled_step_back(n..1), each after the gradient of its own G was added to dg, and
// fr_unrolled_context_back. Opening takes all memory.
#ifndef FR_TRAIN_BLOCK_UNROLLED_H
#define FR_TRAIN_BLOCK_UNROLLED_H
#include "train/math/attention.h"
#include "train/math/param.h"

enum { FR_UNROLLED_STEPS = 9 };

typedef struct fr_unrolled_shape {
    int d, n_head, n_kv, head_dim, d_ff;
    float rope_base;
    bool token; // has W_e: else states alone
    bool null;  // has a null vector
    bool given; // states enter as they are, rows of later steps are given; neither W_f nor W_e
    bool first; // given: step 1 is run, whose rows are states too
    bool given_context; // given: no state enters
    int taps;           // rows of the target that make a state; 0: the final state is one
    const char *prefix; // of its parameters' names; NULL: none
    int depth, max_rows;
} fr_unrolled_shape;

// Numbers of the parameters, -1: absent.
typedef struct fr_unrolled_params {
    int fc_state, state_norm, fc_token, token_norm, bias, null, fc_taps, taps_norm;
    int attn_norm, q, k, v, o, ffn_norm, gate, up, down, out_norm;
} fr_unrolled_params;

typedef struct fr_unrolled_step { // what the forward pass keeps of one step; [bases][...]
    float *x, *q, *o, *lse, *y, *gate, *up, *z, *g;
} fr_unrolled_step;

typedef struct fr_unrolled {
    fr_unrolled_shape shape;
    fr_unrolled_params at;
    fr_params *params; // borrowed
    fr_gemm *gemm;     // borrowed
    fr_attention attention;
    float *rope_table; // cosines and sines of positions

    // The caller fills these for a batch.
    fr_bases bases;
    int rows;
    int *row0, *base0, *row;           // of bases
    int *position;                     // [rows]: place in its context
    float *state;                      // [rows][d]: true states
    float *taps;                       // [rows][taps d]: nrm(r) * g, side by side
    float *embedding;                  // [rows + 1][d]: of the token after each row
    int *token[FR_UNROLLED_STEPS + 1]; // [bases]: row whose token step k >= 2 reads; -1: null, or
                                       // a given row of zeros
    float *given, *dgiven;             // [rows + 1][d], the last one zero

    fr_unrolled_step step[FR_UNROLLED_STEPS + 1]; // from 1
    float *k0, *v0, *k[FR_UNROLLED_STEPS + 1], *v[FR_UNROLLED_STEPS + 1];
    float *joined;   // [rows][d]: s of the taps
    float *x0, *a0;  // [rows][d]: the context's inputs, where they are not states, and their norms
    float *tokens;   // [rows + 1][d]: W_e times the tokens, the null vector last
    float *s, *t;    // [rows + 1][d]: scratch, free between calls
    float *h, *dh;   // [bases][d_ff]
    float *dg, *dx;  // [bases][d]; dx is free between calls
    float *dq, *d_o; // [bases][n_head * head_dim]
    float *dk0, *dv0, *dk[FR_UNROLLED_STEPS + 1], *dv[FR_UNROLLED_STEPS + 1];
    float *dtokens;       // [rows + 1][d]
    int *place, *numbers; // [bases]; all the ints
    float *block;         // all the floats
    size_t bytes;
} fr_unrolled;

// Names the parameters (before fr_params_alloc).
void fr_unrolled_add_params(fr_unrolled *c, fr_params *params, const fr_unrolled_shape *shape);
fr_status fr_unrolled_open(fr_unrolled *c, fr_gemm *gemm, fr_error *err); // FR_ENOMEM
void fr_unrolled_close(fr_unrolled *c);                                   // {0} is fine

void fr_unrolled_context(fr_unrolled *c);
void fr_unrolled_step_forward(fr_unrolled *c, int k);
void fr_unrolled_begin_back(fr_unrolled *c); // sets what gradients are added to, to zero
void fr_unrolled_step_back(fr_unrolled *c, int k);
void fr_unrolled_context_back(fr_unrolled *c);

#endif
