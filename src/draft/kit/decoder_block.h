// decoder_block.h — one trained decoder block with its own KV, whose rows enter as vectors. Packs
// of eagle, hidden-state and chimera contain one.
//
// Pre-norm attention and SwiGLU, RoPE in halves, then nrm(x) * g_out, nrm(x) = x / sqrt(mean(x^2) +
// 1e-6), which the draft head reads. It is a model of one layer, so attention, KV, trees and
// threads are those of any pass (model/forward.h). Rows of accepted tokens are committed; guesses
// are in scratch slots after them until `drop`. Only opening may fail or allocate.
#ifndef FR_DRAFT_KIT_DECODER_BLOCK_H
#define FR_DRAFT_KIT_DECODER_BLOCK_H
#include "draft/kit/draft_batch.h"
#include "draft/kit/draft_benefit.h"
#include "draft/kit/text_head.h"
#include "draft/shared/weights.h"
#include "model/forward.h"

enum {
    FR_DECODER_BLOCK_ROWS = FR_DRAFT_CHUNK, // of one pass
    FR_DECODER_BLOCK_GUESSES =
        16, // rows of one pass that want logits, and states for the head alone
};

typedef struct fr_decoder_block {
    const fr_model *model; // of the weights
    fr_text_head head;     // [n_draft + room][d]: ids of the text after those of the pack
    fr_draft_batch *batch; // of its passes
    fr_kv kv;
    int first_result; // row of the last pass that is row 0 of its results
    int n_rows;       // of its own in that pass
} fr_decoder_block;

// For texts of up to n_ctx tokens; `room` for ids of the text beyond the draft vocabulary, which
// the caller puts into the head; `batches`: those of a group that it shares passes with, or NULL.
// FR_ENOMEM, FR_EUNSUP: the target's threads or kernels lack something. The weights must outlive
// it.
fr_status fr_decoder_block_open(fr_decoder_block *b, fr_pack_weights *w, int n_ctx, int room,
                                fr_draft_batches *batches, fr_error *err);
void fr_decoder_block_close(fr_decoder_block *b); // a zeroed one is fine

uint64_t
fr_decoder_block_bytes(const fr_decoder_block *b); // of weights that a row with logits reads

static inline fr_row fr_decoder_block_row(const float *x, int32_t parent, uint8_t wants) {
    return (fr_row){
        .kind = FR_ROW_VECTOR, .vec = x, .pos = FR_POS_AUTO, .parent = parent, .wants = wants};
}
// Puts rows into the batch's next pass. Row `first_result` is row 0 of the results below. False:
// they do not fit that pass.
bool fr_decoder_block_put(fr_decoder_block *b, const fr_row *rows, int n, int first_result);
// The share of these rows in the last pass' time.
// Runs a pass of these rows alone, at once; the first is row 0 of the results below.
void fr_decoder_block_run(fr_decoder_block *b, const fr_row *rows, int n);
void fr_decoder_block_commit(fr_decoder_block *b,
                             int n);             // scratch slots 0..n-1, each after the one before
void fr_decoder_block_drop(fr_decoder_block *b); // all scratch slots

// Results of the last pass, valid until the next.
const float *fr_decoder_block_state(const fr_decoder_block *b, int row); // [d]
float *fr_decoder_block_logits(fr_decoder_block *b,
                               int row); // [head.m], of head.ids; the caller may change them
int fr_decoder_block_slot(const fr_decoder_block *b, int row);

#endif
