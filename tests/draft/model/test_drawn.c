// Draws without replacement follow their distribution: the first draw p, the second p without the
// first.
#include "decode/chi_square.h"
#include "draft/model/drawn.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { V = 6, TRIALS = 200000 };
static const fr_chance CHANCES[V] = {{11, 0.4f}, {3, 0.25f}, {7, 0.2f},
                                     {2, 0.1f},  {5, 0.05f}, {9, 0}};

static int place_of(int32_t id) {
    for (int i = 0; i < V; i++)
        if (CHANCES[i].id == id) return i;
    return -1;
}

static void pairs_follow_the_law_without_replacement(void **state) {
    (void)state;
    static fr_drawn d;
    long count[V * V] = {0};
    double p[V * V];
    int df;
    for (int i = 0; i < V; i++)
        for (int j = 0; j < V; j++)
            p[i * V + j] = i == j ? 0 : (double)CHANCES[i].p * CHANCES[j].p / (1 - CHANCES[i].p);
    for (int trial = 0; trial < TRIALS; trial++) {
        int32_t ids[FR_DRAWN_MOST];
        uint64_t k = 0;
        assert_int_equal(fr_drawn_take(&d, CHANCES, V, 2, 77, FR_NOISE_DRAFT, trial, &k, ids), 2);
        assert_int_equal(k, V);
        count[place_of(ids[0]) * V + place_of(ids[1])]++;
    }
    const double chi = chi_square(count, p, V * V, &df);
    print_message("seed 77: chi-square %.2f, %d degrees of freedom\n", chi, df);
    assert_int_equal(df, 5 * 4 - 1);
    assert_true(chi < chi_square_limit(df));
}

static void one_draw_is_the_first_of_two(void **state) {
    (void)state;
    static fr_drawn d;
    for (int trial = 0; trial < 1000; trial++) {
        int32_t one[FR_DRAWN_MOST], two[FR_DRAWN_MOST];
        uint64_t k = 5, l = 5;
        fr_drawn_take(&d, CHANCES, V, 1, 78, FR_NOISE_DRAFT, trial, &k, one);
        fr_drawn_take(&d, CHANCES, V, 2, 78, FR_NOISE_DRAFT, trial, &l, two);
        assert_int_equal(one[0], two[0]);
    }
}

static void what_cannot_be_drawn_is_not(void **state) {
    (void)state;
    static fr_drawn d;
    static fr_chance many[FR_DRAWN_TOKENS + 500];
    int32_t ids[FR_DRAWN_MOST];
    uint64_t k = 0;
    assert_int_equal(fr_drawn_take(&d, CHANCES + 4, 2, 4, 79, FR_NOISE_DRAFT, 1, &k, ids), 1);
    assert_int_equal(ids[0], 5);
    assert_int_equal(d.dist.n_draws, 1);
    for (int i = 0; i < FR_DRAWN_TOKENS + 500; i++)
        many[i] = (fr_chance){i, 1.0f / (FR_DRAWN_TOKENS + 500)};
    for (int trial = 0; trial < 300;
         trial++) { // of a longer distribution the first tokens, and it says so
        assert_int_equal(
            fr_drawn_take(&d, many, FR_DRAWN_TOKENS + 500, 4, 79, FR_NOISE_DRAFT, trial, &k, ids),
            4);
        for (int i = 0; i < 4; i++)
            assert_in_range(ids[i], 0, FR_DRAWN_TOKENS - 1);
    }
    double mass = 0;
    for (int i = 0; i < d.dist.n; i++)
        mass += d.dist.p[i];
    assert_int_equal(d.dist.n, FR_DRAWN_TOKENS);
    assert_true(fabs(mass - 1) < 1e-4); // so many roundings of float
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_follow_the_law_without_replacement),
        cmocka_unit_test(one_draw_is_the_first_of_two),
        cmocka_unit_test(what_cannot_be_drawn_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
