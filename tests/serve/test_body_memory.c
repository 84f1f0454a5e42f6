// The memory that the bodies of all requests share: its bounds, which of them makes room, and what
// clients see of it. Times are given where they matter.
#define _GNU_SOURCE
#include "client.h"
#include "serve/body_memory.h"
#include "serve/wait.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 8 << 20, LARGE = 1 << 20 };

static fr_body_memory *memory;
static int n_ended;
static const fr_body_share *ended;

static void end(void *user) {
    ended = user;
    n_ended++;
}

static int open_memory(void **state) {
    (void)state;
    n_ended = 0;
    ended = NULL;
    return fr_body_memory_open(&memory, MOST, NULL);
}

static int close_memory(void **state) {
    (void)state;
    fr_body_memory_close(memory);
    return 0;
}

// A body of which so much has come at once, and is held.
static void begin(fr_body_share *s, size_t bytes, double now) {
    fr_body_memory_enter(memory, s, end, s, now);
    fr_body_share_came(s, bytes, now);
    assert_true(fr_body_share_take(s, bytes));
    assert_true(fr_body_memory_is_sound(memory));
}

static void all_together_are_bounded(void **state) {
    (void)state;
    fr_body_share s[9] = {{0}};
    assert_int_equal(fr_body_memory_most(memory, false), MOST);
    assert_int_equal(fr_body_memory_most(memory, true), MOST / 8 * 7);
    for (int i = 0; i < 7; i++)
        begin(&s[i], LARGE, 0);
    fr_body_memory_enter(memory, &s[7], end, &s[7], 0);
    fr_body_share_came(&s[7], LARGE, 0);
    assert_false(fr_body_share_take(&s[7], 1)); // no room for a large one more
    assert_false(fr_body_share_claim(&s[7], MOST, 60));
    begin(&s[8], FR_BODY_SMALL, 0); // but for small ones, up to all there is
    assert_true(fr_body_share_take(&s[8], LARGE - FR_BODY_SMALL));
    assert_false(fr_body_share_take(&s[8], 1));
    fr_body_share_give(&s[0], 1000);
    assert_true(fr_body_share_take(&s[7], 1000));
    assert_false(fr_body_share_take(&s[7], 1));
    for (int i = 0; i < 9; i++) {
        assert_true(fr_body_memory_is_sound(memory));
        fr_body_share_leave(&s[i]);
    }
    fr_body_share_leave(&s[0]); // of none
}

// What was taken while it was small counts as large from then on.
static void a_body_becomes_large(void **state) {
    (void)state;
    fr_body_share s = {0}, other = {0};
    begin(&s, FR_BODY_SMALL, 0);
    assert_false(s.is_large);
    fr_body_share_came(&s, 1, 0);
    assert_true(s.is_large && fr_body_memory_is_sound(memory));
    assert_true(fr_body_share_take(&s, MOST / 8 * 7 - FR_BODY_SMALL));
    assert_false(fr_body_share_take(&s, 1));
    begin(&other, 1000, 0);
    fr_body_share_leave(&other);
    fr_body_share_leave(&s);
}

// Of those that stand still, the one with most bytes times seconds; never one that comes well, is
// there, is small, or asks itself.
static void slow_large_bodies_make_room(void **state) {
    (void)state;
    fr_body_share asks = {0}, still = {0}, longer = {0}, well = {0}, there = {0}, small = {0};
    begin(&longer, 2 * LARGE, 0);
    begin(&there, LARGE, 0);
    fr_body_share_arrived(&there);
    begin(&small, FR_BODY_SMALL, 0);
    begin(&still, LARGE, 1);
    begin(&well, LARGE, 1);
    begin(&asks, LARGE, 1);
    fr_body_share_came(&still, 1, 2.5); // a byte a second is no life
    fr_body_share_came(&still, 1, 4);
    for (int i = 2; i < 10; i++)
        fr_body_share_came(&well, 200000, i);
    assert_true(fr_body_share_displace(&asks, 9.5));
    assert_ptr_equal(ended, &longer);
    assert_true(fr_body_share_displace(&asks, 9.5));
    assert_ptr_equal(ended, &still);
    assert_false(fr_body_share_displace(&asks, 9.5));
    assert_int_equal(n_ended, 2);
    fr_body_share_leave(&longer);
    fr_body_share_leave(&still);
    assert_true(fr_body_share_displace(&asks, 60)); // it stands still now
    assert_ptr_equal(ended, &well);
    fr_body_share_leave(&well);
    fr_body_share_leave(&asks);
    fr_body_share_leave(&there);
    fr_body_share_leave(&small);
}

// A second has to pass before one is called slow.
static void a_body_is_given_a_second(void **state) {
    (void)state;
    fr_body_share s = {0}, asks = {0};
    begin(&s, LARGE, 10);
    begin(&asks, LARGE, 10);
    assert_false(fr_body_share_displace(&asks, 10.9));
    assert_true(fr_body_share_displace(&asks, 11));
    fr_body_share_leave(&s);
    fr_body_share_leave(&asks);
}

// An answer that is not taken makes room too, after a second and one more a megabyte.
static void answers_that_are_not_taken_make_room(void **state) {
    (void)state;
    fr_body_share s = {0}, asks = {0};
    begin(&s, 3 * LARGE, 0);
    begin(&asks, LARGE, 0);
    fr_body_share_arrived(&s);
    assert_false(fr_body_share_displace(&asks, 1000)); // it is at work
    fr_body_share_answered(&s, 2000000, 1000);
    assert_int_equal(s.bytes, 2000000);
    assert_false(fr_body_share_displace(&asks, 1002.9));
    assert_true(fr_body_share_displace(&asks, 1003.1));
    fr_body_share_leave(&s);
    fr_body_share_leave(&asks);
}

static void *claim_more(void *share) {
    return fr_body_share_claim(share, LARGE, 1.5) ? share : NULL;
}

// While a body waits for room no part of it is read: that is no fault of its sender.
static void bodies_that_wait_for_room_are_not_slow(void **state) {
    (void)state;
    enum { N = 2 };
    fr_body_share at_work = {0}, s[N] = {{0}};
    pthread_t thread[N];
    begin(&at_work, (7 - N) * LARGE, fr_seconds());
    fr_body_share_arrived(&at_work);
    for (int i = 0; i < N; i++)
        begin(&s[i], LARGE, fr_seconds());
    for (int i = 0; i < N; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, claim_more, &s[i]), 0);
    for (int i = 0; i < N; i++) {
        void *taken;
        pthread_join(thread[i], &taken);
        assert_null(taken);
    }
    assert_int_equal(n_ended, 0);
    assert_false(fr_body_share_displace(&at_work, fr_seconds() + 0.5)); // a second begins again
    assert_true(fr_body_share_displace(&at_work, fr_seconds() + 1));
    for (int i = 0; i < N; i++)
        fr_body_share_leave(&s[i]);
    fr_body_share_leave(&at_work);
}

// ---------------------------------------------------------------- over HTTP

static atomic_bool may_go;
static atomic_int n_held;
static atomic_size_t body_left; // bytes, once the answer was given
static char reply[4096];

static bool holds_so_much(fr_exchange *x, size_t bytes, size_t passing) {
    fr_error err;
    if (!fr_exchange_hold(x, "the answer", bytes, passing, &err)) return true;
    fr_exchange_fail(x, fr_exchange_refused(x) ? fr_exchange_refused(x) : 503, "", err.text);
    return false;
}

static void hello(fr_exchange *x, void *user) {
    (void)user;
    if (holds_so_much(x, 1000, 1000)) fr_exchange_reply(x, 200, "text/plain", "hello", 5);
}

static void holds(fr_exchange *x, void *user) {
    (void)user;
    if (!holds_so_much(x, MOST / 8, 6 * (MOST / 8))) return;
    atomic_fetch_add(&n_held, 1);
    while (!atomic_load(&may_go))
        usleep(1000);
    fr_exchange_settle(x);
    atomic_fetch_add(&n_held, 1);
    while (atomic_load(&may_go))
        usleep(1000);
    fr_exchange_give(x, 200, "text/plain", strdup("held"), 4);
}

// As a handler does that refuses a body without reading it.
static void unread(fr_exchange *x, void *user) {
    (void)user;
    if (fr_exchange_body(x)->n != LARGE)
        fr_exchange_fail(x, 400, "", "expected a large body");
    else
        fr_exchange_give(x, 200, "text/plain", strdup("no"), 2);
    atomic_store(&body_left, fr_exchange_body(x)->cap);
}

static void too_much(fr_exchange *x, void *user) {
    (void)user;
    assert_false(holds_so_much(x, SIZE_MAX, SIZE_MAX));
}

static const fr_http_route routes[] = {{"POST", "/", hello, true},
                                       {"POST", "/holds", holds, true},
                                       {"POST", "/too-much", too_much, true},
                                       {"POST", "/unread", unread, true},
                                       {.method = 0}};

static fr_http *open_http(void) {
    const fr_http_options o = {.host = "127.0.0.1",
                               .routes = routes,
                               .connections = 16,
                               .body_bytes = MOST,
                               .memory = MOST,
                               .request_seconds = 60,
                               .idle_seconds = 60,
                               .error = client_refuse};
    fr_http *http;
    fr_error err;
    if (fr_http_open(&http, &o, &err)) fail_msg("%s", err.text);
    return http;
}

// Sends the beginning of a request, `bytes` of a body of `all`.
static int sent(const fr_http *http, const char *path, size_t all, size_t bytes) {
    static char body[MOST];
    char head[200];
    const int fd = client_dial(http),
              n = snprintf(head, sizeof head,
                           "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                           "Content-Length: %zu\r\n\r\n",
                           path, all);
    assert_true(send(fd, head, (size_t)n, MSG_NOSIGNAL) == n);
    for (size_t at = 0; at < bytes;) {
        const ssize_t m = send(fd, body + at, bytes - at, MSG_NOSIGNAL);
        if (m <= 0) break;
        at += (size_t)m;
    }
    return fd;
}

static int status_of(int fd) {
    return client_hear(fd, reply, sizeof reply);
}

static void await_held(int n) {
    while (atomic_load(&n_held) < n)
        usleep(1000);
}

// Bodies that stand still hold all that large ones may: small ones are served, and a large one
// after they have stood still for a second.
static void unfinished_bodies_keep_no_request_out(void **state) {
    (void)state;
    enum { N = 7 };
    fr_http *http = open_http();
    int fd[N];
    for (int i = 0; i < N; i++)
        fd[i] = sent(http, "/", MOST, LARGE - 100);
    assert_int_equal(status_of(sent(http, "/", 1000, 1000)), 200);
    usleep(1200000);
    assert_int_equal(status_of(sent(http, "/", 3 * LARGE, 3 * LARGE)), 200);
    assert_non_null(strstr(reply, "hello"));
    for (int i = 0; i < N; i++)
        close(fd[i]);
    fr_http_close(http);
}

// What is made of a body counts until it is made, what stays until the answer is given.
static void values_count_too(void **state) {
    (void)state;
    fr_http *http = open_http();
    atomic_store(&may_go, false);
    atomic_store(&n_held, 0);
    const int fd = sent(http, "/holds", 10, 10);
    await_held(1);
    assert_int_equal(status_of(sent(http, "/", LARGE, LARGE)), 503);
    assert_non_null(strstr(reply, "--body-memory"));
    assert_int_equal(status_of(sent(http, "/", 1000, 1000)), 200);
    atomic_store(&may_go, true);
    await_held(2);
    assert_int_equal(status_of(sent(http, "/", LARGE, LARGE)), 200);
    atomic_store(&may_go, false);
    assert_int_equal(status_of(fd), 200);
    assert_int_equal(status_of(sent(http, "/too-much", 10, 10)), 413);
    assert_non_null(strstr(reply, "the answer: "));
    fr_http_close(http);
}

// An answer may wait long for its client. What is not counted then is not there either.
static void a_body_ends_with_its_answer(void **state) {
    (void)state;
    fr_http *http = open_http();
    for (int fails = 0; fails < 2; fails++) {
        const size_t bytes = LARGE - (size_t)fails;
        atomic_store(&body_left, bytes);
        assert_int_equal(status_of(sent(http, "/unread", bytes, bytes)), fails ? 400 : 200);
        assert_int_equal(atomic_load(&body_left), 0);
    }
    fr_http_close(http);
}

int main(void) {
#define UNIT(test) cmocka_unit_test_setup_teardown(test, open_memory, close_memory)
    const struct CMUnitTest tests[] = {
        UNIT(all_together_are_bounded),
        UNIT(a_body_becomes_large),
        UNIT(slow_large_bodies_make_room),
        UNIT(a_body_is_given_a_second),
        UNIT(answers_that_are_not_taken_make_room),
        UNIT(bodies_that_wait_for_room_are_not_slow),
        cmocka_unit_test(unfinished_bodies_keep_no_request_out),
        cmocka_unit_test(values_count_too),
        cmocka_unit_test(a_body_ends_with_its_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
