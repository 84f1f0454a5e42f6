// The distribution of a row: the likeliest tokens, in order, and their true log probabilities.
#include "kern/half.h"
#include "train/data/top_logprobs.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 5000 };

static float logits[MOST];
static int order[MOST];

static int by_logit(const void *a, const void *b) { // largest first, of equal ones the lower id
    const int i = *(const int *)a, k = *(const int *)b;
    if (logits[i] != logits[k]) return logits[i] > logits[k] ? -1 : 1;
    return i - k;
}

static void check(int n, int top) {
    int32_t id[64];
    uint16_t lp[64];
    double sum = 0, max = -INFINITY;
    for (int i = 0; i < n; i++) {
        order[i] = i;
        max = fmax(max, (double)logits[i]);
    }
    for (int i = 0; i < n; i++)
        sum += exp((double)logits[i] - max);
    qsort(order, (size_t)n, sizeof *order, by_logit);
    fr_top_logprobs(logits, n, top, id, lp);
    for (int k = 0; k < top; k++) {
        const double want = (double)logits[order[k]] - max - log(sum);
        assert_int_equal(id[k], order[k]);
        // f16 keeps 11 bits.
        assert_true(fabs((double)fr_f16_to_f32(lp[k]) - want) <= 1e-3 + fabs(want) / 1024);
    }
}

static void law_is_the_sorted_softmax(void **state) {
    (void)state;
    srand(7);
    for (int round = 0; round < 200; round++) {
        const int n = 1 + rand() % MOST, top = 1 + rand() % (n < 64 ? n : 64);
        const float spread = (float)(rand() % 400) / 10;
        for (int i = 0; i < n; i++)
            logits[i] = spread * ((float)rand() / (float)RAND_MAX - 0.5f);
        if (round % 3 == 0)
            for (int i = 0; i < n; i++)
                logits[i] = roundf(logits[i]); // many equal ones
        check(n, top);
    }
}

static void what_is_no_number_is_never_likely(void **state) {
    int32_t id[4];
    uint16_t lp[4];
    (void)state;
    const float x[6] = {NAN, 1, -INFINITY, 2, NAN, 0};
    fr_top_logprobs(x, 6, 4, id, lp);
    const int32_t want[4] = {3, 1, 5, -1};
    for (int k = 0; k < 4; k++)
        assert_int_equal(id[k], want[k]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(law_is_the_sorted_softmax),
                                       cmocka_unit_test(what_is_no_number_is_never_likely)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
