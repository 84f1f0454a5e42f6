#include "tree/tree.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parents_come_before_children),
        cmocka_unit_test(same_token_under_same_parent_is_one_node),
        cmocka_unit_test(full_or_deep_enough_means_no),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
