// medusa_heads.h — the heads of a Medusa pack: from a hidden state to the distributions of the tokens
// ahead.
//
// With f the state after the last evaluated token and f~ = f / sqrt(mean(f^2) + 1e-6), the output
// of head k for the k-th token after the root is
//     y_k = f + silu(A_k f~ + c_k),   logits = H' y_k
// with H' the draft head, or a head of k's own.  [Medusa-1, Cai et al. 2024, §2.1.1]  Hydra's heads
// read the path too: A_k [f~; e~_root; e~_1; ...; e~_{k-1}], e~ being normed embeddings of its
// tokens, so every path has a distribution of its own.  [Hydra, Ankner et al. 2024, §3]
//
// Opening may fail, nothing else does, and nothing else allocates. The weights must outlive it.
#ifndef FR_DRAFT_MEDUSA_MEDUSA_HEADS_H
#define FR_DRAFT_MEDUSA_MEDUSA_HEADS_H
#include "draft/medusa/medusa_pack.h"
#include "draft/shared/linear.h"
#include "draft/shared/weights.h"

enum { FR_MEDUSA_PATHS = FR_PACK_HEADS }; // rows of one product: heads, or paths of Hydra

typedef struct fr_medusa_heads {
    const fr_pack *pack;
    const fr_model *target; // for embeddings
    const fr_matrix *map[FR_PACK_HEADS];
    const fr_matrix *own[FR_PACK_HEADS]; // heads of their own
    const fr_matrix *shared;             // else the draft head
    const float *bias[FR_PACK_HEADS];    // [d]
    fr_linear linear;
    float *state;  // [d] f
    float *ones;   // [d]
    float *in;     // [FR_MEDUSA_PATHS][in_stride]
    float *y;      // [FR_MEDUSA_PATHS][stride]
    float *logits; // [FR_MEDUSA_PATHS][logit_stride]
    int stride, in_stride, logit_stride;
    fr_arena arena;
    uint64_t bytes; // of weights that a proposal reads
} fr_medusa_heads;

fr_status fr_medusa_heads_open(fr_medusa_heads *h, fr_pack_weights *w, fr_error *err);
void fr_medusa_heads_close(fr_medusa_heads *h); // a zeroed one is fine

// The state that the heads read: the target's final hidden state, or, for a pack of an early layer,
// the residual there, which is then normed as the final one is. Copied.
void fr_medusa_heads_state(fr_medusa_heads *h, const float *f);

// All heads, of a pack without paths: the logits of depth k, [n_draft], are then
// fr_medusa_heads_logits(h, k - 1).
void fr_medusa_heads_run(fr_medusa_heads *h);
// Hydra's head k (1..depth) on n paths (1..FR_MEDUSA_PATHS) of k tokens each, the root first:
// path[i][0..k). The logits of path i are then fr_medusa_heads_logits(h, i).
void fr_medusa_heads_run_paths(fr_medusa_heads *h, int k, const int32_t path[][FR_PACK_HEADS],
                               int n);
const float *fr_medusa_heads_logits(const fr_medusa_heads *h, int row);

#endif
