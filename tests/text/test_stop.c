// test_stop.c — the text ends exactly before the stop string that is complete first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/stop.h"

// Pushes `text` in pieces of `piece` bytes; what came out, then '!' if it stopped, else what finish
// gives.
static void run(const char *const *strings, const char *text, size_t piece, char *out) {
    fr_stop *s;
    size_t n = strlen(text), w = 0, got;
    bool stopped = false;
    assert_int_equal(fr_stop_open(&s, strings, NULL), FR_OK);
    for (size_t at = 0, take; at < n && !stopped; at += take) {
        take = n - at < piece ? n - at : piece;
        stopped = fr_stop_push(s, text + at, take, out + w, &got);
        w += got;
    }
    if (stopped) {
        assert_true(fr_stop_push(s, "more", 4, out + w, &got));
        assert_int_equal(got, 0);
        assert_int_equal(fr_stop_finish(s, out + w), 0);
        out[w++] = '!';
    } else {
        w += fr_stop_finish(s, out + w);
    }
    out[w] = 0;
    fr_stop_close(s);
}

#define STRINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void check(const char *const *strings, const char *text, const char *want) {
    for (size_t piece = 1; piece <= strlen(text) + 1; piece++) {
        char out[256];
        run(strings, text, piece, out);
        assert_string_equal(out, want);
    }
}

static void stop_cuts_before_the_string(void **state) {
    (void)state;
    check(STRINGS("END"), "some text END and more", "some text !");
    check(STRINGS("END"), "ENDless", "!");
    check(STRINGS("END"), "EN, EEND", "EN, E!");
    check(STRINGS("END"), "never EN", "never EN");
    check(STRINGS("aab"), "aaaab", "aa!");
    check(STRINGS("abab"), "ababab", "!");
    check(STRINGS("\n\n"), "a\nb\n\nc", "a\nb!");
    check(STRINGS("abcabd"), "abcabcabd", "abc!");
}

static void stop_takes_the_first_complete_string(void **state) {
    (void)state;
    check(STRINGS("xyz", "b"), "axbyz", "ax!");
    check(STRINGS("bc", "abcd"), "zabcd", "za!"); // "bc" is complete before "abcd"
    check(STRINGS("c", "abc"), "zabc", "z!");     // both end at once: the longer
    check(STRINGS("abc", "c"), "zabc", "z!");
    check(STRINGS("</s>", "<|end|>"), "a<|end</s>", "a<|end!");
}

static void stop_tells_which_string_it_was(void **state) {
    (void)state;
    static const char *const strings[] = {"b", "cd", "xcd", NULL};
    char out[64];
    size_t got;
    fr_stop *s;
    assert_int_equal(fr_stop_open(&s, strings, NULL), FR_OK);
    assert_int_equal(fr_stop_found(s), -1);
    assert_false(fr_stop_push(s, "xc", 2, out, &got));
    assert_int_equal(fr_stop_found(s), -1);
    assert_true(fr_stop_push(s, "db", 2, out, &got));
    assert_int_equal(fr_stop_found(s), 2); // the longer of two
    fr_stop_reset(s);
    assert_int_equal(fr_stop_found(s), -1);
    assert_true(fr_stop_push(s, "acd", 3, out, &got));
    assert_int_equal(fr_stop_found(s), 1);
    fr_stop_close(s);
}

static void stop_without_strings_holds_nothing(void **state) {
    (void)state;
    check((const char *const[]){NULL}, "text", "text");
    check(NULL, "text", "text");
}

static void stop_holds_only_what_may_become_one(void **state) {
    (void)state;
    fr_stop *s;
    char out[64];
    size_t got;
    assert_int_equal(fr_stop_open(&s, STRINGS("stop"), NULL), FR_OK);
    assert_false(fr_stop_push(s, "non", 3, out, &got));
    assert_int_equal(got, 3);
    assert_false(fr_stop_push(s, "sto", 3, out, &got));
    assert_int_equal(got, 0);
    assert_false(fr_stop_push(s, "n", 1, out, &got));
    assert_int_equal(got, 4);
    assert_memory_equal(out, "ston", 4);
    assert_false(fr_stop_push(s, "s", 1, out, &got));
    fr_stop_reset(s);
    assert_int_equal(fr_stop_finish(s, out), 0);
    fr_stop_close(s);
}

static void stop_refuses_an_empty_string(void **state) {
    (void)state;
    fr_stop *s;
    fr_error err;
    assert_int_equal(fr_stop_open(&s, STRINGS("a", ""), &err), FR_EARG);
    assert_null(s);
    assert_non_null(strstr(err.text, "stop string 2"));
    fr_stop_close(NULL);
}

// The definition, slowly: the first end of any string, and the longest string that ends there.
static size_t naive_cut(const char *const *strings, const char *text) {
    for (size_t end = 1; end <= strlen(text); end++) {
        size_t best = 0;
        for (size_t i = 0; strings[i]; i++) {
            size_t n = strlen(strings[i]);
            if (n <= end && n > best && memcmp(text + end - n, strings[i], n) == 0) best = n;
        }
        if (best) return end - best;
    }
    return SIZE_MAX;
}

static void stop_equals_its_definition_on_random_texts(void **state) {
    (void)state;
    const unsigned seed = 7321;
    printf("seed %u\n", seed);
    srand(seed);
    for (int round = 0; round < 5000; round++) {
        char strings[3][8] = {""}, text[40] = "", want[64], out[256];
        const char *list[4] = {strings[0], strings[1], strings[2], NULL};
        for (int i = 0; i < 3; i++)
            for (int k = 0, n = 1 + rand() % 6; k < n; k++)
                strings[i][k] = "ab"[rand() % 2];
        for (int k = 0, n = rand() % 39; k < n; k++)
            text[k] = "abc"[rand() % 3];
        size_t cut = naive_cut(list, text);
        if (cut == SIZE_MAX)
            snprintf(want, sizeof want, "%s", text);
        else
            snprintf(want, sizeof want, "%.*s!", (int)cut, text);
        run(list, text, 1 + (size_t)rand() % 8, out);
        assert_string_equal(out, want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stop_cuts_before_the_string),
        cmocka_unit_test(stop_takes_the_first_complete_string),
        cmocka_unit_test(stop_tells_which_string_it_was),
        cmocka_unit_test(stop_without_strings_holds_nothing),
        cmocka_unit_test(stop_holds_only_what_may_become_one),
        cmocka_unit_test(stop_refuses_an_empty_string),
        cmocka_unit_test(stop_equals_its_definition_on_random_texts),
    };
    return cmocka_run_group_tests_name("text.stop", tests, NULL, NULL);
}
