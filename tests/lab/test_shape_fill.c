// test_shape_fill.c — a shape's tree holds the guesses at its places, and nothing else.
#include "lab/draft/shape_fill.h"
#include "tree/dice.h"

static void guesses_fill_a_shape(void **state) {
    (void)state;
    fr_shape s;
    fr_tree t;
    fr_shape_begin(&s); // 0, 1, 0.0, 0.2, 0.2.0
    fr_shape_add(&s, 0, 0, 0.5);
    fr_shape_add(&s, 0, 1, 0.25);
    fr_shape_add(&s, 1, 0, 0.125);
    fr_shape_add(&s, 1, 2, 0.0625);
    fr_shape_add(&s, 4, 0, 0.03125);
    const int32_t id[] = {10, 11, 12, 20, 21, 22, 30, 31, 32};
    fr_tree_begin(&t, 7, 64, 8);
    fr_shape_fill(&s, &(fr_guesses){id, 3, 3}, 2, &t);
    assert_int_equal(t.n, 6);
    const int32_t ids[] = {7, 10, 11, 20, 22, 30};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(t.node[i].id, ids[i]);
        assert_int_equal(t.node[i].parent, s.node[i].parent);
        assert_int_equal(t.node[i].rank, s.node[i].rank);
        assert_int_equal(t.node[i].depth, s.node[i].depth);
        assert_true(t.node[i].score == (float)s.node[i].prob);
        if (i) assert_int_equal(t.node[i].drafter, 2);
    }
}

static void what_was_not_guessed_is_left_out(void **state) {
    (void)state;
    fr_shape s;
    fr_tree t;
    fr_shape_begin(&s); // 0, 1, 0.0, 1.0, 1.0.0
    fr_shape_add(&s, 0, 0, 0.5);
    fr_shape_add(&s, 0, 1, 0.25);
    fr_shape_add(&s, 1, 0, 0.125);
    fr_shape_add(&s, 2, 0, 0.0625);
    fr_shape_add(&s, 4, 0, 0.03125);
    fr_tree_begin(&t, 7, 64, 8);
    fr_shape_fill(&s, &(fr_guesses){(int32_t[]){10, -1, 20, 21}, 2, 2}, 0, &t);
    assert_int_equal(t.n, 3); // neither rank 1, nor what hangs there, nor depth 3
    assert_int_equal(fr_tree_child(&t, 0, 10), 1);
    assert_int_equal(fr_tree_child(&t, 1, 20), 2);
    fr_tree_begin(&t, 7, 64, 8);
    fr_shape_fill(&s, &(fr_guesses){(int32_t[]){10, 20}, 2, 1}, 0, &t);
    assert_int_equal(t.n, 3);
    fr_tree_begin(&t, 7, 3, 8); // no room: what is first in the shape stays
    fr_shape_fill(&s, &(fr_guesses){(int32_t[]){10, 11, 20, 21, 30, 31}, 3, 2}, 0, &t);
    assert_int_equal(t.n, 3);
    assert_int_equal(fr_tree_child(&t, 0, 11), 2);
}

static void another_drafters_node_keeps_its_rank(void **state) {
    (void)state;
    fr_shape s;
    fr_tree t;
    fr_shape_begin(&s);
    fr_shape_add(&s, 0, 1, 0.5);
    fr_tree_begin(&t, 7, 64, 8);
    fr_tree_add(&t, 0, 11, 0.25f, 1);
    fr_shape_fill(&s, &(fr_guesses){(int32_t[]){10, 11}, 1, 2}, 0, &t);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.node[1].rank, 0);
    assert_int_equal(t.node[1].drafter, 1);
    assert_true(t.node[1].score == 0.5f);
}

static void a_path_weighs_the_product_of_its_ranks(void **state) {
    (void)state;
    fr_accuracy a;
    fr_shape s;
    dice_begin(4);
    dice_accuracy(&a, 3);
    assert_int_equal(fr_shape_read(&s, "0.2.1\n1.0", 9, NULL), FR_OK);
    fr_accuracy_weigh(&a, &s);
    assert_true(fr_shape_is_sound(&s));
    const double want[] = {1,
                           fr_accuracy_rate(&a, 1, 0),
                           fr_accuracy_rate(&a, 1, 0) * fr_accuracy_rate(&a, 2, 2),
                           fr_accuracy_rate(&a, 1, 0) * fr_accuracy_rate(&a, 2, 2) *
                               fr_accuracy_rate(&a, 3, 1),
                           fr_accuracy_rate(&a, 1, 1),
                           fr_accuracy_rate(&a, 1, 1) * fr_accuracy_rate(&a, 2, 0)};
    for (int i = 0; i < s.n; i++)
        assert_true(s.node[i].prob == want[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guesses_fill_a_shape),
        cmocka_unit_test(what_was_not_guessed_is_left_out),
        cmocka_unit_test(another_drafters_node_keeps_its_rank),
        cmocka_unit_test(a_path_weighs_the_product_of_its_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
