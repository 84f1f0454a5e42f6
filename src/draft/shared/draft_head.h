// draft_head.h — the target's head for the ids of a draft vocabulary.
//
// Reading the whole head costs a small model a quarter of a pass, and drafting reads it at every
// depth; a few thousand ids cover most text.  [FR-Spec, Zhao et al. 2025]  Its rows are taken from
// the target's own head when it opens, dequantised, and kept as Q8_0 panels: no pack holds them.
#ifndef FR_DRAFT_SHARED_DRAFT_HEAD_H
#define FR_DRAFT_SHARED_DRAFT_HEAD_H
#include "draft/shared/linear.h"
#include "model/model.h"

// w becomes [n][d]: row i is the target's head row of ids[i] (ids are in its vocabulary). FR_ENOMEM.
fr_status fr_draft_head_open(fr_matrix *w, const fr_model *target, const int32_t *ids, int n,
                             fr_error *err);

// One such row, in GGUF's form; `values` [d] is scratch.
void fr_draft_head_row(const fr_model *target, int32_t id, float *values, uint8_t *to);
fr_type fr_draft_head_type(const fr_model *target);
size_t fr_draft_head_row_bytes(const fr_model *target);

#endif
