// pool.h — persistent threads that run one function together.
//
// fr_pool_run calls fn(arg, thread, n_threads) on every thread of the pool, the caller being thread
// 0, and returns when all are done. Inside fn, fr_pool_barrier joins all threads: it spins briefly
// and then yields, so that a busy machine costs its share and not more. Threads sleep between runs.
// Threads split outputs, never sums.
//
// Work that takes long is dealt (fr_pool_deal) and taken in pieces (fr_pool_take): every thread
// goes through its own share in order, then takes pieces of the others' shares. So a core that
// another program slows down delays the others by one piece at most.
#ifndef FR_BASE_POOL_H
#define FR_BASE_POOL_H
#include "base/status.h"

enum { FR_MAX_THREADS = 256 };
typedef struct fr_pool fr_pool;
typedef void fr_pool_fn(void *arg, int thread, int n_threads);

int fr_pool_default_threads(void); // physical cores this process may use
fr_status fr_pool_open(fr_pool **out, int n_threads, fr_error *err); // 1..FR_MAX_THREADS
void fr_pool_close(fr_pool *pool);
int fr_pool_threads(const fr_pool *pool);
void fr_pool_run(fr_pool *pool, fr_pool_fn *fn, void *arg);
// Between the two the runs of other callers wait, and this thread's begin at once: for
// measurements.
void fr_pool_hold(fr_pool *pool);
void fr_pool_release(fr_pool *pool);
// Lets runs use fewer threads, from 1 up, while other programs keep the cores busy: two threads of
// which one waits for its core half the time are slower than one. Off when a pool opens. Whether it
// was on.
bool fr_pool_adapt(fr_pool *pool, bool on);
// Between runs: numbers of threads are within bounds, and none is inside the barrier.
bool fr_pool_is_sound(const fr_pool *pool);
void fr_pool_barrier(fr_pool *pool); // only inside fn, by every thread

// The part [*begin, *end) of 0..count that belongs to `thread`: balanced, contiguous.
static inline void fr_pool_share(int count, int thread, int n_threads, int *begin, int *end) {
    *begin = (int)((int64_t)count * thread / n_threads);
    *end = (int)((int64_t)count * (thread + 1) / n_threads);
}

// Deals items 0..count among the threads: called by every thread, before a barrier; the pieces are
// taken after it, and all of them before the next barrier.
void fr_pool_deal(fr_pool *pool, int thread, int count);
// The next piece [*begin, *end): of the thread's own share in ascending order, then of other
// shares. It is a quarter of the rest of the share, but at least `least` items or the rest: few
// calls at first, small pieces at the end, when others may be waiting. False when nothing is left.
bool fr_pool_take(fr_pool *pool, int thread, int least, int *begin, int *end);

#endif
