// Which experts a row reads, beside a plain sort in double precision; ties, NaN and groups.
#include "model/route.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 40 };

static const fr_experts plain = {
    .n = 8, .used = 3, .gating = FR_GATE_SOFTMAX, .normed = true, .scale = 1};

static uint64_t state = 1;
static int below(int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static void route(const fr_experts *e, const float *x, const float *bias, fr_choice *chosen) {
    float scores[MOST], mark[MOST];
    memcpy(scores, x, sizeof *x * (size_t)e->n);
    fr_route(e, scores, bias, mark, chosen);
}

// ---------------------------------------------------------------- the rule, said once more

static const double *sorted_by;
static int by_mark(const void *a, const void *b) {
    const int i = *(const int *)a, k = *(const int *)b;
    if (sorted_by[i] != sorted_by[k]) return sorted_by[i] < sorted_by[k] ? 1 : -1;
    return i - k;
}

static int ascending(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

static void sort_by(const double *mark, int *numbers, int n) {
    for (int i = 0; i < n; i++)
        numbers[i] = i;
    sorted_by = mark;
    qsort(numbers, (size_t)n, sizeof *numbers, by_mark);
}

static void drop_groups(const fr_experts *e, double *mark) {
    double sum[MOST];
    int order[MOST], each = e->n / e->groups;
    for (int g = 0; g < e->groups; g++) {
        sort_by(mark + g * each, order, each);
        sum[g] = mark[g * each + order[0]] + mark[g * each + order[1]];
    }
    sort_by(sum, order, e->groups);
    for (int g = e->groups_used; g < e->groups; g++)
        for (int i = 0; i < each; i++)
            mark[order[g] * each + i] = -INFINITY;
}

static void expected_choice(const fr_experts *e, const float *x, const float *bias, int *chosen,
                            double *weight) {
    double score[MOST], mark[MOST], all = 0, sum = 0;
    int order[MOST];
    for (int i = 0; i < e->n; i++)
        all += exp((double)x[i]);
    for (int i = 0; i < e->n; i++) {
        score[i] = e->gating == FR_GATE_SOFTMAX   ? exp((double)x[i]) / all
                   : e->gating == FR_GATE_SIGMOID ? 1 / (1 + exp(-(double)x[i]))
                                                  : (double)x[i];
        mark[i] = score[i] + (bias ? (double)bias[i] : 0);
    }
    if (e->groups > 1) drop_groups(e, mark);
    sort_by(mark, order, e->n);
    qsort(order, (size_t)e->used, sizeof *order, ascending);
    for (int i = 0; i < e->used; i++) {
        chosen[i] = order[i];
        weight[i] = e->gating == FR_GATE_CHOSEN ? exp(score[order[i]]) : score[order[i]];
        sum += weight[i];
    }
    const double by = e->gating == FR_GATE_CHOSEN ? sum : e->normed ? fmax(sum, 0x1p-14) : 1;
    for (int i = 0; i < e->used; i++)
        weight[i] *= (double)e->scale / by;
}

// Values apart by more than rounding, in any order.
static void shuffle(float *x, int n, float step) {
    for (int i = 0; i < n; i++) {
        const int k = below(i + 1);
        x[i] = x[k];
        x[k] = step * (float)(i - n / 2) + 0.0037f * (float)(i * i);
    }
}

static void the_best_are_chosen_and_weighed(void **unused) {
    (void)unused;
    for (int trial = 0; trial < 3000; trial++) {
        const int groups = trial % 3 ? 0 : 2 + below(3), each = 2 + below(6);
        fr_experts e = {.gating = (fr_gating)(1 + below(3)),
                        .normed = below(2),
                        .scale = below(2) ? 1 : 2.5f,
                        .groups = groups};
        e.n = groups ? groups * each : 1 + below(MOST);
        e.groups_used = groups ? 1 + below(groups) : 0;
        e.used = 1 + below(groups ? e.groups_used * each : e.n);
        float x[MOST], bias[MOST];
        shuffle(x, e.n, 0.3f);
        shuffle(bias, e.n, 0.7f);
        const bool biased = below(2) && e.gating != FR_GATE_CHOSEN;
        fr_choice found[MOST];
        int chosen[MOST];
        double weight[MOST];
        route(&e, x, biased ? bias : NULL, found);
        expected_choice(&e, x, biased ? bias : NULL, chosen, weight);
        for (int i = 0; i < e.used; i++) {
            assert_int_equal(found[i].expert, chosen[i]);
            if (!(fabs((double)found[i].weight - weight[i]) <= 2e-6 * (1 + fabs(weight[i]))))
                fail_msg("trial %d: expected %g, found %g", trial, weight[i],
                         (double)found[i].weight);
        }
    }
}

static void of_equal_scores_the_lower_number_is_chosen(void **unused) {
    (void)unused;
    const float x[] = {0, 1, 2, 1, 2, 1, 0, 1};
    fr_choice c[3];
    route(&plain, x, NULL, c);
    assert_int_equal(c[0].expert, 1);
    assert_int_equal(c[1].expert, 2);
    assert_int_equal(c[2].expert, 4);
    const float same[8] = {0};
    route(&plain, same, NULL, c);
    for (int i = 0; i < 3; i++)
        assert_int_equal(c[i].expert, i);
    const fr_experts grouped = {.n = 8,
                                .used = 2,
                                .gating = FR_GATE_SIGMOID,
                                .normed = true,
                                .scale = 1,
                                .groups = 4,
                                .groups_used = 1};
    route(&grouped, same, NULL, c);
    assert_int_equal(c[0].expert, 0);
    assert_int_equal(c[1].expert, 1);
}

static void a_score_that_is_no_number_makes_all_weights_none(void **unused) {
    (void)unused;
    const float bad[] = {NAN, INFINITY};
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++)
        for (int at = 0; at < 8; at++) {
            float x[8] = {0, 1, 2, 3, 4, 5, 6, 7};
            fr_choice c[3];
            x[at] = bad[b];
            route(&plain, x, NULL, c);
            for (int i = 0; i < 3; i++) {
                assert_in_range(c[i].expert, 0, 7);
                assert_true(isnan(c[i].weight));
            }
        }
}

static void a_score_of_minus_infinity_is_never_better(void **unused) {
    (void)unused;
    const float x[] = {-INFINITY, 1, -INFINITY, 3, -INFINITY, 5, -INFINITY, -2};
    fr_choice c[3];
    route(&plain, x, NULL, c);
    assert_int_equal(c[0].expert, 1);
    assert_int_equal(c[1].expert, 3);
    assert_int_equal(c[2].expert, 5);
}

static void scores_near_nothing_are_divided_by_no_less_than_llama_cpp_does(void **unused) {
    (void)unused;
    fr_experts e = plain;
    e.gating = FR_GATE_SIGMOID;
    const float x[8] = {-20, -20, -20, -20, -20, -20, -20, -20};
    fr_choice c[3];
    route(&e, x, NULL, c);
    assert_true(fabs((double)c[0].weight - 1 / (1 + exp(20)) / 6.103515625e-5) < 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_are_chosen_and_weighed),
        cmocka_unit_test(of_equal_scores_the_lower_number_is_chosen),
        cmocka_unit_test(a_score_that_is_no_number_makes_all_weights_none),
        cmocka_unit_test(a_score_of_minus_infinity_is_never_better),
        cmocka_unit_test(scores_near_nothing_are_divided_by_no_less_than_llama_cpp_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
