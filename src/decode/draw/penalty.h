// penalty.h — what a request adds to logits before anything is drawn from them.
#ifndef FR_DECODE_DRAW_PENALTY_H
#define FR_DECODE_DRAW_PENALTY_H
#include "forerun.h"

enum { FR_REPEAT_PENALTY_MAX = 100 };

typedef struct fr_penalty { // workspace
    int n_vocab, now;
    int32_t *stamp; // [n_vocab] what was seen in this call: `now`
    int32_t *count; // [n_vocab] how often, where stamped
} fr_penalty;

fr_status fr_penalty_open(fr_penalty *p, int n_vocab, fr_error *err);
void fr_penalty_close(fr_penalty *p);
// Ranges; FR_EARG with the option's name.
fr_status fr_penalty_check(const fr_sampling *s, int n_vocab, fr_error *err);

// Changes logits [n_vocab], in this order: the bias of each token named (those of n_vocab and above
// are left out: a draft model may have fewer tokens than its target); of the last repeat_last_n of
// the n_ids tokens before, each distinct one: positive logits divided by repeat_penalty, negative
// ones multiplied  [CTRL, Keskar 2019, §4.1]; of the generated tokens ids[n_prompt..n_ids), each
// distinct one: less frequency_penalty times its count and less presence_penalty.
void fr_penalise(fr_penalty *p, const fr_sampling *s, float *logits, const int32_t *ids, int n_ids,
                 int n_prompt);

#endif
