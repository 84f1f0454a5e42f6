// clock.h — monotonic seconds; for tests, a clock that only passes of a model advance.
#ifndef FR_BASE_CLOCK_H
#define FR_BASE_CLOCK_H
#include <stdbool.h>
#include <time.h>

// How many rows drafting pays for depends on measured times, so two runs of one command may differ
// in their proposals. With the pass clock they do not: time stands still, except that every pass
// adds the seconds that its caller passes. One thread runs the passes; the others only read.
typedef struct fr_pass_clock {
    bool on; // set before any engine opens, by a test
    double seconds;
} fr_pass_clock;
extern fr_pass_clock fr_clock_of_passes;

static inline double fr_system_seconds(void) { // for waits, which must end
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double fr_seconds(void) {
    return fr_clock_of_passes.on ? fr_clock_of_passes.seconds : fr_system_seconds();
}

// A pass of `rows` rows through `layers` layers has ended. No effect on the system's clock.
static inline void fr_clock_pass(int rows, int layers) {
    if (fr_clock_of_passes.on) fr_clock_of_passes.seconds += 1e-4 * layers * (8 + rows);
}

#endif
