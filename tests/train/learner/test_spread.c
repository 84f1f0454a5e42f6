// The standard error of a share of right guesses: beside the plain formula, and beside what shares
// of many draws of texts really do.
#include "support/near.h"
#include "train/learner/spread.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static uint64_t dice = 1;
static double draw(void) {
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (double)(dice >> 11) * 0x1p-53;
}

// A text of 5 to 40 rows whose guesses are right with a probability of its own.
static void judge(fr_tally *t) {
    const int rows = 5 + (int)(36 * draw());
    const double p = 0.2 + 0.4 * draw();
    t->tried[1] += rows;
    for (int i = 0; i < rows; i++)
        t->right[1][0] += draw() < p;
}

static void it_is_what_other_texts_would_show(void **state) {
    enum { SETS = 400, TEXTS = 60 };
    double sum = 0, squares = 0, errors = 0;
    (void)state;
    for (int set = 0; set < SETS; set++) {
        fr_tally t = {0};
        fr_spread s = {0};
        for (int i = 0; i < TEXTS; i++) {
            const fr_tally before = t;
            judge(&t);
            fr_spread_add(&s, &before, &t);
        }
        const double share = t.right[1][0] / t.tried[1];
        sum += share;
        squares += share * share;
        errors += fr_spread_error(&s, &t, 1);
    }
    const double deviation = sqrt(squares / SETS - sum / SETS * sum / SETS);
    assert_true(fabs(errors / SETS / deviation - 1) < 0.1);
}

static void batches_that_agree_have_none(void **state) {
    fr_tally t = {0}, before = {0};
    fr_spread s = {0};
    (void)state;
    t.tried[0] = 10, t.right[0][0] = 5;
    fr_spread_add(&s, &before, &t);
    assert_true(isnan(fr_spread_error(&s, &t, 0))); // one says nothing
    before = t;
    t.tried[0] = 30, t.right[0][0] = 15;
    fr_spread_add(&s, &before, &t);
    assert_near(fr_spread_error(&s, &t, 0), 0, 1e-9);
    assert_true(isnan(fr_spread_error(&s, &t, 3))); // nothing was tried there
    before = t;
    t.tried[0] = 40; // ten more, all wrong: p = 3/8, residuals 5/4, 5/2, -15/4
    fr_spread_add(&s, &before, &t);
    const double sum = 1.25 * 1.25 + 2.5 * 2.5 + 3.75 * 3.75;
    assert_near(fr_spread_error(&s, &t, 0), sqrt(1.5 * sum) / 40, 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_what_other_texts_would_show),
                                       cmocka_unit_test(batches_that_agree_have_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
