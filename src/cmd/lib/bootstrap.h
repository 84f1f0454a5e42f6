// bootstrap.h — how far a ratio of sums may lie from the one that was measured.
#ifndef FR_CMD_LIB_BOOTSTRAP_H
#define FR_CMD_LIB_BOOTSTRAP_H
#include "base/status.h"

typedef struct fr_share { // of one prompt: numerator (tokens) and denominator (passes)
    double numerator, denominator;
} fr_share;

typedef struct fr_interval {
    double low, high;
} fr_interval;

enum { FR_BOOTSTRAPS = 2000 };

// The percentile bootstrap of sum(numerators) / sum(denominators) [Efron 1979]: n shares are drawn
// with replacement FR_BOOTSTRAPS times, and 95 % of the ratios lie within the interval. The draws
// are the same in every run. NAN, NAN where fewer than two shares, or none with a denominator above
// zero, are there. FR_ENOMEM.
fr_status fr_bootstrap_ratio(fr_interval *to, const fr_share *shares, int n, fr_error *err);

#endif
