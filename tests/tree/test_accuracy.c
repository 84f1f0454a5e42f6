#include "dice.h"
#include "tree/accuracy.h"

static void rates_are_shares_of_what_was_tried(void **state) {
    (void)state;
    const fr_accuracy a = {.tried = {4, 1}, .right = {{1, 0, 2}}};
    assert_true(fr_accuracy_rate(&a, 1, 0) == 0.25);
    assert_true(fr_accuracy_rate(&a, 1, 1) == 0);
    assert_true(fr_accuracy_rate(&a, 1, 2) == 0.5);
    assert_true(fr_accuracy_rate(&a, 2, 0) == 0);
}

static void what_was_never_counted_is_zero(void **state) {
    (void)state;
    const fr_accuracy a = {.tried = {[FR_ACCURACY_DEPTHS - 1] = 1}};
    for (int r = 0; r < FR_ACCURACY_RANKS + 2; r++)
        assert_true(fr_accuracy_rate(&a, FR_ACCURACY_DEPTHS, r) == 0);
    assert_true(fr_accuracy_rate(&a, 1, 0) == 0);
    assert_true(fr_accuracy_rate(&a, FR_ACCURACY_DEPTHS + 1, 0) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_shares_of_what_was_tried),
        cmocka_unit_test(what_was_never_counted_is_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
