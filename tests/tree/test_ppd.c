// PPD's dynamic sparse trees: the formulas by definition, the choices against all choices.
#include "dice.h"
#include "tree/best_shape.h"
#include "tree/expect.h"
#include "tree/ppd.h"
#include <math.h>

static bool near(double a, double b) {
    return fabs(a - b) < 1e-10;
}

// --- prompts on one shape
// -------------------------------------------------------------------------

static double value_of(const fr_shape *s, const double *accepted, const uint8_t *prompts) {
    double term[FR_TREE_MAX], sum = 0;
    fr_shape_terms(s, term);
    for (int c = 0; c < s->n; c++)
        sum += term[c] * accepted[prompts[c]];
    return sum;
}

// The greatest value of all ways to give nodes i.. at most m prompts each and `left` in all.
static double best_value(const fr_shape *s, const double *accepted, int m, int left,
                         uint8_t *prompts, int i) {
    if (i == s->n) return value_of(s, accepted, prompts);
    double best = -1;
    for (int n = 0; n <= m && n <= left; n++) {
        prompts[i] = (uint8_t)n;
        const double value = best_value(s, accepted, m, left - n, prompts, i + 1);
        if (value > best) best = value;
    }
    return best;
}

typedef struct prompt_case {
    fr_shape shape;
    double accepted[4];
    int budget;
} prompt_case;

static void draw_case(prompt_case *c, bool falling_gains) {
    fr_accuracy a;
    dice_accuracy(&a, 3);
    fr_best_shape(&c->shape, &a, &(fr_shape_limits){2 + dice_below(5), 3, 4});
    double gain = 1;
    c->accepted[0] = 0;
    for (int i = 1; i < 4; i++) {
        gain = falling_gains ? gain * dice_unit() : dice_unit();
        c->accepted[i] = c->accepted[i - 1] + gain;
    }
    c->budget = dice_below(3 * c->shape.n);
}

// Value of the assignment over that of the best one.
static double assign_and_compare(const prompt_case *c) {
    uint8_t prompts[FR_TREE_MAX], other[FR_TREE_MAX] = {3};
    const int given = fr_ppd_assign(&c->shape, c->accepted, 3, c->budget, prompts);
    int sum = 0;
    for (int i = 1; i < c->shape.n; i++)
        sum += prompts[i];
    assert_int_equal(prompts[0], 3);
    assert_int_equal(sum, given);
    assert_true(given <= c->budget);
    return value_of(&c->shape, c->accepted, prompts) /
           best_value(&c->shape, c->accepted, 3, c->budget, other, 1);
}

static void prompts_go_where_they_bring_most(void **state) {
    (void)state;
    prompt_case c;
    dice_begin(26);
    for (int round = 0; round < 300; round++) {
        draw_case(&c, true);
        assert_true(near(assign_and_compare(&c), 1));
    }
}

// A second prompt may bring more than the first: then the least loss at a time is not always the
// least in the end.
static void prompts_stay_near_the_best_where_gains_rise(void **state) {
    (void)state;
    prompt_case c;
    double worst = 1, mean = 0;
    dice_begin(27);
    for (int round = 0; round < 1000; round++) {
        draw_case(&c, false);
        const double ratio = assign_and_compare(&c);
        if (ratio < worst) worst = ratio;
        mean += ratio / 1000;
    }
    print_message("of the best: mean %.4f, worst %.4f\n", mean, worst);
    assert_true(mean > 0.99 && worst > 0.75);
}

static void fewer_prompts_never_bring_more(void **state) {
    (void)state;
    prompt_case c;
    uint8_t prompts[FR_TREE_MAX], before[FR_TREE_MAX];
    double term[FR_TREE_MAX];
    dice_begin(28);
    for (int round = 0; round < 100; round++) {
        draw_case(&c, round % 2);
        fr_shape_terms(&c.shape, term);
        fr_ppd_assign(&c.shape, c.accepted, 3, 1000, before);
        for (int budget = 3 * (c.shape.n - 1) - 1; budget >= 0; budget--) {
            fr_ppd_assign(&c.shape, c.accepted, 3, budget, prompts);
            const double loss =
                value_of(&c.shape, c.accepted, before) - value_of(&c.shape, c.accepted, prompts);
            // Proposition 4.3: one prompt fewer on one node costs term * (f(T_i) - f(T_i-1)).
            double want = 0;
            int removed = 0;
            for (int i = 1; i < c.shape.n; i++) {
                assert_true(prompts[i] <= before[i]);
                removed += before[i] - prompts[i];
                if (before[i] > prompts[i])
                    want = term[i] * (c.accepted[before[i]] - c.accepted[prompts[i]]);
            }
            assert_true(removed <= 1);
            assert_true(near(loss, want) && loss >= 0);
            memcpy(before, prompts, sizeof before);
        }
    }
}

static void useless_prompts_are_not_kept(void **state) {
    (void)state;
    fr_shape s;
    uint8_t prompts[FR_TREE_MAX];
    fr_shape_begin(&s);
    fr_shape_add(&s, 0, 0, 0.5);
    fr_shape_add(&s, 1, 0, 0.5); // node 1 is never the last one
    assert_int_equal(fr_ppd_assign(&s, (double[]){0, 0.5, 0.5}, 2, 100, prompts), 1);
    assert_int_equal(prompts[1], 0);
    assert_int_equal(prompts[2], 1); // T_2 brings no more than T_1
    assert_int_equal(fr_ppd_assign(&s, (double[]){0, 0, 0}, 2, 100, prompts), 0);
}

// --- the states
// -----------------------------------------------------------------------------------

static void check_rows(const fr_ppd *p) {
    const fr_ppd_limits *l = &p->limits;
    for (int k = 0; k <= l->prompts; k++) {
        const fr_ppd_state *state = &p->state[k];
        int rows = state->shape.n;
        for (int c = 0; c < state->shape.n; c++)
            rows += l->ensemble * state->prompts[c];
        assert_int_equal(rows, state->rows);
        assert_true(rows <= l->rows);
        assert_int_equal(state->prompts[0], l->prompts);
        assert_true(fr_shape_is_sound(&state->shape));
        for (int c = 0; c < state->shape.n; c++)
            assert_true(state->shape.node[c].depth <= k);
    }
    assert_int_equal(p->state[0].shape.n, 1);
}

static void check_formulas(const fr_ppd *p) {
    const int m = p->limits.prompts;
    double accepted = 0;
    for (int k = 0; k <= m; k++) {
        double sum = 0, next = 0, two = fr_shape_expect(&p->state[k].shape);
        for (int i = 0; i <= m; i++) {
            sum += p->chain.move[k][i];
            next += p->share[i] * p->chain.move[i][k];
            two += p->chain.move[k][i] * fr_shape_expect(&p->state[i].shape);
        }
        assert_true(near(sum, 1)); // no state beside the m + 1
        assert_true(near(next, p->share[k]));
        assert_true(near(two, fr_ppd_two_passes(p, k)));
        accepted += p->share[k] * fr_shape_expect(&p->state[k].shape);
    }
    assert_true(near(accepted, p->accepted));
}

static void rows_and_formulas_hold(void **state) {
    (void)state;
    dice_begin(29);
    for (int round = 0; round < 200; round++) {
        fr_accuracy a;
        fr_ppd p;
        fr_ppd_limits l = {.prompts = 1 + dice_below(FR_PPD_PROMPTS),
                           .ensemble = 1 + dice_below(3),
                           .children = 1 + dice_below(10)};
        int candidates[FR_MARKOV_STATES];
        l.rows = 1 + l.prompts * l.ensemble + dice_below(40);
        for (int k = 0; k <= l.prompts; k++)
            candidates[k] = dice_below(50);
        dice_accuracy(&a, 1 + dice_below(8));
        fr_ppd_build(&p, &a, &l, candidates);
        check_rows(&p);
        check_formulas(&p);
        for (int k = 1; k <= l.prompts; k++)
            assert_true(p.state[k].shape.n <= 1 + candidates[k]);
    }
}

// One pass: draws which guess is right at each depth, walks the state's tree. Returns how many
// candidates are accepted; *state becomes the next one.
static int simulate_pass(const fr_ppd *p, const fr_accuracy *a, int *state) {
    const fr_ppd_state *now = &p->state[*state];
    int node = 0;
    for (int depth = 1;; depth++) {
        double u = dice_unit();
        int rank = 0;
        while (rank < FR_ACCURACY_RANKS && (u -= fr_accuracy_rate(a, depth, rank)) >= 0)
            rank++;
        const int next = rank < FR_ACCURACY_RANKS ? fr_shape_child(&now->shape, node, rank) : -1;
        if (next < 0) break;
        node = next;
    }
    *state = now->prompts[node];
    return now->shape.node[node].depth;
}

static void a_simulated_run_brings_what_is_promised(void **state) {
    (void)state;
    enum { BATCHES = 100, PASSES = 3000 };
    dice_begin(30);
    for (int round = 0; round < 4; round++) {
        fr_accuracy a;
        fr_ppd p;
        int at = 3;
        double mean = 0, square = 0;
        dice_accuracy(&a, 3);
        fr_ppd_choose(&p, &a, &(fr_ppd_limits){8 + 6 * round, 3, 1, 10, 0});
        for (int b = 0; b < BATCHES; b++) {
            long accepted = 0;
            for (int i = 0; i < PASSES; i++)
                accepted += simulate_pass(&p, &a, &at);
            mean += (double)accepted / PASSES / BATCHES;
            square += pow((double)accepted / PASSES, 2) / BATCHES;
        }
        // Means of long batches are all but independent of each other.
        const double deviation = sqrt((square - mean * mean) / BATCHES);
        print_message("R %.4f, simulated %.4f +- %.4f\n", p.accepted, mean, deviation);
        assert_true(fabs(mean - p.accepted) < 5 * deviation);
    }
}

// --- the choices
// ----------------------------------------------------------------------------------

// The search ends on a lower hill about once in a hundred cases, 1 % below the highest.
static void no_other_split_is_much_better(void **state) {
    (void)state;
    enum { CASES = 1000 };
    double worst = 1;
    int lower = 0;
    dice_begin(31);
    for (int round = 0; round < CASES; round++) {
        const fr_ppd_limits l = {5 + dice_below(9), 3, 1, 10, 0};
        const int room = l.rows - 4;
        double best = 0;
        fr_accuracy a;
        fr_ppd p, other;
        int n[4] = {0};
        dice_accuracy(&a, 3);
        fr_ppd_choose(&p, &a, &l);
        check_rows(&p);
        check_formulas(&p);
        for (n[1] = 0; n[1] <= room; n[1]++)
            for (n[2] = 0; n[2] <= room; n[2]++)
                for (n[3] = 0; n[3] <= room; n[3]++) {
                    fr_ppd_build(&other, &a, &l, n);
                    if (other.accepted > best) best = other.accepted;
                }
        assert_true(p.accepted <= best + 1e-12);
        if (p.accepted / best < worst) worst = p.accepted / best;
        lower += p.accepted < best * (1 - 1e-9);
    }
    print_message("%d of %d below the best split, at worst %.5f of it\n", lower, CASES, worst);
    assert_true(worst > 0.98 && lower <= CASES / 50);
}

// What a state may do: its tree, and its prompts on it.
typedef struct action {
    double accepted, move[3];
} action;

enum { ACTIONS = 20000 };
static action actions[3][ACTIONS];
static int n_actions[3];

static void list_actions(int k, const fr_shape *s, const double *term, uint8_t *prompts, int i,
                         int left) {
    if (i < s->n) {
        for (int n = 0; n <= 2 && n <= left; n++) {
            prompts[i] = (uint8_t)n;
            list_actions(k, s, term, prompts, i + 1, left - n);
        }
        return;
    }
    assert_true(n_actions[k] < ACTIONS);
    action *act = &actions[k][n_actions[k]++];
    *act = (action){.accepted = fr_shape_expect(s)};
    for (int c = 0; c < s->n; c++)
        act->move[prompts[c]] += term[c];
}

// The greatest R of all that m = 2 allows, not only of assignments by least dF: the states of a
// decision process, each free to act. Value iteration to its end.
static double best_accepted(const fr_accuracy *a, int room) {
    double value[3] = {0}, gain = 0, change = 1;
    for (int k = 0; k < 3; k++) {
        n_actions[k] = 0;
        for (int n = 0; n <= (k ? room : 0); n++) {
            fr_shape s;
            double term[FR_TREE_MAX];
            uint8_t prompts[FR_TREE_MAX] = {2};
            fr_best_shape(&s, a, &(fr_shape_limits){1 + n, k, 10});
            fr_shape_terms(&s, term);
            list_actions(k, &s, term, prompts, 1, room - n);
        }
    }
    for (int i = 0; i < 5000 && change > 1e-13; i++) {
        double next[3];
        for (int k = 0; k < 3; k++) {
            next[k] = 0;
            for (int j = 0; j < n_actions[k]; j++) {
                const action *act = &actions[k][j];
                const double v = act->accepted + act->move[0] * value[0] + act->move[1] * value[1] +
                                 act->move[2] * value[2];
                if (v > next[k]) next[k] = v;
            }
        }
        gain = next[2];
        change = 0;
        for (int k = 0; k < 3; k++) {
            change = fmax(change, fabs(next[k] - gain - value[k]));
            value[k] = next[k] - gain;
        }
    }
    return gain;
}

static void the_choice_is_near_the_best_of_all_policies(void **state) {
    (void)state;
    double worst = 1, mean = 0;
    dice_begin(32);
    for (int round = 0; round < 60; round++) {
        fr_accuracy a;
        fr_ppd p;
        const int room = 1 + dice_below(7);
        dice_accuracy(&a, 2);
        fr_ppd_choose(&p, &a, &(fr_ppd_limits){3 + room, 2, 1, 10, 0});
        const double ratio = p.accepted / best_accepted(&a, room);
        assert_true(ratio < 1 + 1e-9);
        if (ratio < worst) worst = ratio;
        mean += ratio / 60;
    }
    print_message("of the best policy: mean %.5f, worst %.5f\n", mean, worst);
    assert_true(mean > 0.998 && worst > 0.98);
}

static void the_rows_chosen_give_most_speed(void **state) {
    (void)state;
    dice_begin(33);
    for (int round = 0; round < 6; round++) {
        fr_accuracy a;
        fr_ppd p, other;
        const fr_ppd_limits l = {16, 2, 1, 10, 0};
        const fr_cost cost = {.n = 3,
                              .rows = {1, 4, 16},
                              .trunk = {1, 1 + 0.3 * dice_unit(), 2 + 2 * dice_unit()},
                              .head = {0.2, 0.3, 0.8},
                              .key = 1e-5};
        dice_accuracy(&a, 3);
        const double speed = fr_ppd_fit(&p, &a, &l, &cost, 0.05, 500);
        check_rows(&p);
        check_formulas(&p);
        double seconds = 0.05; // by definition: tokens of a pass over its time, in the long run
        for (int k = 0; k <= 2; k++)
            seconds += p.share[k] * fr_cost_pass(&cost, p.state[k].rows, p.state[k].shape.n, 500);
        assert_true(near(speed, (1 + p.accepted) / seconds));
        for (int rows = 3; rows <= l.rows; rows++) { // what brings most is no faster
            fr_ppd_choose(&other, &a, &(fr_ppd_limits){rows, 2, 1, 10, 0});
            assert_true(fr_ppd_speed(&other, &cost, 0.05, 500) <=
                        speed * 1.005); // the search is no proof
        }
    }
}

static void where_nothing_is_ever_right_nothing_is_drafted(void **state) {
    (void)state;
    fr_accuracy a = {0};
    fr_ppd p;
    fr_ppd_choose(&p, &a, &(fr_ppd_limits){20, 3, 2, 10, 0});
    check_rows(&p);
    assert_true(p.accepted == 0);
    for (int k = 0; k <= 3; k++)
        assert_int_equal(p.state[k].shape.n, 1);
    dice_begin(34);
    dice_accuracy(&a, 3);
    fr_ppd_choose(&p, &a, &(fr_ppd_limits){7, 3, 2, 10, 0}); // room for the root and its prompts
    check_rows(&p);
    assert_true(p.accepted == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_go_where_they_bring_most),
        cmocka_unit_test(prompts_stay_near_the_best_where_gains_rise),
        cmocka_unit_test(fewer_prompts_never_bring_more),
        cmocka_unit_test(useless_prompts_are_not_kept),
        cmocka_unit_test(rows_and_formulas_hold),
        cmocka_unit_test(a_simulated_run_brings_what_is_promised),
        cmocka_unit_test(no_other_split_is_much_better),
        cmocka_unit_test(the_choice_is_near_the_best_of_all_policies),
        cmocka_unit_test(the_rows_chosen_give_most_speed),
        cmocka_unit_test(where_nothing_is_ever_right_nothing_is_drafted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
