// layer.h — a layer of a pass on the rows that are active (workspace.h), and the products that rows
// enter and leave by. Private to forward.c.
//
// One pass runs as one parallel region: every thread walks the layers, takes its share of each
// phase, and meets the others at barriers. Shares are of rows (norms, residual), of k-blocks
// (quantisation), of panels (products), of heads (RoPE) and of query tiles (attention); no sum is
// ever split.
#ifndef FR_MODEL_LAYER_H
#define FR_MODEL_LAYER_H
#include "model/workspace.h"

// What the first thread did since the last mark belongs to `phase`.
void fr_layer_mark(fr_forward *f, int t, fr_phase phase);
// The end of a phase, for all threads.
void fr_layer_barrier(fr_forward *f, int t, fr_phase phase);

typedef struct fr_layer_output { // one matrix of a group that shares its input
    const fr_matrix *w;
    float *y;
    int ldy;           // floats between rows of y
    const float *bias; // added before an activation; NULL: none
} fr_layer_output;
#define FR_LAYER_OUTPUT(w_, y_)                                                                    \
    ((fr_layer_output){.w = &(w_), .y = (y_), .ldy = (w_).m}) // rows of w_ alone

typedef enum fr_layer_joining { // what becomes of the outputs
    FR_END_TO_END,
    FR_GATED_SILU, // the activation of the first times the second replaces the first
    FR_GATED_GELU,
    FR_GELU // the activation of the only one replaces it
} fr_layer_joining;

// y = x · w for n rows and each output. ldx: floats between rows of x.
void fr_layer_project(fr_forward *f, const float *x, int ldx, int n, const fr_layer_output *out,
                      int n_out, fr_layer_joining joining, int t, int nt);

// Attention of a layer, from the residual to the residual.
void fr_layer_attention(fr_forward *f, int layer, int t, int nt);
// Its parts, where the rows that leave keys and values are not those that attend.
void fr_layer_keys(fr_forward *f, int layer, int t, int nt);
void fr_layer_queries(fr_forward *f, int layer, int t, int nt);
// attended: attention has run in this layer, on the same rows.
void fr_layer_feed_forward(fr_forward *f, int layer, bool attended, int t, int nt);

#endif
