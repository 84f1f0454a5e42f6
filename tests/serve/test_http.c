// Connections over HTTP, without a model: silent, slow and dead peers keep nobody out, and who
// waits for an answer is never sent away.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "client.h"
#include "serve/server.h"
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 8, FLOOD = 60, BIG = 8 << 20 };

static fr_http *http;
static atomic_int begun;
static atomic_bool answers; // the handler of /held goes on
static char reply[4096];

// ---------------------------------------------------------------- a server

static void hello(fr_exchange *x, void *user) {
    (void)user;
    fr_exchange_reply(x, 200, "text/plain", "hello", 5);
}

// Takes longer than any limit of silence.
static void held(fr_exchange *x, void *user) {
    (void)user;
    atomic_fetch_add(&begun, 1);
    while (!atomic_load(&answers))
        usleep(10000);
    fr_exchange_reply(x, 200, "text/plain", "held", 4);
}

static bool next_piece(void *stream, fr_exchange *x, fr_buffer *piece) {
    int *left = stream;
    fr_error never;
    (void)x;
    if (*left == 1) usleep(2500000); // longer than silence may be
    fr_buffer_add(piece, "piece ", 6, &never);
    return --*left > 0;
}

static void streamed(fr_exchange *x, void *user) {
    int *left = fr_alloc_zero(sizeof *left);
    (void)user;
    *left = 3;
    fr_exchange_stream(x, 200, "text/plain", next_piece, fr_free, left);
}

static void big(fr_exchange *x, void *user) {
    char *body = fr_alloc_zero(BIG);
    (void)user;
    fr_exchange_reply(x, 200, "text/plain", body, BIG);
    fr_free(body);
}

// As where there was no memory for the document.
static void without(fr_exchange *x, void *user) {
    (void)user;
    fr_reply_json(x, 200, NULL);
}

static void client(fr_exchange *x, void *user) {
    char name[FR_CLIENT_NAME];
    (void)user;
    fr_exchange_client(x, name);
    fr_exchange_reply(x, 200, "text/plain", name, strlen(name));
}

static const fr_http_route routes[] = {
    {"GET", "/", hello, true},        {"POST", "/", hello, true},
    {"GET", "/held", held, true},     {"GET", "/streamed", streamed, true},
    {"GET", "/big", big, true},       {"GET", "/without", without, true},
    {"GET", "/client", client, true}, {.method = 0}};

static void open_with(double request_seconds, int of_peer) {
    const fr_http_options o = {.host = "127.0.0.1",
                               .routes = routes,
                               .proxies = "127.0.0.0/8",
                               .connections = MOST,
                               .connections_of_peer = of_peer,
                               .body_bytes = 1 << 20,
                               .request_seconds = request_seconds,
                               .idle_seconds = 1,
                               .error = client_refuse,
                               .allowed_hosts = "x"};
    fr_error err;
    atomic_store(&answers, false);
    atomic_store(&begun, 0);
    if (fr_http_open(&http, &o, &err)) fail_msg("%s", err.text);
}

// ---------------------------------------------------------------- clients

static int dial(void) {
    return client_dial(http);
}

static int say(int fd, const char *text) {
    return send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

// What comes until the other side ends, in `reply`; false: it does not end.
static bool hear_all(int fd) {
    size_t n = 0;
    ssize_t m;
    while (n + 1 < sizeof reply && (m = recv(fd, reply + n, sizeof reply - 1 - n, 0)) > 0)
        n += (size_t)m;
    reply[n] = 0;
    return m <= 0;
}

static void expect_hello(void) {
    const int fd = dial();
    assert_true(say(fd, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    assert_true(hear_all(fd));
    if (!strstr(reply, "200 OK") || !strstr(reply, "hello")) fail_msg("found '%s'", reply);
    close(fd);
}

static bool is_open(int fd) {
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) != 0;
}

// ---------------------------------------------------------------- promises

// Limits are far away: only room is short.
static void silent_connections_make_room(void **state) {
    (void)state;
    int fd[FLOOD];
    open_with(1000, 0);
    for (int i = 0; i < FLOOD; i++) {
        fd[i] = dial();
        if (i % 3 == 1) say(fd[i], "GET / HT");
        if (i % 3 == 2) say(fd[i], "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab");
        if (i % 10 == 9) expect_hello();
    }
    expect_hello();
    for (int i = 0; i < FLOOD; i++)
        close(fd[i]);
    fr_http_close(http);
}

static void who_waits_for_an_answer_stays(void **state) {
    (void)state;
    int fd[FLOOD], asking[MOST - 1];
    open_with(1000, 0);
    for (int i = 0; i < MOST - 1; i++) {
        asking[i] = dial();
        assert_true(say(asking[i], "GET /held HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    }
    while (atomic_load(&begun) < MOST - 1)
        usleep(10000);
    for (int i = 0; i < FLOOD; i++)
        fd[i] = dial();
    expect_hello();
    atomic_store(&answers, true);
    for (int i = 0; i < MOST - 1; i++) {
        assert_true(hear_all(asking[i]));
        if (!strstr(reply, "held")) fail_msg("found '%s'", reply);
        close(asking[i]);
    }
    for (int i = 0; i < FLOOD; i++)
        close(fd[i]);
    fr_http_close(http);
}

// A byte now and then does not help.
static void a_request_comes_in_time_or_never(void **state) {
    (void)state;
    open_with(0.5, 0);
    const int silent = dial(), line = dial(), header = dial(), body = dial();
    say(header, "GET / HTTP/1.1\r\nHost: x\r\nX: ");
    say(body, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n");
    say(line, "GET /");
    for (int i = 0;
         i < 600 && (is_open(silent) || is_open(line) || is_open(header) || is_open(body)); i++) {
        usleep(50000);
        send(line, "x", 1, MSG_NOSIGNAL);
        send(header, "x", 1, MSG_NOSIGNAL);
        send(body, "x", 1, MSG_NOSIGNAL);
    }
    assert_false(is_open(silent) || is_open(line) || is_open(header) || is_open(body));
    expect_hello();
    close(silent), close(line), close(header), close(body);
    fr_http_close(http);
}

// The limit of silence, one second, is the peer's only.
static void a_long_answer_is_not_silence(void **state) {
    (void)state;
    open_with(1, 0);
    int fd = dial();
    assert_true(say(fd, "GET /held HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    usleep(2500000);
    atomic_store(&answers, true);
    assert_true(hear_all(fd));
    if (!strstr(reply, "held")) fail_msg("found '%s'", reply);
    close(fd);
    fd = dial();
    assert_true(say(fd, "GET /streamed HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    assert_true(hear_all(fd));
    const char *at = reply;
    for (int i = 0; i < 3; i++, at++)
        if (!(at = strstr(at, "piece"))) fail_msg("found '%s'", reply);
    close(fd);
    fr_http_close(http);
}

static void kept_connections_ask_again(void **state) {
    (void)state;
    open_with(1000, 0);
    const int fd = dial();
    for (int i = 0; i < 3; i++) {
        assert_true(say(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
        const ssize_t n = recv(fd, reply, sizeof reply - 1, 0);
        assert_true(n > 0);
        reply[n] = 0;
        assert_non_null(strstr(reply, "hello"));
    }
    assert_true(hear_all(fd)); // after a second of rest
    assert_string_equal(reply, "");
    close(fd);
    fr_http_close(http);
}

// Also of a request that came before, and said once.
static void who_retires_ends_connections(void **state) {
    static const char *const asks[] = {"GET /held HTTP/1.1\r\nHost: x\r\n\r\n",
                                       "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                       "GET /streamed HTTP/1.1\r\nHost: x\r\n\r\n",
                                       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
                                       "Content-Length: 2\r\n\r\n"};
    (void)state;
    open_with(1000, 0);
    const int held_before = dial();
    assert_true(say(held_before, asks[0]));
    while (!atomic_load(&begun))
        usleep(10000);
    fr_http_retire(http);
    atomic_store(&answers, true);
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        const int fd = i ? dial() : held_before;
        if (i) assert_true(say(fd, asks[i]));
        assert_true(hear_all(fd));
        const char *said = strcasestr(reply, "Connection: close\r\n");
        if (!said || strcasestr(said + 1, "Connection:")) fail_msg("found '%s'", reply);
        close(fd);
    }
    fr_http_close(http);
}

static void who_does_not_read_ends(void **state) {
    (void)state;
    open_with(1, 0);
    const int fd = dial(), small = 1024;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    assert_true(say(fd, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_int_equal(recv(fd, reply, 1, 0), 1);
    assert_true(fr_http_at_rest(http, 60)); // nobody waits for that one
    expect_hello();
    close(fd);
    fr_http_close(http);
}

static void an_address_may_have_a_limit(void **state) {
    (void)state;
    open_with(1000, 2);
    const int a = dial(), b = dial();
    say(a, "GET /held HTTP/1.1\r\nHost: x\r\n\r\n");
    say(b, "GET /held HTTP/1.1\r\nHost: x\r\n\r\n");
    while (atomic_load(&begun) < 2)
        usleep(10000);
    const int c = dial();
    assert_true(hear_all(c));
    assert_string_equal(reply, "");
    atomic_store(&answers, true);
    close(a), close(b), close(c);
    fr_http_close(http);
}

static void what_cannot_be_written_is_said_whole(void **state) {
    (void)state;
    open_with(1000, 0);
    const int fd = dial();
    assert_true(say(fd, "GET /without HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    assert_true(hear_all(fd));
    assert_true(!strncmp(reply, "HTTP/1.1 503 ", 13));
    const char *body = strstr(reply, "\r\n\r\n");
    json_t *document = body ? json_loads(body, 0, NULL) : NULL;
    if (!document) fail_msg("found '%s'", reply);
    json_decref(document);
    close(fd);
    fr_http_close(http);
}

static void every_address_of_both_kinds_is_listened_on(void **state) {
    (void)state;
    const int probe = socket(AF_INET6, SOCK_STREAM, 0);
    const struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    const bool has_6 = probe >= 0 && !bind(probe, (const struct sockaddr *)&any, sizeof any);
    if (probe >= 0) close(probe);
    if (!has_6) skip();
    static const char *const hosts[] = {"0.0.0.0,::", "::, 0.0.0.0", "::"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        const fr_http_options o = {.host = hosts[i],
                                   .routes = routes,
                                   .connections = MOST,
                                   .body_bytes = 1 << 20,
                                   .request_seconds = 1000,
                                   .idle_seconds = 1,
                                   .error = client_refuse,
                                   .allowed_hosts = "x"};
        fr_error err;
        if (fr_http_open(&http, &o, &err)) fail_msg("%s: %s", hosts[i], err.text);
        expect_hello(); // by IPv4
        fr_http_close(http);
    }
}

// By a proxy that is named; several lines of the header are one list.
static void a_named_proxy_says_the_client(void **state) {
    (void)state;
    static const struct {
        const char *lines, *client;
    } cases[] = {
        {"", "\r\n\r\n127.0.0.1"},
        {"X-Forwarded-For: 1.2.3.4\r\n", "\r\n\r\n1.2.3.4"},
        {"x-forwarded-for: 9.9.9.9\r\nX-Forwarded-For: 1.2.3.4, 127.0.0.9\r\n", "\r\n\r\n1.2.3.4"},
        {"X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: nonsense\r\n", "\r\n\r\n127.0.0.1"}};
    char request[256];
    open_with(1000, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int fd = dial();
        snprintf(request, sizeof request,
                 "GET /client HTTP/1.1\r\nHost: x\r\n%sConnection: close\r\n\r\n", cases[i].lines);
        assert_true(say(fd, request) && hear_all(fd));
        assert_string_equal(strstr(reply, "\r\n\r\n"), cases[i].client);
        close(fd);
    }
    fr_http_close(http);
}

// A sanitizer sees whether what was kept of them is freed.
static void paths_may_be_empty(void **state) {
    (void)state;
    static const char *const paths[] = {"?", "?a=b", "*", "/?"};
    char request[128];
    open_with(1000, 0);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const int fd = dial();
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                 paths[i]);
        assert_true(say(fd, request));
        assert_true(hear_all(fd));
        assert_true(!strncmp(reply, i == 3 ? "HTTP/1.1 200 " : "HTTP/1.1 404 ", 13));
        close(fd);
    }
    fr_http_close(http);
}

// libmicrohttpd closes without a word, nor says that it ended; a sanitizer sees what is left.
static void many_arguments_leave_nothing(void **state) {
    (void)state;
    static char request[16 << 10] = "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /?";
    size_t n = strlen(request);
    open_with(1000, 0);
    while (n < 8 << 10)
        n += (size_t)sprintf(request + n, "a=b&");
    sprintf(request + n, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    for (int i = 0; i < 3; i++) {
        const int fd = dial();
        assert_true(say(fd, request));
        assert_true(hear_all(fd));
        assert_non_null(strstr(reply, "hello"));
        close(fd);
    }
    expect_hello();
    fr_http_close(http);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(silent_connections_make_room),
                                       cmocka_unit_test(who_waits_for_an_answer_stays),
                                       cmocka_unit_test(a_request_comes_in_time_or_never),
                                       cmocka_unit_test(a_long_answer_is_not_silence),
                                       cmocka_unit_test(kept_connections_ask_again),
                                       cmocka_unit_test(who_retires_ends_connections),
                                       cmocka_unit_test(who_does_not_read_ends),
                                       cmocka_unit_test(an_address_may_have_a_limit),
                                       cmocka_unit_test(what_cannot_be_written_is_said_whole),
                                       cmocka_unit_test(every_address_of_both_kinds_is_listened_on),
                                       cmocka_unit_test(a_named_proxy_says_the_client),
                                       cmocka_unit_test(paths_may_be_empty),
                                       cmocka_unit_test(many_arguments_leave_nothing)};
    return cmocka_run_group_tests_name("serve/http", tests, NULL, NULL);
}
