// What is prepared: large bodies by two threads of their own, the shortest first, and nothing that
// is not wanted any more.
#define _GNU_SOURCE // gettid
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "serve/preparer.h"
#include "serve/wait.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LARGE = FR_PREPARER_LARGE, THREADS = 2 };

// One preparation: it says that it has begun, and ends when it is let, or not wanted.
typedef struct work {
    fr_preparer *of;
    fr_preparation what;
    pthread_t thread, runner;
    atomic_bool begun, may_end, wanted;
    atomic_int asked;
    int priority, order;
    fr_status said;
    fr_error err;
} work;

static atomic_int n_begun;

static bool is_wanted(void *user) {
    work *w = user;
    atomic_fetch_add(&w->asked, 1);
    return atomic_load(&w->wanted);
}

static fr_status run(void *user, const fr_watch *watch, fr_error *err) {
    work *w = user;
    w->order = atomic_fetch_add(&n_begun, 1);
    w->priority = getpriority(PRIO_PROCESS, (id_t)gettid());
    w->runner = pthread_self();
    atomic_store(&w->begun, true);
    while (!atomic_load(&w->may_end)) {
        const fr_status st = fr_watch_ask(watch, err);
        if (st) return st;
        usleep(100);
    }
    return FR_OK;
}

static work prepared(fr_preparer *of, size_t bytes) {
    return (work){
        .of = of, .what = {.run = run, .bytes = bytes, .is_wanted = is_wanted}, .wanted = true};
}

static void *ask(void *arg) {
    work *w = arg;
    w->what.user = w->what.asker = w;
    w->said = fr_preparer_run(w->of, &w->what, &w->err);
    return NULL;
}

static void begin(work *w) {
    assert_int_equal(pthread_create(&w->thread, NULL, ask, w), 0);
}

static void end(work *w) {
    atomic_store(&w->may_end, true);
    pthread_join(w->thread, NULL);
}

static void until(const atomic_bool *is) {
    while (!atomic_load(is))
        usleep(100);
}

static void until_there_wait(fr_preparer *p, int n) {
    while (fr_preparer_waits(p) != n)
        usleep(100);
}

static fr_preparer *open(void) {
    fr_preparer *p;
    fr_error err;
    assert_int_equal(fr_preparer_open(&p, &err), FR_OK);
    atomic_store(&n_begun, 0);
    return p;
}

// Both threads are at work.
static void occupy(fr_preparer *p, work first[THREADS]) {
    for (int i = 0; i < THREADS; i++) {
        first[i] = prepared(p, LARGE);
        begin(&first[i]);
        until(&first[i].begun);
    }
}

static void large_ones_are_prepared_beside_the_others_and_below_them(void **state) {
    (void)state;
    fr_preparer *p = open();
    work first[THREADS], small = prepared(p, LARGE - 1);
    const int usual = getpriority(PRIO_PROCESS, 0);
    occupy(p, first);
    begin(&small);
    until(&small.begun); // though the two are at work
    assert_true(pthread_equal(small.runner, small.thread));
    assert_int_equal(small.priority, usual);
    for (int i = 0; i < THREADS; i++) {
        assert_false(pthread_equal(first[i].runner, first[i].thread));
        assert_int_equal(first[i].priority, usual + 10 < 19 ? usual + 10 : 19);
    }
    assert_false(fr_preparer_idle(p, 0));
    end(&small);
    for (int i = 0; i < THREADS; i++)
        end(&first[i]);
    assert_true(fr_preparer_idle(p, 0));
    assert_int_equal(small.said | first[0].said | first[1].said, FR_OK);
    fr_preparer_close(p);
}

// Of equal ones the first that came.
static void the_shortest_is_next(void **state) {
    (void)state;
    static const size_t bytes[] = {9 * LARGE, 3 * LARGE, 7 * LARGE, 3 * LARGE, LARGE, 8 * LARGE};
    static const int order[] = {5, 1, 3, 2, 0, 4};
    enum { N = sizeof bytes / sizeof *bytes };
    fr_preparer *p = open();
    work first[THREADS], w[N];
    occupy(p, first);
    for (int i = 0; i < N; i++) {
        w[i] = prepared(p, bytes[i]);
        begin(&w[i]);
        until_there_wait(p, i + 1);
    }
    // One thread takes them one after the other.
    end(&first[0]);
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            if (order[i] == k) {
                until(&w[i].begun);
                assert_int_equal(w[i].order, THREADS + k);
                assert_int_equal(fr_preparer_waits(p), N - 1 - k);
                end(&w[i]);
                assert_int_equal(w[i].said, FR_OK);
            }
    end(&first[1]);
    fr_preparer_close(p);
}

static void what_is_not_wanted_leaves_the_queue(void **state) {
    (void)state;
    fr_preparer *p = open();
    work first[THREADS], gone = prepared(p, LARGE), late = prepared(p, LARGE),
                         stays = prepared(p, LARGE);
    occupy(p, first);
    late.what.timeout = 60;
    late.what.waited = 59.99;
    begin(&gone);
    begin(&late);
    begin(&stays);
    pthread_join(late.thread, NULL);
    assert_int_equal(late.said, FR_EINTR);
    assert_string_equal(late.err.text, "no answer could be begun within 60 seconds; try again");
    atomic_store(&gone.wanted, false);
    pthread_join(gone.thread, NULL);
    assert_int_equal(gone.said, FR_EINTR);
    assert_false(atomic_load(&gone.begun) || atomic_load(&late.begun));
    until_there_wait(p, 1);
    end(&first[0]);
    until(&stays.begun);
    end(&stays);
    assert_int_equal(stays.said, FR_OK);
    end(&first[1]);
    fr_preparer_close(p);
}

static void work_ends_where_no_client_waits_or_the_time_is_over(void **state) {
    (void)state;
    for (int large = 0; large < 2; large++) {
        fr_preparer *p = open();
        work gone = prepared(p, large * LARGE), late = prepared(p, large * LARGE);
        late.what.timeout = 60;
        late.what.waited = 59.9;
        begin(&gone);
        begin(&late);
        until(&gone.begun);
        atomic_store(&gone.wanted, false);
        pthread_join(gone.thread, NULL);
        pthread_join(late.thread, NULL);
        assert_int_equal(gone.said, FR_EINTR);
        assert_int_equal(late.said, FR_EINTR);
        assert_non_null(strstr(late.err.text, "within 60 seconds"));
        fr_preparer_close(p);
    }
}

// Looking whether a client waits is a system call: work may ask as often as it likes.
static fr_status ask_often(void *user, const fr_watch *watch, fr_error *err) {
    work *w = user;
    for (int i = 0; i < 100000; i++)
        if (fr_watch_ask(watch, err)) return FR_EINTR;
    w->order = atomic_load(&w->asked);
    return FR_OK;
}

static void questions_are_cheap(void **state) {
    (void)state;
    fr_preparer *p = open();
    work w = prepared(p, 0);
    w.what.run = ask_often;
    const double began = fr_seconds();
    ask(&w);
    assert_int_equal(w.said, FR_OK);
    assert_true(w.order >= 1 && w.order <= 2 + (fr_seconds() - began) * 25);
    fr_preparer_close(p);
}

static void a_server_that_drains_ends_what_there_is(void **state) {
    (void)state;
    fr_preparer *p = open();
    work first[THREADS], small = prepared(p, 1), waits = prepared(p, LARGE), late = prepared(p, 1),
                         ends = prepared(p, 1);
    ends.what.ends = true;
    occupy(p, first);
    begin(&small);
    begin(&waits);
    until(&small.begun);
    until_there_wait(p, 1);
    fr_preparer_drain(p);
    ask(&late);
    assert_int_equal(late.said, FR_EINTR);
    assert_string_equal(late.err.text, "this server is shutting down");
    assert_false(atomic_load(&late.begun));
    begin(&ends); // of an answer that it has
    until(&ends.begun);
    end(&first[0]);
    assert_int_equal(first[0].said, FR_OK);
    until(&waits.begun);
    end(&waits);
    end(&small);
    end(&ends);
    end(&first[1]);
    assert_int_equal(waits.said | small.said | ends.said | first[1].said, FR_OK);
    assert_true(fr_preparer_idle(p, 0));
    fr_preparer_close(p);
}

// ... until it stops: then all ends, but for the short ends of answers.
static void a_server_that_stops_waits_for_nothing(void **state) {
    (void)state;
    fr_preparer *p = open();
    work first[THREADS], small = prepared(p, 1), waits = prepared(p, LARGE), ends = prepared(p, 1);
    ends.what.ends = true;
    occupy(p, first);
    begin(&small);
    begin(&waits);
    until(&small.begun);
    until_there_wait(p, 1);
    fr_preparer_stop(p);
    work *const all[] = {&first[0], &first[1], &small, &waits};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        pthread_join(all[i]->thread, NULL);
        assert_int_equal(all[i]->said, FR_EINTR);
        assert_string_equal(all[i]->err.text, "this server is shutting down");
    }
    assert_true(fr_preparer_idle(p, 0));
    begin(&ends);
    until(&ends.begun);
    end(&ends);
    assert_int_equal(ends.said, FR_OK);
    fr_preparer_close(p);
}

static fr_status fails(void *user, const fr_watch *watch, fr_error *err) {
    (void)user, (void)watch;
    return fr_fail(err, FR_EARG, "no");
}

static void what_fails_says_so(void **state) {
    (void)state;
    fr_preparer *p = open();
    for (int large = 0; large < 2; large++) {
        work w = prepared(p, large * LARGE);
        w.what.run = fails;
        ask(&w);
        assert_int_equal(w.said, FR_EARG);
        assert_string_equal(w.err.text, "no");
    }
    fr_preparer_close(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_ones_are_prepared_beside_the_others_and_below_them),
        cmocka_unit_test(the_shortest_is_next),
        cmocka_unit_test(what_is_not_wanted_leaves_the_queue),
        cmocka_unit_test(work_ends_where_no_client_waits_or_the_time_is_over),
        cmocka_unit_test(questions_are_cheap),
        cmocka_unit_test(a_server_that_drains_ends_what_there_is),
        cmocka_unit_test(a_server_that_stops_waits_for_nothing),
        cmocka_unit_test(what_fails_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
