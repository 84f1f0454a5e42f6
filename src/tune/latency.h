// latency.h — measures the time of passes: the cost model of one model on this machine.
//
// Passes without and with the head are timed apart, row counts taking turns. Each cost is the mean
// of its faster half, smoothed (tree/cost.h). The cost of context is the median of pairs of near
// and far passes, and the cost of an expert that of pairs of passes with unlike and with like rows.
// While it runs it needs memory for a context of its own, and may fail without it.
// No other thread may use the model's pool meanwhile.
#ifndef FR_TUNE_LATENCY_H
#define FR_TUNE_LATENCY_H
#include "model/forward.h"
#include "tree/cost.h"

// Called with the progress, like fr_progress_fn: measurements done of all. rounds: how often every
// pass is timed, 1 to 15; the cost of context takes two more rounds of pairs. *cost is empty after
// an error: FR_ENOMEM; FR_EINTR.
fr_status fr_latency_measure(fr_cost *cost, const fr_model *m, int rounds, fr_progress_fn *progress,
                             void *user, fr_error *err);

#endif
