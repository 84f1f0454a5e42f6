// wait.h — waiting for a condition for a number of seconds, by the monotonic clock.
#ifndef FR_SERVE_WAIT_H
#define FR_SERVE_WAIT_H
#include "base/clock.h"
#include <pthread.h>

static inline void fr_wait_open(pthread_cond_t *condition) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

// The moment `seconds` from now, for pthread_cond_timedwait.
static inline struct timespec fr_wait_until(double seconds) {
    const double until = fr_seconds() + seconds;
    return (struct timespec){.tv_sec = (time_t)until,
                             .tv_nsec = (long)((until - (double)(time_t)until) * 1e9)};
}

#endif
