// last_layer.h — a block that begins with the target's own last layer: its attention unchanged,
// and those neurons of its feed-forward part that contribute most on the text.
//
// What a neuron j adds to a row is silu(gate_j m) (up_j m) down_j, m the output of the layer's
// second norm. The sum of its lengths over some rows measures the contribution. m is computed from
// the final states, without the layer's own contribution. Biases and norms of heads are left out,
// because the block has none.
#ifndef FR_DRAFT_EAGLE_TRAIN_LAST_LAYER_H
#define FR_DRAFT_EAGLE_TRAIN_LAST_LAYER_H
#include "train/block/unrolled.h"
#include "train/learner/learner.h"

typedef struct fr_last_layer {
    const fr_model *target; // borrowed
    int n;                  // rows seen
    float *m;               // [FR_LAST_LAYER_ROWS][d]
    float *gate, *up;       // [FR_LAST_LAYER_ROWS][a piece of neurons]: scratch, like the next ones
    float *w_gate, *w_up;   // [a piece][d]
    float *row;             // [d_ff of the target]
    double *score, *sorted; // [d_ff of the target]
    int *order;             // [d_ff of the target]
    float *block;
} fr_last_layer;

enum { FR_LAST_LAYER_ROWS = 1024 };

size_t fr_last_layer_bytes(const fr_model *target); // its memory
// Rows of the batch that stands in the chain, until it has enough. {0} at first. FR_ENOMEM.
fr_status fr_last_layer_see(fr_last_layer *l, const fr_unrolled *c, const fr_model *target,
                            fr_error *err);
// The layer in place of the chain's block. The target's form was checked (fr_unrolled_start).
void fr_last_layer_take(fr_last_layer *l, fr_unrolled *c);
void fr_last_layer_close(fr_last_layer *l); // {0} is fine

#endif
