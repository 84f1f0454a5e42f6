// trunk.h — rows attached to the frozen target: its upper layers in training, forward and
// backward.
//
// Rows of samples have *chains* of attached rows. Row i (from 0) of a chain under row q of its
// sample has position q + ahead[i], enters as the input of layer entry[i], and sees there and in
// all layers above: rows 0..q of the sample, the rows of its own chain whose bits are set in
// sees[i], itself among them, and key and value i of a prefix where there is one (keys as attention
// reads them, of each layer its own: prefix tuning [PPD, appendix B.3]). Its output is the mean of
// the residuals after the last `exits` layers, under the final norm ([PPD, appendix B.7]; 1: the
// model's own). Chains, without prefixes and other exits, are computed so in a pass of the engine
// (FR_ROW_VECTOR and FR_ROW_LINEAR rows, parents chained), but in floats: K and V of the samples'
// rows are the engine's own (trunk_context.h), the weights the target's, dequantised, and nothing
// is rounded on the way. Gradients flow along attached rows alone, to the input of each and to the
// prefix.
//
// The rows of one step of all chains lie together: row i of chain c is number i * chains.n + c.
// As layers of entry never fall with i, the rows that a layer computes are the first ones.
//
// Memory: the tape holds 4 (2 n_head head_dim + 2 n_kv head_dim + n_head + 2 d + 2 d_ff) bytes of
// each attached row in each layer that computes it; beside it lie the weights of one layer or of
// all in floats, and what a few rows' width takes (`bytes` counts all).
#ifndef FR_TRAIN_ATTACHED_TRUNK_H
#define FR_TRAIN_ATTACHED_TRUNK_H
#include "base/watch.h"
#include "train/attached/trunk_context.h"
#include "train/math/attention.h"

enum { FR_TRUNK_STEPS = FR_ATTENTION_STEPS - 2 }; // others are the context, a prefix

typedef struct fr_trunk_shape {
    int steps;                 // attached rows of a chain
    int entry[FR_TRUNK_STEPS]; // layers below each, never falling
    int ahead[FR_TRUNK_STEPS];
    uint32_t sees[FR_TRUNK_STEPS];
    int exits;
    bool prefix;
    bool keeps; // all layers' weights stay in floats, 4 bytes each, instead of one layer's
    int max_chains;
} fr_trunk_shape;

// One row after the other, each a place further and seeing those before it; all enter at layer 0.
fr_trunk_shape fr_trunk_chain(int steps);

typedef struct fr_trunk_weights { // of a layer, in floats
    bool ready;                   // they are the layer's, and stay
    float *q, *k, *v, *o, *gate, *up, *down;
} fr_trunk_weights;

typedef struct fr_trunk_tape { // of a layer; [rows that it computes][...]
    float *x;                  // [d] its input
    float *q, *k, *v;          // q and k rotated (RoPE), as attention reads them
    float *q_plain, *k_plain;  // before their norms; NULL where there are none
    float *o, *lse;            // of attention
    float *y;                  // [d] input of the feed-forward part
    float *gate, *up;          // [d_ff]
} fr_trunk_tape;

typedef struct fr_trunk {
    const fr_model *m;               // borrowed
    const fr_trunk_context *context; // borrowed
    fr_gemm *gemm;                   // borrowed
    const fr_watch *watch;           // borrowed; polled between layers, as in learner.h
    fr_trunk_shape shape;
    fr_attention attention;

    // The caller fills these: chains by context (one for each sample), the row of the context's
    // store that each hangs under; the inputs.
    fr_bases chains;
    int *row0, *base0, *row; // of chains: [contexts + 1], [contexts + 1], [chains]
    float *in;               // [steps * chains][d]
    const float *prefix;     // [layers from entry[0]][2][steps][n_kv head_dim]: keys, values
    float *dprefix;          // the same, added to

    float *final;           // [steps * chains][d] after the final norm
    float *dx;              // [steps * chains][d] see fr_trunk_backward
    int *place;             // [steps * chains] positions
    float *rope_table[2];   // [positions][n_rot] cosines, sines of the rotation and of its inverse
    fr_trunk_tape *tape;    // [n_layer - entry[0]]
    float *out;             // [steps * chains][d] residual after the last layer
    float *mean;            // [steps * chains][d] of the exits' residuals; then its gradient
    float *own_k, *own_v;   // [steps * chains][n_kv head_dim] of the current prefix, for each chain
    float *own_dk, *own_dv; // their gradients
    fr_trunk_weights *weights;         // [layers from entry[0]], or [1]: of the current layer
    float *s, *h, *dq, *d_o, *dk, *dv; // [steps * chains][...] scratch
    float *block;                      // all the floats
    int *numbers;                      // all the ints
    size_t bytes;
} fr_trunk;

// The context's `from` is entry[0]. FR_EUNSUP: layers that look back less far than the context is
// long, or with norms after their sub-layers; FR_ENOMEM.
fr_status fr_trunk_open(fr_trunk *t, const fr_trunk_shape *shape, const fr_trunk_context *context,
                        fr_gemm *gemm, fr_error *err);
void fr_trunk_close(fr_trunk *t); // {0} is fine
// Bytes of a target's weights from a layer on, in floats: what `keeps` takes.
size_t fr_trunk_weight_bytes(const fr_model *m, int from);

void fr_trunk_forward(fr_trunk *t); // in → final
// dx: the gradient into `final` becomes that into `in`. Once after each forward pass.
void fr_trunk_backward(fr_trunk *t);

#endif
