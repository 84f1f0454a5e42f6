// top_logprobs.h — the likeliest tokens of a row of logits and their log probabilities.
#ifndef FR_TRAIN_DATA_TOP_LOGPROBS_H
#define FR_TRAIN_DATA_TOP_LOGPROBS_H
#include <stdint.h>

// The `top` largest of n logits (n >= top >= 1), largest first, of equal ones the lower id first:
// id[top], and lp[top] = logit - log(sum of e^logit over all n), f16 bits. NaN counts as -inf.
void fr_top_logprobs(const float *logits, int n, int top, int32_t *id, uint16_t *lp);

#endif
