// What drafters count of themselves adds up over answers, sums as sums and means by their weight.
#include "decode/counts.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void sums_add_and_means_are_weighted(void **state) {
    (void)state;
    fr_draft_counts all = {0};
    const fr_draft_counts one = {
        3,
        {{"a", "seconds", false, 2, 0}, {"a", "share", true, 3, 4}, {"b", "seconds", false, 7, 0}}};
    const fr_draft_counts two = {2, {{"a", "share", true, 0, 8}, {"a", "seconds", false, 5, 0}}};
    fr_counts_merge(&all, &one);
    fr_counts_merge(&all, &two);
    assert_int_equal(all.n, 3);
    assert_true(fr_count_value(&all.count[0]) == 7);
    assert_true(fr_count_value(&all.count[1]) == 3. / 12);
    assert_true(fr_count_value(&all.count[2]) == 7);
}

static void a_mean_of_nothing_is_no_number(void **state) {
    (void)state;
    const fr_draft_count none = {"a", "share", true, 0, 0}, sum = {"a", "sum", false, 0, 0};
    assert_true(isnan(fr_count_value(&none)));
    assert_true(fr_count_value(&sum) == 0);
}

static void a_full_list_stays_as_it_is(void **state) {
    (void)state;
    static char name[FR_DRAFT_COUNTS + 1][8];
    fr_draft_counts all = {0};
    for (int i = 0; i <= FR_DRAFT_COUNTS; i++) {
        snprintf(name[i], sizeof name[i], "n%d", i);
        fr_counts_add(&all, &(fr_draft_count){"a", name[i], false, i, 0});
    }
    assert_int_equal(all.n, FR_DRAFT_COUNTS);
    fr_counts_add(&all, &(fr_draft_count){"a", name[5], false, 1, 0});
    for (int i = 0; i < FR_DRAFT_COUNTS; i++)
        assert_true(all.count[i].sum == i + (i == 5));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_add_and_means_are_weighted),
        cmocka_unit_test(a_mean_of_nothing_is_no_number),
        cmocka_unit_test(a_full_list_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
