// finite.h — whether what a pass gave are numbers at all.
//
// A damaged file (a scale of infinity or NaN), or weights that overflow, shows as infinities and
// NaNs, which every reader of a row would take for some token or other. They are looked for where a
// row is read, not in the pass: a few microseconds a row.
#ifndef FR_MODEL_FINITE_H
#define FR_MODEL_FINITE_H
#include "forerun.h"

bool fr_are_finite(const float *x, int n);
// The same of a row of logits, n >= 1, where -inf is a number too: that token cannot come. Not so
// where it stands for all of them.
bool fr_are_logits(const float *logits, int n);

// FR_EDATA, and the sentence that tells what was found in a row that is none (fr_are_logits), or
// behind whose hidden state there can be none (logits NULL). n_known: the tokens before the one
// that the row was to foretell.
fr_status fr_logits_refuse(const float *logits, int n, int n_known, fr_error *err);

#endif
