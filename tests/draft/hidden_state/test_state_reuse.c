// Which chain a step drafts from: the mode of the most tokens a second by what was seen, and a look
// at the others now and then as far as the account goes.
#include "draft/hidden_state/state_reuse.h"
#include "support/damage.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static fr_budget rich(void) {
    fr_budget p;
    fr_budget_open(&p, NULL, NULL);
    fr_budget_begin(&p);
    p.gained = 1e9;
    return p;
}

static fr_budget poor(void) {
    fr_budget p = rich();
    p.gained = -1e9;
    return p;
}

static void the_inequality_decides(void **state) {
    (void)state;
    const fr_budget p = poor();
    // tau_reuse / L_v against tau_fresh / (L_v + L_d): with L_d / L_v = 0.2 and tau_fresh = 2.4
    // reuse has to reach 2.
    for (int tenths = 10; tenths < 40; tenths++) {
        fr_state_reuse r = {.trial = {{0}}};
        const fr_state_reuse_case c = {
            .left = 3, .fresh = 2.4, .kept = tenths / 10.0, .pass = 1, .draft = 0.2};
        const fr_state_reuse_mode got = fr_state_reuse_choose(&r, &c, &p, 10);
        if (tenths == 20) continue; // equal but for rounding
        assert_int_equal(got, tenths > 20 ? FR_REUSE_KEPT : FR_REUSE_FRESH);
    }
}

static void what_steps_bring_outweighs_what_was_expected(void **state) {
    (void)state;
    const fr_budget p = poor();
    fr_state_reuse r = {.trial = {{0}}};
    const fr_state_reuse_case c = {.left = 3, .fresh = 2, .kept = 1, .pass = 1, .draft = 0.1};
    assert_int_equal(fr_state_reuse_choose(&r, &c, &p, 10), FR_REUSE_FRESH);
    for (int i = 0; i < 40; i++)
        fr_state_reuse_learn(&r, FR_REUSE_KEPT, 3, 0, 4);
    assert_int_equal(fr_state_reuse_choose(&r, &c, &p, 10), FR_REUSE_KEPT);
    assert_true(fr_state_reuse_tokens(&r, FR_REUSE_KEPT, &c) > 3.5);
    // Of another number of depths left, and another age, nothing was seen.
    const fr_state_reuse_case shorter = {.left = 2, .fresh = 2, .kept = 1, .pass = 1, .draft = 0.1};
    const fr_state_reuse_case older = {
        .left = 3, .age = 1, .fresh = 2, .kept = 1, .pass = 1, .draft = 1};
    assert_true(fr_state_reuse_tokens(&r, FR_REUSE_KEPT, &shorter) == 1);
    assert_true(fr_state_reuse_tokens(&r, FR_REUSE_KEPT, &older) == 1);
    for (int i = 0; i < 200; i++) // and it is forgotten again
        fr_state_reuse_learn(&r, FR_REUSE_KEPT, 3, 0, 1);
    assert_int_equal(fr_state_reuse_choose(&r, &c, &p, 10), FR_REUSE_FRESH);
}

static void too_old_or_too_short_is_not_reused(void **state) {
    (void)state;
    const fr_budget p = poor();
    for (int left = 0; left < 12; left++)
        for (int age = 0; age < 5; age++) {
            fr_state_reuse r = {.trial = {{0}}};
            const fr_state_reuse_case c = {
                .left = left, .age = age, .fresh = 1, .kept = 9, .pass = 1, .draft = 1};
            const fr_state_reuse_mode got = fr_state_reuse_choose(&r, &c, &p, 10);
            assert_int_equal(got == FR_REUSE_KEPT, left >= 2 && age < 2);
            assert_int_equal(fr_state_reuse_possible(left, age), left >= 2 && age < 2);
        }
}

static int looks_in(fr_state_reuse *r, const fr_budget *p, fr_state_reuse_mode mode, int steps) {
    const fr_state_reuse_case c = {.left = 4, .fresh = 3, .kept = 1, .pass = 1, .draft = 0.1};
    int n = 0;
    for (int i = 0; i < steps; i++)
        n += fr_state_reuse_choose(r, &c, p, 10) == mode;
    return n;
}

static void others_are_tried_where_it_can_be_afforded(void **state) {
    (void)state;
    const fr_budget with = rich(), without = poor();
    fr_state_reuse r = {.trial = {{0}}}, s = {.trial = {{0}}};
    assert_in_range(looks_in(&r, &with, FR_REUSE_KEPT, 340), 8, 11);
    assert_int_equal(looks_in(&s, &without, FR_REUSE_KEPT, 340), 0);
}

static void the_check_of_reuse_finds_damage(void **state) {
    (void)state;
    fr_state_reuse r = {.trial = {{0}}};
    fr_state_reuse_learn(&r, FR_REUSE_KEPT, 3, 1, 2);
    assert_noticed(r.seen[FR_REUSE_KEPT][3][1].weight, 33, fr_state_reuse_is_sound(&r));
    assert_noticed(r.seen[FR_REUSE_KEPT][3][1].sum, -1, fr_state_reuse_is_sound(&r));
    assert_noticed(r.trial[FR_REUSE_FUSED].trials, -1, fr_state_reuse_is_sound(&r));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_inequality_decides),
        cmocka_unit_test(what_steps_bring_outweighs_what_was_expected),
        cmocka_unit_test(too_old_or_too_short_is_not_reused),
        cmocka_unit_test(others_are_tried_where_it_can_be_afforded),
        cmocka_unit_test(the_check_of_reuse_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
