// Which connections end where there are too many.
#include "serve/connections.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 4, MORE = 4 };

static struct {
    fr_connections *c;
    fr_connection *of[N + MORE];
    int pair[N + MORE][2], n;
} all;

static void open_all(void) {
    const fr_connections_options o = {
        .most = N, .request_seconds = 1e6, .body_rate = 1e4, .more_rate = 1e4, .rest_seconds = 1e6};
    fr_error err;
    assert_int_equal(fr_connections_open(&all.c, &o, &err), FR_OK);
    all.n = 0;
}

static bool is_open(int fd) {
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) != 0;
}

static void one_more(fr_connection_phase phase) {
    const int i = all.n++;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, all.pair[i]), 0);
    all.of[i] = fr_connections_add(all.c, all.pair[i][0]);
    assert_non_null(all.of[i]);
    fr_connections_enter(all.c, all.of[i], phase);
}

static void expect_gone(unsigned mask) {
    for (int i = 0; i < all.n; i++)
        assert_int_equal(is_open(all.pair[i][1]), !(mask >> i & 1));
    assert_true(fr_connections_is_sound(all.c));
}

static void close_all(void) {
    for (int i = 0; i < all.n; i++) {
        fr_connections_remove(all.c, all.of[i]);
        close(all.pair[i][0]), close(all.pair[i][1]);
    }
    assert_true(fr_connections_at_rest(all.c, 0));
    fr_connections_close(all.c);
}

static void a_connection_that_never_asked_goes_first(void **state) {
    (void)state;
    static const fr_connection_phase as[N] = {FR_CONNECTION_SENDS, FR_CONNECTION_RESTS,
                                              FR_CONNECTION_NEW, FR_CONNECTION_WAITS};
    // Which one goes when one more comes. At last all wait for answers, and the new one goes itself.
    static const unsigned leaves[MORE] = {1 << 2, 1 << 1, 1 << 0, 1 << (N + 3)};
    unsigned gone = 0;
    open_all();
    for (int i = 0; i < N; i++)
        one_more(as[i]);
    usleep(1100000); // all have been there for a while
    for (int i = 0; i < MORE; i++) {
        one_more(FR_CONNECTION_WAITS);
        expect_gone(gone |= leaves[i]);
    }
    assert_false(fr_connections_at_rest(all.c, 0.01));
    close_all();
}

static void a_new_connection_outlives_others(void **state) {
    (void)state;
    open_all();
    for (int i = 0; i < N - 1; i++)
        one_more(FR_CONNECTION_SENDS);
    one_more(FR_CONNECTION_NEW);
    for (int i = 0; i < N - 1; i++) {
        one_more(FR_CONNECTION_SENDS);
        expect_gone((2U << i) - 1);
    }
    close_all();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_connection_that_never_asked_goes_first),
                                       cmocka_unit_test(a_new_connection_outlives_others)};
    return cmocka_run_group_tests_name("serve/connections", tests, NULL, NULL);
}
