#include "dice.h"
#include "tree/accuracy.h"

static void counts_hits_by_rank_and_depth(void **state) {
    (void)state;
    fr_accuracy a = {0};
    const int32_t guess[] = {5, 6, 7};
    fr_accuracy_count(&a, 1, guess, 3, 5);
    fr_accuracy_count(&a, 1, guess, 3, 7);
    fr_accuracy_count(&a, 1, guess, 3, 7);
    fr_accuracy_count(&a, 1, guess, 3, 9); // none of them
    fr_accuracy_count(&a, 2, guess, 1, 6); // rank 1 was not guessed
    assert_true(fr_accuracy_rate(&a, 1, 0) == 0.25);
    assert_true(fr_accuracy_rate(&a, 1, 1) == 0);
    assert_true(fr_accuracy_rate(&a, 1, 2) == 0.5);
    assert_true(fr_accuracy_rate(&a, 2, 0) == 0);
    assert_int_equal(a.tried[1], 1);
}

static void what_was_never_counted_is_zero(void **state) {
    (void)state;
    fr_accuracy a = {0};
    int32_t guess[FR_ACCURACY_RANKS + 2];
    for (int r = 0; r < FR_ACCURACY_RANKS + 2; r++)
        guess[r] = r;
    fr_accuracy_count(&a, FR_ACCURACY_DEPTHS, guess, FR_ACCURACY_RANKS + 2, FR_ACCURACY_RANKS);
    for (int r = 0; r < FR_ACCURACY_RANKS + 2; r++)
        assert_true(fr_accuracy_rate(&a, FR_ACCURACY_DEPTHS, r) == 0);
    assert_true(fr_accuracy_rate(&a, 1, 0) == 0);
    assert_true(fr_accuracy_rate(&a, FR_ACCURACY_DEPTHS + 1, 0) == 0);
}

static void a_path_weighs_the_product_of_its_ranks(void **state) {
    (void)state;
    fr_accuracy a;
    fr_shape s;
    dice_begin(4);
    dice_accuracy(&a, 3);
    assert_int_equal(fr_shape_read(&s, "0.2.1\n1.0", 9, NULL), FR_OK);
    fr_accuracy_weigh(&a, &s);
    assert_true(fr_shape_is_sound(&s));
    const double want[] = {1,
                           fr_accuracy_rate(&a, 1, 0),
                           fr_accuracy_rate(&a, 1, 0) * fr_accuracy_rate(&a, 2, 2),
                           fr_accuracy_rate(&a, 1, 0) * fr_accuracy_rate(&a, 2, 2) *
                               fr_accuracy_rate(&a, 3, 1),
                           fr_accuracy_rate(&a, 1, 1),
                           fr_accuracy_rate(&a, 1, 1) * fr_accuracy_rate(&a, 2, 0)};
    for (int i = 0; i < s.n; i++)
        assert_true(s.node[i].prob == want[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_hits_by_rank_and_depth),
        cmocka_unit_test(what_was_never_counted_is_zero),
        cmocka_unit_test(a_path_weighs_the_product_of_its_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
