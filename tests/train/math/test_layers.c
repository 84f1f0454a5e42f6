// The parts of draft modules: values against their formulas in double, gradients against
// differences of these formulas, for every entry.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "decode/draw/sampler.h"
#include "train/block/features.h"
#include "train/math/layers.h"
#include <math.h>
#include <string.h>

// Rows and columns with edges: more than a strip of 64 columns, no multiple of a vector.
enum { N = 5, D = 77, ALL = N * D, INPUTS = 3 };
static const uint64_t seed = 31;

// A formula: y [N][D] of inputs in[0], in[1], ... [N][D] (vectors use their first row).
typedef void formula(double *y, double *const *in);

typedef struct problem {
    float in[INPUTS][ALL], dy[ALL];
    double wide[INPUTS][ALL];
} problem;

static void make(problem *p, double size) {
    for (int k = 0; k <= INPUTS; k++)
        for (int i = 0; i < ALL; i++) {
            const float x = (float)(size * (2 * fr_uniform(seed + (uint64_t)k, (uint64_t)i) - 1));
            if (k == INPUTS)
                p->dy[i] = x;
            else
                p->wide[k][i] = (double)(p->in[k][i] = x);
        }
}

static double objective(problem *p, formula *f) {
    static double y[ALL];
    double *const in[] = {p->wide[0], p->wide[1], p->wide[2]};
    double sum = 0;
    f(y, in);
    for (int i = 0; i < ALL; i++)
        sum += y[i] * (double)p->dy[i];
    return sum;
}

static void check_values(problem *p, formula *f, const float *got) {
    static double want[ALL];
    double *const in[] = {p->wide[0], p->wide[1], p->wide[2]};
    f(want, in);
    for (int i = 0; i < ALL; i++)
        if (!(fabs((double)got[i] - want[i]) <= 1e-5 * (1 + fabs(want[i]))))
            fail_msg("seed %d: value %d: %g, not %g", (int)seed, i, (double)got[i], want[i]);
}

// got: gradient into the first n numbers of input `which`, begun at `start` each.
static void check_gradient(problem *p, formula *f, int which, int n, const float *got,
                           double start) {
    for (int i = 0; i < n; i++) {
        double *x = &p->wide[which][i], was = *x;
        const double h = 1e-5;
        *x = was + h;
        const double above = objective(p, f);
        *x = was - h;
        const double below = objective(p, f);
        *x = was;
        const double want = start + (above - below) / (2 * h);
        if (!(fabs((double)got[i] - want) <= 3e-5 * (1 + fabs(want))))
            fail_msg("seed %d: input %d, number %d: %g, differences give %g", (int)seed, which, i,
                     (double)got[i], want);
    }
}

static void fill(float *x, int n, float value) {
    for (int i = 0; i < n; i++)
        x[i] = value;
}

// ---------------------------------------------------------------- norm
static void norm_of(double *y, const double *x, const double *gain) {
    for (int r = 0; r < N; r++) {
        double sum = 0;
        for (int c = 0; c < D; c++)
            sum += x[r * D + c] * x[r * D + c];
        for (int c = 0; c < D; c++)
            y[r * D + c] = x[r * D + c] / sqrt(sum / D + 1e-6) * (gain ? gain[c] : 1);
    }
}

static void gained_norm(double *y, double *const *in) {
    norm_of(y, in[0], in[1]);
}

static void bare_norm(double *y, double *const *in) {
    norm_of(y, in[0], NULL);
}

static void norm_with_gain(void **state) {
    (void)state;
    static problem p;
    static float y[ALL], dx[ALL], dgain[D];
    make(&p, 2);
    fr_norm_forward(y, p.in[0], p.in[1], N, D);
    check_values(&p, gained_norm, y);
    fill(dgain, D, 0.5f);
    fill(dx, ALL, 7);
    fr_norm_backward(dx, false, dgain, p.dy, p.in[0], p.in[1], N, D);
    check_gradient(&p, gained_norm, 0, ALL, dx, 0);
    check_gradient(&p, gained_norm, 1, D, dgain, 0.5);
    fill(dx, ALL, 7);
    fr_norm_backward(dx, true, NULL, p.dy, p.in[0], p.in[1], N, D);
    check_gradient(&p, gained_norm, 0, ALL, dx, 7);
    fill(dgain, D, 0);
    fr_norm_backward(NULL, false, dgain, p.dy, p.in[0], p.in[1], N, D);
    check_gradient(&p, gained_norm, 1, D, dgain, 0);
}

static void norm_without_gain(void **state) {
    (void)state;
    static problem p;
    static float y[ALL];
    make(&p, 0.01); // where eps counts
    fr_norm_forward(y, p.in[0], NULL, N, D);
    check_values(&p, bare_norm, y);
    make(&p, 2);
    memcpy(y, p.dy, sizeof y);
    fr_norm_backward(y, false, NULL, y, p.in[0], NULL, N, D); // in place
    check_gradient(&p, bare_norm, 0, ALL, y, 0);
}

// A norm of more rows than its backward pass takes at a time.
static void gain_of_many_rows(void **state) {
    (void)state;
    enum { ROWS = 600, COLS = 4 };
    static float x[ROWS * COLS], dy[ROWS * COLS], dgain[COLS];
    double want[COLS] = {0};
    for (int i = 0; i < ROWS * COLS; i++) {
        x[i] = (float)(2 * fr_uniform(seed, (uint64_t)i) - 1);
        dy[i] = (float)(2 * fr_uniform(seed + 1, (uint64_t)i) - 1);
    }
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int c = 0; c < COLS; c++)
            sum += (double)x[r * COLS + c] * (double)x[r * COLS + c];
        for (int c = 0; c < COLS; c++)
            want[c] += (double)dy[r * COLS + c] * (double)x[r * COLS + c] / sqrt(sum / COLS + 1e-6);
    }
    fr_norm_backward(NULL, false, dgain, dy, x, NULL, ROWS, COLS);
    for (int c = 0; c < COLS; c++)
        assert_true(fabs((double)dgain[c] - want[c]) <= 1e-3);
}

// ---------------------------------------------------------------- elementwise
static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static void biased(double *y, double *const *in) {
    for (int i = 0; i < ALL; i++)
        y[i] = in[0][i] + in[1][i % D];
}

static void swiglu(double *y, double *const *in) {
    for (int i = 0; i < ALL; i++)
        y[i] = in[0][i] * sigmoid(in[0][i]) * in[1][i];
}

static void resblock(double *y, double *const *in) {
    for (int i = 0; i < ALL; i++)
        y[i] = in[0][i] + in[1][i] * sigmoid(in[1][i]);
}

static void gated(double *y, double *const *in) {
    for (int i = 0; i < ALL; i++)
        y[i] = in[0][i] * sigmoid(in[1][i]);
}

static void bias(void **state) {
    (void)state;
    static problem p;
    static float y[ALL], dbias[D];
    make(&p, 2);
    memcpy(y, p.in[0], sizeof y);
    fr_bias_forward(y, p.in[1], N, D);
    check_values(&p, biased, y);
    fill(dbias, D, -1);
    fr_bias_backward(dbias, p.dy, N, D);
    check_gradient(&p, biased, 1, D, dbias, -1);
}

static void swiglu_gate(void **state) {
    (void)state;
    static problem p;
    static float y[ALL], gate[ALL], up[ALL];
    make(&p, 6);
    fr_swiglu_forward(y, p.in[0], p.in[1], N, D);
    check_values(&p, swiglu, y);
    memcpy(gate, p.in[0], sizeof gate);
    fr_swiglu_forward(gate, gate, p.in[1], N, D); // in place
    assert_memory_equal(gate, y, sizeof y);
    memcpy(gate, p.in[0], sizeof gate);
    memcpy(up, p.in[1], sizeof up);
    fr_swiglu_backward(gate, up, p.dy, gate, up, N, D); // in place
    check_gradient(&p, swiglu, 0, ALL, gate, 0);
    check_gradient(&p, swiglu, 1, ALL, up, 0);
}

static void residual_block(void **state) {
    (void)state;
    static problem p;
    static float y[ALL], du[ALL];
    make(&p, 6);
    fr_resblock_forward(y, p.in[0], p.in[1], N, D);
    check_values(&p, resblock, y);
    memcpy(du, p.in[1], sizeof du);
    fr_resblock_backward(du, p.dy, du, N, D);
    check_gradient(&p, resblock, 1, ALL, du, 0);
}

static void sigmoid_gate(void **state) {
    (void)state;
    static problem p;
    static float y[ALL], dx[ALL], du[ALL];
    make(&p, 6);
    fr_gated_forward(y, p.in[0], p.in[1], N, D);
    check_values(&p, gated, y);
    memcpy(dx, p.in[0], sizeof dx);
    memcpy(du, p.in[1], sizeof du);
    fr_gated_backward(dx, du, p.dy, dx, du, N, D);
    check_gradient(&p, gated, 0, ALL, dx, 0);
    check_gradient(&p, gated, 1, ALL, du, 0);
}

// Far from zero the sigmoid is 0 or 1, and nothing is infinite or NaN.
static void gates_saturate(void **state) {
    (void)state;
    const float x[4] = {3, 3, 3, 3}, u[4] = {-1e4f, -90, 90, 1e4f};
    float y[4];
    fr_gated_forward(y, x, u, 1, 4);
    assert_true(y[0] >= 0 && y[0] < 1e-30f && y[1] >= 0 && y[1] < 1e-30f);
    assert_true(y[2] == 3 && y[3] == 3);
    fr_swiglu_forward(y, u, x, 1, 4);
    assert_true(fabsf(y[0]) < 1e-30f && fabsf(y[1]) < 1e-30f && y[2] == 270);
}

// ---------------------------------------------------------------- rotary embedding
enum { HEADS = 3, HEAD = 10 };
static void rope_rotates_by_the_position(void **state) {
    (void)state;
    float rope_table[20 * HEAD], x[HEADS * HEAD], was[HEADS * HEAD];
    const int position = 13;
    fr_rope_table_fill(rope_table, 20, HEAD, 500);
    for (int i = 0; i < HEADS * HEAD; i++)
        was[i] = x[i] = (float)(2 * fr_uniform(seed, (uint64_t)i) - 1);
    fr_rope_rows(x, &position, rope_table, 1, HEADS, HEAD, FR_ROPE_FORWARD);
    for (int h = 0; h < HEADS; h++)
        for (int i = 0; i < HEAD / 2; i++) {
            const double a = position * pow(500, -2.0 * i / HEAD);
            const double u = (double)was[h * HEAD + i], v = (double)was[h * HEAD + i + HEAD / 2];
            assert_true(fabs((double)x[h * HEAD + i] - (u * cos(a) - v * sin(a))) < 1e-6);
            assert_true(fabs((double)x[h * HEAD + i + HEAD / 2] - (v * cos(a) + u * sin(a))) <
                        1e-6);
        }
    fr_rope_rows(x, &position, rope_table, 1, HEADS, HEAD,
                 FR_ROPE_BACKWARD); // its transpose is its inverse
    for (int i = 0; i < HEADS * HEAD; i++)
        assert_true(fabsf(x[i] - was[i]) < 1e-6f);
}

// ---------------------------------------------------------------- rows
static void rows_go_out_and_come_back(void **state) {
    (void)state;
    static problem p;
    static float some[3 * D], all[ALL];
    const int at[] = {4, 0, 2}, back[] = {4, -1, 2};
    make(&p, 1);
    fr_rows_gather(some, p.in[0], at, 3, D);
    memcpy(all, p.in[1], sizeof all);
    fr_rows_scatter(all, some, back, 3, D);
    for (int r = 0; r < N; r++)
        for (int c = 0; c < D; c++) {
            const float from = r == 4 || r == 2 ? p.in[0][r * D + c] : 0;
            assert_true(all[r * D + c] == p.in[1][r * D + c] + from);
        }
    fr_rows_add(all, all, N, D);
    assert_true(all[D + 3] == 2 * p.in[1][D + 3]);
}

// ---------------------------------------------------------------- features
static void distance(double *y, double *const *in) { // one row: input 0 is g, 1 is f, 2 is std
    memset(y, 0, ALL * sizeof *y);
    for (int c = 0; c < D; c++) {
        const double z = fabs((in[0][c] - in[1][c]) / in[2][c]);
        y[0] += (z < 1 ? z * z / 2 : z - 0.5) / D;
    }
}

static void smooth_l1_and_its_gradient(void **state) {
    (void)state;
    static problem p;
    static float dg[D];
    double want[ALL];
    make(&p, 2);
    for (int c = 0; c < D; c++)
        p.wide[2][c] = (double)(p.in[2][c] = 0.5f + fabsf(p.in[2][c]));
    double *const in[] = {p.wide[0], p.wide[1], p.wide[2]};
    distance(want, in);
    fill(dg, D, 0.25f);
    const float got = fr_smooth_l1(dg, p.in[0], p.in[1], p.in[2], p.dy[0], D);
    assert_true(fabs((double)got - want[0]) <= 1e-5);
    check_gradient(&p, distance, 0, D, dg, 0.25);
}

static void spread_of_channels(void **state) {
    (void)state;
    // The first row of a context is left out; channel 1 is dead.
    const float f[] = {1000, 5, 2, 1, 5, -6, 3, 5, 2, -1000, 5, 0, 5, 5, 4};
    const int position[] = {0, 1, 2, 0, 1};
    float std[3];
    fr_channel_spread(std, f, position, 5, 3);
    assert_true(fabs((double)std[0] - sqrt(8.0 / 3)) < 1e-5);  // 1, 3, 5
    assert_true(fabs((double)std[2] - sqrt(56.0 / 3)) < 1e-5); // -6, 2, 4
    assert_true(fabs((double)std[1] - 1e-3 * sqrt(56.0 / 3)) < 1e-5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norm_with_gain),
        cmocka_unit_test(norm_without_gain),
        cmocka_unit_test(gain_of_many_rows),
        cmocka_unit_test(bias),
        cmocka_unit_test(swiglu_gate),
        cmocka_unit_test(residual_block),
        cmocka_unit_test(sigmoid_gate),
        cmocka_unit_test(gates_saturate),
        cmocka_unit_test(rope_rotates_by_the_position),
        cmocka_unit_test(rows_go_out_and_come_back),
        cmocka_unit_test(smooth_l1_and_its_gradient),
        cmocka_unit_test(spread_of_channels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
