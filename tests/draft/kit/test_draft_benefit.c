// Whether another draft pass pays: by hand-worked numbers, and what a request can lose.
#include "draft/kit/draft_benefit.h"
#include "support/damage.h"
#include "support/near.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// A plain pass takes 60 ms, one more row 2 ms; the draft model takes 0.4 of that.
static const fr_cost COST = {
    .n = 2, .rows = {1, 11}, .trunk = {0.050, 0.070}, .head = {0.010, 0.010}};
static const double USUAL = 0.4;

static void open_both(fr_budget *budget, fr_draft_benefit *w) {
    fr_budget_open(budget, &COST, NULL);
    fr_budget_begin(budget);
    budget->allowance = 2;
    fr_draft_benefit_open(w, USUAL);
}

static void a_pass_takes_its_share_of_the_targets(void **state) {
    (void)state;
    fr_budget budget;
    fr_draft_benefit w;
    open_both(&budget, &w);
    assert_near(fr_draft_benefit_pass(&w, &budget, 1, 0), 0.4 * 0.060, 1e-9);
    assert_near(fr_draft_benefit_pass(&w, &budget, 2, 0), 0.4 * 0.062, 1e-9);
    assert_near(fr_draft_benefit_pass(&w, &budget, 65, 0), 0.4 * (0.186 + 0.060), 1e-9);
    for (int i = 0; i < 60; i++)
        fr_draft_benefit_learn(&w, &budget, 1, 0, 0.012);
    assert_near(fr_draft_benefit_pass(&w, &budget, 1, 0), 0.012, 1e-4);
    // Row counts never seen go by the nearest smaller one.
    assert_near(fr_draft_benefit_pass(&w, &budget, 2, 0), 0.2 * 0.062, 1e-3);
}

// One node of score s: s * confidence tokens at 60 ms against 24 ms and a row of 2 ms.
static void a_pass_is_begun_where_it_brings_more_than_it_takes(void **state) {
    (void)state;
    fr_budget budget;
    fr_draft_benefit w;
    open_both(&budget, &w);
    w.confidence = 0.8f;
    const float even = (float)(0.026 / (0.8 * 0.060));
    assert_int_equal(fr_draft_benefit_rows(&w, &budget, (float[]){even * 1.02f}, 1, 2, 0), 1);
    assert_int_equal(fr_draft_benefit_rows(&w, &budget, (float[]){even * 0.98f}, 1, 2, 0), 0);
    // A second row takes 0.4 * 2 ms of the draft's and 2 ms of the target's pass.
    const float second = (float)(0.0028 / (0.8 * 0.060));
    assert_int_equal(fr_draft_benefit_rows(&w, &budget, (float[]){0.9f, second * 1.02f}, 2, 2, 0),
                     2);
    assert_int_equal(fr_draft_benefit_rows(&w, &budget, (float[]){0.9f, second * 0.98f}, 2, 2, 0),
                     1);
    assert_int_equal(fr_draft_benefit_rows(&w, &budget, NULL, 0, 2, 0), 0);
}

static void what_others_cover_is_not_drafted(void **state) {
    (void)state;
    fr_budget budget;
    fr_draft_benefit w;
    open_both(&budget, &w);
    w.confidence = 0.9f;
    assert_true(fr_draft_benefit_start(&w, &budget, 1, 0, 100, 0));
    assert_true(fr_draft_benefit_start(&w, &budget, 1, 0.4f, 100, 0));
    assert_false(fr_draft_benefit_start(&w, &budget, 1, 0.5f, 100, 0)); // 0.4 * 60 ms < 26 ms
}

// A best guess that is seldom right is worth 0.1 * 60 ms, which 26 ms of drafting are not; several
// guesses that are worth 0.9 together are.
static void guesses_count_by_what_they_are_worth_together(void **state) {
    (void)state;
    fr_budget budget;
    fr_draft_benefit w;
    open_both(&budget, &w);
    w.confidence = 0.1f;
    w.tried = true;
    assert_false(fr_draft_benefit_start(&w, &budget, 1, 0, 100, 0));
    for (int step = 0; step < 200; step++)
        fr_draft_benefit_proposed(&w, 0.9f);
    assert_near(w.yield, 0.9f, 1e-3);
    assert_true(fr_draft_benefit_start(&w, &budget, 1, 0, 100, 0));
    assert_false(fr_draft_benefit_start(&w, &budget, 1, 0.5f, 100, 0));
    fr_draft_benefit_begin(&w);
    assert_true(w.yield == 0); // another text
}

static void much_to_read_wants_a_long_answer_and_some_patience(void **state) {
    (void)state;
    fr_budget budget;
    fr_draft_benefit w;
    open_both(&budget, &w);
    w.confidence = 0.9f;
    assert_false(fr_draft_benefit_start(&w, &budget, 640, 0, 5, 0));
    int steps = 1;
    open_both(&budget, &w);
    w.confidence = 0.9f;
    while (steps < 100 && !fr_draft_benefit_start(&w, &budget, 640, 0, 1000, 0))
        steps++;
    assert_in_range(steps, 2, 20);
}

// Drafting that is never right ends: nothing beyond the allowance and 1 % of the time is lost.
static void a_request_loses_no_more_than_its_allowance(void **state) {
    (void)state;
    fr_budget budget;
    fr_draft_benefit w;
    open_both(&budget, &w);
    for (int step = 0; step < 2000; step++) {
        double draft = 0;
        w.confidence = 0.99f; // sure of itself
        if (fr_draft_benefit_start(&w, &budget, 1, 0, 1000, 0)) {
            draft = fr_draft_benefit_pass(&w, &budget, 1, 0);
            fr_draft_benefit_learn(&w, &budget, 1, 0, draft);
            while (fr_draft_benefit_rows(&w, &budget, (float[]){0.99f}, 1, 2, 0)) {
                const double pass = fr_draft_benefit_pass(&w, &budget, 1, 0);
                fr_draft_benefit_learn(&w, &budget, 1, 0, pass);
                draft += pass;
            }
        }
        const int rows = draft > 0 ? 2 : 1;
        fr_budget_learn(&budget,
                        &(fr_budget_step){.rows = rows,
                                          .tokens = 1,
                                          .pass_seconds = fr_budget_pass(&budget, rows, NULL, 0),
                                          .draft_seconds = draft});
        assert_true(-budget.gained <= 2 * 0.060 + 0.01 * (budget.spent + 0.060) + 0.002);
    }
    assert_true(budget.gained < 0);
}

static void the_check_of_a_benefit_finds_damage(void **state) {
    (void)state;
    fr_budget budget;
    fr_draft_benefit w;
    open_both(&budget, &w);
    assert_noticed(w.ratio[3], -1, fr_draft_benefit_is_sound(&w));
    assert_noticed(w.usual, 0.0 / 0.0, fr_draft_benefit_is_sound(&w));
    assert_noticed(w.confidence, 1.5f, fr_draft_benefit_is_sound(&w));
    assert_noticed(w.yield, 0.0f / 0.0f, fr_draft_benefit_is_sound(&w));
    assert_noticed(w.missed, -1, fr_draft_benefit_is_sound(&w));
    assert_noticed(w.spent, -1, fr_draft_benefit_is_sound(&w));
    assert_noticed(w.trial.idle, -1, fr_draft_benefit_is_sound(&w));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pass_takes_its_share_of_the_targets),
        cmocka_unit_test(a_pass_is_begun_where_it_brings_more_than_it_takes),
        cmocka_unit_test(what_others_cover_is_not_drafted),
        cmocka_unit_test(guesses_count_by_what_they_are_worth_together),
        cmocka_unit_test(much_to_read_wants_a_long_answer_and_some_patience),
        cmocka_unit_test(a_request_loses_no_more_than_its_allowance),
        cmocka_unit_test(the_check_of_a_benefit_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
