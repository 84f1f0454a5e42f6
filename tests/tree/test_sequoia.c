// Sequoia's table against every tree there is.
#include "dice.h"
#include "tree/expect.h"
#include "tree/sequoia.h"
#include <math.h>

enum { MOST = 10 };

static fr_sequoia table;

// A node that may be taken: its parent is, and so are its siblings of lower rank.
typedef struct branch {
    double prob; // of its parent
    int depth, rank;
} branch;

typedef struct all_trees {
    const double *p;
    int depth, children;
    double best; // of exactly the size asked for; 0: there is none
} all_trees;

// Every ordered tree once: each open place in turn stays empty, or takes a node and opens the place
// of its first child and that of its next sibling.
static void walk(all_trees *t, const branch *open, int n, int left, double sum) {
    if (left == 0) {
        if (sum > t->best) t->best = sum;
        return;
    }
    if (n == 0) return;
    const branch place = open[n - 1];
    branch more[2 * MOST];
    memcpy(more, open, (size_t)n * sizeof *open);
    walk(t, more, n - 1, left, sum);
    if (place.depth > t->depth || place.rank == t->children) return;
    const double prob = place.prob * t->p[place.rank];
    more[n - 1] = (branch){place.prob, place.depth, place.rank + 1};
    more[n] = (branch){prob, place.depth + 1, 0};
    walk(t, more, n + 1, left - 1, sum + prob);
}

static double brute_force(const double *p, int children, int n, int depth) {
    all_trees t = {.p = p, .depth = depth, .children = children};
    walk(&t, &(branch){1, 1, 0}, 1, n - 1, 1);
    return t.best;
}

static void draw_ranks(double *p, int n) {
    double left = 1;
    for (int b = 0; b < n; b++) {
        p[b] = left * dice_unit();
        left -= p[b];
    }
}

static void the_table_is_the_best_of_all_trees(void **state) {
    (void)state;
    dice_begin(11);
    for (int round = 0; round < 40; round++) {
        double p[5];
        const fr_shape_limits limits = {8, 1 + dice_below(5), 1 + dice_below(5)};
        draw_ranks(p, limits.children);
        fr_sequoia_solve(&table, p, &limits);
        for (int n = 1; n <= limits.nodes; n++)
            for (int l = 0; l <= limits.depth; l++) {
                const double best = brute_force(p, limits.children, n, l);
                assert_true(fabs(fr_sequoia_tokens(&table, n, l) - best) < 1e-12);
            }
    }
}

static void shapes_bring_what_the_table_says(void **state) {
    (void)state;
    dice_begin(12);
    for (int round = 0; round < 12; round++) {
        double p[FR_SEQUOIA_CHILDREN];
        fr_shape s;
        int16_t child[FR_TREE_MAX];
        const fr_shape_limits limits = {30, 6, 1 + dice_below(FR_SEQUOIA_CHILDREN)};
        draw_ranks(p, limits.children);
        fr_sequoia_solve(&table, p, &limits);
        for (int n = 1; n <= limits.nodes; n++)
            for (int l = 0; l <= limits.depth; l++) {
                if (fr_sequoia_tokens(&table, n, l) <= 0) continue;
                fr_sequoia_shape(&table, n, l, &s);
                assert_int_equal(s.n, n);
                assert_true(fr_shape_is_sound(&s));
                assert_true(fabs(1 + fr_shape_expect(&s) - fr_sequoia_tokens(&table, n, l)) <
                            1e-12);
                for (int i = 0; i < n; i++) {
                    assert_true(s.node[i].depth <= l);
                    const int n_children = fr_shape_children(&s, i, child);
                    assert_true(n_children <= limits.children);
                    for (int k = 0; k < n_children; k++) // ranks without gaps
                        assert_int_equal(s.node[child[k]].rank, k);
                }
            }
    }
}

static void what_cannot_be_built_is_zero(void **state) {
    (void)state;
    const double p[] = {0.5, 0.25};
    fr_sequoia_solve(&table, p, &(fr_shape_limits){9, 2, 2}); // at most 1 + 2 + 4 nodes
    assert_true(fr_sequoia_tokens(&table, 7, 2) == 1 + 0.75 + 0.75 * 0.75);
    assert_true(fr_sequoia_tokens(&table, 8, 2) == 0);
    assert_true(fr_sequoia_tokens(&table, 2, 0) == 0);
    assert_true(fr_sequoia_tokens(&table, 1, 0) == 1);
    fr_sequoia_solve(&table, NULL, &(fr_shape_limits){9, 2, 0});
    assert_true(fr_sequoia_tokens(&table, 2, 2) == 0);
    assert_true(fr_sequoia_tokens(&table, 1, 2) == 1);
}

static void limits_beyond_the_table_are_clamped(void **state) {
    (void)state;
    double p[100];
    fr_shape s;
    for (int b = 0; b < 100; b++)
        p[b] = 0.01;
    fr_sequoia_solve(&table, p, &(fr_shape_limits){1000, 1000, 100});
    assert_int_equal(table.limits.nodes, FR_SEQUOIA_NODES);
    fr_sequoia_shape(&table, FR_SEQUOIA_NODES, FR_SEQUOIA_DEPTH, &s);
    assert_int_equal(s.n, FR_SEQUOIA_NODES);
    assert_true(fr_shape_is_sound(&s));
}

static void the_chosen_size_costs_least_time_a_token(void **state) {
    (void)state;
    dice_begin(13);
    for (int round = 0; round < 20; round++) {
        double p[4], least = 1e9;
        int n, depth;
        const fr_cost cost = {.n = 3,
                              .rows = {1, 4, 8},
                              .trunk = {1, 1 + dice_unit(), 2 + dice_unit()},
                              .head = {0.1, 0.2, 0.4},
                              .key = 1e-4,
                              .key_row = 1e-5};
        const double level = 0.3 * dice_unit();
        draw_ranks(p, 4);
        fr_sequoia_solve(&table, p, &(fr_shape_limits){8, 4, 4});
        for (int i = 1; i <= 8; i++)
            for (int l = 0; l <= 4; l++) {
                const double tokens = brute_force(p, 4, i, l);
                const double seconds = l * level + fr_cost_pass(&cost, i, i, 100);
                if (tokens > 0 && seconds / tokens < least) least = seconds / tokens;
            }
        const double found = fr_sequoia_choose(&table, &cost, level, 100, &n, &depth);
        assert_true(fabs(found - least) < 1e-12);
        const double tokens = brute_force(p, 4, n, depth);
        assert_true(fabs((depth * level + fr_cost_pass(&cost, n, n, 100)) / tokens - least) <
                    1e-12);
    }
}

static void dear_drafting_is_no_drafting(void **state) {
    (void)state;
    const fr_cost cost = {.n = 2, .rows = {1, 8}, .trunk = {1, 2}};
    const double p[] = {0.6, 0.2};
    int n, depth;
    fr_sequoia_solve(&table, p, &(fr_shape_limits){16, 8, 2});
    assert_true(fr_sequoia_choose(&table, &cost, 1, 0, &n, &depth) == 1);
    assert_int_equal(n, 1);
    assert_int_equal(depth, 0);
    assert_true(fr_sequoia_choose(&table, &cost, 0, 0, &n, &depth) < 1);
    assert_true(n > 1 && depth > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_the_best_of_all_trees),
        cmocka_unit_test(shapes_bring_what_the_table_says),
        cmocka_unit_test(what_cannot_be_built_is_zero),
        cmocka_unit_test(limits_beyond_the_table_are_clamped),
        cmocka_unit_test(the_chosen_size_costs_least_time_a_token),
        cmocka_unit_test(dear_drafting_is_no_drafting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
