// logprobs.h — logarithms of the model's own probabilities, before any setting of a request; and of
// those that tokens are drawn with.
#ifndef FR_DECODE_DRAW_LOGPROBS_H
#define FR_DECODE_DRAW_LOGPROBS_H
#include "decode/draw/sampler.h"

typedef struct fr_logprob_scorer { // workspace
    const fr_kern *kern;
    int n_vocab, n_top; // likeliest tokens that are listed, 0..FR_TOP_LOGPROBS
    float *x, *w;       // [n_vocab] the row, kept before settings change it; its weights
} fr_logprob_scorer;

fr_status fr_logprob_scorer_open(fr_logprob_scorer *s, const fr_kern *kern, int n_vocab,
                                 fr_error *err);
void fr_logprob_scorer_close(fr_logprob_scorer *s);

// Keeps a row of finite logits [n_vocab] for fr_logprob_scorer_score.
void fr_logprob_scorer_keep(fr_logprob_scorer *s, const float *logits);
// log p of token `id` in the row kept, and of the n_top likeliest tokens, best first (of equal ones
// the lower id). The sum of weights is one of integers, hence the same on every machine
// (docs/numerics.md).
void fr_logprob_scorer_score(fr_logprob_scorer *s, int32_t id, fr_logprobs *out);

// The same of the distribution that the sampler's row is drawn from (fr_sampler_dist): tokens that
// cannot be drawn are not listed, and have -INFINITY.
void fr_drawn_logprobs(fr_sampler *s, int32_t id, int n_top, fr_logprobs *out);

#endif
