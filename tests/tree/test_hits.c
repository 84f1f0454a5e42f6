#include "dice.h"
#include "support/damage.h"
#include "tree/hits.h"
#include <math.h>

static void counts_alone_are_right_over_tried(void **state) {
    (void)state;
    fr_hits h = {0};
    assert_true(fr_hits_rate(&h, 3, 1) == 0.5f); // never tried
    for (int i = 0; i < 1000; i++)
        fr_hits_count(&h, 3, 1, i % 4 == 0);
    assert_true(h.kind[3].weight == 1000 && h.kind[3].sum == 250); // memory 0: nothing is forgotten
    assert_true(fr_hits_rate(&h, 3, 1) == 0.25f);
    assert_true(h.kind[2].weight == 0);
}

static void rates_keep_away_from_never_and_always(void **state) {
    (void)state;
    fr_hits h = {0};
    for (int i = 0; i < 5000; i++) {
        fr_hits_count(&h, 0, 1, false);
        fr_hits_count(&h, 1, 1, true);
    }
    assert_true(fr_hits_rate(&h, 0, 1) == 0.001f);
    assert_true(fr_hits_rate(&h, 1, 1) == 0.999f);
}

static void an_expectation_weighs_as_many_tries(void **state) {
    (void)state;
    fr_hits h = {0};
    fr_hits_expect(&h, 5, 0.75f, 8);
    assert_true(fr_hits_rate(&h, 5, 1) == 0.75f);
    for (int i = 0; i < 8; i++)
        fr_hits_count(&h, 5, 1, false);
    assert_true(fr_hits_rate(&h, 5, 1) == 6.0f / 16);
}

// With a full memory of m, a try moves the rate by 1/m of the way.
static void a_full_memory_is_a_running_mean(void **state) {
    (void)state;
    const float weights[] = {32, 31.5f, 100};
    dice_begin(21);
    for (int w = 0; w < 3; w++) {
        fr_hits h = {.memory = 32};
        fr_hits_expect(&h, 0, 0.25f, weights[w]);
        double rate = 0.25;
        for (int i = 0; i < 2000; i++) {
            const bool right = dice_below(10) < (i < 1000 ? 9 : 2);
            fr_hits_count(&h, 0, 1, right);
            assert_true(h.kind[0].weight <= 32 * (1 + 1e-6f));
            rate += (right - rate) / 32;
            assert_true(fabs((double)fr_hits_rate(&h, 0, 1) - rate) < 1e-4);
        }
    }
}

// Guesses that are right half as often as their probabilities say.
static void probabilities_are_corrected(void **state) {
    (void)state;
    fr_hits h = {0};
    dice_begin(22);
    fr_hits_expect_probabilities(&h);
    assert_true(fr_hits_rate(&h, 4, 0.375f) == 0.375f);
    assert_true(fr_hits_rate(&h, 4, 1) == 0.999f && fr_hits_rate(&h, 4, 0) == 0.001f);
    for (int i = 0; i < 20000; i++) {
        const float prob = (float)dice_unit();
        fr_hits_count(&h, 4, prob, dice_unit() < 0.5 * (double)prob);
        assert_true(h.kind[4].weight <= 200 * (1 + 1e-6f));
    }
    assert_true(fabs((double)fr_hits_rate(&h, 4, 0.5f) - 0.25) < 0.05);
    assert_true(fabs((double)fr_hits_rate(&h, 4, 1) - 0.5) < 0.1);
}

static void learning_counts_what_was_offered_along_the_text(void **state) {
    (void)state;
    fr_tree t;
    fr_hits h = {.corrects = true};
    fr_tree_begin(&t, 7, 64, 8);
    const int a = fr_tree_add(&t, 0, 1, 0.5f, 2), b = fr_tree_add(&t, 0, 2, 0.25f, 2);
    const int c = fr_tree_add(&t, a, 3, 0.25f, 2), d = fr_tree_add(&t, b, 3, 0.125f, 2);
    const int other = fr_tree_add(&t, a, 4, 0.125f, 1), e = fr_tree_add(&t, c, 5, 0.125f, 2);
    t.node[a].kind = 10;
    t.node[b].kind = 11;
    t.node[c].kind = 12;
    t.node[d].kind = 13;
    t.node[e].kind = 14;
    t.node[other].kind = 15;
    assert_true(t.node[a].prob == 1);
    t.node[c].prob = 0.25f;
    fr_hits_learn(&h, &t, 2, (int32_t[]){1, 3, 9, 5}, 4);
    const float tried[] = {1, 1, 0.25f, 0, 1, 0}, right[] = {1, 0, 1, 0, 0, 0};
    for (int k = 0; k < 6; k++) { // d: its parent was wrong; `other`: another drafter's
        assert_true(h.kind[10 + k].weight == tried[k]);
        assert_true(h.kind[10 + k].sum == right[k]);
    }
    fr_hits_learn(&h, &t, 2, (int32_t[]){1}, 1); // nothing is known of what followed
    assert_true(h.kind[10].weight == 2 && h.kind[12].weight == 0.25f);
    fr_hits_learn(&h, &t, 2, NULL, 0);
    assert_true(h.kind[10].weight == 2);
}

static void the_check_of_hits_finds_damage(void **state) {
    (void)state;
    fr_hits h = {.memory = 32};
    fr_hits_expect(&h, 3, 0.75f, 8);
    assert_noticed(h.kind[3].sum, 9, fr_hits_is_sound(&h)); // right more often than tried
    assert_noticed(h.kind[3].sum, -1, fr_hits_is_sound(&h));
    assert_noticed(h.kind[3].weight, NAN, fr_hits_is_sound(&h));
    assert_noticed(h.kind[FR_HIT_KINDS - 1].sum, 1, fr_hits_is_sound(&h));
    assert_noticed(h.memory, 0.5f, fr_hits_is_sound(&h));
    fr_hits_expect_probabilities(&h);
    h.kind[3].sum = 29; // more were right than their probabilities say
    assert_true(fr_hits_is_sound(&h));
    assert_noticed(h.kind[3].weight, 0, fr_hits_is_sound(&h)); // right without a try
    assert_noticed(h.corrects, false, fr_hits_is_sound(&h));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_alone_are_right_over_tried),
        cmocka_unit_test(rates_keep_away_from_never_and_always),
        cmocka_unit_test(an_expectation_weighs_as_many_tries),
        cmocka_unit_test(a_full_memory_is_a_running_mean),
        cmocka_unit_test(probabilities_are_corrected),
        cmocka_unit_test(learning_counts_what_was_offered_along_the_text),
        cmocka_unit_test(the_check_of_hits_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
