// Sizing by cost: what is chosen is the best there is, and drafts that are never right cost little.
#include "decode/budget.h"
#include "support/damage.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const fr_cost COST = {.n = 4,
                             .rows = {1, 4, 8, 16},
                             .trunk = {0.050, 0.056, 0.070, 0.130},
                             .head = {0.010, 0.011, 0.014, 0.026},
                             .key = 1e-6,
                             .key_row = 1e-7};

static double unit(void) {
    return rand() / (RAND_MAX + 1.0);
}

static void random_tree(fr_tree *t, int n) {
    fr_tree_begin(t, 0, n, 8);
    for (int id = 1; t->n < n; id++) {
        const int parent = rand() % t->n;
        fr_tree_add(t, parent, id, t->node[parent].score * (float)unit(), 0);
    }
}

static int descending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

// Of all sizes the one of the greatest worth: expected tokens at their price, less the pass.
static void the_size_of_the_greatest_worth_is_chosen(void **state) {
    (void)state;
    fr_budget p;
    fr_tree t;
    srand(7);
    for (int trial = 0; trial < 300; trial++) {
        fr_budget_open(&p, &COST, NULL);
        fr_budget_begin(&p);
        p.gained = 10; // the account is not what limits here
        random_tree(&t, 2 + rand() % 30);
        float score[FR_TREE_MAX];
        for (int i = 1; i < t.n; i++)
            score[i - 1] = t.node[i].score;
        qsort(score, (size_t)t.n - 1, sizeof *score, descending);
        const int context = rand() % 2000;
        double tokens = 1, best = -1e9, price = fr_cost_pass(&COST, 1, 1, context);
        int best_n = 0;
        for (int n = 1; n <= t.n; n++) { // a token costs no more than in the best of these passes
            const double pace = fr_cost_pass(&COST, n, n, context) / tokens;
            if (pace < price) price = pace;
            if (n < t.n) tokens += score[n - 1];
        }
        tokens = 1;
        for (int n = 1; n <= t.n; n++) {
            const double worth = tokens * price - fr_cost_pass(&COST, n, n, context);
            if (worth > best + 1e-12) {
                best = worth;
                best_n = n;
            }
            if (n < t.n) tokens += score[n - 1];
        }
        assert_int_equal(fr_budget_choose(&p, &t, NULL, context), best_n);
    }
}

// A copy that is nearly sure: as many rows as give most tokens a second, not all that are cheaper
// than plain passes. The rest comes in the next pass.
static void a_copy_takes_the_rows_that_give_most_tokens_a_second(void **state) {
    (void)state;
    fr_budget p;
    float score[60];
    double tokens = 1, best = 0;
    int best_n = 0;
    fr_budget_open(&p, &COST, NULL);
    fr_budget_begin(&p);
    p.gained = 10;
    for (int k = 0; k < 60; k++)
        score[k] = k ? 0.97f * score[k - 1] : 0.97f;
    for (int n = 1; n <= 60; n++) {
        const double rate = tokens / fr_cost_pass(&COST, n, n, 0);
        if (rate > best) best_n = n;
        if (rate > best) best = rate;
        tokens += score[n - 1];
    }
    assert_in_range(best_n, 8, 20);
    assert_int_equal(1 + fr_budget_choose_from(&p, score, 60, 1, NULL, 0), best_n);
}

// A drafter that claims much and is never right: by the cost model a whole request is at most two
// and a half passes and 1 % slower than plain decoding, also when it is long.
static void drafts_that_are_never_right_cost_little(void **state) {
    (void)state;
    fr_budget p;
    fr_tree t;
    fr_budget_open(&p, &COST, NULL);
    fr_budget_begin(&p);
    double spent = 0;
    int drafted = 0;
    const int n_tokens = 500;
    for (int i = 0; i < n_tokens; i++) {
        fr_tree_begin(&t, 0, 16, 8);
        for (int k = 0; k < 15; k++)
            fr_tree_add(&t, 0, k, 0.9f, 0);
        const int n = fr_budget_choose(&p, &t, NULL, 100);
        const double pass = fr_cost_pass(&COST, n, n, 100);
        fr_budget_learn(
            &p, &(fr_budget_step){.rows = n, .context = 100, .tokens = 1, .pass_seconds = pass});
        spent += pass;
        drafted += n > 1;
    }
    const double plain = fr_cost_pass(&COST, 1, 1, 100);
    assert_true(drafted > 0); // it was tried
    assert_true(spent <= (1.011 * n_tokens + 2.6) * plain);
}

// Bad guesses use up what may be lost, and a copy that begins then is followed all the same.
static void sure_guesses_are_trusted_after_bad_ones(void **state) {
    (void)state;
    fr_budget p;
    fr_tree t;
    fr_budget_open(&p, &COST, NULL);
    fr_budget_begin(&p);
    int n = 0;
    for (int i = 0; i < 40; i++) {
        fr_tree_begin(&t, 0, 16, 8);
        for (int k = 0; k < 3; k++)
            fr_tree_add(&t, 0, k, 0.15f, 0);
        n = fr_budget_choose(&p, &t, NULL, 100);
        fr_budget_learn(&p,
                        &(fr_budget_step){.rows = n,
                                          .context = 100,
                                          .tokens = 1,
                                          .pass_seconds = fr_cost_pass(&COST, n, n, 100),
                                          .draft_seconds = 0.02 * fr_cost_pass(&COST, 1, 1, 100)});
    }
    assert_int_equal(n, 1); // no more of these
    fr_tree_begin(&t, 0, 16, 8);
    for (int k = 0, node = 0; k < 3; k++)
        node = fr_tree_add(&t, node, 1, 0.9f, 0);
    assert_int_equal(fr_budget_choose(&p, &t, NULL, 100), 4);
}

// As long as it pays it goes on, and a text where it stops to pay does not eat what was gained.
static void what_pays_is_used_and_what_stops_to_pay_is_left(void **state) {
    (void)state;
    fr_budget p;
    fr_tree t;
    fr_budget_open(&p, &COST, NULL);
    fr_budget_begin(&p);
    for (int i = 0; i < 200; i++) {
        fr_tree_begin(&t, 0, 16, 8);
        for (int k = 0, node = 0; k < 3; k++)
            node = fr_tree_add(&t, node, 1, 0.9f, 0);
        const int n = fr_budget_choose(&p, &t, NULL, 100);
        assert_int_equal(n, 4);
        fr_budget_learn(&p, &(fr_budget_step){.rows = n,
                                              .context = 100,
                                              .tokens = 4,
                                              .pass_seconds = fr_cost_pass(&COST, n, n, 100)});
    }
    // Tokens are cheap now, so a doubtful row no longer pays.
    assert_true(fr_budget_token_cost(&p, 100) < 0.5 * fr_cost_pass(&COST, 1, 1, 100));
    fr_tree_begin(&t, 0, 16, 8);
    fr_tree_add(&t, 0, 1, 0.05f, 0);
    assert_int_equal(fr_budget_choose(&p, &t, NULL, 100), 1);
}

static void a_guess_learns_the_machine_from_the_first_pass(void **state) {
    (void)state;
    fr_budget p;
    fr_budget_open(&p, NULL, NULL);
    fr_budget_begin(&p);
    assert_false(p.measured);
    fr_budget_learn(&p, &(fr_budget_step){.rows = 1, .tokens = 1, .pass_seconds = 0.2});
    assert_true(fr_budget_pass(&p, 1, NULL, 0) > 0.19 && fr_budget_pass(&p, 1, NULL, 0) < 0.21);
    assert_true(p.spent > 0.19 && p.spent < 0.21);
}

// Passes of many rows that take twice what the table says contradict it; a slower machine does not.
static void a_table_of_another_shape_is_told(void **state) {
    (void)state;
    fr_budget p;
    fr_budget_open(&p, &COST, NULL);
    for (int i = 0; i < 400; i++) {
        fr_budget_learn(&p, &(fr_budget_step){.rows = 1,
                                              .tokens = 1,
                                              .pass_seconds = 2 * fr_cost_pass(&COST, 1, 1, 0)});
        fr_budget_learn(&p, &(fr_budget_step){.rows = 8,
                                              .tokens = 1,
                                              .pass_seconds = 2 * fr_cost_pass(&COST, 8, 8, 0)});
    }
    assert_false(fr_budget_disagrees(&p));
    for (int i = 0; i < 400; i++) {
        fr_budget_learn(&p, &(fr_budget_step){.rows = 1,
                                              .tokens = 1,
                                              .pass_seconds = 2 * fr_cost_pass(&COST, 1, 1, 0)});
        fr_budget_learn(&p, &(fr_budget_step){.rows = 8,
                                              .tokens = 1,
                                              .pass_seconds = 4 * fr_cost_pass(&COST, 8, 8, 0)});
    }
    assert_true(fr_budget_disagrees(&p));
    const double ratio = fr_budget_pass(&p, 8, NULL, 0) / fr_budget_pass(&p, 1, NULL, 0),
                 told = fr_cost_pass(&COST, 8, 8, 0) / fr_cost_pass(&COST, 1, 1, 0);
    assert_true(ratio > 1.8 * told && ratio < 2.2 * told); // and is corrected meanwhile
}

// Where a text is read beside, a token is worth its row: guesses that pay in passes of their own do
// not where rows beyond the root cost what a row does.
static void beside_a_text_that_is_read_a_token_is_worth_its_row(void **state) {
    (void)state;
    fr_budget p;
    fr_tree t;
    fr_budget_open(&p, &COST, NULL);
    fr_budget_begin(&p);
    p.gained = 10;
    p.members = 2;
    fr_tree_begin(&t, 0, 4, 8);
    for (int k = 0; k < 3; k++)
        fr_tree_add(&t, k, k + 1, 0.7f, 0);
    const double alone = fr_budget_token_cost(&p, 100);
    assert_true(alone == fr_budget_pass(&p, 1, NULL, 100) / 2);
    assert_int_equal(fr_budget_choose(&p, &t, NULL, 100), 4);
    p.read = fr_budget_reading(&p, 30, 100, 100);
    assert_true(fr_budget_token_cost(&p, 100) == fr_budget_pass(&p, 1, &p.read, 100) / 32);
    assert_true(fr_budget_token_cost(&p, 100) < alone / 3);
    assert_int_equal(fr_budget_choose(&p, &t, &p.read, 100), 1);
}

// Where rows choose the same experts, the pass is fast because of the text, and the machine's drift
// stays. Where a pass of the expected number of experts is slow, only the drift changes.
static void what_a_text_shares_is_told_from_how_fast_the_machine_is(void **state) {
    (void)state;
    const fr_cost cost = {.n = 3,
                          .rows = {1, 2, 4},
                          .trunk = {10, 13, 17},
                          .head = {0, 0, 0},
                          .expert = 0.2,
                          .experts = {20, 35, 55}};
    const int read = 38; // by four rows, in the place of 55
    const double shared = 1 - 18.0 / 35, four = 17 - 0.2 * (55 - read);
    fr_budget p;
    fr_budget_open(&p, &cost, NULL);
    fr_budget_begin(&p);
    fr_budget_step alone = {.rows = 1, .tokens = 1, .pass_seconds = 10, .experts = 20},
                   many = {.rows = 4, .tokens = 1, .pass_seconds = four, .experts = read};
    fr_budget_learn(&p, &alone);
    assert_true(p.cost.shared == 0); // one row shares with none
    for (int i = 0; i < 200; i++)
        fr_budget_learn(&p, &many);
    assert_true(fabs(p.cost.shared - shared) < 1e-6);
    assert_true(fabs(p.drift - 1) < 1e-9 && fabs(p.group[2] - 1) < 1e-9);
    assert_true(fabs(fr_budget_pass(&p, 4, NULL, 0) - four) < 1e-5);
    assert_true(fabs(fr_budget_pass(&p, 2, NULL, 0) - (13 - 0.2 * shared * 15)) < 1e-5);
    alone.pass_seconds *= 2;
    many.pass_seconds *= 2;
    for (int i = 0; i < 200; i++) {
        fr_budget_learn(&p, &alone);
        fr_budget_learn(&p, &many);
    }
    assert_true(fabs(p.cost.shared - shared) < 1e-6);
    assert_true(fabs(fr_budget_pass(&p, 4, NULL, 0) - 2 * four) < 0.1);
    many.experts = 55; // another text
    many.pass_seconds = 2 * 17;
    for (int i = 0; i < 200; i++)
        fr_budget_learn(&p, &many);
    assert_true(fabs(p.cost.shared) < 1e-6);
    assert_false(fr_budget_disagrees(&p));
}

static void the_check_of_a_budget_finds_damage(void **state) {
    (void)state;
    fr_budget p;
    fr_budget_open(&p, &COST, NULL);
    fr_budget_begin(&p);
    fr_budget_learn(&p, &(fr_budget_step){
                            .rows = 4, .tokens = 2, .pass_seconds = 0.06, .draft_seconds = 0.001});
    assert_noticed(p.cost.n, 0, fr_budget_is_sound(&p));
    assert_noticed(p.cost.rows[1], 1, fr_budget_is_sound(&p));
    assert_noticed(p.drift, 0, fr_budget_is_sound(&p));
    assert_noticed(p.group[2], 0.0 / 0.0, fr_budget_is_sound(&p));
    assert_noticed(p.seen[2], -1, fr_budget_is_sound(&p));
    assert_noticed(p.tokens, -1, fr_budget_is_sound(&p));
    assert_noticed(p.spent, -1, fr_budget_is_sound(&p));
    assert_noticed(p.gained, 0.0 / 0.0, fr_budget_is_sound(&p));
    assert_noticed(p.allowance, -1, fr_budget_is_sound(&p));
}

// Known from the first pass on where the cost was measured; else once one gave the guess its scale.
static void a_pass_is_predicted_once_it_can_be(void **state) {
    (void)state;
    const fr_cost cost = {.n = 2, .rows = {1, 8}, .trunk = {1, 3}, .head = {0, 0}};
    const fr_extra_rows read = {.rows = 7, .trunk = 7};
    fr_budget p;
    fr_budget_open(&p, &cost, NULL);
    assert_true(fr_budget_predict(&p, 1, NULL, 0) == 1);
    assert_true(fabs(fr_budget_predict(&p, 1, &read, 0) - 3) < 1e-12);
    assert_true(fabs(fr_budget_predict(&p, 0, &read, 0) - fr_cost_pass(&cost, 7, 0, 0)) < 1e-12);
    fr_budget_open(&p, NULL, NULL);
    assert_true(fr_budget_predict(&p, 1, NULL, 0) == 0);
    fr_budget_learn(&p, &(fr_budget_step){.rows = 1, .tokens = 1, .pass_seconds = 0.25});
    assert_true(fabs(fr_budget_predict(&p, 1, NULL, 0) - 0.25) < 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_size_of_the_greatest_worth_is_chosen),
        cmocka_unit_test(a_copy_takes_the_rows_that_give_most_tokens_a_second),
        cmocka_unit_test(drafts_that_are_never_right_cost_little),
        cmocka_unit_test(sure_guesses_are_trusted_after_bad_ones),
        cmocka_unit_test(what_pays_is_used_and_what_stops_to_pay_is_left),
        cmocka_unit_test(a_guess_learns_the_machine_from_the_first_pass),
        cmocka_unit_test(a_table_of_another_shape_is_told),
        cmocka_unit_test(beside_a_text_that_is_read_a_token_is_worth_its_row),
        cmocka_unit_test(what_a_text_shares_is_told_from_how_fast_the_machine_is),
        cmocka_unit_test(what_a_text_shares_is_told_from_how_fast_the_machine_is),
        cmocka_unit_test(the_check_of_a_budget_finds_damage),
        cmocka_unit_test(a_pass_is_predicted_once_it_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
