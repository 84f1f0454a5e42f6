// What drafting gained, against numbers worked by hand.
#include "cmd/lib/first_run.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_gain_is_plain_decoding_over_passes_and_drafting(void **state) {
    (void)state;
    // Passes of 2 s predicted took 4 s by the clock, so drafting's 1 s counts half.
    fr_stats s = {.predicted = 2, .predicted_plain = 5, .seconds_draft = 1};
    s.seconds_by_rows[0] = 1;
    s.seconds_by_rows[1] = 3;
    assert_true(fabs(fr_cmd_gain(&s) - 2) < 1e-12);
    s.seconds_draft = 0;
    assert_true(fabs(fr_cmd_gain(&s) - 2.5) < 1e-12);
}

static void without_costs_the_gain_is_unknown(void **state) {
    (void)state;
    const fr_stats s = {.seconds_draft = 1};
    assert_true(fr_cmd_gain(&s) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gain_is_plain_decoding_over_passes_and_drafting),
        cmocka_unit_test(without_costs_the_gain_is_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
