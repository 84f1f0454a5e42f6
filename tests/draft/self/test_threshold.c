// The threshold of Draft & Verify, by hand-worked numbers.
#include "draft/self/threshold.h"
#include "support/damage.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect(const fr_threshold *t, double value, double share) {
    assert_true(fabs(t->value - value) < 1e-12 && fabs(t->share - share) < 1e-12);
}

static void it_follows_the_papers_formulas(void **state) {
    (void)state;
    fr_threshold t;
    fr_threshold_begin(&t, false);
    expect(&t, 0.5, 0.9);
    fr_threshold_begin(&t, true);
    expect(&t, 0.8, 0.9);
    fr_threshold_learn(&t, 4, 4, false); // 0.5 * 0.9 + 0.5: enough, and could go on
    expect(&t, 0.799, 0.95);
    fr_threshold_learn(&t, 8, 8, true); // ran to its full length: stays
    expect(&t, 0.799, 0.975);
    fr_threshold_learn(&t, 2, 1, false); // 0.5 * 0.975 + 0.25: too little
    expect(&t, 0.8, 0.7375);
    fr_threshold_learn(&t, 5, 0, true); // too little, whatever its length
    expect(&t, 0.801, 0.36875);
}

static void it_stays_a_probability(void **state) {
    (void)state;
    fr_threshold t = {.value = 0.9995, .share = 0};
    fr_threshold_learn(&t, 1, 0, false);
    assert_true(t.value == 1);
    t = (fr_threshold){.value = 0.0005, .share = 1};
    fr_threshold_learn(&t, 1, 1, false);
    assert_true(t.value == 0);
}

static void the_check_of_a_threshold_finds_damage(void **state) {
    (void)state;
    fr_threshold t;
    fr_threshold_begin(&t, true);
    assert_noticed(t.value, 1.01, fr_threshold_is_sound(&t));
    assert_noticed(t.share, -0.1, fr_threshold_is_sound(&t));
    assert_noticed(t.share, NAN, fr_threshold_is_sound(&t));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_follows_the_papers_formulas),
        cmocka_unit_test(it_stays_a_probability),
        cmocka_unit_test(the_check_of_a_threshold_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
