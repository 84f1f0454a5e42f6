// Ranks of true tokens: shares by hand, trees of a few nodes.
#include "cmd/accuracy/ranks.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void shares_are_of_all_places(void **state) {
    (void)state;
    fr_ranks r;
    assert_int_equal(fr_ranks_open(&r, 2, NULL), FR_OK);
    assert_true(isnan(fr_ranks_top(&r, 1, 1)));
    const int32_t guess[] = {7, 8, 9};
    r.prompt[0].places[0] = 3;
    fr_ranks_count(&r.prompt[0], 1, guess, 3, 7); // first
    fr_ranks_count(&r.prompt[0], 1, guess, 3, 9); // third
    fr_ranks_count(&r.prompt[0], 1, guess, 0, 9); // nothing guessed
    r.prompt[1].places[0] = 1;
    fr_ranks_count(&r.prompt[1], 1, guess, 2, 9); // not among them
    assert_int_equal(fr_ranks_places(&r, 1), 4);
    assert_int_equal(fr_ranks_guessed(&r, 1), 3);
    assert_true(fr_ranks_top(&r, 1, 1) == 0.25);
    assert_true(fr_ranks_top(&r, 1, 2) == 0.25);
    assert_true(fr_ranks_top(&r, 1, 3) == 0.5);
    assert_true(fr_ranks_top(&r, 1, FR_ACCURACY_RANKS) == 0.5);
    assert_int_equal(fr_ranks_places(&r, 2), 0);
    // Draws of two prompts: both the first, both the second.
    fr_interval i;
    assert_int_equal(fr_ranks_interval(&r, 1, 3, &i, NULL), FR_OK);
    assert_true(i.low == 0 && fabs(i.high - 2.0 / 3) < 1e-12);
    fr_ranks_close(&r);
}

static void only_the_first_ranks_count(void **state) {
    (void)state;
    fr_ranks r;
    int32_t guess[FR_ACCURACY_RANKS + 1];
    for (int i = 0; i <= FR_ACCURACY_RANKS; i++)
        guess[i] = i;
    assert_int_equal(fr_ranks_open(&r, 1, NULL), FR_OK);
    r.prompt[0].places[FR_DISTANCES - 1] = 2;
    fr_ranks_count(&r.prompt[0], FR_DISTANCES, guess, FR_ACCURACY_RANKS + 1, FR_ACCURACY_RANKS - 1);
    fr_ranks_count(&r.prompt[0], FR_DISTANCES, guess, FR_ACCURACY_RANKS + 1, FR_ACCURACY_RANKS);
    assert_true(fr_ranks_top(&r, FR_DISTANCES, FR_ACCURACY_RANKS) == 0.5);
    assert_true(fr_ranks_top(&r, FR_DISTANCES, FR_ACCURACY_RANKS - 1) == 0);
    fr_ranks_close(&r);
}

static void a_depth_of_a_tree_is_ranked_over_all_paths(void **state) {
    (void)state;
    static fr_tree t;
    int32_t guess[FR_ACCURACY_RANKS];
    fr_tree_begin(&t, 1, 64, 4);
    assert_int_equal(fr_ranks_of_tree(&t, 1, guess), 0);
    const int a = fr_tree_add(&t, 0, 10, 0.6f, 0), b = fr_tree_add(&t, 0, 11, 0.3f, 0);
    fr_tree_add(&t, a, 20, 0.2f, 0);
    fr_tree_add(&t, a, 21, 0.1f, 0);
    fr_tree_add(&t, b, 21, 0.25f, 0); // the same token once, at its best
    fr_tree_add(&t, b, 22, 0.2f, 0);  // as good as 20, later
    assert_int_equal(fr_ranks_of_tree(&t, 1, guess), 2);
    assert_true(guess[0] == 10 && guess[1] == 11);
    assert_int_equal(fr_ranks_of_tree(&t, 2, guess), 3);
    assert_true(guess[0] == 21 && guess[1] == 20 && guess[2] == 22);
    assert_int_equal(fr_ranks_of_tree(&t, 3, guess), 0);
    for (int i = 0; i < 2 * FR_ACCURACY_RANKS; i++)
        fr_tree_add(&t, a, 100 + i, 0.01f * (float)i, 0);
    assert_int_equal(fr_ranks_of_tree(&t, 2, guess), FR_ACCURACY_RANKS);
    assert_true(guess[0] == 21 || guess[0] == 100 + 2 * FR_ACCURACY_RANKS - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_of_all_places),
        cmocka_unit_test(only_the_first_ranks_count),
        cmocka_unit_test(a_depth_of_a_tree_is_ranked_over_all_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
