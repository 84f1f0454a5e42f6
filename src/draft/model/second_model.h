// second_model.h — a smaller model that reads the target's text and guesses ahead of it.
//
// A small model (small_model.h) with workspace and KV. The tokens that it has read,
// ids[0..kv.n_committed), are always from a text that was accepted when it was read; `keep` drops
// those after the common prefix with a new text. Rows of guesses are in scratch slots after them
// until `commit` or `drop`. Only opening may fail.
#ifndef FR_DRAFT_MODEL_SECOND_MODEL_H
#define FR_DRAFT_MODEL_SECOND_MODEL_H
#include "draft/kit/draft_batch.h"
#include "draft/kit/draft_benefit.h"
#include "draft/model/small_model.h"

enum {
    FR_SECOND_MODEL_CHUNK = FR_DRAFT_CHUNK, // rows of text read in one pass
    FR_SECOND_MODEL_LOGITS = 16,            // rows of guesses in one pass
};

typedef struct fr_second_model {
    fr_small_model small;
    fr_draft_batch *batch; // of its passes
    int first, n_rows;     // its rows in the last one
    fr_kv kv;
    int32_t *ids; // [n_ctx + FR_TREE_MAX_DEPTH + 2]; the read tokens, then space for a path
} fr_second_model;

// Loads `path` for texts of up to config->n_ctx tokens, or as many as the model was made for.
// Errors: those of fr_gguf_open and fr_model_open; FR_EUNSUP for another vocabulary than the
// target's.
fr_status fr_second_model_open(fr_second_model *s, const char *path,
                               const fr_drafter_config *config, fr_error *err);
void fr_second_model_close(fr_second_model *s); // a zeroed one is fine

// The KV is sound, within the model's context, and holds tokens of the model's vocabulary.
bool fr_second_model_is_sound(const fr_second_model *s);

// The text is now ids[0..n): keeps what was read of its beginning, but never its last token, so
// that there is a row to take logits from.
void fr_second_model_keep(fr_second_model *s, const int32_t *ids, int n);
// Prepares for a text of n tokens without reading: a model with LongRoPE forgets all that it read
// if such a text needs the other table.
void fr_second_model_stretch(fr_second_model *s, int n);
// Whether ids[0..n), whose beginning it has read, is a text that it can read.
bool fr_second_model_can_read(const fr_second_model *s, const int32_t *ids, int n);
// Adds the next chunk of new tokens of ids[0..n), at least the last token, to the batch's next
// pass. False: it does not fit.
bool fr_second_model_put_text(fr_second_model *s, const int32_t *ids, int n);
// After that pass: commits the chunk. Whether all of the text is read; fr_second_model_last_logits
// are then those after its last token.
bool fr_second_model_took_text(fr_second_model *s, const int32_t *ids, int n);
float *fr_second_model_last_logits(fr_second_model *s);

// Adds guesses to the next pass: ids[i] after scratch slot parent[i] (-1: the end of the read
// text), n up to FR_SECOND_MODEL_LOGITS. False: they do not fit. After the pass
// fr_second_model_slot(s, i) is the slot of row i, and fr_second_model_logits(s, i) are its logits.
bool fr_second_model_put_guesses(fr_second_model *s, const int32_t *ids, const int *parent, int n);
int fr_second_model_slot(const fr_second_model *s, int row);
float *fr_second_model_logits(fr_second_model *s, int row);
// n guesses in scratch slots path[], each the parent of the next one, turned out right; all others
// are dropped.
void fr_second_model_commit(fr_second_model *s, const int32_t *ids, const int *path, int n);

#endif
