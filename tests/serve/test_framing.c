// Where a request ends: the bytes of its head, its length, its chunks. What a proxy could read
// otherwise is refused, and its connection ends.
#include "client.h"
#include <microhttpd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static fr_http *http;
static char reply[4096];

static void hello(fr_exchange *x, void *user) {
    (void)user;
    fr_exchange_reply(x, 200, "text/plain", "hello", 5);
}

static int open_server(void **state) {
    static const fr_http_route routes[] = {
        {"GET", "/", hello, true}, {"POST", "/", hello, true}, {.method = 0}};
    const fr_http_options o = {.host = "127.0.0.1",
                               .routes = routes,
                               .connections = 8,
                               .body_bytes = 1 << 20,
                               .request_seconds = 1000,
                               .idle_seconds = 100,
                               .error = client_refuse};
    fr_error err;
    (void)state;
    return fr_http_open(&http, &o, &err);
}

static int close_server(void **state) {
    (void)state;
    fr_http_close(http);
    return 0;
}

#define NEXT "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

// A request with one more after it: the status of the first, which is all that is answered.
static void expect_alone(const char *request, size_t n, int status) {
    char text[512];
    const int fd = client_dial(http);
    memcpy(text, request, n);
    memcpy(text + n, NEXT, sizeof NEXT - 1);
    n += sizeof NEXT - 1;
    assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), (int)n);
    const int found = client_hear(fd, reply, sizeof reply);
    if (found != status || strstr(reply + 1, "HTTP/1.1 200"))
        fail_msg("%s\nexpected %d alone, found '%s'", request, status, reply);
}

static void expect_hello(void) {
    const int fd = client_dial(http);
    assert_int_equal(send(fd, NEXT, sizeof NEXT - 1, MSG_NOSIGNAL), (int)sizeof NEXT - 1);
    assert_int_equal(client_hear(fd, reply, sizeof reply), 200);
    assert_non_null(strstr(reply, "hello"));
}

#define HEAD "POST / HTTP/1.1\r\nHost: localhost\r\n"

// By another reading of its headers "12345" or what follows would be a request of its own.
static void a_request_ends_in_one_place(void **state) {
    (void)state;
    static const struct {
        const char *headers;
        int status;
    } bad[] = {{"Content-Length: 0\r\nContent-Length: 5", 400},
               {"Content-Length: 5\r\nContent-Length: 5", 400},
               {"Content-Length: 5\r\nTransfer-Encoding: chunked", 400},
               {"Content-Length : 5", 400},
               {"Transfer-Encoding : chunked", 400},
               {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400},
               {"Transfer-Encoding: gzip", 501},
               {"Transfer-Encoding: gzip, chunked", 501},
               {"Transfer-Encoding: identity", 501},
               {"Transfer-Encoding: chunked;q=1", 501}};
    static const char old[] =
        "POST / HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    char request[256];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const int n = snprintf(request, sizeof request, HEAD "%s\r\n\r\n", bad[i].headers);
        expect_alone(request, (size_t)n, bad[i].status);
    }
    expect_alone(old, sizeof old - 1, 400);
    expect_hello();
}

static void bytes_that_no_head_has_end_the_connection(void **state) {
    (void)state;
#define BYTES(text)                                                                                \
    { text, sizeof text - 1 }
    static const struct {
        const char *text;
        size_t n;
    } bad[] = {
        BYTES(HEAD "Content-Length: 5\0 9\r\n\r\n12345"),
        BYTES(HEAD "Transfer-Encoding: chunked\0, gzip\r\n\r\n0\r\n\r\n"),
        BYTES(HEAD "Transfer-Encoding: chunked\0\r\n\r\n0\r\n\r\n"),
        BYTES(HEAD "X: a\rTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n12345"),
        BYTES(HEAD "X: a\r\r\nContent-Length: 5\r\n\r\n12345"),
        BYTES(HEAD "X: a\0b\r\nContent-Length: 5\r\n\r\n12345"),
        BYTES(HEAD "X\0Y: a\r\nContent-Length: 5\r\n\r\n12345"),
        BYTES(HEAD "X: \0Content-Length: 5\r\n\r\n"),
        BYTES(HEAD "X: a\r\n\0Y: b\r\nContent-Length: 5\r\n\r\n12345"),
        BYTES(HEAD "\0X: a\r\nContent-Length: 5\r\n\r\n12345"),
        BYTES(HEAD "X: a\x01\r\nContent-Length: 5\r\n\r\n12345"),
        BYTES(HEAD "X: a\x7f\r\nContent-Length: 5\r\n\r\n12345"),
        BYTES(HEAD "X\x80: a\r\nContent-Length: 5\r\n\r\n12345"),
        BYTES(HEAD "X: a\r\n Content-Length: 5\r\n\r\n"),
        BYTES(HEAD "X: a\r\n\tb\r\nContent-Length: 5\r\n\r\n12345"),
        BYTES(HEAD " X: a\r\nContent-Length: 5\r\n\r\n12345"),
        BYTES(HEAD "X : a\r\nContent-Length: 5\r\n\r\n12345"),
        BYTES(HEAD ": a\r\nContent-Length: 5\r\n\r\n12345"),
        BYTES(HEAD "no colon\r\nContent-Length: 5\r\n\r\n12345"),
        BYTES(HEAD "X: a\nContent-Length: 5\r\n\r\n12345"),
        BYTES(HEAD "Content-Length: 5\n\r\n12345"),
        BYTES(HEAD "Content-Length: 5\r\n\n12345"),
        BYTES("POST / HTTP/1.1\nHost: localhost\nContent-Length: 5\n\n12345"),
        BYTES("GET /\0x HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        BYTES("GET /?a\0b HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        BYTES("GET /\rx HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        BYTES("GET /\x1bx HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        BYTES("GET / a HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        BYTES("GET /\ta HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        BYTES("GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        BYTES("GE\0T / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        BYTES("GET /\0 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_alone(bad[i].text, bad[i].n, 400);
    expect_hello();
}

static void chunks_are_a_body(void **state) {
    (void)state;
    static const char text[] = HEAD "Transfer-Encoding: Chunked\r\nConnection: close\r\n\r\n"
                                    "5\r\n12345\r\n0\r\n\r\n";
    const int fd = client_dial(http);
    assert_int_equal(send(fd, text, sizeof text - 1, MSG_NOSIGNAL), (int)sizeof text - 1);
    assert_int_equal(client_hear(fd, reply, sizeof reply), 200);
    assert_non_null(strstr(reply, "hello"));
}

// Nothing that follows a body in chunks is a request, as its end may be seen elsewhere.
static void chunks_are_the_last_of_a_connection(void **state) {
    (void)state;
    static const char *const bodies[] = {"5;a=b\r\n12345\r\n0\r\n\r\n", "5\n12345\n0\n\n",
                                         "0\r\nX: a\r\n\r\n", "0\r\n\r\n"};
    char text[256];
    if (strncmp(MHD_get_version(), "0.", 2) != 0) skip();
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        const int n =
            snprintf(text, sizeof text, HEAD "Transfer-Encoding: chunked\r\n\r\n%s", bodies[i]);
        expect_alone(text, (size_t)n, 200);
    }
}

// Chunks until the server ends the connection; false: it has taken `most`.
static bool is_ended_within(int fd, int most) {
    enum { CHUNK = 64 << 10 };
    static char chunk[CHUNK + 16];
    const int head = snprintf(chunk, sizeof chunk, "%x\r\n", CHUNK);
    const size_t all = (size_t)head + CHUNK + 2;
    memset(chunk + head, 'x', CHUNK);
    memcpy(chunk + head + CHUNK, "\r\n", 2);
    for (int i = 0; i < most; i++)
        for (size_t at = 0; at < all;) {
            const ssize_t m = send(fd, chunk + at, all - at, MSG_NOSIGNAL);
            if (m <= 0) return true;
            at += (size_t)m;
        }
    return false;
}

// Of a body without a length, kept or not, no more is read than some times what a body may have.
static void a_body_without_end_is_not_read_for_ever(void **state) {
    (void)state;
    static const char *const methods[] = {"POST", "GET"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        char text[128];
        const int fd = client_dial(http);
        const int n = snprintf(
            text, sizeof text,
            "%s / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", methods[i]);
        assert_int_equal(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
        assert_true(is_ended_within(fd, 1024));
        close(fd);
    }
    expect_hello();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_request_ends_in_one_place),
                                       cmocka_unit_test(bytes_that_no_head_has_end_the_connection),
                                       cmocka_unit_test(chunks_are_a_body),
                                       cmocka_unit_test(chunks_are_the_last_of_a_connection),
                                       cmocka_unit_test(a_body_without_end_is_not_read_for_ever)};
    return cmocka_run_group_tests_name("serve/framing", tests, open_server, close_server);
}
