// test_attached_benefit.c — who carries attached rows: by hand-worked prices, and against all choices
// of small trees.
#include "draft/attached/attached_benefit.h"
#include "support/damage.h"
#include "tree/dice.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

// A pass of n trunk rows takes 1 + row (n - 1), logits are free; nothing is forbidden by the
// account.
static void open_budget(fr_budget *p, double row) {
    const fr_cost cost = {.n = 2, .rows = {1, 101}, .trunk = {1, 1 + 100 * row}, .head = {0, 0}};
    fr_budget_open(p, &cost, NULL);
    fr_budget_begin(p);
    p->allowance = 1e6;
}

static void a_tree(fr_tree *t, const float *score, const int *parent, int n) {
    fr_tree_begin(t, 1, FR_TREE_MAX, 8);
    for (int i = 0; i < n; i++)
        assert_int_equal(fr_tree_add(t, parent[i], 100 + i, score[i], 0), i + 1);
}

static const fr_attached_benefit THREE = {
    .steps = 3, .ensemble = 1, .share = {1, 1, 1}, .worth = {0, 0.6, 0.8, 0.85}, .expected = true};

static void a_rider_rides_where_it_is_worth_more_than_its_row(void **state) {
    (void)state;
    fr_budget budget;
    fr_tree t;
    uint8_t n_attached[FR_TREE_MAX];
    fr_attached_benefit r = THREE;
    open_budget(&budget, 0.12);
    fr_attached_benefit_begin(&r);
    // The root is last with 0.5, its child with 0.5: gains 0.3, 0.1 and 0.025 each, and a row is
    // 0.12 of a plain pass, which is the cost of a token.
    a_tree(&t, (float[]){0.5f}, (int[]){0}, 1);
    fr_attached_benefit_choose(&r, &budget, &t, 100, 0, n_attached);
    assert_int_equal(n_attached[0], 1);
    assert_int_equal(n_attached[1], 1);
    open_budget(&budget, 0.09);
    fr_attached_benefit_choose(&r, &budget, &t, 100, 0, n_attached);
    assert_int_equal(n_attached[0], 2);
    assert_int_equal(n_attached[1], 2);
    fr_attached_benefit_choose(&r, &budget, &t, 3, 0, n_attached);
    assert_int_equal(n_attached[0] + n_attached[1], 3);
    assert_int_equal(fr_attached_benefit_extra(&r, &t, n_attached).rows, 3);
    open_budget(&budget, 0.4);
    fr_attached_benefit_choose(&r, &budget, &t, 100, 0, n_attached);
    assert_int_equal(n_attached[0] + n_attached[1], 0);
}

static void rows_that_enter_late_cost_a_part(void **state) {
    (void)state;
    fr_budget budget;
    fr_tree t;
    uint8_t n_attached[FR_TREE_MAX];
    fr_attached_benefit r = THREE;
    for (int i = 0; i < 3; i++)
        r.share[i] = 0.5;
    open_budget(&budget, 0.35);
    fr_attached_benefit_begin(&r);
    fr_tree_begin(&t, 1, FR_TREE_MAX, 8);
    // On the root alone, half rows for 0.175 each: 0.6, then 0.2; 0.05 is too little.
    fr_attached_benefit_choose(&r, &budget, &t, 100, 0, n_attached);
    assert_int_equal(n_attached[0], 2);
    const fr_extra_rows extra = fr_attached_benefit_extra(&r, &t, n_attached);
    assert_int_equal(extra.rows, 2);
    assert_true(fabs(extra.trunk - 1) < 1e-9);
}

static void a_request_that_cannot_pay_carries_none(void **state) {
    (void)state;
    fr_budget budget;
    fr_tree t;
    uint8_t n_attached[FR_TREE_MAX];
    fr_attached_benefit r = THREE;
    open_budget(&budget, 0.1);
    budget.allowance = 0.15; // of a plain pass: one row
    fr_attached_benefit_begin(&r);
    fr_tree_begin(&t, 1, FR_TREE_MAX, 8);
    fr_attached_benefit_choose(&r, &budget, &t, 100, 0, n_attached);
    assert_int_equal(n_attached[0], 1);
    budget.gained = -10;
    fr_attached_benefit_choose(&r, &budget, &t, 100, 0, n_attached);
    assert_int_equal(n_attached[0], 0);
}

// Tokens less time of a choice, as the header says.
static double net(const fr_attached_benefit *r, const fr_budget *budget, const fr_tree *t,
                  const double *term, const uint8_t *n_attached) {
    double tokens = 0;
    const fr_extra_rows rows = fr_attached_benefit_extra(r, t, n_attached);
    for (int c = 0; c < t->n; c++)
        tokens += term[c] * r->worth[n_attached[c]];
    const double before = fr_budget_pass(budget, t->n, NULL, 0);
    return tokens * fr_budget_token_cost(budget, 0) -
           (fr_budget_pass(budget, t->n, &rows, 0) - before);
}

// Where worth is concave and rows cost alike, one after the other is the best choice of all.
static void the_choice_is_the_best_of_all(void **state) {
    (void)state;
    dice_begin(7);
    for (int round = 0; round < 200; round++) {
        fr_budget budget;
        fr_tree t;
        fr_attached_benefit r = {.steps = 2, .ensemble = 1, .share = {1, 1}, .expected = true};
        uint8_t n_attached[FR_TREE_MAX], any[FR_TREE_MAX] = {0};
        const float first = 0.2f + 0.6f * (float)dice_unit();
        const float score[] = {first, (1 - first) * (float)dice_unit(), first * (float)dice_unit()};
        const int parent[] = {0, 0, 1};
        r.worth[1] = dice_unit();
        r.worth[2] = r.worth[1] * (1 + dice_unit());
        a_tree(&t, score, parent, 3);
        const double term[] = {1 - (double)score[0] - (double)score[1],
                               (double)score[0] - (double)score[2], (double)score[1],
                               (double)score[2]};
        open_budget(&budget, 0.02 + 0.2 * dice_unit());
        fr_attached_benefit_begin(&r);
        fr_attached_benefit_choose(&r, &budget, &t, 100, 0, n_attached);
        double best = 0;
        for (int code = 0; code < 81; code++) {
            for (int c = 0, rest = code; c < 4; c++, rest /= 3)
                any[c] = (uint8_t)(rest % 3);
            const double value = net(&r, &budget, &t, term, any);
            if (value > best) best = value;
        }
        const double got = net(&r, &budget, &t, term, n_attached);
        assert_true(got > best - 1e-6);
    }
}

static void what_does_not_pay_is_tried_again_more_and_more_rarely(void **state) {
    (void)state;
    fr_budget budget;
    fr_tree t;
    uint8_t n_attached[FR_TREE_MAX];
    fr_attached_benefit r = THREE;
    memset(r.worth, 0, sizeof r.worth);
    open_budget(&budget, 0.1);
    fr_attached_benefit_begin(&r);
    fr_tree_begin(&t, 1, FR_TREE_MAX, 8);
    int tried = 0, last = 0, gap = 0;
    for (int step = 1; step <= 600; step++) {
        fr_attached_benefit_choose(&r, &budget, &t, 100, 0, n_attached);
        if (!n_attached[0]) continue;
        assert_int_equal(n_attached[0], 3);
        assert_true(step - last >= gap);
        gap = step - last;
        last = step;
        tried++;
    }
    assert_true(tried >= 4 && tried <= 10);
    assert_true(gap >= 64);
}

static void worth_begins_with_accuracies_and_follows_the_text(void **state) {
    (void)state;
    fr_budget budget;
    fr_accuracy a = {.tried = {100, 100}, .right = {{60, 10}, {40, 5}}};
    fr_attached_benefit r = {.steps = 2, .ensemble = 1, .share = {1, 1}};
    open_budget(&budget, 0.1);
    fr_attached_benefit_expect(&r, &a, &budget, 0);
    // One deep: the first guess brings 0.6 for 0.1; the second 0.1 for 0.1, which is nothing.
    assert_true(fabs(r.worth[1] - 0.5) < 1e-9);
    // Two deep: 0.24 for 0.1 besides.
    assert_true(fabs(r.worth[2] - 0.64) < 1e-9);
    a.right[0][0] = 0;
    fr_attached_benefit_expect(&r, &a, &budget, 0);
    assert_true(fabs(r.worth[1] - 0.5) < 1e-9);
    for (int i = 0; i < 500; i++)
        fr_attached_benefit_learn(&r, 1, (double[]){0, 0.2});
    assert_true(fabs(r.worth[1] - 0.2) < 1e-6);
    assert_true(fabs(r.worth[2] - 0.64) < 1e-9);
}

static void the_check_of_attached_rows_finds_damage(void **state) {
    (void)state;
    fr_attached_benefit r = THREE;
    assert_noticed(r.steps, 0, fr_attached_benefit_is_sound(&r));
    assert_noticed(r.steps, FR_ATTACHED_STEPS + 1, fr_attached_benefit_is_sound(&r));
    assert_noticed(r.ensemble, 0, fr_attached_benefit_is_sound(&r));
    assert_noticed(r.share[2], 1.5, fr_attached_benefit_is_sound(&r));
    assert_noticed(r.worth[0], 0.1, fr_attached_benefit_is_sound(&r));
    assert_noticed(r.worth[3], NAN, fr_attached_benefit_is_sound(&r));
    assert_noticed(r.trial.idle, -1, fr_attached_benefit_is_sound(&r));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rider_rides_where_it_is_worth_more_than_its_row),
        cmocka_unit_test(rows_that_enter_late_cost_a_part),
        cmocka_unit_test(a_request_that_cannot_pay_carries_none),
        cmocka_unit_test(the_choice_is_the_best_of_all),
        cmocka_unit_test(what_does_not_pay_is_tried_again_more_and_more_rarely),
        cmocka_unit_test(worth_begins_with_accuracies_and_follows_the_text),
        cmocka_unit_test(the_check_of_attached_rows_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
