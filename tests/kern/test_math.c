// The fixed mathematics against the C library's within stated bounds, and against recorded bits.
#include "kern/exp4.h"
#include "kern/math.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t random_state = 20261121; // fixed: the bounds hold everywhere, the bits are recorded

static double uniform(void) { // 0..1
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 11) * 0x1p-53;
}

static uint64_t mix(uint64_t hash, const void *data, size_t bytes) { // FNV-1a
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const uint8_t *)data)[i]) * 0x100000001b3u;
    return hash;
}

static void exp_is_within_three_ulp(void **state) {
    (void)state;
    double worst = 0;
    for (int i = 0; i < 400000; i++) {
        float x = (float)(-87 + 175 * uniform());
        double exact = exp((double)x), got = fr_exp(x);
        double ulp = ldexp(1, ilogb(exact) - 23), error = fabs(got - exact) / ulp;
        if (error > worst) worst = error;
    }
    printf("exp: worst error %.2f ulp\n", worst);
    assert_true(worst < 3);
}

static void exp_is_the_same_without_its_branches(void **state) {
    (void)state;
    for (int i = 0; i < 400000; i++) {
        const float x = (float)(-87 + 175 * uniform());
        assert_int_equal(fr_f32_bits(fr_exp_within(x)), fr_f32_bits(fr_exp(x)));
    }
    assert_true(isnan(fr_exp_within(NAN)));
}

// Four lanes round more often: r has an error of 1.5 units of the last place of n ln 2 at most,
// which is below 1e-7 (1 + |x|).
static void exp_in_four_lanes_is_near(void **state) {
    (void)state;
    for (int i = 0; i < 400000; i++) {
        fr_f32x4 x;
        for (int k = 0; k < 4; k++)
            x[k] = (float)(-87 + 175 * uniform());
        const fr_f32x4 e = fr_exp4_within(x);
        for (int k = 0; k < 4; k++) {
            const double exact = exp((double)x[k]);
            assert_true(fabs((double)e[k] - exact) <= (4e-7 + 1e-7 * fabs((double)x[k])) * exact);
        }
    }
    const fr_f32x4 zero = fr_exp4_within((fr_f32x4){0, -0.0f, 0, -0.0f});
    for (int k = 0; k < 4; k++)
        assert_true(zero[k] == 1);
}

static void exp_ends_are_defined(void **state) {
    (void)state;
    assert_true(fr_exp(0) == 1);
    assert_true(fr_exp(-0.0f) == 1);
    assert_true(fr_f32_bits(fr_exp(-87.00001f)) == 0);
    assert_true(fr_f32_bits(fr_exp(-INFINITY)) == 0);
    assert_true(fr_exp(-87) > 0);
    assert_true(fr_exp(INFINITY) == fr_exp(88) && isfinite(fr_exp(88)));
    assert_true(isnan(fr_exp(NAN)));
}

static void silu_and_gelu_match_their_formulas(void **state) {
    (void)state;
    for (int i = 0; i < 100000; i++) {
        float x = (float)(-20 + 40 * uniform());
        double silu = x / (1 + exp(-(double)x));
        double gelu = 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * pow(x, 3))));
        assert_true(fabs(fr_silu(x) - silu) <= 4e-7 * fabs(silu) + 1e-37);
        // 1 + t cancels for negative x: the bound is absolute there, in units of |x|
        assert_true(fabs(fr_gelu(x) - gelu) <= 4e-7 * fabs((double)x));
    }
    assert_true(fr_silu(0) == 0 && fr_gelu(0) == 0);
    assert_true(fr_silu(100) == 100 && fr_gelu(100) == 100);
}

static float any_size(int lowest, int highest) { // with its exponent drawn; either sign
    const double fraction = 1 + uniform();
    const double x = ldexp(fraction, lowest + (int)(uniform() * (highest - lowest + 1)));
    return (float)(uniform() < 0.5 ? x : -x);
}

static void tanh_is_within_1_2_ulp(void **state) {
    (void)state;
    double worst = 0;
    for (int i = 0; i < 600000; i++) {
        const float x = i % 2 ? any_size(-30, 4) : (float)(-3 + 6 * uniform());
        const double exact = tanh((double)x), ulp = ldexp(1, ilogb(exact) - 23);
        const double error = fabs((double)fr_tanh(x) - exact) / ulp;
        if (error > worst) worst = error;
    }
    printf("tanh: worst error %.2f ulp\n", worst);
    assert_true(worst < 1.2);
}

static void tanh_is_odd_and_never_falls(void **state) {
    (void)state;
    for (int i = 0; i < 400000; i++) {
        const float x = fabsf(i % 2 ? any_size(-149, 127) : any_size(-2, 1));
        const float y = fr_tanh(x), after = fr_tanh(nextafterf(x, INFINITY));
        assert_true(y >= 0 && y <= after && after <= 1);
        assert_int_equal(fr_f32_bits(fr_tanh(-x)), fr_f32_bits(y) | 0x80000000u);
    }
    float x = 1 - 0x1p-14f; // the border of its two forms
    for (int i = 0; i < 2000; i++, x = nextafterf(x, 2))
        assert_true(fr_tanh(x) <= fr_tanh(nextafterf(x, 2)));
    assert_true(x > 1);
}

static void tanh_ends_are_defined(void **state) {
    (void)state;
    const float small[] = {0.0f,       -0.0f,   0x1p-149f, -0x1p-149f, 0x1.fffffcp-127f,
                           -0x1p-126f, 0x1p-13f};
    for (size_t i = 0; i < sizeof small / sizeof *small;
         i++) // to the sign of zero, a subnormal whole
        assert_int_equal(fr_f32_bits(fr_tanh(small[i])), fr_f32_bits(small[i]));
    const float large[] = {10, 44, 44.1f, 88, 1e9f, FLT_MAX, INFINITY};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        assert_true(fr_tanh(large[i]) == 1 && fr_tanh(-large[i]) == -1);
    assert_true(isnan(fr_tanh(NAN)) && isnan(fr_tanh(-NAN)));
}

static void softcap_matches_its_formula(void **state) {
    (void)state;
    const float caps[] = {50, 30, 1, 0.013f, 1e30f, FLT_MAX};
    for (int i = 0; i < 300000; i++) {
        const float cap = caps[i % 6], x = cap * any_size(-20, 4);
        if (!isfinite(x)) continue;
        const double exact = (double)cap * tanh((double)x / (double)cap);
        assert_true(fabs((double)fr_softcap(x, cap) - exact) <= 3e-7 * fabs(exact));
        assert_true(fabsf(fr_softcap(x, cap)) <= cap);
    }
    assert_true(fr_softcap(INFINITY, 50) == 50 && fr_softcap(-INFINITY, 50) == -50);
    assert_true(isnan(fr_softcap(NAN, 50)));
    assert_int_equal(fr_f32_bits(fr_softcap(-0.0f, 50)), 0x80000000u);
}

static void check_angle(double x, double bound) {
    double s, c;
    fr_sincos(x, &s, &c);
    if (!(fabs(s - sin(x)) <= bound && fabs(c - cos(x)) <= bound))
        fail_msg("angle %a: sine off by %g, cosine by %g", x, s - sin(x), c - cos(x));
}

static void sincos_is_within_1e_15(void **state) {
    (void)state;
    for (int i = 0; i < 300000; i++) {
        check_angle(-10 + 20 * uniform(), 5e-16);
        check_angle((2 * uniform() - 1) * 1e7, 1e-15);
        check_angle(exp(-40 * uniform()), 5e-16);
    }
    for (int k = -2000; k <= 2000; k++) // where the pieces cancel most
        check_angle(k * M_PI_2, 5e-16), check_angle(k * M_PI_4, 5e-16);
    for (int k = 6000000; k <= 6366000; k += 1009)
        check_angle(k * M_PI_2, 1e-15);
}

static void sincos_of_no_angle_turns_nothing(void **state) {
    (void)state;
    const double odd[] = {INFINITY, -INFINITY, NAN, 1e300, 0, -0.0};
    for (int i = 0; i < 6; i++) {
        double s = 2, c = 2;
        fr_sincos(odd[i], &s, &c);
        assert_true(s == 0 && c == 1);
    }
}

static void log_is_within_two_ulp(void **state) {
    (void)state;
    for (int i = 0; i < 300000; i++) {
        double x = i % 2 ? exp(-700 + 1400 * uniform()) : 0.5 + uniform();
        assert_true(fabs(fr_log(x) - log(x)) <= 2 * 0x1p-52 * fabs(log(x)));
    }
    assert_true(fr_log(1) == 0);
    assert_true(fr_log(0) == -INFINITY && fr_log(INFINITY) == INFINITY);
    assert_true(isnan(fr_log(-1)) && isnan(fr_log(NAN)));
    assert_true(fabs(fr_log(0x1p-1074) / log(0x1p-1074) - 1) < 1e-15);
}

static void exp_f64_is_within_two_ulp(void **state) {
    (void)state;
    for (int i = 0; i < 300000; i++) {
        double x = -708 + 1417 * uniform(), exact = exp(x);
        assert_true(fabs(fr_exp_f64(x) - exact) <= 2 * 0x1p-52 * exact);
    }
    assert_true(fr_exp_f64(0) == 1 && fr_exp_f64(-INFINITY) == 0);
    assert_true(fr_exp_f64(INFINITY) == INFINITY && isnan(fr_exp_f64(NAN)));
    assert_true(fabs(fr_exp_f64(-740) / exp(-740) - 1) < 0.01); // subnormal: few bits are left
}

static void pow_gives_rope_frequencies(void **state) {
    (void)state;
    const double bases[] = {10000, 100000, 1e6, 1e7, 5e5};
    for (int b = 0; b < 5; b++)
        for (int dim = 16; dim <= 256; dim += 16)
            for (int i = 0; i < dim / 2; i++) {
                double exact = pow(bases[b], -2.0 * i / dim);
                assert_true(fabs(fr_pow(bases[b], -2.0 * i / dim) - exact) <= 5e-15 * exact);
            }
    assert_true(fr_pow(10000, 0) == 1);
}

// The bits are part of what a model's text is: recorded once, equal on every machine and compiler.
static void bits_are_those_recorded(void **state) {
    (void)state;
    uint64_t hash = 0xcbf29ce484222325u;
    random_state = 7;
    for (int i = 0; i < 20000; i++) {
        double x = uniform(), s, c, y;
        float f = fr_exp((float)(-90 + 180 * x));
        hash = mix(hash, &f, sizeof f);
        f = fr_silu((float)(-30 + 60 * x));
        hash = mix(hash, &f, sizeof f);
        f = fr_gelu((float)(-12 + 24 * x));
        hash = mix(hash, &f, sizeof f);
        fr_sincos(131072 * x, &s, &c);
        hash = mix(mix(hash, &s, sizeof s), &c, sizeof c);
        y = fr_log(x + 0x1p-60);
        hash = mix(hash, &y, sizeof y);
        y = fr_exp_f64(-700 + 1400 * x);
        hash = mix(hash, &y, sizeof y);
    }
    printf("hash %016llx\n", (unsigned long long)hash);
    assert_true(hash == 0x57b731ebeb64d94du);
}

static void bits_of_tanh_are_those_recorded(void **state) {
    (void)state;
    uint64_t hash = 0xcbf29ce484222325u;
    random_state = 7;
    for (int i = 0; i < 40000; i++) {
        const float x = any_size(-30, 7), y = fr_tanh(x), capped = fr_softcap(x, 30);
        hash = mix(mix(hash, &y, sizeof y), &capped, sizeof capped);
    }
    printf("hash of tanh %016llx\n", (unsigned long long)hash);
    assert_true(hash == 0xede04612423bd60eu);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_within_three_ulp),
        cmocka_unit_test(exp_is_the_same_without_its_branches),
        cmocka_unit_test(exp_in_four_lanes_is_near),
        cmocka_unit_test(exp_ends_are_defined),
        cmocka_unit_test(silu_and_gelu_match_their_formulas),
        cmocka_unit_test(tanh_is_within_1_2_ulp),
        cmocka_unit_test(tanh_is_odd_and_never_falls),
        cmocka_unit_test(tanh_ends_are_defined),
        cmocka_unit_test(softcap_matches_its_formula),
        cmocka_unit_test(sincos_is_within_1e_15),
        cmocka_unit_test(sincos_of_no_angle_turns_nothing),
        cmocka_unit_test(log_is_within_two_ulp),
        cmocka_unit_test(exp_f64_is_within_two_ulp),
        cmocka_unit_test(pow_gives_rope_frequencies),
        cmocka_unit_test(bits_are_those_recorded),
        cmocka_unit_test(bits_of_tanh_are_those_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
