#include "dice.h"
#include "support/damage.h"
#include "tree/tree.h"

static void parents_come_before_children(void **state) {
    (void)state;
    fr_tree t;
    fr_tree_begin(&t, 7, 64, 8);
    srand(1);
    for (int i = 0; i < 500; i++)
        fr_tree_add(&t, rand() % t.n, rand() % 5, 0.5f, 0);
    assert_int_equal(t.n, 64);
    for (int i = 1; i < t.n; i++) {
        assert_true(t.node[i].parent < i);
        assert_int_equal(t.node[i].depth, t.node[t.node[i].parent].depth + 1);
        assert_true(t.node[i].depth <= 8);
        assert_int_equal(fr_tree_child(&t, t.node[i].parent, t.node[i].id), i);
    }
}

static void same_token_under_same_parent_is_one_node(void **state) {
    (void)state;
    fr_tree t;
    fr_tree_begin(&t, 7, 8, 8);
    int a = fr_tree_add(&t, 0, 1, 0.2f, 0);
    assert_int_equal(fr_tree_add(&t, 0, 1, 0.6f, 1), a);
    assert_int_equal(t.n, 2);
    assert_true(t.node[a].score == 0.6f);
    assert_int_equal(t.node[a].drafter, 0);
    int b = fr_tree_add(&t, a, 1, 0.1f, 0); // the same token one level down is another node
    assert_int_not_equal(b, a);
}

static void full_or_deep_enough_means_no(void **state) {
    (void)state;
    fr_tree t;
    fr_tree_begin(&t, 0, 3, 1);
    assert_int_equal(fr_tree_add(&t, 0, 1, 1, 0), 1);
    assert_int_equal(fr_tree_add(&t, 1, 2, 1, 0), -1); // depth
    assert_int_equal(fr_tree_add(&t, 0, 2, 1, 0), 2);
    assert_int_equal(fr_tree_add(&t, 0, 3, 1, 0), -1); // nodes
    assert_int_equal(fr_tree_add(&t, 0, 2, 1, 0), 2);  // but what is there is found
    fr_tree_begin(&t, 0, 1000, 1000);
    assert_int_equal(t.max_nodes, FR_TREE_MAX);
    assert_int_equal(t.max_depth, FR_TREE_MAX_DEPTH);
}

// steps 0: scores of any value; else of a few, so that many are equal. Some children are scored
// above their parents.
static void random_scores(fr_tree *t, int n, int steps) {
    fr_tree_begin(t, 7, n, 1 + dice_below(10));
    for (int i = 0; i < 3 * n; i++) {
        const float u = steps ? (float)dice_below(steps + 1) / (float)steps : (float)dice_unit();
        fr_tree_add(t, dice_below(t->n), dice_below(9), u, dice_below(4));
    }
}

// keep[i]: whether node i is among the n best, counted one by one: the best one left, the first of
// equal ones, again and again.
static void best_of(const fr_tree *t, int n, bool *keep) {
    float score[FR_TREE_MAX] = {1};
    for (int i = 1; i < t->n; i++) {
        const float above = score[t->node[i].parent];
        score[i] = t->node[i].score < above ? t->node[i].score : above;
        keep[i] = false;
    }
    keep[0] = true;
    for (int left = n - 1; left > 0; left--) {
        int best = 0;
        for (int i = 1; i < t->n; i++)
            if (!keep[i] && (!best || score[i] > score[best])) best = i;
        if (!best) return;
        keep[best] = true;
    }
}

static void keeping_n_keeps_the_best_in_their_order(void **state) {
    (void)state;
    fr_tree t, before;
    bool keep[FR_TREE_MAX];
    dice_begin(22);
    for (int round = 0; round < 2000; round++) {
        random_scores(&before, 1 + dice_below(round % 10 ? 20 : FR_TREE_MAX), round % 3 * 2);
        const int n = 1 + dice_below(before.n + 2);
        t = before;
        fr_tree_keep(&t, n);
        best_of(&before, n, keep);
        int at = 0, of[FR_TREE_MAX];
        for (int i = 0; i < before.n; i++) {
            if (!keep[i]) continue;
            of[at] = i;
            assert_true(at < t.n);
            assert_int_equal(t.node[at].id, before.node[i].id);
            assert_int_equal(t.node[at].depth, before.node[i].depth);
            assert_int_equal(t.node[at].drafter, before.node[i].drafter);
            // Its parent was kept, and stands where the tree says.
            if (at) assert_int_equal(of[t.node[at].parent], before.node[i].parent);
            if (at) assert_int_equal(fr_tree_child(&t, t.node[at].parent, t.node[at].id), at);
            at++;
        }
        assert_int_equal(t.n, at);
        assert_int_equal(t.n, n < before.n ? n : before.n);
    }
}

static void kept_trees_can_grow_again(void **state) {
    (void)state;
    fr_tree t;
    dice_begin(23);
    random_scores(&t, 40, 0);
    const int n = t.n / 2;
    fr_tree_keep(&t, n);
    assert_int_equal(fr_tree_add(&t, n - 1, 100, 0.5f, 0) >= 0, t.node[n - 1].depth < t.max_depth);
    const int c = fr_tree_add(&t, 0, 101, 0.5f, 0);
    assert_int_equal(fr_tree_child(&t, 0, 101), c);
    fr_tree_keep(&t, 1);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.node[0].first_child, -1);
}

static void the_check_of_a_tree_finds_damage(void **state) {
    (void)state;
    fr_tree t;
    fr_tree_begin(&t, 7, 8, 3);
    const int a = fr_tree_add(&t, 0, 1, 0.5f, 0), b = fr_tree_add(&t, 0, 2, 0.25f, 0);
    const int c = fr_tree_add(&t, a, 3, 0.25f, 0);
    assert_noticed(t.n, 0, fr_tree_is_sound(&t));
    assert_noticed(t.n, 9, fr_tree_is_sound(&t));
    assert_noticed(t.n, 3, fr_tree_is_sound(&t)); // a list names a node beyond the end
    assert_noticed(t.max_nodes, 3, fr_tree_is_sound(&t));
    assert_noticed(t.max_depth, 1, fr_tree_is_sound(&t));
    assert_noticed(t.node[0].parent, 0, fr_tree_is_sound(&t));
    assert_noticed(t.node[c].parent, b, fr_tree_is_sound(&t));
    assert_noticed(t.node[c].depth, 1, fr_tree_is_sound(&t));
    assert_noticed(t.node[b].id, 1, fr_tree_is_sound(&t)); // as its sibling
    assert_noticed(t.node[b].next, -1, fr_tree_is_sound(&t));
    assert_noticed(t.node[a].next, b, fr_tree_is_sound(&t)); // a ring
    assert_noticed(t.node[a].first_child, -1, fr_tree_is_sound(&t));
    assert_noticed(t.node[c].score, -0.1f, fr_tree_is_sound(&t));
    assert_noticed(t.node[c].score, 0.0f / 0.0f, fr_tree_is_sound(&t));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parents_come_before_children),
        cmocka_unit_test(same_token_under_same_parent_is_one_node),
        cmocka_unit_test(full_or_deep_enough_means_no),
        cmocka_unit_test(keeping_n_keeps_the_best_in_their_order),
        cmocka_unit_test(kept_trees_can_grow_again),
        cmocka_unit_test(the_check_of_a_tree_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
