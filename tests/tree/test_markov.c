#include "dice.h"
#include "tree/markov.h"
#include <math.h>

// A random distribution in which about a third of the moves cannot happen; some state always leads
// to 0.
static void random_dist(fr_markov *c, int n) {
    c->n = n;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++)
            sum += c->move[i][j] = j && dice_below(3) == 0 ? 0 : dice_unit() + 1e-6;
        for (int j = 0; j < n; j++)
            c->move[i][j] /= sum;
    }
}

static void shares_stay_as_they_are(void **state) {
    (void)state;
    dice_begin(24);
    for (int round = 0; round < 500; round++) {
        fr_markov c;
        double share[FR_MARKOV_STATES], sum = 0;
        random_dist(&c, 1 + dice_below(FR_MARKOV_STATES));
        fr_markov_steady(&c, dice_below(c.n), share);
        for (int j = 0; j < c.n; j++) {
            double next = 0;
            for (int i = 0; i < c.n; i++)
                next += share[i] * c.move[i][j];
            assert_true(share[j] >= 0);
            assert_true(fabs(next - share[j]) < 1e-11); // the restarts are 1e-12 of all steps
            sum += share[j];
        }
        assert_true(fabs(sum - 1) < 1e-14);
    }
}

static void shares_are_those_of_a_long_walk(void **state) {
    (void)state;
    enum { STEPS = 400000 };
    dice_begin(25);
    for (int round = 0; round < 3; round++) {
        fr_markov c;
        double share[FR_MARKOV_STATES];
        long seen[FR_MARKOV_STATES] = {0};
        random_dist(&c, 5);
        fr_markov_steady(&c, 2, share);
        for (int step = 0, at = 2; step < STEPS; step++) {
            double u = dice_unit();
            int to = 0;
            while (to < c.n - 1 && (u -= c.move[at][to]) >= 0)
                to++;
            seen[at = to]++;
        }
        for (int i = 0; i < c.n; i++) // ten times the deviation of independent draws
            assert_true(fabs((double)seen[i] / STEPS - share[i]) < 5 / sqrt(STEPS));
    }
}

static void a_two_state_chain_has_its_textbook_shares(void **state) {
    (void)state;
    const fr_markov c = {.n = 2, .move = {{0.9, 0.1}, {0.4, 0.6}}};
    double share[FR_MARKOV_STATES];
    fr_markov_steady(&c, 1, share);
    assert_true(fabs(share[0] - 0.8) < 1e-11 && fabs(share[1] - 0.2) < 1e-11);
}

static void a_cycle_is_shared_evenly(void **state) {
    (void)state;
    const fr_markov c = {.n = 3, .move = {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}}};
    double share[FR_MARKOV_STATES];
    fr_markov_steady(&c, 0, share);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(share[i] - 1.0 / 3) < 1e-11);
}

// From state 2 half of the walks end in 0 and half in 1, for good.
static void closed_sets_are_reached_from_the_start(void **state) {
    (void)state;
    const fr_markov c = {.n = 3, .move = {{1, 0, 0}, {0, 1, 0}, {0.25, 0.25, 0.5}}};
    double share[FR_MARKOV_STATES];
    fr_markov_steady(&c, 2, share);
    assert_true(fabs(share[0] - 0.5) < 1e-9 && fabs(share[1] - 0.5) < 1e-9);
    fr_markov_steady(&c, 0, share);
    assert_true(share[0] > 1 - 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_stay_as_they_are),
        cmocka_unit_test(shares_are_those_of_a_long_walk),
        cmocka_unit_test(a_two_state_chain_has_its_textbook_shares),
        cmocka_unit_test(a_cycle_is_shared_evenly),
        cmocka_unit_test(closed_sets_are_reached_from_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
