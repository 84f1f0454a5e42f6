// The optimizer's arithmetic and the learning rate, against numbers worked by hand.
#include "support/near.h"
#include "train/math/optim.h"
#include "train/math/schedule.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

// w[2][1] and a bias: only the matrix decays.
static void open_params(fr_params *p) {
    fr_error err;
    *p = (fr_params){0};
    assert_int_equal(fr_params_add(p, "w", 2, 1), 0);
    assert_int_equal(fr_params_add(p, "b", 1, 1), 1);
    assert_int_equal(fr_params_alloc(p, &err), FR_OK);
}

// First step: m = 0.1 g, v = 0.05 g^2, and both bias corrections undo exactly that, so that
// w <- w (1 - rate decay) - rate g / (|g| + eps).
static void the_first_step_moves_by_the_rate(void **state) {
    (void)state;
    fr_params p;
    open_params(&p);
    float *w = fr_param_w(&p, 0), *b = fr_param_w(&p, 1);
    w[0] = 2, w[1] = -1, b[0] = 3;
    fr_param_grad(&p, 0)[0] = 8;
    fr_param_grad(&p, 0)[1] = -4;
    fr_param_grad(&p, 1)[0] = 2;
    fr_adamw_step(&p, 0.1, 0.5, 1);
    assert_near(w[0], 2 * 0.999 - 0.1, 1e-6);
    assert_near(w[1], -1 * 0.999 + 0.1, 1e-6);
    assert_near(b[0], 3 - 0.1, 1e-6);
    assert_near(p.m[0], 0.1 * 4, 1e-6);
    assert_near(p.v[0], 0.05 * 16, 1e-6);
    for (size_t i = 0; i < p.n_floats; i++)
        assert_true(p.grad[i] == 0);
    fr_params_free(&p);
}

// Second step with g = 4 then 1, by hand: m = 0.9*0.4 + 0.1*1 = 0.46, v = 0.95*0.8 + 0.05 = 0.81,
// m^ = 0.46 / 0.19, v^ = 0.81 / 0.0975.
static void the_second_step_remembers_the_first(void **state) {
    (void)state;
    fr_params p;
    open_params(&p);
    float *b = fr_param_w(&p, 1), *g = fr_param_grad(&p, 1);
    g[0] = 4;
    fr_adamw_step(&p, 0.1, 1, 1);
    const double before = (double)b[0];
    g[0] = 1;
    fr_adamw_step(&p, 0.2, 1, 2);
    assert_near(b[0], before - 0.2 * (0.46 / 0.19) / sqrt(0.81 / 0.0975), 1e-5);
    fr_params_free(&p);
}

static void long_gradients_are_cut_to_the_norm(void **state) {
    (void)state;
    fr_params p;
    open_params(&p);
    fr_param_grad(&p, 0)[0] = 30;
    fr_param_grad(&p, 1)[0] = -40;
    assert_near(fr_grad_norm(&p), 50, 1e-9);
    assert_near(fr_grad_scale(50, 10, 1), 1.0 / 50, 1e-12);   // 5 after the division: cut to 1
    assert_near(fr_grad_scale(50, 100, 1), 1.0 / 100, 1e-12); // 0.5: left
    fr_param_grad(&p, 0)[1] = NAN;
    assert_true(isnan(fr_grad_norm(&p)));
    fr_params_free(&p);
}

static void the_rate_rises_then_falls_to_a_tenth(void **state) {
    (void)state;
    assert_near(fr_schedule_rate(2, 0.1, 0), 0, 1e-12);
    assert_near(fr_schedule_rate(2, 0.1, 0.01), 1, 1e-12);
    assert_near(fr_schedule_rate(2, 0.1, 0.02), 2, 1e-12);
    assert_near(fr_schedule_rate(2, 0.1, 0.51), 2 * 0.55, 1e-12); // halfway: (1 + 0.1) / 2
    assert_near(fr_schedule_rate(2, 0.1, 1), 0.2, 1e-12);
    assert_near(fr_schedule_rate(2, 0.1, 7), 0.2, 1e-12);
    assert_near(fr_schedule_rate(2, 0, 0.51), 1, 1e-12); // down to nothing
    assert_near(fr_schedule_rate(2, 0, 1), 0, 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_first_step_moves_by_the_rate),
                                       cmocka_unit_test(the_second_step_remembers_the_first),
                                       cmocka_unit_test(long_gradients_are_cut_to_the_norm),
                                       cmocka_unit_test(the_rate_rises_then_falls_to_a_tenth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
