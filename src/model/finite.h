// finite.h — whether the results of a pass are finite.
//
// A damaged file (a scale of infinity or NaN) or weights that overflow give infinities and NaNs,
// from which a reader would still choose some token. Logits and final states are checked by whoever
// reads them, which takes a few microseconds a row. The pass itself checks each row's K and V in
// every layer (layer.c), for a broken one must not reach rows that do not see it.
#ifndef FR_MODEL_FINITE_H
#define FR_MODEL_FINITE_H
#include "forerun.h"

bool fr_are_finite(const float *x, int n);
// The same for a row of logits, n >= 1. Here -inf is allowed, for a token that cannot come, but not
// for all tokens.
bool fr_are_logits(const float *logits, int n);

// FR_EDATA and a sentence about a row that fr_are_logits refused, or (logits NULL) about a hidden
// state that is not finite. n_known: how many tokens come before the one that the row was to
// predict.
fr_status fr_logits_refuse(const float *logits, int n, int n_known, fr_error *err);

#endif
