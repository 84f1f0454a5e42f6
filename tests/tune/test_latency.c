// The cost of passes is taken whole or not at all, and leaves the model as it was.
#include "support/open_model.h"
#include "tune/latency.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool stop_after(void *user, const char *what, uint64_t done, uint64_t total) {
    int *left = user;
    assert_non_null(what);
    assert_true(done >= 1 && done <= total);
    return --*left > 0;
}

static void costs_are_positive_and_begin_at_one_row(void **state) {
    (void)state;
    fr_opened o;
    fr_cost c;
    fr_error err;
    fr_opened_open(&o, &(fr_tiny_options){.type = FR_TYPE_Q8_0}, &fr_kern_scalar, 2);
    assert_int_equal(fr_latency_measure(&c, &o.model, 2, NULL, NULL, &err), FR_OK);
    assert_true(c.n >= 5 && c.n <= FR_COST_POINTS);
    assert_int_equal(c.rows[0], 1);
    for (int i = 0; i < c.n; i++) {
        assert_true(c.trunk[i] > 0 && c.head[i] > 0 && c.trunk[i] < 60);
        if (i) assert_true(c.rows[i] > c.rows[i - 1]);
    }
    assert_true(c.key >= 0 && c.key_row >= 0 && c.held >= 1);
    fr_opened_close(&o);
}

// Every row reads `used` experts of a layer, unlike rows more, and never more than there are.
static void experts_are_counted_with_the_passes(void **state) {
    (void)state;
    const fr_tiny_options model = {
        .type = FR_TYPE_Q8_0, .arch = "qwen3moe", .n_expert = 6, .n_layer = 2};
    fr_opened o;
    fr_cost c;
    fr_error err;
    fr_opened_open(&o, &model, &fr_kern_scalar, 2);
    const int layers = o.model.config.n_layer, used = o.model.config.experts.used,
              n = o.model.config.experts.n;
    assert_int_equal(fr_latency_measure(&c, &o.model, 2, NULL, NULL, &err), FR_OK);
    assert_true(c.experts[0] == layers * used);
    for (int i = 1; i < c.n; i++)
        assert_true(c.experts[i] > c.experts[0] && c.experts[i] <= layers * n);
    assert_true(c.expert >= 0 && c.shared == 0 && fr_cost_is_sound(&c));
    fr_opened_close(&o);
    fr_opened_open(&o, &(fr_tiny_options){.type = FR_TYPE_Q8_0}, &fr_kern_scalar, 1);
    assert_int_equal(fr_latency_measure(&c, &o.model, 1, NULL, NULL, &err), FR_OK);
    assert_true(c.expert == 0 && c.experts[c.n - 1] == 0);
    fr_opened_close(&o);
}

static void an_interrupt_leaves_nothing(void **state) {
    (void)state;
    fr_opened o;
    fr_cost c = {.n = 7};
    fr_error err;
    int all = 1000;
    fr_opened_open(&o, &(fr_tiny_options){.type = FR_TYPE_Q8_0}, &fr_kern_scalar, 1);
    assert_int_equal(fr_latency_measure(&c, &o.model, 2, stop_after, &all, &err), FR_OK);
    all = 1000 - all; // times that it told; the last are of the context's share
    for (int left = 3; left <= all; left += all - 3) {
        int stop = left;
        c.n = 7;
        assert_int_equal(fr_latency_measure(&c, &o.model, 2, stop_after, &stop, &err), FR_EINTR);
        assert_int_equal(c.n, 0);
    }
    fr_opened_close(&o);
}

static void a_context_of_few_tokens_is_enough(void **state) {
    (void)state;
    fr_opened o;
    fr_cost c;
    fr_error err;
    fr_opened_open(&o, &(fr_tiny_options){.type = FR_TYPE_Q8_0, .n_ctx = 40}, &fr_kern_scalar, 1);
    assert_int_equal(fr_latency_measure(&c, &o.model, 1, NULL, NULL, &err), FR_OK);
    assert_true(c.n > 0);
    fr_opened_close(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_positive_and_begin_at_one_row),
        cmocka_unit_test(experts_are_counted_with_the_passes),
        cmocka_unit_test(an_interrupt_leaves_nothing),
        cmocka_unit_test(a_context_of_few_tokens_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
