// block_inputs.h — the vectors with which rows enter a pack's block, made for a whole pass at once
// (the formulas: draft_block.h).
#ifndef FR_DRAFT_KIT_BLOCK_INPUTS_H
#define FR_DRAFT_KIT_BLOCK_INPUTS_H
#include "draft/kit/draft_batch.h"
#include "draft/kit/draft_block_pack.h"
#include "draft/shared/linear.h"
#include "draft/shared/weights.h"

enum { FR_BLOCK_NULL_TOKEN = -1 }; // instead of a token: the null vector that the pack has learned

typedef struct fr_block_inputs {
    fr_draft_inputs base; // first
    const fr_pack *pack;
    const fr_model *target; // for embeddings
    // Of the weights.
    const fr_matrix *of_state, *of_token;                     // of_token NULL: states alone
    const fr_matrix *of_taps;                                 // NULL: no taps
    const float *state_norm, *token_norm, *bias, *null_token; // [d]
    const float *taps_norm;                                   // [n_taps d]
    // Of the pass, by row.
    float *state, *token, *x, *y; // [max_rows][stride]
    float *taps;                  // [max_rows][taps_stride] of the rows of_taps_row[0..n_taps_rows)
    int *taps_row, n_taps_rows;
    int max_rows, stride, taps_stride;
    fr_linear linear;
    fr_arena arena;
} fr_block_inputs;

// For a batch of the pack's block. FR_ENOMEM and what the pack lacks.
fr_status fr_block_inputs_open(fr_block_inputs **out, fr_pack_weights *w, int max_rows,
                               fr_error *err);

uint64_t fr_block_inputs_bytes(const fr_block_inputs *in); // of weights that a row reads

// Row `row` of the next pass has this state and token (FR_BLOCK_NULL_TOKEN: none). Returns its x,
// which the pass makes.
const float *fr_block_inputs_put(fr_block_inputs *in, int row, const float *state, int32_t token);
// The same where the state is made of the n_taps residuals of a token of the text, side by side.
const float *fr_block_inputs_put_taps(fr_block_inputs *in, int row, const float *residuals,
                                      int32_t token);

#endif
