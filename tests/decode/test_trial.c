// Trials come after 8, 16, 32, ... steps, and soon again once it has paid.
#include "decode/trial.h"
#include "support/damage.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const fr_pauses PAUSES = {.shortest = 8, .longest = 32};

// Steps without it until a trial is due, which then begins.
static int pause_before_trial(fr_trial *t, const fr_pauses *p) {
    int n = 0;
    do {
        fr_trial_idle(t);
        n++;
    } while (!fr_trial_is_due(t, p));
    fr_trial_begin(t);
    return n;
}

static void every_trial_doubles_the_pause_up_to_the_longest(void **state) {
    (void)state;
    fr_trial t = {0};
    const int expected[] = {8, 16, 32, 32, 32};
    for (int i = 0; i < 5; i++)
        assert_int_equal(pause_before_trial(&t, &PAUSES), expected[i]);
}

static void the_longest_pause_bounds_a_doubling_that_misses_it(void **state) {
    (void)state;
    const fr_pauses odd = {.shortest = 5, .longest = 12}, always = {.shortest = 7, .longest = 7};
    fr_trial t = {0}, u = {0};
    const int expected[] = {5, 10, 12, 12};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pause_before_trial(&t, &odd), expected[i]);
        assert_int_equal(pause_before_trial(&u, &always), 7);
    }
}

static void after_very_many_trials_the_pause_is_the_longest(void **state) {
    (void)state;
    fr_trial t = {.trials = 1 << 30};
    assert_int_equal(pause_before_trial(&t, &PAUSES), 32);
}

static void what_is_due_stays_due_until_it_is_tried(void **state) {
    (void)state;
    fr_trial t = {0};
    for (int i = 0; i < 7; i++) {
        fr_trial_idle(&t);
        assert_false(fr_trial_is_due(&t, &PAUSES));
    }
    for (int i = 0; i < 100; i++) { // the request cannot afford it
        fr_trial_idle(&t);
        assert_true(fr_trial_is_due(&t, &PAUSES));
    }
    fr_trial_begin(&t);
    assert_false(fr_trial_is_due(&t, &PAUSES));
}

static void use_begins_the_pause_anew_and_keeps_its_length(void **state) {
    (void)state;
    fr_trial t = {0};
    assert_int_equal(pause_before_trial(&t, &PAUSES), 8);
    for (int i = 0; i < 10; i++)
        fr_trial_idle(&t);
    fr_trial_used(&t);
    assert_int_equal(pause_before_trial(&t, &PAUSES), 16);
}

static void what_pays_has_the_shortest_pause_again(void **state) {
    (void)state;
    fr_trial t = {0};
    for (int i = 0; i < 3; i++)
        pause_before_trial(&t, &PAUSES);
    for (int i = 0; i < 6; i++)
        fr_trial_idle(&t);
    fr_trial_pays(&t); // and the steps so far count
    assert_int_equal(pause_before_trial(&t, &PAUSES), 2);
    assert_int_equal(pause_before_trial(&t, &PAUSES), 16);
}

static void the_check_of_a_trial_finds_damage(void **state) {
    (void)state;
    fr_trial t = {.idle = 3, .trials = 1};
    assert_noticed(t.idle, -1, fr_trial_is_sound(&t));
    assert_noticed(t.trials, -1, fr_trial_is_sound(&t));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_trial_doubles_the_pause_up_to_the_longest),
        cmocka_unit_test(the_longest_pause_bounds_a_doubling_that_misses_it),
        cmocka_unit_test(after_very_many_trials_the_pause_is_the_longest),
        cmocka_unit_test(what_is_due_stays_due_until_it_is_tried),
        cmocka_unit_test(use_begins_the_pause_anew_and_keeps_its_length),
        cmocka_unit_test(what_pays_has_the_shortest_pause_again),
        cmocka_unit_test(the_check_of_a_trial_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
