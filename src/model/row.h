// row.h — the vocabulary of a pass: everything that the model computes is a list of rows.
//
// A row is one position of one sequence. It sees the sequence's committed context and its
// ancestors, nothing else: the tree *is* the mask. Parents come before children. A prompt chunk is
// a chain, one decoded token is one row, a candidate tree is a tree; vectors and linear maps join
// chains of their own under any row.
#ifndef FR_MODEL_ROW_H
#define FR_MODEL_ROW_H
#include <stdint.h>

typedef enum fr_row_kind {
    FR_ROW_TOKEN,  // enters with the embedding of `id`
    FR_ROW_VECTOR, // enters with `vec`, at layer `join`
    FR_ROW_LINEAR, // enters with map `map` applied to the residual of row `source`, at layer `join`
                   // > 0
} fr_row_kind;

enum { // what a row delivers
    FR_WANT_LOGITS = 1,
    FR_WANT_FINAL = 2, // the hidden state after the final norm
    FR_WANT_TAPS = 4,  // the residual at the layers that the pass taps
};

enum {
    FR_PARENT_COMMITTED = -1, // hangs from the end of the committed context
    FR_POS_AUTO = -1,         // one more than the parent's
};
// A parent that an earlier pass of the same step left in scratch slot s.
#define FR_PARENT_SLOT(s) (-2 - (s))

typedef struct fr_row {
    fr_row_kind kind;
    int32_t seq;      // index into the pass' list of sequences
    int32_t id;       // TOKEN
    int32_t pos;      // FR_POS_AUTO, or an explicit position (for ablations)
    int32_t parent;   // a row of this pass and sequence, FR_PARENT_COMMITTED, or FR_PARENT_SLOT(s)
    int32_t source;   // LINEAR: a row of this pass with join < this row's
    int32_t map;      // LINEAR: index into the pass' maps
    int32_t resume;   // 0: a new scratch slot; s+1: goes on in scratch slot s, whose K and V below
                      // `join` stay
    const float *vec; // VECTOR: d floats, read during the pass
    int16_t join;     // first layer that computes this row; 0 for TOKEN
    uint8_t wants;
} fr_row;

static inline fr_row fr_row_token(int32_t id, int32_t parent, uint8_t wants) {
    return (fr_row){
        .kind = FR_ROW_TOKEN, .id = id, .pos = FR_POS_AUTO, .parent = parent, .wants = wants};
}

#endif
