// small_model.h — a model with the target's vocabulary that drafts for it: weights and limits.
//
// Its weights are shared by all that draft with the same file (shared/shared.h). It shares the
// target's threads and kernels. Ids from n_common on mean nothing to it: it cannot read a text that
// holds one and never proposes one.
#ifndef FR_DRAFT_MODEL_SMALL_MODEL_H
#define FR_DRAFT_MODEL_SMALL_MODEL_H
#include "draft/shared/shared.h"
#include "model/model.h"
#include "text/tokenizer.h"

typedef struct fr_small_model {
    fr_shared_part *weights;
    const fr_model *model; // of the weights
    int n_common;
    int n_ctx; // longest text that it can read
} fr_small_model;

// Opens `path` for texts of up to config->n_ctx tokens, or as many as the model was made for.
// Errors: those of fr_gguf_open and fr_model_open; FR_EUNSUP for another vocabulary than the
// target's.
fr_status fr_small_model_open(fr_small_model *s, const char *path, const fr_drafter_config *config,
                              fr_error *err);
void fr_small_model_close(fr_small_model *s); // a zeroed one is fine

// Whether ids[0..n), of which ids[0..known) were read before, is a text that it can read.
bool fr_small_model_can_read(const fr_small_model *s, const int32_t *ids, int known, int n);

#endif
