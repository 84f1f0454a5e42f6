// project.h — the products of a pass: inputs are quantised, then threads take panels of the outputs.
// Private to forward.c, layer.c and experts.c.
#ifndef FR_MODEL_PROJECT_H
#define FR_MODEL_PROJECT_H
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
    FR_GATED_CLAMPED,
    FR_GELU // the activation of the only one replaces it
} fr_layer_joining;

// y = x · w for n rows and each output. ldx: floats between rows of x.
void fr_layer_project(fr_forward *f, const float *x, int ldx, int n, const fr_layer_output *out,
                      int n_out, fr_layer_joining joining, int t, int nt);

// Parts of it, for products that are dealt otherwise.

// The inputs as the matrices want them, n rows of x: act[kind] of each kind that some output has.
// This thread quantises its share; the others are there after the next barrier.
void fr_layer_quantize(fr_forward *f, fr_act act[FR_ACT_KINDS], const float *x, int ldx, int n,
                       const fr_layer_output *out, int n_out, int t, int nt);
// The same panels [p0, p1) of all outputs, n rows, and what `joining` makes of them. Rows of y lie
// one after the other.
void fr_layer_multiply(fr_forward *f, const fr_layer_output *out, int n_out,
                       fr_layer_joining joining, int n, const fr_act *act, int p0, int p1, int t);
// Threads take panels in pairs, as kernels do, and at least so many pairs at once that they read
// some microseconds long.
enum { FR_PANEL_PAIR = 2 };
int fr_layer_least_pairs(size_t panel_bytes);

#endif
