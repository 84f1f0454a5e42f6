// test_stream.c — whole characters out, however the bytes were cut. The expected texts are what
// Python's bytes.decode("utf-8", "replace") gives.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/damage.h"
#include "text/stream.h"

#define R "\xEF\xBF\xBD"

static const struct {
    const char *in, *out;
} cases[] = {
    {"", ""},
    {"plain", "plain"},
    {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x91\x8D", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x91\x8D"},
    {"a\xFF"
     "b",
     "a" R "b"},
    {"\x80\xBF", R R},
    {"\xC0\x80", R R},             // overlong
    {"\xC1\xBFx", R R "x"},        //
    {"\xE0\x80\x80", R R R},       // overlong: the second byte shows it
    {"\xE0\xA0", R},               // cut: one part
    {"\xE2\x82z", R "z"},          // broken after two bytes: one part
    {"\xED\xA0\x80", R R R},       // a surrogate
    {"\xF0\x80\x80\x80", R R R R}, // overlong
    {"\xF0\x9F\x91", R},           // cut
    {"\xF0\x9F\xF0\x9F\x91\x8D", R "\xF0\x9F\x91\x8D"},
    {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"}, // U+10FFFF
    {"\xF4\x90\x80\x80", R R R R},            // above it
    {"\xF5\x80", R R},                        //
    {"\xE2\xE2\x82\xE2\x82\xAC\xE2", R R "\xE2\x82\xAC" R},
    {"\xC3\xC3\xA9", R "\xC3\xA9"},
};

static void check_pieces(const char *in, const char *want, unsigned piece) {
    fr_stream s = {0};
    char out[256];
    size_t n = strlen(in), w = 0;
    for (size_t at = 0, take; at < n; at += take) {
        take = n - at < piece ? n - at : piece;
        w += fr_stream_push(&s, in + at, take, out + w);
    }
    w += fr_stream_finish(&s, out + w);
    assert_int_equal(w, strlen(want));
    assert_memory_equal(out, want, w);
    assert_int_equal(s.n_held, 0);
}

static void stream_replaces_one_maximal_part_by_one_character(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[256];
        size_t n = fr_utf8_repair(cases[i].in, strlen(cases[i].in), out);
        assert_int_equal(n, strlen(cases[i].out));
        assert_memory_equal(out, cases[i].out, n);
    }
}

static void stream_does_not_depend_on_the_cuts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned piece = 1; piece <= 5; piece++)
            check_pieces(cases[i].in, cases[i].out, piece);
}

static void stream_gives_a_character_as_soon_as_it_is_whole(void **state) {
    (void)state;
    fr_stream s = {0};
    char out[FR_STREAM_ROOM(2)];
    assert_int_equal(fr_stream_push(&s, "a\xE2", 2, out), 1);
    assert_int_equal(fr_stream_push(&s, "\x82", 1, out), 0);
    assert_int_equal(fr_stream_push(&s, "\xAC", 1, out), 3);
    assert_memory_equal(out, "\xE2\x82\xAC", 3);
    assert_int_equal(fr_stream_finish(&s, out), 0);
}

static void stream_of_random_bytes_equals_repair(void **state) {
    (void)state;
    const unsigned seed = 20240611;
    printf("seed %u\n", seed);
    srand(seed);
    static const uint8_t likely[] = {0x00, 'a',  0x80, 0xBF, 0x9F, 0xA0, 0xC2,
                                     0xE0, 0xE2, 0xED, 0xF0, 0xF4, 0xFF};
    for (int round = 0; round < 20000; round++) {
        uint8_t in[24];
        char whole[sizeof in * 3], out[FR_STREAM_ROOM(sizeof in) + 3];
        size_t n = (size_t)rand() % sizeof in, w = 0;
        for (size_t i = 0; i < n; i++)
            in[i] = likely[(size_t)rand() % sizeof likely];
        size_t want = fr_utf8_repair(in, n, whole);
        fr_stream s = {0};
        for (size_t at = 0, take; at < n; at += take) {
            take = (size_t)rand() % (n - at + 1);
            size_t got = fr_stream_push(&s, in + at, take, out + w);
            assert_true(got <= FR_STREAM_ROOM(take));
            w += got;
        }
        w += fr_stream_finish(&s, out + w);
        assert_int_equal(w, want);
        assert_memory_equal(out, whole, w);
    }
}

static void the_check_of_a_stream_finds_damage(void **state) {
    (void)state;
    char out[FR_STREAM_ROOM(2)];
    fr_stream s = {0};
    assert_true(fr_stream_is_sound(&s));
    assert_int_equal(fr_stream_push(&s, "\xE2\x82", 2, out), 0); // two of three bytes
    assert_noticed(s.n_held, -1, fr_stream_is_sound(&s));
    assert_noticed(s.n_held, 4, fr_stream_is_sound(&s));
    assert_noticed(s.held[0], 'a', fr_stream_is_sound(&s));
    assert_noticed(s.held[1], 0xE2, fr_stream_is_sound(&s));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_replaces_one_maximal_part_by_one_character),
        cmocka_unit_test(stream_does_not_depend_on_the_cuts),
        cmocka_unit_test(stream_gives_a_character_as_soon_as_it_is_whole),
        cmocka_unit_test(stream_of_random_bytes_equals_repair),
        cmocka_unit_test(the_check_of_a_stream_finds_damage),
    };
    return cmocka_run_group_tests_name("text.stream", tests, NULL, NULL);
}
