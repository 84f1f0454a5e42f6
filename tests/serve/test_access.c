// What is answered: names of the server, white space around values, and Unix sockets.
#define _GNU_SOURCE
#include "client.h"
#include "serve/exchange.h"
#include "serve/host.h"
#include "serve/server.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static fr_http *http;
static char reply[4096], peer[64], folder[] = "access_XXXXXX";

// ---------------------------------------------------------------- a server and a client

static void hello(fr_exchange *x, void *user) {
    (void)user;
    snprintf(peer, sizeof peer, "%s", fr_exchange_peer(x));
    fr_exchange_reply(x, 200, "text/plain", "hello", 5);
}

static const fr_http_route routes[] = {{"GET", "/", hello, true},
                                       {"GET", "/private", hello, false},
                                       {"POST", "/", hello, true},
                                       {.method = 0}};
static const char *const keys[] = {"k1", NULL};

static fr_status try_open(const char *host, const char *const *with, const char *allowed,
                          fr_error *err) {
    const fr_http_options o = {.host = host,
                               .routes = routes,
                               .keys = with,
                               .allowed_hosts = allowed,
                               .cors = "http://a.example",
                               .connections = 8,
                               .body_bytes = 1 << 20,
                               .request_seconds = 1000,
                               .idle_seconds = 100,
                               .error = client_refuse};
    return fr_http_open(&http, &o, err);
}

static void open_with(const char *host, const char *const *with, const char *allowed) {
    fr_error err;
    if (try_open(host, with, allowed, &err)) fail_msg("%s", err.text);
}

static int dial_path(const char *path) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (!connect(fd, (const struct sockaddr *)&to, sizeof to)) return fd;
    close(fd);
    return -1;
}

// Says bytes, hears to the end; the status. 0: none.
static int exchange_on(int fd, const char *bytes, size_t n) {
    assert_true(fd >= 0);
    assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), (int)n);
    return client_hear(fd, reply, sizeof reply);
}

static int exchange(const char *text) {
    return exchange_on(client_dial(http), text, strlen(text));
}

static void expect(const char *text, int status) {
    const int found = exchange(text);
    if (found != status) fail_msg("%s\nexpected %d, found '%s'", text, status, reply);
}

static void expect_host(const char *host, int status) {
    char text[512];
    snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host);
    expect(text, status);
}

// ---------------------------------------------------------------- names

static void names_that_no_page_can_have_are_answered(void **state) {
    (void)state;
    static const char *const known[] = {"127.0.0.1",     "127.0.0.1:8080", "192.168.7.9:1",
                                        "[::1]",         "[::1]:8080",     "[fe80::1%25eth0]:80",
                                        "localhost",     "LocalHost:8080", "localhost.",
                                        "localhost.:80", "a.b.localhost",  "a.localhost.:1",
                                        "box",           "BOX:80",         "box.",
                                        "in.example",    "localhost:",     "127.0.0.1.:8"};
    static const char *const strange[] = {
        "evil.example", "evil.example:8080", "localhost.evil.example",
        "xlocalhost",   ".localhost",        "127.0.0.1.evil.example",
        "1.2.3",        "0x7f000001",        "boxx",
        "bo",           "example",           "a.in.example",
        "a.sock"};
    static const char *const none[] = {"",      ":80",    "a b",        "a/b",   "u@localhost",
                                       "[::1",  "[::1]x", "::1",        "a:1:2", "localhost:x",
                                       "[a.b]", "a,b",    "[127.0.0.1]"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (fr_host_status(known[i], "127.0.0.1, box,::1,a.sock", "in.example"))
            fail_msg("%s", known[i]);
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
        if (fr_host_status(strange[i], "127.0.0.1, box,::1,a.sock", "in.example") != 403)
            fail_msg("%s", strange[i]);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (fr_host_status(none[i], "127.0.0.1", "*") != 400) fail_msg("%s", none[i]);
    assert_int_equal(fr_host_status("evil.example", NULL, "a, *"), 0);
}

static void allowed_names_are_names(void **state) {
    (void)state;
    static const char *const bad[] = {"a:80", "http://a", "a/b", "a,b c@d", "[::1]:80"};
    fr_error err;
    assert_int_equal(fr_host_check_list("a.example, B, *,[::1]", &err), FR_OK);
    assert_int_equal(fr_host_check_list(NULL, &err), FR_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(try_open("127.0.0.1", NULL, bad[i], &err), FR_EARG);
}

static void without_a_key_strange_names_are_refused(void **state) {
    (void)state;
    open_with("127.0.0.1", NULL, "in.example");
    expect_host("127.0.0.1", 200);
    expect_host(" localhost\t ", 200);
    expect_host("In.Example.:80", 200);
    expect_host("evil.example", 403);
    assert_non_null(strstr(reply, "--allow-host"));
    expect_host("a b", 400);
    expect_host("", 400);
    expect("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", 400);
    expect("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400);
    expect("GET /none HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 403);
    expect("OPTIONS / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 403);
    // As checks of proxies ask.
    expect("GET / HTTP/1.0\r\n\r\n", 200);
    expect("GET / HTTP/1.0\r\nHost: evil.example\r\n\r\n", 403);
    fr_http_close(http);
}

// Whatever Host says besides.
static void a_target_may_name_the_server(void **state) {
    (void)state;
    open_with("127.0.0.1", NULL, NULL);
#define NAMED(target, host) "GET " target " HTTP/1.1\r\nHost: " host "\r\nConnection: close\r\n\r\n"
    expect(NAMED("http://localhost/", "evil.example"), 200);
    expect(NAMED("HTTPS://[::1]:9/?a=b", "evil.example"), 200);
    expect(NAMED("http://127.0.0.1", "localhost"), 200);
    expect(NAMED("http://evil.example/", "localhost"), 403);
    expect(NAMED("https://evil.example", "localhost"), 403);
    expect(NAMED("http://localhost@evil.example/", "localhost"), 400);
    expect(NAMED("http:///", "localhost"), 400);
    expect("GET http://localhost/ HTTP/1.1\r\nConnection: close\r\n\r\n", 400);
    fr_http_close(http);
}

static void with_a_key_names_count_where_they_are_given(void **state) {
    (void)state;
    open_with("127.0.0.1", keys, NULL);
    expect_host("any.example", 200);
    expect_host("a b", 400);
    fr_http_close(http);
    open_with("127.0.0.1", keys, "in.example");
    expect_host("in.example", 200);
    expect_host("any.example", 403);
    fr_http_close(http);
}

static void a_server_knows_whether_other_machines_reach_it(void **state) {
    (void)state;
    static const struct {
        const char *host;
        bool is_local;
    } all[] = {{"127.0.0.1", true}, {"127.8.8.8,127.0.0.1", true}, {"0.0.0.0", false}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        open_with(all[i].host, NULL, NULL);
        assert_int_equal(fr_http_is_local(http), all[i].is_local);
        fr_http_close(http);
    }
}

// ---------------------------------------------------------------- values

static void white_space_is_no_part_of_a_value(void **state) {
    (void)state;
    static const char *const good[] = {"Authorization: Bearer k1 ",
                                       "Authorization:\t Bearer k1\t ",
                                       "Authorization: bEaReR   k1 ",
                                       "X-Api-Key: k1 \t",
                                       "X-Api-Key:k1",
                                       "authorization:Bearer k1"};
    static const char *const bad[] = {"Authorization: Bearer k1 k1", "Authorization: Bearerk1",
                                      "X-Api-Key: k 1", "X-Api-Key: ", "Authorization: Bearer "};
    char text[512];
    open_with("127.0.0.1", keys, NULL);
#define PRIVATE "GET /private HTTP/1.1\r\nHost: localhost \r\nConnection: close \r\n%s\r\n\r\n"
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(text, sizeof text, PRIVATE, good[i]);
        expect(text, 200);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, PRIVATE, bad[i]);
        expect(text, 401);
    }
    expect("GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://a.example \r\nConnection: "
           "close\r\n\r\n",
           200);
    assert_non_null(strstr(reply, "Access-Control-Allow-Origin: http://a.example\r\n"));
    fr_http_close(http);
}

// ---------------------------------------------------------------- Unix sockets

#define ASK "GET / HTTP/1.1\r\nHost: any.example\r\nConnection: close\r\n\r\n"

static void at(char path[128], const char *name) {
    snprintf(path, 128, "%s/%s", folder, name);
}

static void expect_answer(const char *path) {
    char user[64];
    snprintf(user, sizeof user, "unix:%u", geteuid());
    assert_int_equal(exchange_on(dial_path(path), ASK, sizeof ASK - 1), 200);
    assert_string_equal(peer, user);
}

static void a_socket_is_its_owners_and_goes(void **state) {
    (void)state;
    char path[128], host[256];
    struct stat is;
    at(path, "a");
    snprintf(host, sizeof host, "unix:%s", path);
    open_with(host, NULL, NULL);
    assert_int_equal(lstat(path, &is), 0);
    assert_int_equal(is.st_mode, S_IFSOCK | 0600);
    assert_int_equal(fr_http_port(http), 0);
    assert_true(fr_http_is_local(http));
    expect_answer(path);
    fr_http_close(http);
    assert_int_equal(lstat(path, &is), -1);
}

static void a_socket_and_an_address_go_together(void **state) {
    (void)state;
    char path[128], host[256];
    struct stat is;
    at(path, "b.sock");
    snprintf(host, sizeof host, "%s,127.0.0.1", path);
    open_with(host, NULL, NULL);
    expect_answer(path);
    expect_host("127.0.0.1", 200);
    assert_string_equal(peer, "127.0.0.1");
    expect_host("any.example", 403);
    fr_http_stop_listening(http);
    assert_int_equal(lstat(path, &is), -1);
    fr_http_close(http);
}

static void only_a_socket_that_is_left_over_is_replaced(void **state) {
    (void)state;
    char path[128], host[256];
    fr_error err;
    at(path, "c.sock");
    struct sockaddr_un old = {.sun_family = AF_UNIX};
    snprintf(old.sun_path, sizeof old.sun_path, "%s", path);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(!bind(fd, (const struct sockaddr *)&old, sizeof old) && !listen(fd, 1));
    assert_int_equal(try_open(path, NULL, NULL, &err), FR_EIO);
    assert_non_null(strstr(err.text, "listens"));
    close(fd);
    open_with(path, NULL, NULL);
    expect_answer(path);
    fr_http *first = http;
    assert_int_equal(try_open(path, NULL, NULL, &err), FR_EIO);
    expect_answer(path);
    // What has taken its place stays.
    unlink(path);
    FILE *f = fopen(path, "w");
    fclose(f);
    fr_http_close(first);
    assert_int_equal(access(path, F_OK), 0);
    snprintf(host, sizeof host, "unix:%s", path);
    assert_int_equal(try_open(host, NULL, NULL, &err), FR_EIO);
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
}

// As any user can lock /tmp.
static void a_folder_that_stays_locked_is_no_obstacle(void **state) {
    (void)state;
    char path[128];
    const int locked = open(folder, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(locked, LOCK_EX), 0);
    at(path, "d.sock");
    alarm(60); // else it waits for ever
    open_with(path, NULL, NULL);
    alarm(0);
    close(locked);
    expect_answer(path);
    fr_http_close(http);
}

static void a_path_fits_or_is_refused(void **state) {
    (void)state;
    char host[256];
    fr_error err;
    snprintf(host, sizeof host, "unix:%s/%0120d", folder, 0);
    assert_int_equal(try_open(host, NULL, NULL, &err), FR_EARG);
    assert_int_equal(try_open("unix:", NULL, NULL, &err), FR_EARG);
    snprintf(host, sizeof host, "unix:%s/none/a", folder);
    assert_int_equal(try_open(host, NULL, NULL, &err), FR_EIO);
}

static int make_folder(void **state) {
    (void)state;
    return !mkdtemp(folder);
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_no_page_can_have_are_answered),
        cmocka_unit_test(allowed_names_are_names),
        cmocka_unit_test(without_a_key_strange_names_are_refused),
        cmocka_unit_test(a_target_may_name_the_server),
        cmocka_unit_test(with_a_key_names_count_where_they_are_given),
        cmocka_unit_test(a_server_knows_whether_other_machines_reach_it),
        cmocka_unit_test(white_space_is_no_part_of_a_value),
        cmocka_unit_test(a_socket_is_its_owners_and_goes),
        cmocka_unit_test(a_socket_and_an_address_go_together),
        cmocka_unit_test(only_a_socket_that_is_left_over_is_replaced),
        cmocka_unit_test(a_folder_that_stays_locked_is_no_obstacle),
        cmocka_unit_test(a_path_fits_or_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
