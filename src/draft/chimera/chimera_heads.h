// chimera_heads.h — Chimera's heads: distributions from the block's state of a guess and the target's last
// state.
//
// With o the block's state at depth k and f the target's state of the newest evaluated token
//     shared     logits = H' (g_k * nrm(B_k o + A_k f)), H' the draft head,
//                nrm(z) = z / sqrt(mean(z^2) + 1e-6)
//     own-heads  logits = U_k o + V_k f
// without the terms of f where the pack has none.  [Chimera, arXiv 2402.15758, §3.2.3]
//
// Opening may fail, nothing else does, and nothing else allocates. Weights and head must outlive
// it.
#ifndef FR_DRAFT_CHIMERA_CHIMERA_HEADS_H
#define FR_DRAFT_CHIMERA_CHIMERA_HEADS_H
#include "draft/chimera/chimera_pack.h"
#include "draft/kit/text_head.h"
#include "draft/shared/linear.h"
#include "draft/shared/weights.h"

enum { FR_CHIMERA_ROWS = 16 }; // states of one product

typedef struct fr_chimera_heads {
    const fr_pack *pack;
    const fr_text_head *shared;                                   // H'
    const fr_matrix *chain[FR_PACK_HEADS], *state[FR_PACK_HEADS]; // B_k, A_k, or U_k, V_k
    const float *norm[FR_PACK_HEADS];                             // [d]: g_k
    fr_linear linear;
    float *f;      // [d]
    float *of_f;   // what a head makes of f
    float *o, *y;  // [FR_CHIMERA_ROWS][stride]
    float *logits; // [FR_CHIMERA_ROWS][logit_stride]
    int stride, logit_stride;
    fr_arena arena;
    uint64_t bytes; // of weights that one row of one depth reads
} fr_chimera_heads;

// FR_ENOMEM.
fr_status fr_chimera_heads_open(fr_chimera_heads *h, fr_pack_weights *w, const fr_text_head *shared,
                                fr_error *err);
void fr_chimera_heads_close(fr_chimera_heads *h); // a zeroed one is fine

void fr_chimera_heads_state(fr_chimera_heads *h, const float *f); // copied
void fr_chimera_heads_put(fr_chimera_heads *h, int row, const float *o);
void fr_chimera_heads_run(fr_chimera_heads *h, int k, int n); // head k (from 1) on rows 0..n-1
const float *fr_chimera_heads_logits(const fr_chimera_heads *h, int row); // [shared's or own m]

#endif
