// trunk_context.h — what the frozen target computes of a batch's samples: the constants that
// attached rows see.
//
// Samples are evaluated by the engine, with the weights and the f16 cache of production, one after
// the other and in chunks of rows; K and V of the layers from `from` on, and the residuals after
// chosen layers, are kept as floats: 4 (2 (n_layer - from) n_kv head_dim + n_taps d) bytes a row.
#ifndef FR_TRAIN_ATTACHED_TRUNK_CONTEXT_H
#define FR_TRAIN_ATTACHED_TRUNK_CONTEXT_H
#include "model/forward.h"

enum { FR_TRUNK_CONTEXT_TAPS = 8 };

typedef struct fr_trunk_context {
    const fr_model *m; // borrowed
    int from;          // the first layer whose K and V are kept
    int n_taps, taps[FR_TRUNK_CONTEXT_TAPS];
    int max_rows, rows; // of all samples
    float *k, *v;       // [n_layer - from][max_rows][n_kv * head_dim]
    float *tap;         // [n_taps][max_rows][d]
    fr_forward *forward;
    fr_kv kv;    // of the current sample
    fr_row *row; // of a chunk
    int *path;
    size_t bytes;
} fr_trunk_context;

// taps: layers before the residual, never falling. FR_ENOMEM.
fr_status fr_trunk_context_open(fr_trunk_context *c, const fr_model *m, int from, const int *taps,
                                int n_taps, int max_rows, fr_error *err);
void fr_trunk_context_close(fr_trunk_context *c); // {0} is fine

// Takes n tokens of a new sample as rows [rows, rows + n). fr_trunk_context_add_taps: their
// residuals alone, in passes that end at the last tapped layer.
void fr_trunk_context_add(fr_trunk_context *c, const int32_t *ids, int n);
void fr_trunk_context_add_taps(fr_trunk_context *c, const int32_t *ids, int n);

// Rows of a layer >= from, and of a tap.
static inline size_t fr_trunk_context_at(const fr_trunk_context *c, int layer) {
    return (size_t)(layer - c->from) * (size_t)c->max_rows * (size_t)c->kv.n_kv *
           (size_t)c->kv.head_dim;
}
static inline const float *fr_trunk_context_tap(const fr_trunk_context *c, int tap) {
    return c->tap + (size_t)tap * (size_t)c->max_rows * (size_t)c->m->config.d;
}

#endif
