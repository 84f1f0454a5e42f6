// test_presplit.c — the words of every family.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "text/families.h"
#include "text/presplit.h"

typedef struct words { // joined by \1
    char text[1024];
    size_t n;
} words;

static fr_status add_word(void *user, const char *word, size_t bytes, fr_error *err) {
    words *w = user;
    (void)err;
    assert_true(bytes > 0 && w->n + bytes + 2 < sizeof w->text);
    if (w->n) w->text[w->n++] = 1;
    memcpy(w->text + w->n, word, bytes);
    w->n += bytes;
    w->text[w->n] = 0;
    return FR_OK;
}

static void check(const char *family, const char *joined) {
    fr_presplit *p;
    fr_presplit_state *s;
    char text[1024];
    size_t n = 0;
    words w = {.n = 0};
    for (const char *c = joined; *c; c++)
        if (*c != 1) text[n++] = *c;
    assert_int_equal(fr_presplit_open(&p, family, strlen(family), NULL), FR_OK);
    assert_int_equal(fr_presplit_state_open(&s, p, NULL), FR_OK);
    assert_int_equal(fr_presplit_run(p, s, text, n, add_word, &w, NULL), FR_OK);
    assert_string_equal(w.text, joined);
    fr_presplit_state_close(s);
    fr_presplit_close(p);
}

static const struct {
    const char *family, *joined;
} recorded[] = {
#include "presplit_words.inc"
};

static void words_equal_those_recorded(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof recorded / sizeof recorded[0]; i++)
        check(recorded[i].family, recorded[i].joined);
}

// By hand, from its four expressions: punctuation alone, words, runs of digits, threes of ASCII
// digits.
static void default_family_cuts_four_times(void **state) {
    (void)state;
    check("default", "abc\001123\001456\001!");
    check("default", "a\001,\001 b\001...\001 \001123\0014");
    check("default", "x\001+=\001y\001\n\001z");
}

static void aliases_are_the_same_family(void **state) {
    (void)state;
    static const char *const same[][2] = {
        {"gpt2", "a\1 12"},
        {"llama3", "123\1"
                   "4"},
        {"llama-v3", "123\1"
                     "4"},
        {"starcoder", "a\1"
                      "1\1"
                      "2"},
        {"stablelm2", "1\1"
                      "2"},
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        check(same[i][0], same[i][1]);
}

static void an_unknown_family_is_refused_by_name(void **state) {
    (void)state;
    fr_presplit *p;
    fr_error err;
    assert_int_equal(fr_presplit_open(&p, "qwen2x", 6, &err), FR_EUNSUP);
    assert_null(p);
    assert_non_null(strstr(err.text, "tokenizer.ggml.pre"));
    assert_non_null(strstr(err.text, "'qwen2x'"));
    assert_int_equal(fr_presplit_open(&p, "qwen", 4, &err), FR_EUNSUP); // no beginnings of names
    assert_int_equal(fr_presplit_open(&p, "", 0, &err), FR_EUNSUP);
    assert_int_equal(fr_presplit_open(&p, "gpt2 phi-2", 10, &err), FR_EUNSUP);
}

static fr_status count_bytes(void *user, const char *word, size_t bytes, fr_error *err) {
    (void)word, (void)err;
    *(size_t *)user += bytes;
    return FR_OK;
}

static void check_whole(const char *text, size_t bytes) {
    for (size_t f = 0; f < fr_n_word_families; f++) {
        fr_presplit *p;
        fr_presplit_state *s;
        const char *name = fr_word_families[f].names;
        size_t total = 0;
        assert_int_equal(fr_presplit_open(&p, name, strcspn(name, " "), NULL), FR_OK);
        assert_int_equal(fr_presplit_state_open(&s, p, NULL), FR_OK);
        assert_int_equal(fr_presplit_run(p, s, text, bytes, count_bytes, &total, NULL), FR_OK);
        assert_int_equal(total, bytes);
        fr_presplit_state_close(s);
        fr_presplit_close(p);
    }
}

// Text made to let expressions go back and forth: every byte lies in a word. Ends differ, because
// an expression may cut off the one, and leave the next a run without its end.
static void long_runs_are_split_without_loss(void **state) {
    (void)state;
    static const char *const units[] = {" ",  "\n ",          "A",   "a",         "1",  "'",
                                        "-",  "\xE4\xB8\xAD", " \t", "A\xCC\x81", "a ", "\xCC\x81",
                                        "1a", "-\n"};
    static const char *const ends[] = {"x", "1", "\xE4\xB8\xAD"};
    enum { N = 1 << 16 };
    char *text = malloc(N + 8);
    assert_non_null(text);
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++)
        for (size_t e = 0; e < sizeof ends / sizeof ends[0]; e++) {
            const size_t unit = strlen(units[u]), end = strlen(ends[e]);
            size_t n = 0;
            for (; n < N; n += unit)
                memcpy(text + n, units[u], unit);
            memcpy(text + n, ends[e], end);
            check_whole(text, n + end);
        }
    free(text);
}

static fr_status refuse_word(void *user, const char *word, size_t bytes, fr_error *err) {
    (void)user, (void)word, (void)bytes;
    return fr_fail(err, FR_ENOMEM, "no more");
}

static void an_error_of_the_receiver_comes_back(void **state) {
    (void)state;
    fr_presplit *p;
    fr_presplit_state *s;
    assert_int_equal(fr_presplit_open(&p, "smollm", 6, NULL), FR_OK);
    assert_int_equal(fr_presplit_state_open(&s, p, NULL), FR_OK);
    assert_int_equal(fr_presplit_run(p, s, "a 1", 3, refuse_word, NULL, NULL), FR_ENOMEM);
    fr_presplit_state_close(s);
    fr_presplit_close(p);
    fr_presplit_state_close(NULL);
    fr_presplit_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_equal_those_recorded),
        cmocka_unit_test(default_family_cuts_four_times),
        cmocka_unit_test(aliases_are_the_same_family),
        cmocka_unit_test(an_unknown_family_is_refused_by_name),
        cmocka_unit_test(long_runs_are_split_without_loss),
        cmocka_unit_test(an_error_of_the_receiver_comes_back),
    };
    return cmocka_run_group_tests_name("text.presplit", tests, NULL, NULL);
}
