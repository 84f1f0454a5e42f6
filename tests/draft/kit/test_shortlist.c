// Shortlists against sorting everything.
#include "draft/kit/shortlist.h"
#include "tree/dice.h"
#include <math.h>
#include <stdio.h>

enum { MOST = 3000 };

static int descending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

static void expect_best(const float *logits, int n, int most) {
    static float sorted[MOST], got[FR_SHORTLIST_MOST];
    static bool taken[MOST];
    fr_shortlist list;
    int m = 0;
    for (int i = 0; i < n; i++)
        if (logits[i] > -INFINITY) sorted[m++] = logits[i];
    qsort(sorted, (size_t)m, sizeof *sorted, descending);
    fr_shortlist_take(&list, logits, n, most);
    assert_int_equal(list.n, m < most ? m : most);
    memset(taken, 0, sizeof taken);
    for (int i = 0; i < list.n; i++) {
        const int at = list.index[i];
        assert_in_range(at, 0, n - 1);
        assert_false(taken[at]);
        taken[at] = true;
        assert_true(list.z[i] == logits[at]);
        got[i] = list.z[i];
    }
    qsort(got, (size_t)list.n, sizeof *got, descending);
    assert_memory_equal(got, sorted, sizeof *got * (size_t)list.n);
}

static void a_shortlist_has_the_largest(void **state) {
    (void)state;
    static float logits[MOST];
    dice_begin(72);
    for (int round = 0; round < 400; round++) {
        const int n = 1 + dice_below(round % 4 ? 100 : MOST);
        const int values = round % 3 ? 1 << 20 : 5; // few values: many equal ones
        for (int i = 0; i < n; i++)
            logits[i] = (float)dice_below(values) - (float)values / 2;
        expect_best(logits, n, 1 + dice_below(FR_SHORTLIST_MOST));
    }
}

static void what_is_no_number_is_never_chosen(void **state) {
    (void)state;
    static float logits[MOST];
    dice_begin(73);
    for (int round = 0; round < 200; round++) {
        const int n = 1 + dice_below(300);
        for (int i = 0; i < n; i++)
            logits[i] = dice_below(3) ? (float)dice_below(1000) : dice_below(2) ? -INFINITY : NAN;
        expect_best(logits, n, 1 + dice_below(FR_SHORTLIST_MOST));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shortlist_has_the_largest),
        cmocka_unit_test(what_is_no_number_is_never_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
