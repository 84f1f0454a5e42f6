// The expansion against every tree there is.
#include "dice.h"
#include "tree/best_shape.h"
#include "tree/expect.h"

enum { RANKS = 4, MOST = 64 };

// A node that may be taken: its parent is.
typedef struct branch {
    double prob;
    int depth, parent, n_children; // parent: place in the list
} branch;

typedef struct all_trees {
    const fr_accuracy *a;
    fr_shape_limits limits;
    branch open[MOST];
    long seen;
} all_trees;

static int open_children(all_trees *t, int parent, int n) {
    const int depth = t->open[parent].depth + 1;
    if (depth > t->limits.depth) return n;
    for (int r = 0; r < RANKS; r++)
        t->open[n++] =
            (branch){t->open[parent].prob * fr_accuracy_rate(t->a, depth, r), depth, parent, 0};
    return n;
}

// The greatest sum of probabilities over all ways to take `left` of open[at..n) and of what hangs
// under those taken: every set of nodes that holds its nodes' parents is tried once.
static double best_sum(all_trees *t, int at, int n, int left) {
    if (left == 0 || at == n) {
        t->seen++;
        return 0;
    }
    double best = best_sum(t, at + 1, n, left);
    branch *parent = &t->open[t->open[at].parent];
    if (parent->n_children == t->limits.children) return best;
    parent->n_children++;
    const double with = t->open[at].prob + best_sum(t, at + 1, open_children(t, at, n), left - 1);
    parent->n_children--;
    return with > best ? with : best;
}

static double brute_force(all_trees *t) {
    t->open[0] = (branch){1, 0, 0, 0};
    return best_sum(t, 1, open_children(t, 0, 1), t->limits.nodes - 1);
}

static void no_tree_of_the_size_is_better(void **state) {
    (void)state;
    dice_begin(5);
    long seen = 0;
    for (int round = 0; round < 60; round++) {
        fr_accuracy a;
        fr_shape s;
        all_trees t = {.a = &a,
                       .limits = {2 + dice_below(7), 1 + dice_below(4), 1 + dice_below(RANKS)}};
        dice_accuracy(&a, 4);
        for (int k = 0; k < 4; k++) // ranks need not fall, and only RANKS of them count
            for (int r = 0; r < FR_ACCURACY_RANKS; r++) {
                const int other = dice_below(RANKS);
                const uint64_t swap = a.right[k][r];
                a.right[k][r] = r < RANKS ? a.right[k][other] : 0;
                if (r < RANKS) a.right[k][other] = swap;
            }
        fr_best_shape(&s, &a, &t.limits);
        assert_true(fr_shape_is_sound(&s));
        assert_true(s.n <= t.limits.nodes);
        const double best = brute_force(&t), found = fr_shape_expect(&s);
        assert_true(found >= best - 1e-12 && found <= best + 1e-12);
        seen += t.seen;
    }
    print_message("%ld trees\n", seen);
    assert_true(seen > 10000);
}

static void limits_hold_and_probabilities_are_products(void **state) {
    (void)state;
    dice_begin(6);
    for (int round = 0; round < 50; round++) {
        fr_accuracy a;
        fr_shape s;
        int16_t child[FR_TREE_MAX];
        const fr_shape_limits limits = {1 + dice_below(140), dice_below(8), 1 + dice_below(10)};
        dice_accuracy(&a, 1 + dice_below(6));
        fr_best_shape(&s, &a, &limits);
        assert_true(fr_shape_is_sound(&s));
        assert_true(s.n <= limits.nodes && s.n <= FR_TREE_MAX);
        for (int i = 0; i < s.n; i++) {
            assert_true(s.node[i].depth <= limits.depth);
            assert_true(fr_shape_children(&s, i, child) <= limits.children);
        }
        for (int i = 1; i < s.n; i++)
            assert_true(s.node[i].prob ==
                        s.node[s.node[i].parent].prob *
                            fr_accuracy_rate(&a, s.node[i].depth, s.node[i].rank));
    }
}

static void a_larger_shape_begins_with_the_smaller(void **state) {
    (void)state;
    fr_accuracy a;
    fr_shape large, small;
    dice_begin(7);
    dice_accuracy(&a, 5);
    fr_best_shape(&large, &a, &(fr_shape_limits){64, 5, 10});
    assert_int_equal(large.n, 64);
    for (int n = 1; n < 64; n++) {
        fr_best_shape(&small, &a, &(fr_shape_limits){n, 5, 10});
        assert_int_equal(small.n, n);
        for (int i = 0; i < n; i++) {
            assert_int_equal(small.node[i].parent, large.node[i].parent);
            assert_int_equal(small.node[i].rank, large.node[i].rank);
        }
        if (n > 1) assert_true(small.node[n - 1].prob <= small.node[n > 2 ? n - 2 : 0].prob);
    }
}

static void guesses_never_right_get_no_node(void **state) {
    (void)state;
    fr_accuracy a = {.tried = {4, 4}, .right = {{2, 0, 1}, {0}}};
    fr_shape s;
    fr_best_shape(&s, &a, &(fr_shape_limits){64, 5, 10});
    assert_int_equal(s.n, 3);
    assert_int_equal(s.node[1].rank, 0);
    assert_int_equal(s.node[2].rank, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_tree_of_the_size_is_better),
        cmocka_unit_test(limits_hold_and_probabilities_are_products),
        cmocka_unit_test(a_larger_shape_begins_with_the_smaller),
        cmocka_unit_test(guesses_never_right_get_no_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
