// The layer norm of every instruction set beside doubles, and by what it must keep.
#include "kern/kern.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 1100 };
static const int sizes[] = {2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 576, 1023, MOST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static uint64_t random_state;

static float uniform(float low, float high) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (float)(random_state >> 40) * 0x1p-24f;
}

static void fill(float *x, int n, float low, float high) {
    for (int i = 0; i < n; i++)
        x[i] = uniform(low, high);
}

typedef void set_test(const fr_kern *kern);
static void in_every_set(set_test *test) {
    for (int isa = 0; isa < FR_ISA_COUNT; isa++) {
        random_state = 20261129;
        if (fr_kern_of((fr_isa)isa)) test(fr_kern_of((fr_isa)isa));
    }
}

// The largest difference to the formula in doubles.
static double error_of(const float *y, const float *x, const float *w, const float *b, int n,
                       float eps) {
    double mean = 0, variance = 0, worst = 0;
    for (int i = 0; i < n; i++)
        mean += (double)x[i] / n;
    for (int i = 0; i < n; i++)
        variance += ((double)x[i] - mean) * ((double)x[i] - mean) / n;
    for (int i = 0; i < n; i++) {
        const double exact =
            ((double)x[i] - mean) / sqrt(variance + (double)eps) * (double)w[i] + (double)b[i];
        const double error = fabs((double)y[i] - exact);
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

static void near_doubles(const fr_kern *kern) {
    float x[MOST], y[MOST], w[MOST], b[MOST];
    for (int k = 0; k < SIZES; k++) {
        const int n = sizes[k];
        fill(x, n, -2, 3), fill(w, n, -2, 2), fill(b, n, -1, 1);
        kern->layernorm(y, x, w, b, n, 1e-5f);
        const double error = error_of(y, x, w, b, n, 1e-5f);
        if (!(error < 2e-6)) fail_msg("%s n %d: off by %g", kern->name, n, error);
    }
}
static void it_is_near_doubles(void **state) {
    (void)state;
    in_every_set(near_doubles);
}

// A mean of squares less the square of the mean would have nothing left here.
static void keeps_small_differences(const fr_kern *kern) {
    float x[MOST], y[MOST], w[MOST], b[MOST];
    for (int k = 0; k < SIZES; k++) {
        const int n = sizes[k];
        for (int i = 0; i < n; i++)
            x[i] = 8192 + 0x1p-7f * (float)((int)uniform(0, 256)), w[i] = 1, b[i] = 0;
        x[0] = 8192, x[1] = 8194;
        kern->layernorm(y, x, w, b, n, 1e-5f);
        const double error = error_of(y, x, w, b, n, 1e-5f);
        if (!(error < 4e-3)) fail_msg("%s n %d: off by %g", kern->name, n, error);
    }
}
static void a_large_mean_keeps_small_differences(void **state) {
    (void)state;
    in_every_set(keeps_small_differences);
}

static void equal_values(const fr_kern *kern) {
    float x[MOST], y[MOST], w[MOST], b[MOST];
    for (int k = 0; k < SIZES; k++) {
        const int n = sizes[k];
        fill(w, n, -2, 2), fill(b, n, -1, 1), fill(x, n, -3, -3);
        kern->layernorm(y, x, w, b, n, 1e-5f);
        assert_memory_equal(y, b, (size_t)n * sizeof *y);
    }
}
static void equal_values_give_the_biases(void **state) {
    (void)state;
    in_every_set(equal_values);
}

// Every step scales by a power of two exactly when eps is 0.
static void scaled_row(const fr_kern *kern) {
    float x[MOST], scaled[MOST], y[MOST], z[MOST], w[MOST], b[MOST];
    for (int k = 0; k < SIZES; k++) {
        const int n = sizes[k];
        fill(x, n, -2, 3), fill(w, n, -2, 2), fill(b, n, -1, 1);
        for (int i = 0; i < n; i++)
            scaled[i] = 0x1p11f * x[i];
        kern->layernorm(y, x, w, b, n, 0);
        kern->layernorm(z, scaled, w, b, n, 0);
        assert_memory_equal(y, z, (size_t)n * sizeof *y);
    }
}
static void the_scale_of_a_row_does_not_matter(void **state) {
    (void)state;
    in_every_set(scaled_row);
}

static void left_out(const fr_kern *kern) {
    float x[MOST], y[MOST], z[MOST], ones[MOST], zeros[MOST];
    for (int k = 0; k < SIZES; k++) {
        const int n = sizes[k];
        fill(x, n, -2, 3), fill(ones, n, 1, 1), fill(zeros, n, 0, 0);
        kern->layernorm(y, x, NULL, NULL, n, 1e-6f);
        kern->layernorm(z, x, ones, zeros, n, 1e-6f);
        for (int i = 0; i < n; i++)
            assert_true(y[i] == z[i]);
        kern->layernorm(x, x, ones, NULL, n, 1e-6f); // in place
        assert_memory_equal(x, y, (size_t)n * sizeof *x);
    }
}
static void without_weights_and_biases_they_are_ones_and_zeros(void **state) {
    (void)state;
    in_every_set(left_out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_near_doubles),
        cmocka_unit_test(a_large_mean_keeps_small_differences),
        cmocka_unit_test(equal_values_give_the_biases),
        cmocka_unit_test(the_scale_of_a_row_does_not_matter),
        cmocka_unit_test(without_weights_and_biases_they_are_ones_and_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
