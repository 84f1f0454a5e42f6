// What counts as a number, at every place of rows of every small length, and what is said of
// others.
#include "model/finite.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { LONGEST = 70 };

static void one_bad_number_is_found_anywhere(void **state) {
    (void)state;
    const float bad[] = {NAN, -NAN, INFINITY}, good[] = {0, -0.0f, FLT_MAX, -FLT_MAX, FLT_TRUE_MIN};
    float x[LONGEST];
    for (int n = 1; n <= LONGEST; n++)
        for (int at = 0; at < n; at++) {
            for (int i = 0; i < n; i++)
                x[i] = (float)(i - 20);
            for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
                x[at] = good[k];
                assert_true(fr_are_finite(x, n) && fr_are_logits(x, n));
            }
            for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
                x[at] = bad[k];
                assert_true(!fr_are_finite(x, n) && !fr_are_logits(x, n));
            }
            x[at] = -INFINITY; // a token that cannot come
            assert_false(fr_are_finite(x, n));
            assert_true(fr_are_logits(x, n) == (n > 1));
        }
}

static void a_row_of_tokens_that_cannot_come_is_none(void **state) {
    (void)state;
    float x[LONGEST];
    for (int i = 0; i < LONGEST; i++)
        x[i] = -INFINITY;
    assert_false(fr_are_logits(x, LONGEST));
    x[LONGEST - 1] = -3;
    assert_true(fr_are_logits(x, LONGEST));
}

static void expect(const float *x, int n, const char *sentence) {
    fr_error err = {0};
    assert_int_equal(fr_logits_refuse(x, n, 34, &err), FR_EDATA);
    assert_int_equal(err.code, FR_EDATA);
    if (!strstr(err.text, sentence)) fail_msg("expected \"%s\" in \"%s\"", sentence, err.text);
}

static void the_sentence_says_what_was_found(void **state) {
    (void)state;
    float x[3] = {1, NAN, INFINITY};
    expect(x, 3,
           "the model's logits behind 34 tokens are not finite (expected numbers, found NaN "
           "for token 1): the file is damaged or its weights overflow");
    x[1] = -INFINITY;
    expect(x, 3, "found inf for token 2)");
    x[0] = x[2] = -INFINITY;
    expect(x, 3, "found -inf for every token)");
    expect(NULL, 3, "found infinities or NaN in its last hidden state)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_bad_number_is_found_anywhere),
        cmocka_unit_test(a_row_of_tokens_that_cannot_come_is_none),
        cmocka_unit_test(the_sentence_says_what_was_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
