// The linear map of least squares: against the normal equations in double, on inputs of very
// different sizes, and for a map that is known.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "decode/draw/sampler.h"
#include "train/math/linear_fit.h"
#include <math.h>
#include <stdlib.h>

enum { K = 9, M = 4, N = 3 * FR_LINEAR_FIT_ROWS / 2 };
static const float ridge = 1e-2f;

typedef struct world {
    fr_linear_fit fit;
    double x[N][K], y[N][M], map[M][K];
} world;

static double number(uint64_t *at) {
    return 2 * fr_uniform(5, (*at)++) - 1;
}

// y = map x + noise; input j is of size 10^(j % 4).
static void make(world *w, double noise) {
    uint64_t at = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < K; j++)
            w->map[i][j] = number(&at);
    for (int n = 0; n < N; n++) {
        for (int j = 0; j < K; j++)
            w->x[n][j] = (double)(float)(number(&at) * pow(10, j % 4));
        for (int i = 0; i < M; i++) {
            double sum = noise * number(&at);
            for (int j = 0; j < K; j++)
                sum += w->map[i][j] * w->x[n][j];
            w->y[n][i] = (double)(float)sum;
        }
    }
}

static void add_all(world *w) {
    for (int n = 0; n < N; n += FR_LINEAR_FIT_ROWS) {
        const int rows = N - n < FR_LINEAR_FIT_ROWS ? N - n : FR_LINEAR_FIT_ROWS;
        for (int r = 0; r < rows; r++) {
            for (int j = 0; j < K; j++)
                w->fit.x[r * K + j] = (float)w->x[n + r][j];
            for (int i = 0; i < M; i++)
                w->fit.y[r * M + i] = (float)w->y[n + r][i];
        }
        fr_linear_fit_add(&w->fit, rows);
    }
}

// Gradient of the objective in the map's entry (i, j), over its size there.
static double slope(const world *w, int i, int j) {
    double sum = 0, size = 0;
    for (int n = 0; n < N; n++) {
        double off = -w->y[n][i];
        for (int k = 0; k < K; k++)
            off += (double)w->fit.w[i * K + k] * w->x[n][k];
        sum += off * w->x[n][j];
        size += w->x[n][j] * w->x[n][j];
    }
    return sum / size + (double)ridge * (double)w->fit.w[i * K + j];
}

static void open_world(world *w, double noise) {
    assert_int_equal(fr_linear_fit_open(&w->fit, K, M, 1, NULL), FR_OK);
    make(w, noise);
    add_all(w);
}

static void check_least(void **state) {
    (void)state;
    world *w = fr_alloc_zero(sizeof *w);
    open_world(w, 0.3);
    fr_linear_fit_solve(&w->fit, ridge, 40, NULL);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < K; j++)
            if (!(fabs(slope(w, i, j)) < 2e-5)) fail_msg("%d, %d: %g", i, j, slope(w, i, j));
    fr_linear_fit_close(&w->fit);
    fr_free(w);
}

static void check_known(void **state) {
    (void)state;
    world *w = fr_alloc_zero(sizeof *w);
    open_world(w, 0);
    fr_linear_fit_solve(&w->fit, 1e-6f, 40, NULL);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < K; j++)
            assert_true(fabs((double)w->fit.w[i * K + j] - w->map[i][j]) < 1e-4);
    fr_linear_fit_close(&w->fit);
    fr_free(w);
}

// An input that is always 0 gets no weight, and breaks nothing.
static void check_dead_input(void **state) {
    (void)state;
    world *w = fr_alloc_zero(sizeof *w);
    assert_int_equal(fr_linear_fit_open(&w->fit, K, M, 1, NULL), FR_OK);
    make(w, 0);
    for (int n = 0; n < N; n++)
        w->x[n][2] = 0;
    add_all(w);
    fr_linear_fit_solve(&w->fit, ridge, 40, NULL);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < K; j++) {
            assert_true(isfinite(w->fit.w[i * K + j]));
            if (j == 2) assert_true(w->fit.w[i * K + j] == 0);
        }
    fr_linear_fit_close(&w->fit);
    fr_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_least),
        cmocka_unit_test(check_known),
        cmocka_unit_test(check_dead_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
