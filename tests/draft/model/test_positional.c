// Sequoia's tree for a draft model: planned by what its guesses were and by what passes cost.
#include "draft/model/positional.h"
#include "support/damage.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const fr_cost COST = {
    .n = 3, .rows = {1, 8, 32}, .trunk = {0.050, 0.060, 0.200}, .head = {0.010, 0.012, 0.040}};
static const fr_shape_limits LIMITS = {.nodes = 24, .depth = 8, .children = 4};

static int depth_of(const fr_shape *s) {
    int deepest = 0;
    for (int i = 0; i < s->n; i++)
        if (s->node[i].depth > deepest) deepest = s->node[i].depth;
    return deepest;
}

static fr_positional *opened(fr_budget *budget) {
    fr_positional *p = calloc(1, sizeof *p);
    assert_non_null(p);
    fr_positional_open(p);
    fr_budget_open(budget, &COST, NULL);
    return p;
}

// Right in turns of ten: six times the first guess, twice the second, never the others.
static void shares_follow_the_ranks_that_were_right(void **state) {
    (void)state;
    fr_budget budget;
    fr_positional *p = opened(&budget);
    for (int i = 0; i < 2000; i++)
        fr_positional_learn(p, i % 10 < 6 ? 0 : i % 10 < 8 ? 1 : -1);
    assert_true(p->right[0] > 0.5 && p->right[0] < 0.7);
    assert_true(p->right[1] > 0.1 && p->right[1] < 0.3);
    assert_true(p->right[2] < 0.01 && p->right[3] < 0.01);
    free(p);
}

static void better_guesses_go_deeper_and_worse_ones_wider(void **state) {
    (void)state;
    fr_budget budget;
    fr_positional *p = opened(&budget);
    for (int i = 0; i < 500; i++)
        fr_positional_learn(p, 0);
    assert_true(fr_positional_plan(p, &budget, 0.01, &LIMITS, 0));
    const int sure = depth_of(&p->shape);
    assert_int_equal(p->shape.n, sure + 1); // a chain: the others are never right
    for (int i = 0; i < 500; i++)
        fr_positional_learn(p, i % 2);
    assert_true(fr_positional_plan(p, &budget, 0.01, &LIMITS, 0));
    assert_true(depth_of(&p->shape) < sure);
    assert_true(p->shape.n > depth_of(&p->shape) + 1);
    assert_true(p->shape.n <= LIMITS.nodes);
    free(p);
}

static void dear_drafts_or_wrong_ones_are_not_planned(void **state) {
    (void)state;
    fr_budget budget;
    fr_positional *p = opened(&budget);
    assert_false(fr_positional_plan(p, &budget, 10, &LIMITS, 0));
    assert_int_equal(p->shape.n, 1);
    for (int i = 0; i < 2000; i++)
        fr_positional_learn(p, -1);
    assert_false(fr_positional_plan(p, &budget, 0.01, &LIMITS, 0));
    free(p);
}

static void a_size_that_is_asked_for_is_planned(void **state) {
    (void)state;
    fr_budget budget;
    fr_positional *p = opened(&budget);
    for (int depth = 1; depth <= 4; depth++) {
        const fr_shape_limits limits = {.nodes = 3 * depth, .depth = depth, .children = 4};
        fr_positional_plan_size(p, &limits);
        assert_true(fr_shape_is_sound(&p->shape));
        assert_int_equal(p->shape.n, 3 * depth);
        assert_true(depth_of(&p->shape) <= depth);
    }
    free(p);
}

static void the_check_of_shares_finds_damage(void **state) {
    (void)state;
    fr_budget budget;
    fr_positional *p = opened(&budget);
    assert_noticed(p->right[0], -0.1, fr_positional_is_sound(p));
    assert_noticed(p->right[1], 0.9, fr_positional_is_sound(p)); // more than one guess is right
    assert_noticed(p->shape.n, 0, fr_positional_is_sound(p));
    free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_follow_the_ranks_that_were_right),
        cmocka_unit_test(better_guesses_go_deeper_and_worse_ones_wider),
        cmocka_unit_test(a_size_that_is_asked_for_is_planned),
        cmocka_unit_test(dear_drafts_or_wrong_ones_are_not_planned),
        cmocka_unit_test(the_check_of_shares_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
