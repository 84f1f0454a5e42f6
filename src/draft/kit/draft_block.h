// draft_block.h — one decoder block that continues from the target's hidden states, as EAGLE's
// and the hidden-state drafter's packs hold it.
//
// A row is a pair of a state s and a token t; with nrm(x) = x / sqrt(mean(x^2) + 1e-6)
//     x = W_state (nrm(s) * g_state) + W_token (nrm(e_t) * g_token) + b
// enters the block (pre-norm attention and SwiGLU, RoPE), and G = nrm(x) * g_out comes out: the
// draft head's logits of G are the distribution of the token after t, and G is the state of the
// next row. Of a pack with taps the state of a token of the text is made of the target's residuals
// r after some layers, and only later rows read a G as it is:
//     s = W_taps [nrm(r_1) * g_1; nrm(r_2) * g_2; ...]                  [EAGLE-3, Li et al. 2025, §3]
// The pair (f_i, x_{i+1}) of the target's hidden state of token i and the token after it lies at
// position i - 1; i counts from 1.  [EAGLE, Li et al. 2024, §3.1, with norms at the input as in
// DeepSeek-V3's MTP, §2.2]
//
// Pairs of accepted tokens with true states are committed in the block's KV once they were read;
// guesses lie in scratch slots after them until `drop`. Opening may fail; nothing else fails or
// allocates. The weights must outlive it.
#ifndef FR_DRAFT_KIT_DRAFT_BLOCK_H
#define FR_DRAFT_KIT_DRAFT_BLOCK_H
#include "decode/drafter.h"
#include "draft/kit/block_inputs.h"
#include "draft/kit/decoder_block.h"

enum {
    FR_DRAFT_BLOCK_ROWS = FR_DECODER_BLOCK_ROWS, // pairs read in one pass
    FR_DRAFT_BLOCK_GUESSES =
        FR_DECODER_BLOCK_GUESSES, // guesses in one pass, and states for the head alone
    FR_DRAFT_BLOCK_NULL = FR_BLOCK_NULL_TOKEN,
};

typedef struct fr_draft_block {
    const fr_pack *pack;
    const fr_model *target; // for embeddings
    fr_decoder_block block;
    fr_block_inputs *inputs; // of the passes
    // Of the text.
    float *waiting; // [FR_DRAFT_BLOCK_ROWS][in_stride] states of pairs, or what makes them,
    int32_t waiting_token[FR_DRAFT_BLOCK_ROWS]; // not yet read
    int n_waiting;
    int in, in_stride; // floats that the target gives of a token; the same, rounded up
} fr_draft_block;

// For texts of up to n_ctx tokens; `room` for ids of the text beyond the draft vocabulary, which
// the caller puts into the head; `batches` as in decoder_block.h. FR_ENOMEM, FR_EUNSUP: the
// target's threads or kernels lack something.
fr_status fr_draft_block_open(fr_draft_block *c, fr_pack_weights *w, int n_ctx, int room,
                              fr_draft_batches *batches, fr_error *err);
void fr_draft_block_close(fr_draft_block *c); // a zeroed one is fine

uint64_t fr_draft_block_bytes(const fr_draft_block *c); // of weights that a row with logits reads

// Takes over the pairs of the first `tokens` tokens of the text of `from`, all but the last, read
// or waiting. `from` is of the same pack and target, and there is room for them.
void fr_draft_block_copy(fr_draft_block *c, const fr_draft_block *from, int tokens);
void fr_draft_block_keep(fr_draft_block *c,
                         int pairs); // the first pairs of the text, and no others
// What the target's passes must deliver for fr_draft_block_add_path.
fr_needs fr_draft_block_needs(const fr_draft_block *c);
// The next pair of the text: the target's final hidden state of a token, or its n_taps residuals
// side by side [c->in], which is copied, and the token after it. Pairs wait until
// fr_draft_block_read; when FR_DRAFT_BLOCK_ROWS wait already, those are read. Tests add pairs so,
// drafters those of a pass (fr_draft_block_add_path).
void fr_draft_block_add(fr_draft_block *c, const float *state, int32_t token);
// The KV is sound; so many pairs wait as there is room for, each with a token of the text.
bool fr_draft_block_is_sound(const fr_draft_block *c);
int fr_draft_block_pairs(const fr_draft_block *c); // of the text: read and waiting
// Keeps the pairs of n tokens but the last, whose second token may be another now. Returns how many
// there are then.
int fr_draft_block_keep_tokens(fr_draft_block *c, int n);
// Adds the pairs that the last pass made sure: its rows path[0..n-1] (NULL: 0..n-1) are the newest
// committed tokens.
void fr_draft_block_add_path(fr_draft_block *c, const fr_context *context, const int *path, int n);

// What waits, one pair or more, is to be read in the next pass; scratch must be empty. Row 0 of the
// results is the last pair. False: there is no room in that pass.
// `wants`: FR_WANT_FINAL for its G, FR_WANT_LOGITS for its logits, of either, both or none.
bool fr_draft_block_put_text(fr_draft_block *c, uint8_t wants);
void fr_draft_block_took_text(fr_draft_block *c); // after that pass: commits it
// The same at once, in a pass of its own. False: nothing waited, there are no results.
bool fr_draft_block_read(fr_draft_block *c, uint8_t wants);

typedef struct fr_draft_block_guess {
    const float *state; // a G, of a row before; copied by the pass
    int32_t token;      // or FR_DRAFT_BLOCK_NULL
    int parent;         // scratch slot; -1: after what was read
} fr_draft_block_guess;

// n guesses (1..FR_DRAFT_BLOCK_GUESSES) are to be in the next pass; results are those of rows
// 0..n-1. False: there is no room in that pass. `wants` as above.
bool fr_draft_block_put_guesses(fr_draft_block *c, const fr_draft_block_guess *guess, int n,
                                uint8_t wants);
int fr_draft_block_slot(const fr_draft_block *c,
                        int row); // after it: where guess `row` came to lie

// Results of the last pass, valid until the next.
const float *fr_draft_block_state(const fr_draft_block *c, int row); // G, [d]
float *fr_draft_block_logits(fr_draft_block *c,
                             int row); // [head.m], of head.ids; the caller may change them

fr_draft_pass *fr_draft_block_pass(const fr_draft_block *c); // what rows that are put in wait for

void fr_draft_block_drop(fr_draft_block *c); // all guesses

#endif
