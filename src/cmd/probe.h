// probe.h — what this machine could do at most: bytes read a second, integer products a second.
//
// Both are upper bounds for a pass, so they must not be weak: several ways are tried and the best
// of all rounds counts. All threads of the pool work at once, as in a pass.
#ifndef FR_CMD_PROBE_H
#define FR_CMD_PROBE_H
#include "base/pool.h"
#include "kern/kern.h"

typedef struct fr_probe {
    fr_pool *pool; // borrowed
    fr_isa isa;
    uint8_t *buffer;
    size_t bytes, part;  // part: a second size to read, where caches may help; 0: none
    double read_rate;    // best so far, bytes a second
    double product_rate; // multiply-adds of 8-bit integers a second
} fr_probe;

// Takes 256 MiB, or less where there is less memory. `weights`: bytes that one pass reads.
fr_status fr_probe_open(fr_probe *p, fr_pool *pool, fr_isa isa, uint64_t weights, fr_error *err);
void fr_probe_close(fr_probe *p);
void fr_probe_round(fr_probe *p); // some 50 ms; keeps the best

#endif
