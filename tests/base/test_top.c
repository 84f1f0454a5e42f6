// The largest of many, against a full sort.
#include "base/top.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 200 };
static const float *sorted_by;

static int descending(const void *a, const void *b) {
    const int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    if (sorted_by[i] != sorted_by[j]) return sorted_by[i] > sorted_by[j] ? -1 : 1;
    return i < j ? -1 : 1;
}

// The finite ones, sorted. How many.
static int sorted(const float *x, int n, int32_t *index) {
    int m = 0;
    for (int i = 0; i < n; i++)
        if (isfinite(x[i])) index[m++] = i;
    sorted_by = x;
    qsort(index, (size_t)m, sizeof *index, descending);
    return m;
}

static void check(const float *x, int n, int most) {
    int32_t index[MOST], expected[MOST];
    float value[MOST];
    const int all = sorted(x, n, expected), m = fr_top(x, n, most, index, value);
    assert_int_equal(m, all < most ? all : most);
    for (int i = 0; i < m; i++) {
        assert_int_equal(index[i], expected[i]);
        assert_true(value[i] == x[index[i]]);
    }
}

// Ties in plenty, and what is never chosen.
static float random_value(unsigned *seed) {
    static const float odd[] = {INFINITY, -INFINITY, NAN, FLT_MAX, -FLT_MAX, 0.0f, -0.0f};
    const int r = rand_r(seed);
    if (r % 8 == 0) return odd[r / 8 % 7];
    return r % 2 ? (float)(r / 2 % 5) : (float)(r % 1000) / 7;
}

static void as_a_full_sort_has_it(void **state) {
    (void)state;
    static const int sizes[] = {0, 1, 3, 31, 32, 33, 63, 64, 65, 96, 127, 160};
    unsigned seed = 1;
    float x[MOST];
    for (int round = 0; round < 200; round++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            for (int i = 0; i < sizes[k]; i++)
                x[i] = random_value(&seed);
            check(x, sizes[k], 1 + round % 40);
        }
}

// One that comes late lies in a block that has nothing else, at each place of it.
static void whatever_the_place_in_a_block(void **state) {
    (void)state;
    float x[MOST];
    for (int at = 0; at < 160; at++) {
        for (int i = 0; i < 160; i++)
            x[i] = i < 4 ? 1 : i % 3 ? NAN : 0;
        x[at] = 2;
        check(x, 160, 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_a_full_sort_has_it),
                                       cmocka_unit_test(whatever_the_place_in_a_block)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
