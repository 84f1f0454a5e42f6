#include "dice.h"
#include "tree/best_shape.h"
#include "tree/expect.h"
#include <math.h>

static bool near(double a, double b) {
    return fabs(a - b) < 1e-12;
}

static void terms_are_a_law_whose_mean_depth_is_the_expectation(void **state) {
    (void)state;
    dice_begin(8);
    for (int round = 0; round < 100; round++) {
        fr_accuracy a;
        fr_shape s;
        double term[FR_TREE_MAX], sum = 0, mean = 0;
        dice_accuracy(&a, 5);
        fr_best_shape(&s, &a, &(fr_shape_limits){1 + dice_below(FR_TREE_MAX), 5, 10});
        fr_shape_terms(&s, term);
        for (int i = 0; i < s.n; i++) {
            assert_true(term[i] > -1e-15);
            sum += term[i];
            mean += s.node[i].depth * term[i];
        }
        assert_true(near(sum, 1));
        assert_true(near(mean, fr_shape_expect(&s)));
    }
}

// Draws which rank is right at each depth and walks the shape, many times.
static void walks_agree_with_expectation_and_terms(void **state) {
    (void)state;
    enum { WALKS = 200000 };
    fr_accuracy a;
    fr_shape s;
    double term[FR_TREE_MAX];
    long ended[FR_TREE_MAX] = {0}, accepted = 0;
    dice_begin(9);
    dice_accuracy(&a, 4);
    fr_best_shape(&s, &a, &(fr_shape_limits){12, 4, 3});
    for (int w = 0; w < WALKS; w++) {
        int node = 0;
        for (int depth = 1, next = 0; next >= 0; depth++) {
            double u = dice_unit();
            int rank = 0;
            while (rank < FR_ACCURACY_RANKS && (u -= fr_accuracy_rate(&a, depth, rank)) >= 0)
                rank++;
            next = rank < FR_ACCURACY_RANKS ? fr_shape_child(&s, node, rank) : -1;
            if (next >= 0) node = next;
        }
        ended[node]++;
        accepted += s.node[node].depth;
    }
    fr_shape_terms(&s, term);
    // Five standard deviations of a mean of WALKS draws; depths have a deviation below 2.
    assert_true(fabs((double)accepted / WALKS - fr_shape_expect(&s)) < 5 * 2 / sqrt(WALKS));
    for (int i = 0; i < s.n; i++) {
        const double deviation = sqrt(term[i] * (1 - term[i]) / WALKS);
        assert_true(fabs((double)ended[i] / WALKS - term[i]) < 5 * deviation + 1e-9);
    }
}

// A tree that has the shape's nodes, with their probabilities as scores.
static void a_filled_tree_expects_what_its_shape_does(void **state) {
    (void)state;
    fr_accuracy a;
    fr_shape s;
    fr_tree t;
    double of_shape[FR_TREE_MAX], of_tree[FR_TREE_MAX];
    dice_begin(10);
    dice_accuracy(&a, 4);
    fr_best_shape(&s, &a, &(fr_shape_limits){40, 4, 10});
    fr_tree_begin(&t, 7, 64, 8);
    for (int i = 1; i < s.n; i++)
        assert_int_equal(fr_tree_add(&t, s.node[i].parent, 100 + i, (float)s.node[i].prob, 0), i);
    fr_shape_terms(&s, of_shape);
    fr_tree_terms(&t, of_tree);
    for (int i = 0; i < s.n; i++)
        assert_true(fabs(of_tree[i] - of_shape[i]) < 1e-5); // scores are floats
}

static void a_lone_root_expects_nothing(void **state) {
    (void)state;
    fr_shape s;
    double term[FR_TREE_MAX];
    fr_shape_begin(&s);
    assert_true(fr_shape_expect(&s) == 0);
    fr_shape_terms(&s, term);
    assert_true(term[0] == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_are_a_law_whose_mean_depth_is_the_expectation),
        cmocka_unit_test(walks_agree_with_expectation_and_terms),
        cmocka_unit_test(a_filled_tree_expects_what_its_shape_does),
        cmocka_unit_test(a_lone_root_expects_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
