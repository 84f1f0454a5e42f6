// What becomes of text whose matching is given up: cut anywhere between two characters, and none of
// it lost. The limit of steps is the state's own, so presplit.c is a part of this test.
#include "text/presplit.c"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { BYTES = 3 * GIVEN_UP };

typedef struct collected {
    char text[BYTES];
    size_t n;
    int words;
    size_t longest;
} collected;

static fr_status collect(void *user, const char *word, size_t bytes, fr_error *err) {
    collected *c = user;
    (void)err;
    assert_true(bytes > 0 && c->n + bytes <= BYTES);
    if (bytes > c->longest) c->longest = bytes;
    assert_true(begins_character(word[0]));
    memcpy(c->text + c->n, word, bytes);
    c->n += bytes;
    c->words++;
    return FR_OK;
}

// A run of one character, `shift` letters behind the beginning.
static size_t run_of(char *text, const char *character, int shift) {
    const size_t width = strlen(character);
    size_t n = (size_t)shift;
    memset(text, 'a', n);
    for (; n + width <= BYTES - 1; n += width)
        memcpy(text + n, character, width);
    return n;
}

// Families whose expressions take such runs step by step. Those of others take some in one.
static bool takes_steps(const char *names) {
    static const char *const these[] = {"gpt-2 ", "smollm ", "qwen2 ", "llama3 ",
                                        "dbrx ",  "tekken",  "gpt-4o", "default"};
    for (size_t i = 0; i < sizeof these / sizeof *these; i++)
        if (!strncmp(names, these[i], strlen(these[i]))) return true;
    return false;
}

static void text_that_is_given_up_is_whole(void **state) {
    (void)state;
    static const char *const characters[] = {"b", "\u00E9", "\u4E2D", "\U00020000"};
    char *text = malloc(BYTES);
    collected *c = malloc(sizeof *c);
    assert_true(text && c);
    for (size_t f = 0; f < fr_n_word_families; f++) {
        const char *name = fr_word_families[f].names;
        fr_presplit *p;
        fr_presplit_state *s;
        assert_int_equal(fr_presplit_open(&p, name, strcspn(name, " "), NULL), FR_OK);
        assert_int_equal(fr_presplit_state_open(&s, p, NULL), FR_OK);
        pcre2_set_match_limit(s->limits, 1);
        for (size_t i = 0; i < sizeof characters / sizeof *characters; i++)
            for (int shift = 0; shift < 4; shift++) {
                const size_t n = run_of(text, characters[i], shift);
                *c = (collected){.n = 0};
                assert_int_equal(fr_presplit_run(p, s, text, n, collect, c, NULL), FR_OK);
                assert_int_equal(c->n, n);
                assert_memory_equal(c->text, text, n);
                if (!takes_steps(name)) continue;
                assert_true(c->words >= 3); // letters alone would be one word
                assert_true(c->longest < GIVEN_UP + 4);
            }
        fr_presplit_state_close(s);
        fr_presplit_close(p);
    }
    free(text);
    free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(text_that_is_given_up_is_whole)};
    return cmocka_run_group_tests_name("text.presplit_limit", tests, NULL, NULL);
}
