// probe.h — what this machine could do at most, right now: bytes of the weights read a second,
// 8-bit integer products a second.
//
// Both bound the speed of a pass from above, so a probe must be as fast as the machine can be,
// under the conditions of a pass. The weights themselves are read, in the order of a pass, so that
// caches hold as much of them as they do for a pass. All threads take small pieces of work from one
// counter; where several ways compete (streams, instructions) they take turns piece by piece, so
// that noise hits all alike, and the best one counts. A rate is that of the whole probe, waiting
// included.
#ifndef FR_CMD_CURVE_PROBE_H
#define FR_CMD_CURVE_PROBE_H
#include "base/pool.h"
#include "cmd/lib/timings.h"
#include "kern/kern.h"

typedef struct fr_probe {
    fr_pool *pool; // borrowed, as are the weights
    fr_isa isa;
    const uint8_t *weights;
    size_t piece;                          // bytes that are read at a time
    int n_pieces, n_repeats, least_pieces; // repeats: times that a piece is read, where it is tiny
    fr_rates last;
} fr_probe;

// `weights`: what a pass reads, in its order. FR_EDATA when that is next to nothing. Takes some
// 20 ms.
fr_status fr_probe_open(fr_probe *p, fr_pool *pool, fr_isa isa, const void *weights, size_t bytes,
                        fr_error *err);
// Probes both for about `seconds` each; memory for longer where caches ask for it.
fr_rates fr_probe_run(fr_probe *p, double seconds);

#endif
