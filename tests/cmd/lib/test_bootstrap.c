// The interval of a ratio of sums.
#include "cmd/lib/bootstrap.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static fr_interval interval_of(const fr_share *shares, int n) {
    fr_interval i;
    assert_int_equal(fr_bootstrap_ratio(&i, shares, n, NULL), FR_OK);
    return i;
}

static void what_cannot_vary_has_no_width(void **state) {
    (void)state;
    const fr_share same[] = {{3, 2}, {6, 4}, {30, 20}};
    const fr_interval i = interval_of(same, 3);
    assert_true(i.low == 1.5 && i.high == 1.5);
}

static void too_little_says_nothing(void **state) {
    (void)state;
    const fr_share one[] = {{3, 2}}, nothing[] = {{0, 0}, {0, 0}};
    assert_true(isnan(interval_of(one, 0).low) && isnan(interval_of(one, 1).high));
    assert_true(isnan(interval_of(nothing, 2).low));
    // A prompt without passes is drawn, but never alone.
    const fr_share some[] = {{3, 2}, {0, 0}};
    assert_true(interval_of(some, 2).low == 1.5 && interval_of(some, 2).high == 1.5);
}

// Of two prompts a half of the draws takes both, a quarter one of them twice.
static void two_prompts_span_the_interval(void **state) {
    (void)state;
    const fr_share two[] = {{1, 1}, {3, 1}};
    const fr_interval i = interval_of(two, 2), again = interval_of(two, 2);
    assert_true(i.low == 1 && i.high == 3);
    assert_true(i.low == again.low && i.high == again.high);
}

static double uniform(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

// Sets of 30 prompts whose passes bring 2 tokens in the mean: nineteen of twenty intervals hold 2,
// a few less as thirty are not many.
static void intervals_hold_the_ratio_as_often_as_they_say(void **state) {
    (void)state;
    uint64_t seed = 1;
    int held = 0;
    double width = 0;
    for (int trial = 0; trial < 300; trial++) {
        fr_share shares[30];
        for (int i = 0; i < 30; i++) {
            const double passes = 20 + 60 * uniform(&seed);
            shares[i] = (fr_share){passes * (1 + 2 * uniform(&seed)), passes};
        }
        const fr_interval i = interval_of(shares, 30);
        held += i.low <= 2 && i.high >= 2;
        width += (i.high - i.low) / 300;
    }
    assert_in_range(held, 265, 296);
    // 2 * 1.96 * (2 / sqrt(12)) / sqrt(30), times sqrt(1 + variance of the passes over their square)
    assert_true(width > 0.38 && width < 0.48);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_vary_has_no_width),
        cmocka_unit_test(too_little_says_nothing),
        cmocka_unit_test(two_prompts_span_the_interval),
        cmocka_unit_test(intervals_hold_the_ratio_as_often_as_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
