// model.h — the weights of one model, bound by name, checked by shape, repacked into panels.
//
// Read-only once open; sessions share it. The GGUF file stays mapped: an embedding matrix that is
// not also the head is read from there, row by row; all other weights are copied (panels), and
// their source pages given back. With FR_WEIGHTS_IN_PLACE the matrices stay in the mapping, where
// processes share them and the system may drop them; every product packs them anew (product.h),
// with the same bits.
#ifndef FR_MODEL_MODEL_H
#define FR_MODEL_MODEL_H
#include "base/alloc.h"
#include "base/pool.h"
#include "kern/kern.h"
#include "model/config.h"
#include "model/rope.h"

typedef struct fr_norm {
    const float *w, *b; // w NULL: no norm; b NULL: no bias
} fr_norm;

// One matrix for each expert, all of one type and shape.
typedef struct fr_stack {
    fr_matrix first; // of expert 0
    size_t stride; // bytes from the panels of one expert to those of the next, or rows in the file
} fr_stack;

static inline fr_matrix fr_stack_at(const fr_stack *s, int expert) {
    fr_matrix w = s->first;
    if (w.panels) w.panels += s->stride * (size_t)expert;
    if (w.rows) w.rows += s->stride * (size_t)expert;
    return w;
}

// What a layer with experts has beside the gate, up and down of its shared expert (fr_layer).
typedef struct fr_layer_experts {
    fr_matrix router;                             // [n][d]
    const float *router_bias;                     // [n], added to its products; NULL: none
    const float *choice_bias;                     // [n], for the choice alone; NULL: none
    fr_stack gate, up, down;                      // [n] of them
    const float *gate_bias, *up_bias, *down_bias; // [n][d_ff], [n][d_ff], [n][d]; NULL: none
    fr_matrix shared_gate; // [1][d]: the shared expert counts as its sigmoid says; m 0: whole
} fr_layer_experts;

// The weights that its plan (fr_config.plan) asks for; what it does not is NULL, or a matrix of 0.
typedef struct fr_layer {
    fr_matrix q, k, v, o, gate, up, down;
    const float *q_bias, *k_bias, *v_bias, *o_bias, *gate_bias, *up_bias, *down_bias;
    fr_norm attn_norm, ffn_norm, post_attn_norm, post_ffn_norm;
    const float *sinks;           // [n_head]; NULL: none
    const float *q_norm, *k_norm; // [head_dim], or [all heads] (FR_QK_WHOLE)
    fr_layer_experts experts;
} fr_layer;

typedef enum fr_weights { FR_WEIGHTS_PACKED, FR_WEIGHTS_IN_PLACE } fr_weights;

typedef struct fr_model {
    fr_config config;
    const fr_kern *kern;
    fr_pool *pool;          // borrowed
    const fr_gguf *gguf;    // borrowed; must outlive the model
    fr_layer *layers;       // [n_layer]
    fr_matrix head;         // [n_vocab][d]
    const float *head_bias; // [n_vocab]; NULL: none
    fr_norm output_norm;
    const fr_gguf_tensor *embed; // read in place when not tied
    fr_rope rope;
    fr_rope rope_long; // LongRoPE: of texts beyond the original context; freq NULL: none
    // FR_WEIGHTS_IN_PLACE: a panel for each thread of the pool, scratch_stride bytes apart. One
    // serves all passes, as the pool runs one at a time. Else NULL.
    uint8_t *scratch;
    size_t scratch_stride;
    fr_arena arena;         // panels, vectors and scratch
    uint64_t weights_bytes; // of all matrices, as they lie in memory
    // What one row with logits reads of them, and its products; of experts those that a row reads.
    uint64_t row_bytes, macs_per_row;
    uint64_t expert_bytes; // of row_bytes, those of the experts that a row chooses
} fr_model;

// Whether fr_model_open would open the file, given the memory: FR_EDATA and FR_EUNSUP as there,
// FR_ENOMEM. *c is filled as far as it could be read. *weights_bytes (NULL: not wanted): what all
// matrices take in memory, FR_WEIGHTS_PACKED.
fr_status fr_model_check(fr_config *c, uint64_t *weights_bytes, const fr_gguf *g, fr_error *err);

// FR_EDATA: a tensor is missing or does not fit, with its name, what was expected and found, or the
// tensors claim more bytes than the file has. FR_EUNSUP: a tensor that the pass would leave out.
// Both also with the errors of fr_config_read. FR_ENOMEM. FR_EINTR: progress (may be NULL) ended
// the work. After an error *m is {0}.
fr_status fr_model_open(fr_model *m, const fr_gguf *g, const fr_kern *kern, fr_pool *pool,
                        fr_weights weights, fr_progress_fn *progress, void *user, fr_error *err);
// Layers of the given shape and the norm after them, by the same names, and nothing else of the
// file; the head is the caller's and outlives the model. Rows enter as vectors: there are no
// embeddings. FR_EDATA as above; FR_ENOMEM. After an error *m is {0}.
fr_status fr_model_open_block(fr_model *m, const fr_gguf *g, const fr_config *config,
                              const fr_matrix *head, const fr_kern *kern, fr_pool *pool,
                              fr_error *err);
void fr_model_close(fr_model *m);
// LongRoPE has two tables, one for texts up to the original context and one for longer ones. The
// text alone decides which one counts (docs/numerics.md): a row at this position or after it gives
// its token with all keys rotated by the long table, a row before it with the short one. INT_MAX:
// every row.
int fr_model_stretch_at(const fr_model *m);
static inline bool fr_model_stretches(const fr_model *m, int pos) {
    return pos >= fr_model_stretch_at(m);
}
// Row `id` of the head as drafters take it: d values, with the scale that logits have
// (fr_config.logit_scale). The cap is left out: it changes no order. The head's bias is too:
// guesses come without it.
void fr_model_head_row(const fr_model *m, int32_t id, float *x);
// y = the norm of x; both have d values, y may be x.
void fr_model_norm(const fr_model *m, float *y, const float *x, fr_norm norm);
// The input of layer 0 for a token: its embedding, scaled as the model wants it. 0 <= id < n_vocab.
void fr_model_embed(const fr_model *m, int32_t id, float *x);

#endif
