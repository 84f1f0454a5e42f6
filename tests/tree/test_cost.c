#include "dice.h"
#include "tree/cost.h"
#include <math.h>

static const fr_cost COST = {.n = 3,
                             .rows = {1, 4, 8},
                             .trunk = {8, 11, 27},
                             .head = {1, 4, 6},
                             .key = 0.5,
                             .key_row = 0.25};

static void measured_points_are_given_back(void **state) {
    (void)state;
    for (int i = 0; i < COST.n; i++) {
        const int rows = COST.rows[i];
        assert_true(fr_cost_pass(&COST, rows, rows, 0) == COST.trunk[i] + COST.head[i]);
        assert_true(fr_cost_pass(&COST, rows, 0, 0) == COST.trunk[i]);
    }
}

static void between_and_beyond_points_lie_straight_lines(void **state) {
    (void)state;
    assert_true(fr_cost_pass(&COST, 2, 0, 0) == 9); // 8 + (11 - 8) / 3
    assert_true(fr_cost_pass(&COST, 3, 0, 0) == 10);
    assert_true(fr_cost_pass(&COST, 6, 0, 0) == 19);
    assert_true(fr_cost_pass(&COST, 10, 0, 0) == 35); // 27 + 2 * 4
    assert_true(fr_cost_pass(&COST, 8, 6, 0) == 27 + 5);
    assert_true(fr_cost_pass(&COST, 8, 2, 0) == 27 + 2);
}

static void the_context_costs_by_slots_and_rows(void **state) {
    (void)state;
    assert_true(fr_cost_pass(&COST, 4, 1, 100) == 11 + 1 + 100 * (0.5 + 4 * 0.25));
}

static void nothing_costs_nothing(void **state) {
    (void)state;
    const fr_cost unknown = {0};
    assert_true(fr_cost_pass(&COST, 0, 0, 100) == 0);
    assert_true(fr_cost_pass(&COST, -1, 0, 100) == 0);
    assert_true(fr_cost_pass(&unknown, 5, 5, 100) == 0);
}

static void one_point_is_the_cost_of_all(void **state) {
    (void)state;
    const fr_cost one = {.n = 1, .rows = {1}, .trunk = {8}, .head = {1}};
    assert_true(fr_cost_pass(&one, 1, 1, 0) == 9);
    assert_true(fr_cost_pass(&one, 64, 64, 0) == 9);
}

static void no_pass_takes_less_than_no_time(void **state) {
    (void)state;
    const fr_cost falling = {.n = 2, .rows = {1, 2}, .trunk = {8, 6}, .head = {1, 1}};
    assert_true(fr_cost_pass(&falling, 3, 0, 0) == 4);
    assert_true(fr_cost_pass(&falling, 50, 1, 0) == 1);
}

static void an_affine_machine_is_met_everywhere(void **state) {
    (void)state;
    fr_cost c = {.n = FR_COST_POINTS};
    dice_begin(20);
    for (int round = 0; round < 20; round++) {
        const double a = dice_unit(), b = dice_unit(), h = dice_unit();
        for (int i = 0; i < FR_COST_POINTS; i++) {
            c.rows[i] = i ? c.rows[i - 1] + 1 + dice_below(4) : 1;
            c.trunk[i] = a + b * c.rows[i];
            c.head[i] = h * c.rows[i];
        }
        for (int rows = 1; rows < 100; rows++)
            for (int logits = 1; logits <= rows; logits += 7)
                assert_true(fabs(fr_cost_pass(&c, rows, logits, 0) - (a + b * rows + h * logits)) <
                            1e-10);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_points_are_given_back),
        cmocka_unit_test(between_and_beyond_points_lie_straight_lines),
        cmocka_unit_test(the_context_costs_by_slots_and_rows),
        cmocka_unit_test(nothing_costs_nothing),
        cmocka_unit_test(one_point_is_the_cost_of_all),
        cmocka_unit_test(no_pass_takes_less_than_no_time),
        cmocka_unit_test(an_affine_machine_is_met_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
