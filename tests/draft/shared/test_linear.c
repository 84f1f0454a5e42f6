// Products of drafters are those of a plain double sum, of any type and for any number of rows and
// threads the same bits; the draft head has the target's rows; likeliest tokens are the largest.
#include "draft/kit/likeliest.h"
#include "draft/shared/draft_head.h"
#include "kern/repack.h"
#include "support/open_model.h"
#include "support/quantize.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static float dice(void) {
    return 2 * (float)rand() / (float)RAND_MAX - 1;
}

// ---------------------------------------------------------------- products

static void a_product_is_the_sum_for_any_rows_and_threads(void **state) {
    (void)state;
    enum { M = 37, K = 256, ROWS = 7 };
    static const fr_type types[] = {FR_TYPE_F32, FR_TYPE_F16, FR_TYPE_Q8_0, FR_TYPE_Q4_K};
    const fr_kern *kern;
    fr_error err;
    static float w[M * K], x[ROWS * K], y[3][ROWS * 48];
    assert_int_equal(fr_kern_pick(&kern, NULL, &err), FR_OK);
    srand(5);
    for (int i = 0; i < M * K; i++)
        w[i] = dice();
    for (int i = 0; i < ROWS * K; i++)
        x[i] = dice();
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        void *rows = malloc((size_t)fr_qtype_row_bytes(types[t], K) * M);
        float *own = malloc(sizeof *own * M * K);
        assert_true(rows && own);
        fr_test_quantize(types[t], w, rows, M * K);
        fr_dequant_row(types[t], rows, own, M * K);
        for (int threads = 1; threads <= 3; threads++) {
            fr_pool *pool;
            fr_matrix m;
            fr_linear l;
            assert_int_equal(fr_pool_open(&pool, threads, &err), FR_OK);
            assert_int_equal(fr_matrix_open(&m, types[t], rows, M, K, pool, "w", &err), FR_OK);
            assert_int_equal(fr_linear_open(&l, kern, pool, ROWS, K, &err), FR_OK);
            if (threads == 3)
                for (int r = 0; r < ROWS; r++)
                    fr_linear_run(&l,
                                  &(fr_linear_product){&m, x + r * K, K, y[2] + (size_t)r * 48, 48},
                                  1, 1);
            else
                fr_linear_run(&l, &(fr_linear_product){&m, x, K, y[threads - 1], 48}, 1, ROWS);
            fr_linear_close(&l);
            fr_matrix_close(&m);
            fr_pool_close(pool);
        }
        assert_memory_equal(y[0], y[1], sizeof y[0]);
        assert_memory_equal(y[0], y[2], sizeof y[0]);
        for (int r = 0; r < ROWS; r++)
            for (int i = 0; i < M; i++) {
                double sum = 0;
                for (int k = 0; k < K; k++)
                    sum += (double)own[i * K + k] * (double)x[r * K + k];
                assert_true(fabs(sum - (double)y[0][r * 48 + i]) < 0.3); // codes of 8 bits
                if (types[t] == FR_TYPE_F32)
                    assert_true(fabs(sum - (double)y[0][r * 48 + i]) < 1e-4);
            }
        free(rows);
        free(own);
    }
}

// Products of two inputs and of three types in one run are those of runs of their own.
static void products_in_one_run_are_those_of_their_own(void **state) {
    (void)state;
    enum { K = 64, ROWS = 3, N = 4 };
    static const struct {
        fr_type type;
        int m, input;
    } of[N] = {
        {FR_TYPE_Q8_0, 40, 0}, {FR_TYPE_F32, 7, 0}, {FR_TYPE_Q4_0, 33, 0}, {FR_TYPE_Q8_0, 16, 1}};
    const fr_kern *kern;
    fr_error err;
    fr_pool *pool;
    fr_linear l;
    fr_matrix m[N];
    fr_linear_product p[N];
    static float x[2][ROWS * K], together[N][ROWS * 48], alone[N][ROWS * 48];
    assert_int_equal(fr_kern_pick(&kern, NULL, &err), FR_OK);
    assert_int_equal(fr_pool_open(&pool, 2, &err), FR_OK);
    assert_int_equal(fr_linear_open(&l, kern, pool, ROWS, K, &err), FR_OK);
    srand(6);
    for (int i = 0; i < 2 * ROWS * K; i++)
        x[i / (ROWS * K)][i % (ROWS * K)] = dice();
    for (int i = 0; i < N; i++) {
        float w[40 * K];
        uint8_t rows[40 * K * 4];
        for (int k = 0; k < of[i].m * K; k++)
            w[k] = dice();
        fr_test_quantize(of[i].type, w, rows, of[i].m * K);
        assert_int_equal(fr_matrix_open(&m[i], of[i].type, rows, of[i].m, K, pool, "w", &err),
                         FR_OK);
        p[i] = (fr_linear_product){&m[i], x[of[i].input], K, alone[i], 48};
        fr_linear_run(&l, &p[i], 1, ROWS);
        p[i].y = together[i];
    }
    fr_linear_run(&l, p, N, ROWS);
    assert_memory_equal(together, alone, sizeof alone);
    for (int i = 0; i < N; i++) {
        assert_true(alone[i][0] != 0 && alone[i][2 * 48 + of[i].m - 1] != 0);
        fr_matrix_close(&m[i]);
    }
    fr_linear_close(&l);
    fr_pool_close(pool);
}

// ---------------------------------------------------------------- the draft head

static void the_draft_head_has_the_rows_of_its_ids(void **state) {
    (void)state;
    static const int32_t ids[] = {200, 3, 259, 0, 77};
    static const fr_tiny_options models[] = {{.n_layer = 1, .type = FR_TYPE_Q8_0},
                                             {.n_layer = 1, .untied = true, .type = FR_TYPE_Q4_0}};
    const fr_kern *kern;
    fr_error err;
    assert_int_equal(fr_kern_pick(&kern, NULL, &err), FR_OK);
    for (int i = 0; i < 4; i++) {
        fr_opened o;
        fr_matrix head;
        float want[64], got[64];
        fr_opened_open(&o, &models[i / 2], kern, 2);
        fr_model m;
        const bool in_place = i % 2;
        if (in_place)
            assert_int_equal(
                fr_model_open(&m, o.gguf, kern, o.pool, FR_WEIGHTS_IN_PLACE, NULL, NULL, &err),
                FR_OK);
        assert_int_equal(fr_draft_head_open(&head, in_place ? &m : &o.model, ids, 5, &err), FR_OK);
        assert_int_equal(head.m, 5);
        for (int v = 0; v < 5; v++) {
            fr_unpack_row(&o.model.head, ids[v], want);
            fr_unpack_row(&head, v, got);
            float largest = 0;
            for (int k = 0; k < 64; k++)
                largest = fmaxf(largest, fabsf(want[k]));
            for (int k = 0; k < 64; k++)
                assert_true(fabsf(want[k] - got[k]) <= largest / 250);
        }
        fr_matrix_close(&head);
        if (in_place) fr_model_close(&m);
        fr_opened_close(&o);
    }
}

// ---------------------------------------------------------------- likeliest tokens

typedef struct listed {
    int32_t index;
    float logit;
} listed;

static int by_logit(const void *a, const void *b) {
    const listed *x = a, *y = b;
    if (x->logit != y->logit) return x->logit < y->logit ? 1 : -1;
    return x->index - y->index;
}

static void the_likeliest_are_the_largest_with_their_shares(void **state) {
    (void)state;
    enum { N = 300 };
    for (unsigned seed = 0; seed < 200; seed++) {
        float logits[N];
        listed all[N];
        fr_likely got[FR_LIKELY_MOST];
        srand(seed);
        const int n = 1 + rand() % N, most = 1 + rand() % FR_LIKELY_MOST;
        const float spread = (float)(rand() % 20);
        double sum = 0;
        for (int i = 0; i < n; i++) {
            logits[i] = seed % 3 ? spread * dice() : (float)(rand() % 4); // with many ties
            all[i] = (listed){i, logits[i]};
            sum += exp((double)logits[i]);
        }
        qsort(all, (size_t)n, sizeof *all, by_logit);
        const int m = fr_likeliest(logits, n, most, got);
        assert_int_equal(m, most < n ? most : n);
        for (int i = 0; i < m; i++) {
            if (got[i].index != all[i].index) fail_msg("seed %u, place %d", seed, i);
            assert_true(fabs((double)got[i].p - exp((double)all[i].logit) / sum) < 1e-4);
        }
    }
}

static void what_is_no_number_is_never_likely(void **state) {
    (void)state;
    const float some[] = {NAN, -2, INFINITY, 3, -INFINITY, NAN}, none[] = {NAN, -INFINITY, NAN};
    fr_likely got[4];
    assert_int_equal(fr_likeliest(some, 6, 4, got), 2);
    assert_int_equal(got[0].index, 3);
    assert_int_equal(got[1].index, 1);
    assert_true(fabsf(got[0].p + got[1].p - 1) < 1e-5f);
    assert_int_equal(fr_likeliest(none, 3, 4, got), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_is_the_sum_for_any_rows_and_threads),
        cmocka_unit_test(products_in_one_run_are_those_of_their_own),
        cmocka_unit_test(the_draft_head_has_the_rows_of_its_ids),
        cmocka_unit_test(the_likeliest_are_the_largest_with_their_shares),
        cmocka_unit_test(what_is_no_number_is_never_likely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
