// What a request adds to logits: each rule by its definition, and what is refused.
#include "decode/draw/penalty.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { V = 6 };

static void penalise(float *logits, const fr_sampling *s, const int32_t *ids, int n, int n_prompt) {
    fr_penalty p;
    assert_int_equal(fr_penalty_open(&p, V, NULL), FR_OK);
    for (int again = 0; again < 3; again++) { // nothing is left of a call before
        float x[V];
        memcpy(x, logits, sizeof x);
        fr_penalise(&p, s, x, ids, n, n_prompt);
        if (again == 2) memcpy(logits, x, sizeof x);
    }
    fr_penalty_close(&p);
}

static void frequency_and_presence_count_what_was_generated(void **state) {
    (void)state;
    float x[V] = {1, 1, 1, 1, 1, 1};
    const int32_t ids[] = {5, 5, 0, 1, 0, 2, 0}; // the first two were given
    penalise(x, &(fr_sampling){.frequency_penalty = 0.25f, .presence_penalty = 0.5f}, ids, 7, 2);
    const float want[V] = {1 - 3 * 0.25f - 0.5f, 0.25f, 0.25f, 1, 1, 1};
    assert_memory_equal(x, want, sizeof x);
}

static void they_may_be_negative_and_leave_the_prompt_alone(void **state) {
    (void)state;
    float x[V] = {0};
    const int32_t ids[] = {1, 2, 3};
    penalise(x, &(fr_sampling){.presence_penalty = -2}, ids, 3, 3);
    for (int i = 0; i < V; i++)
        assert_true(x[i] == 0);
    penalise(x, &(fr_sampling){.presence_penalty = -2}, ids, 3, 2);
    assert_true(x[3] == 2 && x[1] == 0 && x[2] == 0);
}

static void bias_comes_first_and_repeats_are_scaled_after_it(void **state) {
    (void)state;
    float x[V] = {1, 1, -1, 0, 0, 0};
    const fr_logit_bias bias[] = {{0, 3}, {2, -1}, {4, -INFINITY}};
    const int32_t ids[] = {2, 0, 2};
    const fr_sampling s = {.repeat_penalty = 2, .repeat_last_n = -1, .bias = bias, .n_bias = 3};
    penalise(x, &s, ids, 3, 0);
    assert_true(x[0] == 2 && x[1] == 1 && x[2] == -4 && x[4] == -INFINITY);
}

// A bias is checked against the target's vocabulary; a draft model's may be smaller.
static void a_bias_beyond_the_vocabulary_is_left_out(void **state) {
    (void)state;
    float x[V + 1] = {0};
    const fr_logit_bias bias[] = {{V, 3}, {V - 1, 2}};
    fr_penalty p;
    assert_int_equal(fr_penalty_open(&p, V, NULL), FR_OK);
    fr_penalise(&p, &(fr_sampling){.bias = bias, .n_bias = 2}, x, NULL, 0, 0);
    fr_penalty_close(&p);
    assert_true(x[V] == 0 && x[V - 1] == 2);
}

static void absurd_values_are_refused(void **state) {
    (void)state;
    fr_error err;
    const fr_logit_bias outside = {V, 1}, large = {0, 101}, none = {0, NAN}, never = {0, -INFINITY};
    const fr_sampling bad[] = {
        {.repeat_penalty = -1},
        {.repeat_penalty = 101},
        {.repeat_last_n = -2},
        {.frequency_penalty = NAN},
        {.presence_penalty = 100.5f},
        {.bias = &outside, .n_bias = 1},
        {.bias = &large, .n_bias = 1},
        {.bias = &none, .n_bias = 1},
        {.n_bias = 1},
        {.n_bias = -1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(fr_penalty_check(&bad[i], V, &err), FR_EARG);
    const fr_sampling good = {.bias = &never, .n_bias = 1, .presence_penalty = -100};
    assert_int_equal(fr_penalty_check(&good, V, &err), FR_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequency_and_presence_count_what_was_generated),
        cmocka_unit_test(they_may_be_negative_and_leave_the_prompt_alone),
        cmocka_unit_test(bias_comes_first_and_repeats_are_scaled_after_it),
        cmocka_unit_test(a_bias_beyond_the_vocabulary_is_left_out),
        cmocka_unit_test(absurd_values_are_refused),
    };
    return cmocka_run_group_tests_name("decode/penalty", tests, NULL, NULL);
}
