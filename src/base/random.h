// random.h — an unpredictable number, for seeds and names that are not given.
#ifndef FR_BASE_RANDOM_H
#define FR_BASE_RANDOM_H
#include "base/clock.h"
#include <stdint.h>
#include <sys/random.h>

// Of the time, where the system has none yet.
static inline uint64_t fr_random(void) {
    uint64_t drawn;
    if (getrandom(&drawn, sizeof drawn, GRND_NONBLOCK) != (ssize_t)sizeof drawn)
        drawn = (uint64_t)(fr_seconds() * 1e9);
    return drawn;
}

#endif
