// test_window_benefit.c — rows of a window ride while they pay, and a request loses little on them.
#include "draft/lookahead/window_benefit.h"
#include "support/damage.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// A plain pass takes 1, every row more `row`.
static void open_budget(fr_budget *p, double row) {
    const fr_cost cost = {.n = 2, .rows = {1, 101}, .trunk = {1, 1 + 100 * row}, .head = {0, 0}};
    fr_budget_open(p, &cost, NULL);
    fr_budget_begin(p);
}

static const fr_extra_rows EIGHT = {.rows = 8, .trunk = 8, .logits = 3};

typedef struct run {
    int rode;
    double seconds;
} run;

// A thousand steps; each that the window rides in brings `tokens` more in the next one.
static run play(fr_window_benefit *w, double row, double tokens) {
    fr_budget budget;
    run r = {0};
    open_budget(&budget, row);
    fr_window_benefit_begin(w);
    double owed = 0, made = 0;
    while (made < 1000) {
        const bool rides = fr_window_benefit_pays(w, &budget, &EIGHT, 0);
        const double took = fr_budget_pass(&budget, 1, rides ? &EIGHT : NULL, 0);
        const int extra = (int)owed;
        owed -= extra;
        if (rides) {
            owed += tokens;
            fr_window_benefit_learn(w, tokens);
            r.rode++;
        }
        made += 1 + extra;
        r.seconds += took;
        fr_budget_learn(&budget, &(fr_budget_step){.rows = 1,
                                                   .extra = rides ? &EIGHT : NULL,
                                                   .tokens = 1 + extra,
                                                   .pass_seconds = took});
    }
    return r;
}

static void it_rides_where_it_is_worth_more_than_its_rows(void **state) {
    (void)state;
    fr_window_benefit w = {.tokens = 0.3};
    const run cheap = play(&w, 0.01, 0.3); // 0.08 a pass for 0.3 tokens
    assert_true(cheap.rode > 700);
    assert_true(cheap.seconds < 1000 * 1.08 / 1.3 * 1.03);
}

static void what_brings_nothing_costs_little(void **state) {
    (void)state;
    for (int dear = 0; dear < 2; dear++) {
        fr_window_benefit w = {.tokens = 0.5}; // expected, and wrong
        const run r = play(&w, dear ? 0.2 : 0.03, 0);
        assert_true(r.seconds < 1000 * 1.011 + 1);
        fr_window_benefit_begin(&w);
        assert_true(w.tokens < (dear ? 0.51 : 0.3)); // what was seen is remembered
    }
}

// Thought worthless, it is tried again, and what it brings is seen.
static void a_trial_finds_what_it_is_worth(void **state) {
    (void)state;
    fr_window_benefit w = {.tokens = 0};
    const run r = play(&w, 0.002, 0.4);
    assert_true(r.rode > 400);
    assert_true(w.tokens > 0.35);
}

static void a_trial_is_for_many_passes_or_not_at_all(void **state) {
    (void)state;
    fr_window_benefit w = {.tokens = 0};
    fr_budget budget;
    open_budget(&budget, 0.01);
    fr_window_benefit_begin(&w);
    budget.allowance = 15 * 0.08; // one pass less than a trial takes
    for (int i = 0; i < 40; i++)
        assert_false(fr_window_benefit_pays(&w, &budget, &EIGHT, 0));
    budget.allowance = 16 * 0.08 + 0.01;
    for (int i = 0; i < 16; i++)
        assert_true(fr_window_benefit_pays(&w, &budget, &EIGHT, 0));
    assert_false(fr_window_benefit_pays(&w, &budget, &EIGHT, 0));
}

static void the_check_of_a_windows_benefit_finds_damage(void **state) {
    (void)state;
    fr_window_benefit w = {.tokens = 0.5};
    fr_window_benefit_begin(&w);
    assert_noticed(w.trial_left, 16, fr_window_benefit_is_sound(&w));
    assert_noticed(w.trial_left, -1, fr_window_benefit_is_sound(&w));
    assert_noticed(w.tokens, 0.0 / 0.0, fr_window_benefit_is_sound(&w));
    assert_noticed(w.trial.trials, -1, fr_window_benefit_is_sound(&w));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_rides_where_it_is_worth_more_than_its_rows),
        cmocka_unit_test(what_brings_nothing_costs_little),
        cmocka_unit_test(a_trial_finds_what_it_is_worth),
        cmocka_unit_test(a_trial_is_for_many_passes_or_not_at_all),
        cmocka_unit_test(the_check_of_a_windows_benefit_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
