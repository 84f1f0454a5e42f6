// draft_vocab.h — which tokens a drafter can draft: the most frequent ones of the answers.
//
// A small head is most of what makes a drafter cheap. Frequencies are those of the tokens that
// answers of the training samples are made of; tokens that end a generation and those of a single
// byte are always in.
#ifndef FR_TRAIN_DATA_DRAFT_VOCAB_H
#define FR_TRAIN_DATA_DRAFT_VOCAB_H
#include "model/model.h"
#include "text/tokenizer.h"
#include "train/data/dataset.h"

typedef struct fr_draft_vocab {
    int n;           // V'
    int32_t *ids;    // [n] target ids, most frequent first
    int32_t *index;  // [target's n_vocab] place in ids, or -1
    float *head;     // [n][d]: rows of the target's head, dequantised
    double coverage; // share of the answers' tokens that it holds
} fr_draft_vocab;

// The tokens that a drafter can draft, and their rows of the target's head.
// n: tokens wanted (fewer where the target has fewer). Ties go to the lower id. Coverage is
// measured on the samples held out. FR_ENOMEM; FR_EARG: n is less than the number of mandatory
// tokens. progress may be NULL; FR_EINTR: it ended the work.
fr_status fr_draft_vocab_open(fr_draft_vocab *v, const fr_model *target,
                              const fr_tokenizer *tokenizer, const fr_dataset *data, int n,
                              fr_progress_fn *progress, void *user, fr_error *err);
// The same of given ids, none twice (FR_EDATA).
fr_status fr_draft_vocab_of(fr_draft_vocab *v, const fr_model *target, const fr_dataset *data,
                            const int32_t *ids, int n, fr_error *err);
void fr_draft_vocab_close(fr_draft_vocab *v); // {0} is fine

#endif
