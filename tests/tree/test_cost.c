#include "dice.h"
#include "support/damage.h"
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

// 1 second a row in the first tile, 10 more where the next begins, then nothing: what follows the
// last measured tile is as it was.
static void beyond_measured_tiles_the_stair_goes_on(void **state) {
    (void)state;
    const fr_cost stair = {.n = 6,
                           .rows = {1, 16, 17, 32, 33, 48},
                           .trunk = {1, 16, 26, 26, 36, 36},
                           .head = {0, 0, 0, 0, 0, 0}};
    assert_true(fr_cost_pass(&stair, 48, 0, 0) == 36);
    assert_true(fr_cost_pass(&stair, 49, 0, 0) == 46);
    assert_true(fr_cost_pass(&stair, 64, 0, 0) == 46);
    assert_true(fr_cost_pass(&stair, 65, 0, 0) == 56);
    assert_true(fr_cost_pass(&stair, 256, 0, 0) == 166); // 13 tiles more
    const fr_cost line = {.n = 2, .rows = {1, 64}, .trunk = {2, 65}, .head = {1, 1}};
    for (int rows = 65; rows < 300; rows++)
        assert_true(fabs(fr_cost_pass(&line, rows, 0, 0) - (1 + rows)) < 1e-9);
}

static void the_context_costs_by_slots_and_rows(void **state) {
    (void)state;
    assert_true(fr_cost_pass(&COST, 4, 1, 100) == 11 + 1 + 100 * (0.5 + 4 * 0.25));
}

// Half of the layers run 2 rows, half of them 2 + 4: not what 2 + 2 rows of a convex curve take.
static void rows_that_join_late_cost_only_the_layers_behind(void **state) {
    (void)state;
    const fr_cost c = {.n = 4, .rows = {1, 2, 4, 6}, .trunk = {1, 1, 1.2, 2}, .head = {1, 1, 1, 1}};
    const fr_extra_rows half = {.rows = 4, .trunk = 2}, all = {.rows = 4, .trunk = 4}, none = {0};
    assert_true(fabs(fr_cost_with(&c, 2, &half, 0) - (1 + (1 + 2) / 2.0)) < 1e-12);
    assert_true(fabs(fr_cost_with(&c, 2, &all, 0) - (fr_cost_pass(&c, 6, 2, 0))) < 1e-12);
    assert_true(fabs(fr_cost_with(&c, 2, &none, 0) - (fr_cost_pass(&c, 2, 2, 0))) < 1e-12);
    assert_true(fabs(fr_cost_with(&c, 2, NULL, 0) - (fr_cost_pass(&c, 2, 2, 0))) < 1e-12);
}

static void rows_that_join_and_want_logits_cost_the_heads_too(void **state) {
    (void)state;
    const fr_cost c = {.n = 3, .rows = {1, 2, 4}, .trunk = {1, 2, 4}, .head = {1, 1.5, 3}};
    const fr_extra_rows two = {.rows = 2, .trunk = 2, .logits = 2},
                        one = {.rows = 2, .trunk = 2, .logits = 1};
    assert_true(fabs(fr_cost_with(&c, 2, &two, 0) - (fr_cost_pass(&c, 4, 4, 0))) < 1e-12);
    assert_true(fabs(fr_cost_with(&c, 2, &one, 0) - (fr_cost_pass(&c, 4, 3, 0))) < 1e-12);
}

// A quarter of the layers runs the rows that do not go on behind it: 1 of 4, or none.
static void rows_that_go_on_cost_only_the_layers_behind(void **state) {
    (void)state;
    const fr_cost c = {.n = 2, .rows = {1, 4}, .trunk = {8, 11}, .head = {1, 4}, .key_row = 0.25};
    const fr_extra_rows three = {.resumed = 3, .below = 0.25}, all = {.resumed = 4, .below = 0.25};
    const fr_extra_rows both = {.rows = 3, .trunk = 3, .resumed = 4, .below = 0.25};
    assert_true(fabs(fr_cost_with(&c, 4, &three, 0) - (0.25 * 8 + 0.75 * 11 + 4)) < 1e-12);
    assert_true(fabs(fr_cost_with(&c, 4, &all, 0) - (0.75 * 11 + 4)) < 1e-12);
    assert_true(fabs(fr_cost_with(&c, 4, &all, 100) - (0.75 * (11 + 100) + 4)) < 1e-12);
    assert_true(fabs(fr_cost_with(&c, 4, &both, 0) - (0.75 * 11 + 4 + 3)) < 1e-12);
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

// A machine without neighbours is left as it is; one that was held up at two and three rows is not
// believed.
static void what_noise_alone_explains_is_taken_out(void **state) {
    (void)state;
    const fr_cost quiet = {.n = 9,
                           .rows = {1, 2, 3, 4, 6, 8, 12, 16, 32},
                           .trunk = {41, 44, 47, 51, 62, 74, 113, 138, 268},
                           .head = {9.7, 10.5, 11, 11.8, 13.8, 17.6, 23.4, 28.8, 55.7}};
    fr_cost c = quiet;
    fr_cost_smooth(&c);
    for (int i = 0; i < c.n; i++) {
        assert_true(fabs(c.trunk[i] - quiet.trunk[i]) < 1e-9);
        assert_true(fabs(c.head[i] - quiet.head[i]) < 1e-9);
    }
    c.trunk[1] = 99;
    c.trunk[2] = 82;
    c.trunk[0] = 60;
    fr_cost_smooth(&c);
    assert_true(c.trunk[0] <= 51);
    for (int i = 1; i < c.n; i++)
        assert_true(c.trunk[i] >= c.trunk[i - 1]);
    assert_true(c.trunk[1] <= 51 * 13.0 / 12 + 1e-9);
    assert_true(fabs(c.trunk[3] - 51) < 1e-9);
    fr_cost one = {.n = 1, .rows = {1}, .trunk = {3}, .head = {2}};
    fr_cost_smooth(&one);
    assert_true(one.trunk[0] == 3 && one.head[0] == 2);
}

static void a_tile_that_begins_is_no_noise(void **state) {
    (void)state;
    const fr_cost stair = {.n = 7,
                           .rows = {1, 16, 17, 32, 33, 48, 64},
                           .trunk = {40, 74, 86, 106, 129, 155, 189},
                           .head = {1, 5, 6, 8, 9, 12, 15}};
    fr_cost c = stair;
    fr_cost_smooth(&c);
    for (int i = 0; i < c.n; i++)
        assert_true(fabs(c.trunk[i] - stair.trunk[i]) < 1e-9);
    c.trunk[4] = 200; // but more rows take no less
    fr_cost_smooth(&c);
    assert_true(c.trunk[4] <= 155);
}

// Eight experts, of which a row reads two: 2, 3.5, 5.46875 and 7.2 for unrelated rows.
static const fr_cost EXPERTS = {.n = 4,
                                .rows = {1, 2, 4, 8},
                                .trunk = {10, 13, 17, 21},
                                .head = {1, 1, 1, 1},
                                .expert = 2,
                                .experts = {2, 3.5, 5.5, 7.25}};

static void rows_that_share_experts_take_less(void **state) {
    (void)state;
    fr_cost c = EXPERTS;
    assert_true(fr_cost_pass(&c, 4, 0, 0) == 17);
    c.shared = 0.5;
    assert_true(fr_cost_pass(&c, 1, 0, 0) == 10); // a row reads what it reads
    assert_true(fr_cost_pass(&c, 2, 0, 0) == 13 - 1.5);
    assert_true(fr_cost_pass(&c, 4, 0, 0) == 17 - 3.5);
    assert_true(fr_cost_pass(&c, 8, 0, 0) == 21 - 5.25);
    c.shared = -0.5;
    assert_true(fr_cost_pass(&c, 4, 0, 0) == 17 + 3.5);
    assert_true(fr_cost_is_sound(&c));
    const fr_extra_rows late = {.rows = 2, .trunk = 1}, on = {.resumed = 1, .below = 0.5};
    assert_true(fr_cost_experts(&c, 2, NULL) == 3.5); // however many are shared
    assert_true(fr_cost_experts(&c, 2, &late) == 3.5 + (5.5 - 3.5) / 2);
    assert_true(fr_cost_experts(&c, 2, &on) == 3.5 - (3.5 - 2) / 2);
    assert_true(fr_cost_experts(&c, 100, NULL) == 7.25);
}

// The more experts are read, the fewer a row adds: that is no noise. What else takes time is smoothed.
static void experts_that_grow_fewer_are_no_noise(void **state) {
    (void)state;
    fr_cost c = EXPERTS;
    fr_cost_smooth(&c);
    for (int i = 0; i < c.n; i++)
        assert_true(fabs(c.trunk[i] - EXPERTS.trunk[i]) < 1e-9);
    c.trunk[1] += 5;
    fr_cost_smooth(&c);
    assert_true(c.trunk[1] < EXPERTS.trunk[1] + 1);
    c = EXPERTS;
    c.expert = 0;
    fr_cost_smooth(&c);
    assert_true(c.trunk[1] < EXPERTS.trunk[1] - 0.1);
}

static void an_expert_takes_no_more_than_its_rows_added(void **state) {
    (void)state;
    fr_cost c = EXPERTS;
    fr_cost_set_expert(&c, 1.5);
    assert_true(c.expert == 1.5);
    fr_cost_set_expert(&c, -1);
    assert_true(c.expert == 0);
    fr_cost_set_expert(&c, 100);
    assert_true(c.expert == 2);
    for (int i = 0; i < c.n; i++)
        assert_true(c.trunk[i] - c.expert * (c.experts[i] - c.experts[0]) >= c.trunk[0] - 1e-9);
}

// By bytes: a second row of the 30B with 128 experts, 8 used, 0.6 of a row's bytes, takes 1.56.
static void a_guess_counts_the_bytes_of_experts(void **state) {
    (void)state;
    const fr_cost plain = fr_cost_guess(0, 0, 0, 0), c = fr_cost_guess(128, 8, 48, 0.7);
    assert_true(fr_cost_is_sound(&plain) && fr_cost_is_sound(&c));
    assert_true(plain.expert == 0 && fabs(fr_cost_pass(&plain, 1, 1, 0) - 1) < 1e-12);
    assert_true(fabs(fr_cost_pass(&c, 1, 1, 0) - 1) < 1e-12);
    assert_true(fabs(c.experts[0] - 8 * 48) < 1e-9);
    assert_true(fabs(c.experts[1] - 48 * 128 * (1 - 0.9375 * 0.9375)) < 1e-9);
    const double more = fr_cost_pass(&c, 2, 2, 0) - fr_cost_pass(&plain, 2, 2, 0);
    assert_true(fabs(more - 0.7 * 0.85 * 0.9375) < 1e-9);
}

static void what_context_adds_is_of_the_pass_and_of_its_rows(void **state) {
    (void)state;
    const struct {
        double one, many, key, key_row;
    } cases[] = {
        {3, 10, 2, 1},       // 2 + 1 for one row, 2 + 8 for eight
        {-1, 7, 0, 7.0 / 8}, // less than nothing: below the noise
        {4, 2, 4, 0},        // less with more rows: the same
        {1, 16, 0, 2},       // rows alone: eight of them as measured
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fr_cost c = {.n = 0};
        fr_cost_keys(&c, cases[i].one, 8, cases[i].many);
        assert_true(fabs(c.key - cases[i].key) < 1e-12);
        assert_true(fabs(c.key_row - cases[i].key_row) < 1e-12);
    }
}

static void the_check_of_a_cost_finds_damage(void **state) {
    (void)state;
    fr_cost c = {.n = 2, .rows = {1, 8}, .trunk = {1, 2}, .head = {0.1, 0.2}};
    assert_noticed(c.n, -1, fr_cost_is_sound(&c));
    assert_noticed(c.n, FR_COST_POINTS + 1, fr_cost_is_sound(&c));
    assert_noticed(c.n, 3, fr_cost_is_sound(&c)); // a point without rows
    assert_noticed(c.rows[1], 1, fr_cost_is_sound(&c));
    assert_noticed(c.trunk[1], -1, fr_cost_is_sound(&c));
    assert_noticed(c.head[0], NAN, fr_cost_is_sound(&c));
    assert_noticed(c.key_row, -1e-9, fr_cost_is_sound(&c));
    assert_noticed(c.expert, -1, fr_cost_is_sound(&c));
    assert_noticed(c.experts[1], -1, fr_cost_is_sound(&c));
    assert_noticed(c.shared, NAN, fr_cost_is_sound(&c));
    c.n = 0;
    assert_true(fr_cost_is_sound(&c));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_points_are_given_back),
        cmocka_unit_test(between_and_beyond_points_lie_straight_lines),
        cmocka_unit_test(beyond_measured_tiles_the_stair_goes_on),
        cmocka_unit_test(a_tile_that_begins_is_no_noise),
        cmocka_unit_test(the_context_costs_by_slots_and_rows),
        cmocka_unit_test(rows_that_join_late_cost_only_the_layers_behind),
        cmocka_unit_test(rows_that_join_and_want_logits_cost_the_heads_too),
        cmocka_unit_test(rows_that_go_on_cost_only_the_layers_behind),
        cmocka_unit_test(nothing_costs_nothing),
        cmocka_unit_test(one_point_is_the_cost_of_all),
        cmocka_unit_test(no_pass_takes_less_than_no_time),
        cmocka_unit_test(an_affine_machine_is_met_everywhere),
        cmocka_unit_test(what_noise_alone_explains_is_taken_out),
        cmocka_unit_test(rows_that_share_experts_take_less),
        cmocka_unit_test(experts_that_grow_fewer_are_no_noise),
        cmocka_unit_test(an_expert_takes_no_more_than_its_rows_added),
        cmocka_unit_test(a_guess_counts_the_bytes_of_experts),
        cmocka_unit_test(what_context_adds_is_of_the_pass_and_of_its_rows),
        cmocka_unit_test(the_check_of_a_cost_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
