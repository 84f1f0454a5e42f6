// latency.h — takes the time of passes: the cost model of one model on this machine.
//
// Passes without and with the head are timed apart, row counts taking turns. Each cost is the mean
// of its faster half, smoothed (tree/cost.h). What context adds is the median of pairs of near and
// far passes. Needs memory for a context of its own while it runs and may fail for want of it.
// Nobody else may use the model's pool meanwhile.
#ifndef FR_TUNE_LATENCY_H
#define FR_TUNE_LATENCY_H
#include "model/forward.h"
#include "tree/cost.h"

// Told how far it is, as fr_progress_fn: measurements done of all.
// rounds: how often every pass is timed, 1 to 15; what context adds takes two more rounds of pairs.
// *cost is empty after an error: FR_ENOMEM; FR_EINTR.
fr_status fr_latency_measure(fr_cost *cost, const fr_model *m, int rounds, fr_progress_fn *progress,
                             void *user, fr_error *err);

#endif
