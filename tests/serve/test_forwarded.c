// The client of a request that comes through proxies: only named ones are believed, each for the
// address that asked it.
#include "serve/forwarded.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_client_is_the_last_address_that_is_no_proxy(void **state) {
    static const struct {
        const char *proxies, *peer, *header, *client;
    } cases[] = {
        {NULL, "1.2.3.4", NULL, "1.2.3.4"},
        {NULL, "1.2.3.4", "5.6.7.8", "1.2.3.4"},       // no proxy is believed
        {"10.0.0.1", "1.2.3.4", "5.6.7.8", "1.2.3.4"}, // ... nor one that is not named
        {"10.0.0.1", "10.0.0.1", "5.6.7.8", "5.6.7.8"},
        {"10.0.0.1", "10.0.0.1", NULL, "10.0.0.1"},
        {"10.0.0.1", "10.0.0.1", "", "10.0.0.1"},
        // What the client itself said stands before what the proxy added.
        {"10.0.0.1", "10.0.0.1", "9.9.9.9, 5.6.7.8", "5.6.7.8"},
        {"10.0.0.1", "10.0.0.1", "10.0.0.1,5.6.7.8", "5.6.7.8"},
        {"10.0.0.1, 10.0.0.2", "10.0.0.1", "9.9.9.9, 5.6.7.8 ,10.0.0.2", "5.6.7.8"},
        {"10.0.0.1", "10.0.0.1", "5.6.7.8,10.0.0.2", "10.0.0.2"},
        {"10.0.0.0/8", "10.9.8.7", "5.6.7.8,10.1.2.3", "5.6.7.8"},
        {"10.0.0.0/8", "11.0.0.0", "5.6.7.8", "11.0.0.0"},
        {"10.128.0.0/9", "10.127.0.0", "5.6.7.8", "10.127.0.0"},
        {"0.0.0.0/0", "10.9.8.7", "5.6.7.8", "5.6.7.8"}, // all are proxies: the first that there is
        {"10.0.0.1", "::ffff:10.0.0.1", "5.6.7.8", "5.6.7.8"},
        {"10.0.0.1", "10.0.0.1", "5.6.7.8:1234", "5.6.7.8"},
        {"10.0.0.1", "10.0.0.1", "[2001:db8:1:2::3]:80", "2001:db8:1:2::/64"},
        {"::1", "::1", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
        {"fd00::/8", "fd12::1", "::ffff:1.2.3.4", "1.2.3.4"},
        // What stands before a word that is no address is not believed.
        {"10.0.0.1", "10.0.0.1", "5.6.7.8, unknown", "10.0.0.1"},
        {"10.0.0.1", "10.0.0.1", "5.6.7.8,", "10.0.0.1"},
        {"10.0.0.1", "10.0.0.1", "5.6.7.8, unknown, 10.0.0.1", "10.0.0.1"},
        {"unix", "unix", "5.6.7.8", "5.6.7.8"},
        {"unix", "1.2.3.4", "5.6.7.8", "1.2.3.4"},
        {"10.0.0.1", "unix", "5.6.7.8", "unix"},
        {NULL, "", NULL, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[FR_CLIENT_NAME];
        fr_forwarded_client(name, cases[i].proxies, cases[i].peer, cases[i].header);
        assert_string_equal(name, cases[i].client);
    }
}

static void a_long_header_is_no_harm(void **state) {
    static char header[4096];
    char name[FR_CLIENT_NAME];
    (void)state;
    for (size_t i = 0; i + 1 < sizeof header; i++)
        header[i] = ':';
    fr_forwarded_client(name, "::1", "::1", header);
    assert_string_equal(name, "::/64");
}

static void lists_of_proxies_are_checked(void **state) {
    static const char *const right[] = {
        "1.2.3.4", "10.0.0.0/8, ::1 ,unix", "fd00::/8", "1.2.3.4/32", "::/0", "1.2.3.4,"};
    static const char *const wrong[] = {"proxy.example", "10.0.0.0/33", "fd00::/129",
                                        "10.0.0.0/",     "10.0.0/8",    "1.2.3.4 5.6.7.8",
                                        "10.0.0.0/8x",   ",",           "10.0.0.0/-1"};
    fr_error err;
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        assert_int_equal(fr_forwarded_check(right[i], &err), FR_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(fr_forwarded_check(wrong[i], &err), FR_EARG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_client_is_the_last_address_that_is_no_proxy),
        cmocka_unit_test(a_long_header_is_no_harm), cmocka_unit_test(lists_of_proxies_are_checked)};
    return cmocka_run_group_tests_name("serve/forwarded", tests, NULL, NULL);
}
