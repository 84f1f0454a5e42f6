// first_layer.h — the target's first layer over the tokens of a text, frozen or learned further:
// what Chimera's n-gram encoder is compared with [arXiv 2402.15758, table 7].
//
// t [rows][d] = nrm(layer(e)) g, e the embeddings of the tokens after each row; a token sees all
// before it in its context but the first. Only for judging in training: no drafter has it.
#ifndef LAB_TRAIN_FIRST_LAYER_H
#define LAB_TRAIN_FIRST_LAYER_H
#include "model/model.h"
#include "train/block/unrolled.h"

typedef struct fr_first_layer {
    fr_unrolled chain;
    bool frozen;
} fr_first_layer;

// `like` is the block that it serves: width, heads and rows are those. Before fr_params_alloc.
void fr_first_layer_add_params(fr_first_layer *l, fr_params *params, const fr_unrolled_shape *like,
                               const fr_config *target, bool frozen);
// FR_EARG: the target's layer has another form; FR_ENOMEM.
fr_status fr_first_layer_open(fr_first_layer *l, fr_gemm *gemm, const fr_model *target,
                              fr_error *err);
void fr_first_layer_close(fr_first_layer *l); // {0} is fine

// Of the batch that stands in `of`.
void fr_first_layer_forward(fr_first_layer *l, const fr_unrolled *of, float *t);
void fr_first_layer_backward(fr_first_layer *l, const float *dt); // nothing where it is frozen

#endif
