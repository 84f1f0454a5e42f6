// pool.c — in this order: barriers, pieces of dealt work, sleeping and waking, what a worker thread
// does, fewer threads on a busy machine, one run, opening and closing.
#define _GNU_SOURCE
#include "base/pool.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "base/float_mode.h"
#include "base/signals.h"
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { WORKER_STACK = 1 << 20 };
static const double SPIN_SECONDS = 50e-6;

// If runs lost more than LOST_PART of a window of WINDOW_SECONDS to waiting after the spin, they go
// on with one thread less. After a pause one more thread is tried; the pause doubles each time that
// this fails.
static const double LOST_PART = 0.2, WINDOW_SECONDS = 0.02;
static const double PAUSE_LEAST = 0.1, PAUSE_MOST = 1.6;

typedef struct worker {
    _Alignas(64) atomic_int next; // of its share of the dealt items, the next one that is not taken
    int end;                      // of that share
    pthread_t thread;
    fr_pool *pool;
    int index, cpu; // cpu -1: wherever the system likes
} worker;

// How many threads runs use; the caller's alone, between runs.
typedef struct adapting {
    bool on;
    double ran, since;    // seconds: of the runs of this window; when the last change was
    double pause;         // before one more thread is tried
    uint64_t lost_before; // of fr_pool.lost
    bool trial;           // the last change was one more thread
} adapting;

enum { ACTIVE_BITS = 10, ACTIVE_MASK = (1 << ACTIVE_BITS) - 1 };

// Invariant: between runs no active thread is inside the barrier, and fn, arg and n_active are
// written only then. The words that threads spin on have a cache line each.
struct fr_pool {
    _Alignas(64) atomic_uint run;     // a number of the run, then its threads; a change starts them
    _Alignas(64) atomic_int arrived;  // threads that wait in the barrier
    _Alignas(64) atomic_uint barrier; // counts barriers; a change lets them go
    _Alignas(64) atomic_int sleepers; // workers that sleep, or are about to, until `run` changes
    pthread_mutex_t sleep_lock, run_lock; // run_lock: runs of several callers take turns; recursive
    pthread_cond_t wake;
    fr_pool_fn *fn;
    void *arg;
    double spin_seconds;
    int n_threads, n_active, n_started;
    adapting adapt;
    atomic_uint_least64_t lost; // nanoseconds that threads waited in barriers beyond the spin
    atomic_bool stop;
    worker workers[]; // [0] is the caller: only its share of the items is used
};

static inline void relax(void) {
#ifdef __x86_64__
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Spins until *word is no longer `old`; false when the time is over first.
static bool spin_while(atomic_uint *word, unsigned old, double seconds) {
    double end = 0;
    for (;;) {
        for (int i = 0; i < 64; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != old) return true;
            relax();
        }
        if (seconds <= 0) return false;
        double now = fr_system_seconds();
        if (!end) end = now + seconds;
        if (now >= end) return false;
    }
}

void fr_pool_barrier(fr_pool *pool) {
    const int n = pool->n_active; // read before arriving: afterwards the run may end and change it
    if (n == 1) return;
    unsigned old = atomic_load_explicit(&pool->barrier, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel) + 1 == n) {
        atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&pool->barrier, old + 1, memory_order_release);
        return;
    }
    if (spin_while(&pool->barrier, old, pool->spin_seconds)) return;
    const double start = fr_system_seconds();
    while (atomic_load_explicit(&pool->barrier, memory_order_acquire) == old)
        sched_yield();
    atomic_fetch_add_explicit(&pool->lost, (uint64_t)(1e9 * (fr_system_seconds() - start)),
                              memory_order_relaxed);
}

void fr_pool_deal(fr_pool *pool, int thread, int count) {
    worker *w = &pool->workers[thread];
    int begin;
    fr_pool_share(count, thread, pool->n_active, &begin, &w->end);
    atomic_store_explicit(&w->next, begin, memory_order_relaxed); // the barrier publishes both
}

bool fr_pool_take(fr_pool *pool, int thread, int least, int *begin, int *end) {
    for (int i = 0; i < pool->n_active; i++) {
        worker *w = &pool->workers[(thread + i) % pool->n_active];
        int at = atomic_load_explicit(&w->next, memory_order_relaxed), n = 0;
        do {
            const int left = w->end - at;
            n = left / 4 > least ? left / 4 : left < least ? left : least;
        } while (n > 0 && !atomic_compare_exchange_weak_explicit(
                              &w->next, &at, at + n, memory_order_relaxed, memory_order_relaxed));
        if (n <= 0) continue;
        *begin = at;
        *end = at + n;
        return true;
    }
    return false;
}

// Either the worker sees the new value of `run` under the lock, or the caller sees the sleeper and
// wakes it under the same lock: both sides write their own word first (sequentially consistent).
static void sleep_while(fr_pool *pool, unsigned old) {
    pthread_mutex_lock(&pool->sleep_lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->run) == old)
        pthread_cond_wait(&pool->wake, &pool->sleep_lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->sleep_lock);
}

static void wake_workers(fr_pool *pool) {
    const unsigned number =
        (atomic_load_explicit(&pool->run, memory_order_relaxed) >> ACTIVE_BITS) + 1;
    atomic_store(&pool->run, number << ACTIVE_BITS | (unsigned)pool->n_active);
    if (!atomic_load(&pool->sleepers)) return;
    pthread_mutex_lock(&pool->sleep_lock);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->sleep_lock);
}

static void *worker_main(void *self) {
    worker *w = self;
    fr_pool *pool = w->pool;
    if (w->cpu >= 0) { // if the system refuses, the thread runs unpinned
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(w->cpu, &set);
        pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    }
    fr_float_mode_set();
    for (unsigned seen = 0;;) {
        if (!spin_while(&pool->run, seen, pool->spin_seconds)) sleep_while(pool, seen);
        // A run that this thread is part of waits for it, so `run` does not change meanwhile. The
        // thread may miss other runs.
        seen = atomic_load_explicit(&pool->run, memory_order_acquire);
        const int n_active = (int)(seen & ACTIVE_MASK);
        if (atomic_load(&pool->stop)) return NULL;
        if (w->index >= n_active) continue;
        pool->fn(pool->arg, w->index, n_active);
        fr_pool_barrier(pool);
    }
}

static void change_threads(fr_pool *pool, int change, double now) {
    adapting *a = &pool->adapt;
    pool->n_active += change;
    a->trial = change > 0;
    a->since = now;
}

// After a run from `start` to `now`: how many threads the next one has.
static void adapt(fr_pool *pool, double start, double now) {
    adapting *a = &pool->adapt;
    a->ran += now - start;
    if (pool->n_active < pool->n_threads && now - a->since > a->pause) {
        change_threads(pool, 1, now);
        a->ran = 0;
        a->lost_before = atomic_load_explicit(&pool->lost, memory_order_relaxed);
        return;
    }
    if (pool->n_active == 1 || a->ran < WINDOW_SECONDS) return;
    // All threads but the last one wait. The mean of their waiting is the time that was lost.
    const uint64_t lost = atomic_load_explicit(&pool->lost, memory_order_relaxed);
    const double part = 1e-9 * (double)(lost - a->lost_before) / (pool->n_active - 1) / a->ran;
    a->ran = 0;
    a->lost_before = lost;
    if (part > LOST_PART) {
        const double longer = 2 * a->pause < PAUSE_MOST ? 2 * a->pause : PAUSE_MOST;
        a->pause = a->trial ? longer : PAUSE_LEAST;
        change_threads(pool, -1, now);
    } else {
        a->trial = false;
    }
}

bool fr_pool_is_sound(const fr_pool *pool) {
    const adapting *a = &pool->adapt;
    if (pool->n_threads < 1 || pool->n_threads > FR_MAX_THREADS) return false;
    if (pool->n_active < 1 || pool->n_active > pool->n_threads) return false;
    if (pool->n_started < 0 || pool->n_started >= pool->n_threads) return false;
    if (a->on && (a->pause < PAUSE_LEAST || a->pause > PAUSE_MOST)) return false;
    return !atomic_load_explicit(&pool->arrived, memory_order_relaxed);
}

bool fr_pool_adapt(fr_pool *pool, bool on) {
    pthread_mutex_lock(&pool->run_lock);
    const bool was = pool->adapt.on;
    pool->adapt = (adapting){.on = on, .pause = PAUSE_LEAST, .since = fr_system_seconds()};
    pool->adapt.lost_before = atomic_load_explicit(&pool->lost, memory_order_relaxed);
    pool->n_active = pool->n_threads;
    pthread_mutex_unlock(&pool->run_lock);
    return was;
}

void fr_pool_run(fr_pool *pool, fr_pool_fn *fn, void *arg) {
    pthread_mutex_lock(&pool->run_lock);
    assert(fr_pool_is_sound(pool));
    unsigned mode = fr_float_mode_set();
    pool->fn = fn;
    pool->arg = arg;
    const double start = fr_system_seconds();
    if (pool->n_active > 1) wake_workers(pool);
    fn(arg, 0, pool->n_active);
    fr_pool_barrier(pool);
    if (pool->adapt.on) adapt(pool, start, fr_system_seconds());
    fr_float_mode_restore(mode);
    assert(fr_pool_is_sound(pool));
    pthread_mutex_unlock(&pool->run_lock);
}

void fr_pool_hold(fr_pool *pool) {
    pthread_mutex_lock(&pool->run_lock);
}

void fr_pool_release(fr_pool *pool) {
    pthread_mutex_unlock(&pool->run_lock);
}

static int start_worker(worker *w, const pthread_attr_t *attr) {
    sigset_t before;
    fr_signals_hold(&before);
    const int error = pthread_create(&w->thread, attr, worker_main, w);
    fr_signals_restore(&before);
    return error;
}

static fr_status start_workers(fr_pool *pool, const fr_cpus *cpus, fr_error *err) {
    // Pinned only when the pool fills the cores: two small pools must not meet on the same CPU. The
    // caller is not pinned, its thread is not ours; the system moves it to the CPU left over.
    const bool pin = pool->n_threads >= cpus->n_cores && pool->n_threads <= cpus->n_allowed &&
                     pool->n_threads <= cpus->n_quota;
    pthread_attr_t attr;
    if (pthread_attr_init(&attr)) return fr_fail(err, FR_ENOMEM, "threads: no memory to start any");
    pthread_attr_setstacksize(&attr, WORKER_STACK);
    int error = 0;
    for (int i = 1; i < pool->n_threads && !error; i++) {
        worker *w = &pool->workers[i];
        w->pool = pool;
        w->index = i;
        w->cpu = pin ? cpus->order[i] : -1;
        if (!(error = start_worker(w, &attr))) pool->n_started = i;
    }
    pthread_attr_destroy(&attr);
    if (!error) return FR_OK;
    return fr_fail(err, FR_ENOMEM, "threads: the system refused thread %d of %d (error %d)",
                   pool->n_started + 2, pool->n_threads, error);
}

static void init_run_lock(fr_pool *pool) { // a thread that holds the pool runs it too
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&pool->run_lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

fr_status fr_pool_open(fr_pool **out, int n_threads, fr_error *err) {
    *out = NULL;
    if (n_threads < 1 || n_threads > FR_MAX_THREADS)
        return fr_fail(err, FR_EARG, "threads: expected 1 to %d, found %d", FR_MAX_THREADS,
                       n_threads);
    size_t bytes = sizeof(fr_pool) + (size_t)n_threads * sizeof(worker);
    fr_pool *pool = fr_alloc_zero(bytes);
    if (!pool) return fr_fail(err, FR_ENOMEM, "threads: cannot get %zu bytes of memory", bytes);
    pool->n_threads = pool->n_active = n_threads;
    pthread_mutex_init(&pool->sleep_lock, NULL);
    init_run_lock(pool);
    pthread_cond_init(&pool->wake, NULL);
    if (n_threads > 1) {
        fr_cpus cpus;
        fr_cpus_read(&cpus);
        // A thread that spins on a CPU that another thread of the pool needs makes all of them
        // wait.
        bool crowded = n_threads > cpus.n_allowed || n_threads > cpus.n_quota;
        pool->spin_seconds = crowded ? 0 : SPIN_SECONDS;
        fr_status st = start_workers(pool, &cpus, err);
        if (st) {
            fr_pool_close(pool);
            return st;
        }
    }
    *out = pool;
    return FR_OK;
}

void fr_pool_close(fr_pool *pool) {
    if (!pool) return;
    atomic_store(&pool->stop, true);
    wake_workers(pool);
    for (int i = 1; i <= pool->n_started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->run_lock);
    pthread_mutex_destroy(&pool->sleep_lock);
    fr_free(pool);
}

int fr_pool_threads(const fr_pool *pool) {
    return pool->n_threads;
}

int fr_pool_default_threads(void) {
    fr_cpus cpus;
    fr_cpus_read(&cpus);
    int n = cpus.n_cores < cpus.n_quota ? cpus.n_cores : cpus.n_quota;
    return n < FR_MAX_THREADS ? n : FR_MAX_THREADS;
}
