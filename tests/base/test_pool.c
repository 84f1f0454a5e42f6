// The pool's promises: every thread runs once a run, barriers separate phases, any number of
// threads ends on any number of CPUs, and no thread flushes small numbers to zero.
#include "base/pool.h"
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

typedef struct phases {
    fr_pool *pool;
    int n_phases;
    int runs[FR_MAX_THREADS];
    int cell[2][FR_MAX_THREADS]; // phase p writes [p%2] and reads [(p+1)%2] of its neighbour
    atomic_int wrong;
} phases;

static void count_phases(void *arg, int thread, int n) {
    phases *t = arg;
    t->runs[thread]++;
    for (int p = 0; p < t->n_phases; p++) {
        t->cell[p & 1][thread] = p;
        fr_pool_barrier(t->pool);
        if (t->cell[p & 1][(thread + 1) % n] != p) atomic_fetch_add(&t->wrong, 1);
    }
}

static void check_phases(int n_threads, int n_runs, int n_phases) {
    phases t = {.n_phases = n_phases};
    assert_int_equal(fr_pool_open(&t.pool, n_threads, NULL), FR_OK);
    assert_int_equal(fr_pool_threads(t.pool), n_threads);
    for (int i = 0; i < n_runs; i++)
        fr_pool_run(t.pool, count_phases, &t);
    for (int i = 0; i < n_threads; i++)
        assert_int_equal(t.runs[i], n_runs);
    assert_int_equal(t.wrong, 0);
    fr_pool_close(t.pool);
}

static void pool_runs_every_thread_once(void **state) {
    (void)state;
    for (int n = 1; n <= 5; n++)
        check_phases(n, 200, 7);
}

static void pool_with_many_threads_ends(void **state) {
    (void)state;
    check_phases(FR_MAX_THREADS, 5, 3);
}

static void pool_that_never_ran_closes(void **state) {
    (void)state;
    for (int n = 1; n <= 9; n += 4)
        check_phases(n, 0, 0);
    fr_pool_close(NULL);
}

static void pool_wakes_after_sleep(void **state) {
    (void)state;
    phases t = {.n_phases = 2};
    assert_int_equal(fr_pool_open(&t.pool, 3, NULL), FR_OK);
    for (int i = 0; i < 5; i++) {
        fr_pool_run(t.pool, count_phases, &t);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); // beyond the spinning
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(t.runs[i], 5);
    fr_pool_close(t.pool);
}

typedef struct dealing {
    fr_pool *pool;
    int count, piece, rounds;
    bool lame; // thread 1 takes one piece and then waits until all is done
    atomic_int taken[1000], left, wrong;
} dealing;

static void take_all(void *arg, int thread, int n) {
    dealing *d = arg;
    for (int round = 0; round < d->rounds; round++) {
        int begin, end, own_begin, own_end, last = -1;
        fr_pool_share(d->count, thread, n, &own_begin, &own_end);
        if (!thread) atomic_store(&d->left, d->count);
        fr_pool_deal(d->pool, thread, d->count);
        fr_pool_barrier(d->pool);
        while (fr_pool_take(d->pool, thread, d->piece, &begin, &end)) {
            const bool own = begin >= own_begin && begin < own_end;
            if (begin >= end || end > d->count) d->wrong++;
            if (end - begin > d->piece && 4 * (end - begin) > d->count) d->wrong++;
            if (own && (begin < last || end > own_end)) d->wrong++; // its own ones in order
            if (own) last = begin;
            for (int i = begin; i < end; i++)
                atomic_fetch_add(&d->taken[i], 1);
            atomic_fetch_sub(&d->left, end - begin);
            while (d->lame && thread == 1 && atomic_load(&d->left)) // the others take the rest
                sched_yield();
        }
        fr_pool_barrier(d->pool);
    }
}

static void check_dealing(int n_threads, int count, int piece, bool lame) {
    enum { ROUNDS = 20 };
    dealing d = {.count = count, .piece = piece, .rounds = ROUNDS, .lame = lame};
    assert_int_equal(fr_pool_open(&d.pool, n_threads, NULL), FR_OK);
    fr_pool_run(d.pool, take_all, &d);
    for (int i = 0; i < count; i++)
        assert_int_equal(d.taken[i], ROUNDS);
    assert_int_equal(d.wrong, 0);
    fr_pool_close(d.pool);
}

static void dealt_items_are_taken_once(void **state) {
    (void)state;
    for (int n = 1; n <= 4; n++)
        for (int piece = 1; piece <= 64; piece *= 4) {
            check_dealing(n, 1000, piece, false);
            check_dealing(n, 3, piece, false);
            check_dealing(n, 0, piece, false);
        }
}

static void a_slow_thread_is_helped(void **state) {
    (void)state;
    check_dealing(2, 1000, 7, true); // ends only if thread 0 takes what thread 1 leaves
    check_dealing(3, 100, 1, true);
}

typedef struct lateness {
    fr_pool *pool;
    atomic_bool late; // thread 1 is
    int threads;      // of the last run
    int barriers;
} lateness;

static void maybe_late(void *arg, int thread, int n) {
    lateness *l = arg;
    if (!thread) l->threads = n;
    for (int i = 0; i < l->barriers; i++) {
        if (thread == 1 && atomic_load(&l->late))
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        fr_pool_barrier(l->pool);
    }
}

static bool comes_to(lateness *l, int threads) {
    for (int i = 0; i < 100000; i++) {
        fr_pool_run(l->pool, maybe_late, l);
        if (l->threads == threads) return true;
        if (i % 100 == 99) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return false;
}

static void a_pool_goes_on_without_a_late_thread(void **state) {
    (void)state;
    lateness l = {.late = true, .barriers = 3};
    assert_int_equal(fr_pool_open(&l.pool, 2, NULL), FR_OK);
    for (int i = 0; i < 50; i++)
        fr_pool_run(l.pool, maybe_late, &l);
    assert_int_equal(l.threads, 2); // not unless it was asked to
    fr_pool_adapt(l.pool, true);
    assert_true(comes_to(&l, 1));
    atomic_store(&l.late, false);
    assert_true(comes_to(&l, 2));
    fr_pool_adapt(l.pool, false);
    fr_pool_close(l.pool);
}

static void add_one(void *arg, int thread, int n) {
    (void)n;
    if (!thread) ++*(int *)arg; // unguarded on purpose: runs must not overlap
}

typedef struct caller {
    fr_pool *pool;
    int *sum;
} caller;

static void *call_often(void *arg) {
    caller *c = arg;
    for (int i = 0; i < 300; i++)
        fr_pool_run(c->pool, add_one, c->sum);
    return NULL;
}

typedef struct waiting {
    fr_pool *pool;
    atomic_bool began;
    atomic_int runs;
} waiting;

static void count_run(void *arg, int thread, int n) {
    (void)n;
    if (!thread) atomic_fetch_add(&((waiting *)arg)->runs, 1);
}

static void *run_once(void *arg) {
    waiting *w = arg;
    atomic_store(&w->began, true);
    fr_pool_run(w->pool, count_run, w);
    return NULL;
}

static void a_held_pool_runs_for_its_holder_alone(void **state) {
    (void)state;
    waiting w = {.runs = 0}, own = {.runs = 0};
    pthread_t thread;
    assert_int_equal(fr_pool_open(&w.pool, 2, NULL), FR_OK);
    fr_pool_hold(w.pool);
    assert_int_equal(pthread_create(&thread, NULL, run_once, &w), 0);
    while (!atomic_load(&w.began))
        sched_yield();
    for (int i = 1; i <= 20; i++) {
        fr_pool_run(w.pool, count_run, &own);
        assert_int_equal(own.runs, i);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assert_int_equal(w.runs, 0);
    }
    fr_pool_release(w.pool);
    pthread_join(thread, NULL);
    assert_int_equal(w.runs, 1);
    fr_pool_close(w.pool);
}

static void pool_runs_of_several_callers_take_turns(void **state) {
    (void)state;
    int sum = 0;
    pthread_t thread[3];
    caller c = {.sum = &sum};
    assert_int_equal(fr_pool_open(&c.pool, 2, NULL), FR_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, call_often, &c), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(sum, 900);
    fr_pool_close(c.pool);
}

static void halve_smallest(void *arg, int thread, int n) {
    (void)n;
    volatile float small = 0x1p-126f;
    ((float *)arg)[thread] = small * 0.5f;
}

static void pool_threads_keep_subnormals(void **state) {
    (void)state;
    float result[4] = {0};
#ifdef __x86_64__
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040); // flush to zero, denormals are zero: as a careless host program
#endif
    fr_pool *pool;
    assert_int_equal(fr_pool_open(&pool, 4, NULL), FR_OK);
    fr_pool_run(pool, halve_smallest, result);
    fr_pool_close(pool);
#ifdef __x86_64__
    assert_int_equal(_mm_getcsr() & 0x8040, 0x8040); // the host's own mode came back
    _mm_setcsr(before);
#endif
    for (int i = 0; i < 4; i++)
        assert_true(result[i] == 0x1p-127f);
}

static void pool_refuses_bad_counts(void **state) {
    (void)state;
    fr_pool *pool = (fr_pool *)&pool;
    fr_error err;
    assert_int_equal(fr_pool_open(&pool, 0, &err), FR_EARG);
    assert_null(pool);
    assert_string_equal(err.text, "threads: expected 1 to 256, found 0");
    assert_int_equal(fr_pool_open(&pool, FR_MAX_THREADS + 1, &err), FR_EARG);
}

static void pool_default_is_sane(void **state) {
    (void)state;
    assert_in_range(fr_pool_default_threads(), 1, FR_MAX_THREADS);
}

static void pool_share_covers_everything_once(void **state) {
    (void)state;
    for (int count = 0; count < 50; count++)
        for (int n = 1; n < 20; n++) {
            int next = 0;
            for (int t = 0; t < n; t++) {
                int begin, end;
                fr_pool_share(count, t, n, &begin, &end);
                assert_int_equal(begin, next);
                assert_in_range(end - begin, count / n, (count + n - 1) / n);
                next = end;
            }
            assert_int_equal(next, count);
        }
}

static void look_at_signals(void *arg, int thread, int n) {
    sigset_t *blocked = arg;
    (void)n;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked[thread]);
}

// Signals go to the program's own threads. But where a thread blocks the signal of its own fault, as of
// a mapped file that became shorter, no handler of the program is called.
static void pool_threads_take_faults_and_no_other_signals(void **state) {
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};
    fr_pool *pool;
    sigset_t blocked[2], own;
    (void)state;
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &own), 0);
    assert_int_equal(fr_pool_open(&pool, 2, NULL), FR_OK);
    fr_pool_run(pool, look_at_signals, blocked);
    fr_pool_close(pool);
    assert_true(sigismember(&blocked[1], SIGINT) && sigismember(&blocked[1], SIGTERM));
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        assert_false(sigismember(&blocked[1], faults[i]));
    assert_int_equal(sigismember(&blocked[0], SIGINT), sigismember(&own, SIGINT));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_threads_take_faults_and_no_other_signals),
        cmocka_unit_test(pool_runs_every_thread_once),
        cmocka_unit_test(pool_with_many_threads_ends),
        cmocka_unit_test(pool_that_never_ran_closes),
        cmocka_unit_test(pool_wakes_after_sleep),
        cmocka_unit_test(dealt_items_are_taken_once),
        cmocka_unit_test(a_slow_thread_is_helped),
        cmocka_unit_test(a_pool_goes_on_without_a_late_thread),
        cmocka_unit_test(pool_runs_of_several_callers_take_turns),
        cmocka_unit_test(a_held_pool_runs_for_its_holder_alone),
        cmocka_unit_test(pool_threads_keep_subnormals),
        cmocka_unit_test(pool_refuses_bad_counts),
        cmocka_unit_test(pool_default_is_sane),
        cmocka_unit_test(pool_share_covers_everything_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
