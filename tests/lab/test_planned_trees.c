// test_planned_trees.c — planned trees hold their rows, and attached rows stand where the plan
// says.
#include "lab/draft/planned_trees.h"
#include "tree/dice.h"

enum { ENSEMBLE = 2, STEPS = 3 };

static int riders_of(const fr_ppd_state *s) {
    int n = 0;
    for (int c = 0; c < s->shape.n; c++)
        n += s->prompts[c];
    return n;
}

static void make(fr_planned *p, fr_plan_kind kind, int rows, const fr_accuracy *a) {
    const fr_attached_benefit r = {.steps = STEPS, .ensemble = ENSEMBLE, .share = {1, 1, 1}};
    const fr_cost cost = {.n = 2, .rows = {1, 101}, .trunk = {1, 6}, .head = {0.1, 2}};
    *p = (fr_planned){.kind = kind, .rows = rows};
    fr_planned_make(p, &r, a, &cost, 100);
}

static void every_plan_keeps_to_its_rows(void **state) {
    (void)state;
    fr_accuracy a;
    fr_planned dynamic, fixed, random;
    dice_begin(3);
    for (int rows = 7; rows <= 127; rows += 12) {
        dice_accuracy(&a, STEPS);
        make(&dynamic, FR_PLAN_DYNAMIC, rows, &a);
        make(&fixed, FR_PLAN_STATIC, rows, &a);
        make(&random, FR_PLAN_RANDOM, rows, &a);
        for (int k = 0; k <= STEPS; k++) {
            const fr_ppd_state *d = &dynamic.trees.state[k], *r = &random.trees.state[k];
            assert_true(d->shape.n + ENSEMBLE * riders_of(d) <= rows);
            assert_true(fr_shape_is_sound(&r->shape));
            assert_int_equal(r->shape.n, d->shape.n);
            assert_int_equal(riders_of(r), riders_of(d));
            assert_int_equal(r->prompts[0], STEPS);
        }
        const fr_ppd_state *s = &fixed.trees.state[STEPS];
        for (int c = 0; c < s->shape.n; c++)
            assert_int_equal(s->prompts[c], STEPS);
        const int each = 1 + ENSEMBLE * STEPS;
        assert_true(s->shape.n * each <= rows && (s->shape.n + 1) * each > rows);
    }
}

static void without_a_number_of_rows_the_fastest_is_taken(void **state) {
    (void)state;
    fr_accuracy a;
    fr_planned p;
    dice_begin(4);
    dice_accuracy(&a, STEPS);
    make(&p, FR_PLAN_DYNAMIC, 0, &a);
    const fr_cost cost = {.n = 2, .rows = {1, 101}, .trunk = {1, 6}, .head = {0.1, 2}};
    fr_ppd best;
    const fr_ppd_limits l = {
        .rows = 32, .prompts = STEPS, .ensemble = ENSEMBLE, .children = 10, .share = 1};
    fr_ppd_fit(&best, &a, &l, &cost, 0, 100);
    assert_int_equal(p.trees.limits.rows, best.limits.rows);
}

static void riders_follow_the_paths_of_the_plan(void **state) {
    (void)state;
    fr_accuracy a;
    fr_planned p;
    fr_tree t;
    uint8_t n_attached[FR_TREE_MAX];
    int32_t id[STEPS * 10];
    dice_begin(5);
    dice_accuracy(&a, STEPS);
    make(&p, FR_PLAN_DYNAMIC, 60, &a);
    for (int i = 0; i < STEPS * 10; i++)
        id[i] = 1000 + i;
    for (int k = 1; k <= STEPS; k++) {
        const fr_ppd_state *s = &p.trees.state[k];
        // Another drafter's node comes first and carries nothing.
        fr_tree_begin(&t, 1, FR_TREE_MAX, 8);
        const int other = fr_tree_add(&t, 0, 7, 0.5f, 1);
        fr_planned_fill(&p, &(fr_guesses){id, k, 10}, 0, &t);
        assert_int_equal(t.n, s->shape.n + 1);
        fr_planned_attach(&p, k, 0, &t, FR_TREE_MAX, n_attached);
        assert_int_equal(n_attached[other], 0);
        assert_int_equal(n_attached[0], STEPS);
        for (int i = 2; i < t.n; i++) // shapes are filled in their own order
            assert_int_equal(n_attached[i], s->prompts[i - 1]);
    }
    fr_tree_begin(&t, 1, FR_TREE_MAX, 1); // near the end: one level
    fr_planned_fill(&p, &(fr_guesses){id, STEPS, 10}, 0, &t);
    fr_planned_attach(&p, STEPS, 0, &t, FR_TREE_MAX, n_attached);
    const fr_ppd_state *s = &p.trees.state[STEPS];
    for (int i = 1; i < t.n; i++)
        assert_int_equal(n_attached[i], s->prompts[fr_shape_child(&s->shape, 0, t.node[i].rank)]);
}

static void no_more_ride_than_there_is_room_for(void **state) {
    (void)state;
    fr_accuracy a;
    fr_planned p;
    fr_tree t;
    uint8_t all[FR_TREE_MAX], n_attached[FR_TREE_MAX];
    int32_t id[STEPS * 10];
    dice_begin(6);
    dice_accuracy(&a, STEPS);
    make(&p, FR_PLAN_STATIC, 60, &a);
    for (int i = 0; i < STEPS * 10; i++)
        id[i] = 1000 + i;
    fr_tree_begin(&t, 1, FR_TREE_MAX, 8);
    fr_planned_fill(&p, &(fr_guesses){id, STEPS, 10}, 0, &t);
    fr_planned_attach(&p, STEPS, 0, &t, FR_TREE_MAX, all);
    const int wanted = riders_of(&p.trees.state[STEPS]);
    for (int most = 0; most <= wanted; most++) {
        int sum = 0;
        fr_planned_attach(&p, STEPS, 0, &t, most, n_attached);
        for (int i = 0; i < t.n; i++) {
            assert_true(n_attached[i] <= all[i]);
            sum += n_attached[i];
        }
        assert_int_equal(sum, most); // nobody who can ride stays behind
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_keeps_to_its_rows),
        cmocka_unit_test(without_a_number_of_rows_the_fastest_is_taken),
        cmocka_unit_test(riders_follow_the_paths_of_the_plan),
        cmocka_unit_test(no_more_ride_than_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
