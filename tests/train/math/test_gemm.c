// The products of training against sums in double, on shapes with edges and strides.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "decode/draw/sampler.h"
#include "train/math/gemm.h"
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

enum { GAP = 3, MOST = 700 };
static const uint64_t seed = 20260101;

static float *numbers(size_t n, uint64_t stream) {
    float *x = fr_alloc_array(n, sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(2 * fr_uniform(seed + stream, i) - 1);
    return x;
}

typedef struct shape {
    int n, m, k;
} shape;
static const shape shapes[] = {{1, 1, 1},    {1, 7, 5},      {3, 16, 32},   {17, 33, 9},
                               {64, 64, 64}, {100, 48, 129}, {257, 96, 40}, {31, 300, 576}};

// Relative to the sum of the products' sizes: what rounding of inputs and of sums can do.
static double tolerance(const fr_gemm *g) {
    return strcmp(fr_gemm_name(g), "bf16") ? 1e-5 : 1.0 / 128;
}

static void check_all(fr_gemm *g, const shape *s, bool add) {
    const int n = s->n, m = s->m, k = s->k, ldx = k + GAP, ldy = m + GAP;
    float *x = numbers((size_t)n * (size_t)ldx, 1), *w = numbers((size_t)m * (size_t)k, 2);
    float *dy = numbers((size_t)n * (size_t)ldy, 3), *was = numbers((size_t)MOST * MOST, 4);
    float *got = fr_alloc_array((size_t)MOST * MOST, sizeof *got);
    for (int which = 0; which < 3; which++) {
        const int rows = which == 2 ? m : n, cols = which == 0 ? m : k,
                  inner = which == 0   ? k
                          : which == 1 ? m
                                       : n;
        const int ld = which == 0 ? ldy : which == 1 ? ldx : k;
        memcpy(got, was, (size_t)MOST * MOST * sizeof *got);
        if (which == 0) fr_gemm_forward(g, got, ldy, x, ldx, w, n, m, k, add);
        if (which == 1) fr_gemm_input(g, got, ldx, dy, ldy, w, n, m, k, add);
        if (which == 2) fr_gemm_weight(g, got, dy, ldy, x, ldx, n, m, k, add);
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < ld; c++) {
                if (c >= cols) { // between the rows nothing is written
                    assert_true(got[r * ld + c] == was[r * ld + c]);
                    continue;
                }
                double sum = add ? was[r * ld + c] : 0, size = 1;
                for (int i = 0; i < inner; i++) {
                    const double t = which == 0   ? (double)x[r * ldx + i] * w[c * k + i]
                                     : which == 1 ? (double)dy[r * ldy + i] * w[i * k + c]
                                                  : (double)dy[i * ldy + r] * x[i * ldx + c];
                    sum += t, size += fabs(t);
                }
                if (!(fabs(got[r * ld + c] - sum) <= tolerance(g) * size))
                    fail_msg("seed %llu product %d of %d %d %d at %d %d: %g, not %g",
                             (unsigned long long)seed, which, n, m, k, r, c,
                             (double)got[r * ld + c], sum);
            }
    }
    fr_free(x), fr_free(w), fr_free(dy), fr_free(was), fr_free(got);
}

static void check_type(fr_gemm_type type) {
    for (int threads = 1; threads <= 3; threads++) {
        fr_gemm *g;
        assert_int_equal(fr_gemm_open(&g, threads, type, NULL), FR_OK);
        assert_int_equal(fr_gemm_threads(g), threads);
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            check_all(g, &shapes[i], false);
            check_all(g, &shapes[i], true);
        }
        fr_gemm_close(g);
    }
}

static void f32_products_are_sums(void **state) {
    (void)state;
    check_type(FR_GEMM_F32);
}

static void bf16_products_are_sums(void **state) {
    (void)state;
    fr_gemm *g;
    fr_error err;
    const fr_status st = fr_gemm_open(&g, 1, FR_GEMM_BF16, &err);
    if (st) {
        assert_int_equal(st, FR_EUNSUP);
        skip();
    }
    assert_string_equal(fr_gemm_name(g), "bf16");
    fr_gemm_close(g);
    check_type(FR_GEMM_BF16);
}

static void auto_is_f32_or_bf16_as_the_processor_has_it(void **state) {
    (void)state;
    fr_gemm *a, *b;
    assert_int_equal(fr_gemm_open(&a, 0, FR_GEMM_AUTO, NULL), FR_OK);
    const bool has = fr_gemm_open(&b, 0, FR_GEMM_BF16, NULL) == FR_OK;
    assert_string_equal(fr_gemm_name(a), has ? "bf16" : "f32");
    assert_true(fr_gemm_threads(a) >= 1);
    fr_gemm_close(a);
    if (has) fr_gemm_close(b);
}

static void the_same_product_gives_the_same_bits(void **state) {
    (void)state;
    enum { N = 200, M = 130, K = 333 };
    float *x = numbers(N * K, 1), *dy = numbers(N * M, 2);
    float *a = fr_alloc_array(M * K, sizeof *a), *b = fr_alloc_array(M * K, sizeof *b);
    for (int turn = 0; turn < 20; turn++) {
        fr_gemm *g;
        assert_int_equal(fr_gemm_open(&g, 2, FR_GEMM_AUTO, NULL), FR_OK);
        fr_gemm_weight(g, turn ? b : a, dy, M, x, K, N, M, K, false);
        if (turn) assert_memory_equal(a, b, M * K * sizeof *a);
        fr_gemm_close(g);
    }
    fr_free(x), fr_free(dy), fr_free(a), fr_free(b);
}

static void an_empty_sum_is_zero(void **state) {
    (void)state;
    fr_gemm *g;
    assert_int_equal(fr_gemm_open(&g, 1, FR_GEMM_AUTO, NULL), FR_OK);
    float dw[6] = {1, 2, 3, 4, 5, 6}, one = 1;
    fr_gemm_weight(g, dw, &one, 2, &one, 3, 0, 2, 3, true); // no rows: nothing to add
    assert_true(dw[0] == 1 && dw[5] == 6);
    fr_gemm_weight(g, dw, &one, 2, &one, 3, 0, 2, 3, false);
    for (int i = 0; i < 6; i++)
        assert_true(dw[i] == 0);
    fr_gemm_close(g);
}

static volatile sig_atomic_t rung;
static void ring(int number) {
    (void)number;
    rung++;
}

// A signal's frame lies where the stack pointer points; products must not be caught with it
// elsewhere.
static void signals_harm_no_product(void **state) {
    (void)state;
    enum { N = 267, M = 600, K = 576 };
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = ring}, was;
    float *x = numbers(N * K, 1), *w = numbers(M * K, 2);
    float *a = fr_alloc_array(N * M, sizeof *a), *b = fr_alloc_array(N * M, sizeof *b);
    fr_gemm *g;
    assert_int_equal(fr_gemm_open(&g, 2, FR_GEMM_AUTO, NULL), FR_OK);
    fr_gemm_forward(g, a, M, x, K, w, N, M, K, false);
    sigaction(SIGALRM, &action, &was);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 1000 && rung < 100; i++) {
        fr_gemm_forward(g, b, M, x, K, w, N, M, K, false);
        assert_memory_equal(a, b, N * M * sizeof *a);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &was, NULL);
    assert_true(rung > 0);
    fr_gemm_close(g);
    fr_free(x), fr_free(w), fr_free(a), fr_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_products_are_sums),
        cmocka_unit_test(bf16_products_are_sums),
        cmocka_unit_test(auto_is_f32_or_bf16_as_the_processor_has_it),
        cmocka_unit_test(the_same_product_gives_the_same_bits),
        cmocka_unit_test(an_empty_sum_is_zero),
        cmocka_unit_test(signals_harm_no_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
