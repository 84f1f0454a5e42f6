// bind.h — the tensors of a file, found by name and checked by shape, become a model's weights.
//
// All are bound twice: the first run checks shapes and adds up memory, the second fills it. Private
// to model.c and bind*.c. The first failure stays in `status`; later calls do nothing.
#ifndef FR_MODEL_BIND_H
#define FR_MODEL_BIND_H
#include "model/model.h"
#include "model/repack.h"

typedef struct fr_binder {
    fr_model *m;
    fr_weights weights;
    bool block; // layers and the norm after them alone; the head is the caller's
    bool fill;
    size_t bytes;         // first run: what the arena must hold
    size_t packed_bytes;  // first run: ... of it all panels, which lie together
    size_t panel_bytes;   // first run: of the largest panel
    uint64_t done, total; // source bytes
    fr_repack *matrices;  // second run
    uint8_t *panels;      // second run: where the next matrix' lie
    int n_matrices;
    bool *bound;                  // by number of the tensor in the file
    const float *rope_factors[2]; // for all contexts or short ones; for long ones; NULL: none
    fr_status status;
    fr_error *err;
} fr_binder;

// A vector of n floats (norms, biases, RoPE factors), of any type in the file, f32 here. NULL: it is
// absent and not required, or this is the first run.
const float *fr_bind_vector(fr_binder *b, const char *name, int n, bool required);
// Rows [first, first + m) of a matrix tensor with k inputs and rows_total outputs (a fused tensor
// holds several).
void fr_bind_rows(fr_binder *b, fr_matrix *w, const char *name, int first, int m, int rows_total,
                  int k);
void fr_bind_matrix(fr_binder *b, fr_matrix *w, const char *name, int m, int k);

// A tensor of one matrix for each of n experts, of which a row reads `used`; of each, the rows as
// above.
typedef struct fr_bind_experts {
    int n, used;
    int first, m, rows_total, k;
} fr_bind_experts;
void fr_bind_stack(fr_binder *b, fr_stack *s, const char *name, fr_bind_experts shape);
// A matrix of one row, which files keep as a vector of k values.
void fr_bind_row(fr_binder *b, fr_matrix *w, const char *name, int k);
// n times m floats.
const float *fr_bind_table(fr_binder *b, const char *name, int m, int n, bool required);

// STEM.weight, and STEM.bias where the family has one.
fr_norm fr_bind_norm(fr_binder *b, const char *stem);
// All that the plan of layer i asks for.
void fr_bind_layer(fr_binder *b, int i);

#endif
