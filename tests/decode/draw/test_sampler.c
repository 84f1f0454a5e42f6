#include "decode/draw/sampler.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { V = 8 };

static fr_sampler open_sampler(int n_vocab, const fr_sampling *g) {
    fr_sampler s;
    assert_int_equal(fr_sampler_open(&s, fr_kern_of(FR_ISA_SCALAR), n_vocab, NULL), FR_OK);
    fr_sampler_begin(&s, g, 0);
    return s;
}

static int draw(fr_sampler *s, const float *logits, int n, int position) {
    float *copy = malloc(sizeof *copy * (size_t)n);
    memcpy(copy, logits, sizeof *copy * (size_t)n);
    int id = fr_sampler_token(s, copy, NULL, 0, position);
    free(copy);
    return id;
}

static void greedy_takes_lowest_of_equal(void **state) {
    (void)state;
    fr_sampler s = open_sampler(V, &(fr_sampling){0});
    const float logits[V] = {1, 3, 2, 3, -1, 3, 0, 2};
    assert_int_equal(draw(&s, logits, V, 0), 1);
    fr_sampler_close(&s);
}

// Chi-square of 10^6 draws against softmax(logits / T), 7 degrees of freedom: 24.32 is exceeded
// once in a thousand.
static void draws_follow_the_law(void **state) {
    (void)state;
    const float logits[V] = {0.5f, -1, 2, 0, 1.5f, -0.5f, 1, -2};
    fr_sampler s = open_sampler(V, &(fr_sampling){.temperature = 1.25f, .seed = 42});
    enum { N = 1000000 };
    double p[V], total = 0, chi = 0;
    int count[V] = {0};
    for (int i = 0; i < V; i++)
        total += p[i] = exp(logits[i] / 1.25);
    for (int n = 0; n < N; n++)
        count[draw(&s, logits, V, n)]++;
    for (int i = 0; i < V; i++) {
        double expected = N * p[i] / total;
        chi += (count[i] - expected) * (count[i] - expected) / expected;
    }
    print_message("chi-square %.2f (seed 42)\n", chi);
    assert_true(chi < 24.32);
    fr_sampler_close(&s);
}

static void seeds_are_independent_of_each_other(void **state) {
    (void)state;
    enum { N = 20000 };
    double sum = 0, product = 0;
    for (int i = 0; i < N; i++) {
        double a = fr_uniform(1, (uint64_t)i), b = fr_uniform(2, (uint64_t)i),
               c = fr_uniform(1, (uint64_t)i + 1);
        assert_true(a >= 0 && a < 1);
        sum += a;
        product += (a - 0.5) * (b - 0.5) + (a - 0.5) * (c - 0.5);
    }
    assert_true(fabs(sum / N - 0.5) < 5 * sqrt(1 / 12.0 / N)); // five standard deviations
    assert_true(fabs(product / N) < 5 * sqrt(2.0 / 144 / N));
}

static void a_draw_depends_on_seed_and_position_alone(void **state) {
    (void)state;
    float logits[V] = {0, 0, 0, 0, 0, 0, 0, 0};
    fr_sampler a = open_sampler(V, &(fr_sampling){.temperature = 1, .seed = 9});
    fr_sampler b = open_sampler(V, &(fr_sampling){.temperature = 1, .seed = 9});
    for (int i = 0; i < 100; i++)
        draw(&a, logits, V, 1000 + i); // what was drawn before must not matter
    for (int i = 0; i < 100; i++)
        assert_int_equal(draw(&a, logits, V, i), draw(&b, logits, V, i));
    fr_sampler_close(&a);
    fr_sampler_close(&b);
}

static bool reachable(const fr_sampling *g, const float *logits, int id) {
    fr_sampler s = open_sampler(V, g);
    bool found = false;
    for (int i = 0; i < 4000 && !found; i++)
        found = draw(&s, logits, V, i) == id;
    fr_sampler_close(&s);
    return found;
}

static void truncation_keeps_what_it_says(void **state) {
    (void)state;
    // probabilities 0.4 0.3 0.2 0.1 (and nothing)
    const float logits[V] = {logf(0.4f), logf(0.3f), logf(0.2f), logf(0.1f), -50, -50, -50, -50};
    const fr_sampling top_k = {.temperature = 1, .top_k = 2},
                      top_p = {.temperature = 1, .top_p = 0.75f},
                      min_p = {.temperature = 1, .min_p = 0.4f};
    const bool expected_k[4] = {true, true, false, false},
               expected_p[4] = {true, true, true, false},
               expected_min[4] = {true, true, true, false};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(reachable(&top_k, logits, i), expected_k[i]);
        assert_int_equal(reachable(&top_p, logits, i), expected_p[i]);
        assert_int_equal(reachable(&min_p, logits, i), expected_min[i]);
    }
}

// However the best are found, candidates have one order, so the same draw gives the same token.
static void top_k_of_all_equals_no_top_k(void **state) {
    (void)state;
    enum { N = 5000 };
    static float logits[N];
    srand(3);
    for (int i = 0; i < N; i++)
        logits[i] = (float)(rand() % 200 - 100) / 16; // many equal ones, both signs and zero
    fr_sampler a = open_sampler(N, &(fr_sampling){.temperature = 1, .top_k = N - 1});
    fr_sampler b = open_sampler(N, &(fr_sampling){.temperature = 1});
    int same = 0;
    for (int i = 0; i < 300; i++)
        same += draw(&a, logits, N, i) == draw(&b, logits, N, i);
    assert_true(same >= 299); // they differ in one token of 5000
    fr_sampler_close(&a);
    fr_sampler_close(&b);
}

static void penalty_counts_a_token_once(void **state) {
    (void)state;
    float logits[V] = {3, 2.5f, -1, 0, 0, 0, 0, 0};
    const int32_t ids[] = {2, 0, 0, 0, 2};
    fr_sampler s = open_sampler(V, &(fr_sampling){.repeat_penalty = 1.5f});
    assert_int_equal(fr_sampler_token(&s, logits, ids, 5, 5), 1);
    assert_true(logits[0] == 2.0f && logits[2] == -1.5f && logits[1] == 2.5f);
    float again[V] = {3, 2.5f, -1, 0, 0, 0, 0, 0};
    fr_sampler_begin(&s, &(fr_sampling){.repeat_penalty = 1.5f, .repeat_last_n = 1}, 0);
    assert_int_equal(fr_sampler_token(&s, again, ids, 5, 5), 0);
    assert_true(again[0] == 3.0f && again[2] == -1.5f);
    fr_sampler_close(&s);
}

static void absurd_settings_are_refused(void **state) {
    (void)state;
    fr_error err;
    assert_int_equal(fr_sampler_check(&(fr_sampling){.temperature = -1}, 256, &err), FR_EARG);
    assert_int_equal(fr_sampler_check(&(fr_sampling){.temperature = NAN}, 256, &err), FR_EARG);
    assert_int_equal(fr_sampler_check(&(fr_sampling){.top_p = 1.5f}, 256, &err), FR_EARG);
    assert_int_equal(fr_sampler_check(&(fr_sampling){.top_k = -3}, 256, &err), FR_EARG);
    assert_non_null(strstr(err.text, "top-k"));
    fr_sampling s = {.temperature = FR_TEMPERATURE_MAX, .repeat_penalty = FR_REPEAT_PENALTY_MAX};
    assert_int_equal(fr_sampler_check(&s, 256, &err), FR_OK);
    s.temperature *= 1.001f;
    assert_int_equal(fr_sampler_check(&s, 256, &err), FR_EARG);
    assert_int_equal(fr_sampler_check(&(fr_sampling){.temperature = 0.8f, .top_k = 40}, 256, &err),
                     FR_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greedy_takes_lowest_of_equal),
        cmocka_unit_test(draws_follow_the_law),
        cmocka_unit_test(seeds_are_independent_of_each_other),
        cmocka_unit_test(a_draw_depends_on_seed_and_position_alone),
        cmocka_unit_test(truncation_keeps_what_it_says),
        cmocka_unit_test(top_k_of_all_equals_no_top_k),
        cmocka_unit_test(penalty_counts_a_token_once),
        cmocka_unit_test(absurd_settings_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
