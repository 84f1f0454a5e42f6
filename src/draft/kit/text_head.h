// text_head.h — a draft head with additional rows for the ids of the current text.
//
// A vocabulary of frequent tokens misses names and identifiers, which a text is likely to repeat.
// So the rows of the last `room` different ids of the text outside the vocabulary follow the
// vocabulary's rows; further ids replace the oldest. Its vocabulary's rows are those of a draft
// head that many share, as far as they fill whole panels; the panel in which the text's rows begin,
// and those after it, are its own. [compare "context ids" of pruned heads, FR-Spec, Zhao et al.
// 2025, §6]
#ifndef FR_DRAFT_KIT_TEXT_HEAD_H
#define FR_DRAFT_KIT_TEXT_HEAD_H
#include "draft/shared/draft_head.h"

typedef struct fr_text_head {
    fr_matrix vocabulary; // [first][d]: the shared panels
    fr_matrix text;       // [m - first][d]: ... and its own; rows from n on stand for nothing
    int m, first;         // rows of both, and of the shared panels
    int32_t *ids;         // [n_fixed + room] of the rows
    int n, n_fixed, room; // n: rows that stand for an id
    int taken;            // from the text so far
    const fr_model *target;
    uint8_t *known; // [target's n_vocab]: has a row
    float *values;  // [d] scratch
    uint8_t *rows;  // GGUF rows of `text`
} fr_text_head;

// `shared` is the target's draft head for ids[0..n), and outlives it. FR_ENOMEM.
fr_status fr_text_head_open(fr_text_head *h, const fr_matrix *shared, const fr_model *target,
                            const int32_t *ids, int n, int room, fr_error *err);
void fr_text_head_close(fr_text_head *h); // a zeroed one is fine
void fr_text_head_begin(fr_text_head *h); // another text: its ids are gone
// The next n ids of the text.
void fr_text_head_take(fr_text_head *h, const int32_t *ids, int n);

#endif
