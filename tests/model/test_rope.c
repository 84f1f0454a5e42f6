// RoPE frequencies against the published formulas, computed here with libm.
#include "model/rope.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const double PI = 3.14159265358979323846;

static fr_config plain_config(void) {
    return (fr_config){.arch_name = "llama",
                       .head_dim = 64,
                       .n_rot = 64,
                       .n_ctx_train = 8192,
                       .rope_base = 500000,
                       .rope_base_local = 500000,
                       .rope_factor = 1,
                       .yarn_beta_fast = 32,
                       .yarn_beta_slow = 1,
                       .rope_ctx_orig = 8192};
}

static fr_rope open_rope(const fr_config *c, const float *factors) {
    fr_error err;
    fr_rope r;
    if (fr_rope_open(&r, c, factors, &err)) fail_msg("%s", err.text);
    return r;
}

// The library's exp and log are its own; theirs and libm's agree to a few units of the last place.
static void assert_close(double found, double expected, double tolerance) {
    if (!(fabs(found - expected) <= tolerance * fmax(1e-300, fabs(expected))))
        fail_msg("expected %.17g, found %.17g", expected, found);
}

// RoFormer (Su et al. 2021, §3.2.2): theta_i = base^(-2i/d).
static double theta(double base, int i, int n_rot) {
    return pow(base, -2.0 * i / n_rot);
}

static void plain_frequencies_are_powers_of_the_base(void **state) {
    (void)state;
    fr_config c = plain_config();
    fr_rope r = open_rope(&c, NULL);
    for (int i = 0; i < 32; i++) {
        assert_close(r.freq[i], theta(500000, i, 64), 1e-13);
        assert_close(r.freq_local[i], r.freq[i], 0);
    }
    assert_close(r.magnitude, 1, 0);
    fr_rope_close(&r);
}

static void partial_rotation_counts_rotated_values_only(void **state) {
    (void)state;
    fr_config c = plain_config();
    c.head_dim = 128;
    c.n_rot = 96;
    fr_rope r = open_rope(&c, NULL);
    for (int i = 0; i < 48; i++)
        assert_close(r.freq[i], theta(500000, i, 96), 1e-13);
    fr_rope_close(&r);
}

static void linear_scaling_divides_every_frequency(void **state) {
    (void)state;
    fr_config c = plain_config();
    c.rope_scaling = FR_ROPE_LINEAR;
    c.rope_factor = 8;
    fr_rope r = open_rope(&c, NULL);
    for (int i = 0; i < 32; i++)
        assert_close(r.freq[i], theta(500000, i, 64) / 8, 1e-13);
    assert_close(r.magnitude, 1, 0);
    fr_rope_close(&r);
}

// Gemma 3: layers with a window keep base 10000 and are never scaled.
static void gemma_scales_its_global_layers_only(void **state) {
    (void)state;
    fr_config c = plain_config();
    c.family = fr_family_find("gemma3", 6);
    c.rope_base = 1e6f;
    c.rope_base_local = 10000;
    c.rope_scaling = FR_ROPE_LINEAR;
    c.rope_factor = 8;
    fr_rope r = open_rope(&c, NULL);
    for (int i = 0; i < 32; i++) {
        assert_close(r.freq[i], theta(1e6, i, 64) / 8, 1e-13);
        assert_close(r.freq_local[i], theta(10000, i, 64), 1e-13);
    }
    fr_rope_close(&r);
}

// YaRN's magnitude is for the layers that it scales; the file's factor is for all.
static void gemmas_local_layers_keep_their_magnitude(void **state) {
    (void)state;
    fr_config c = plain_config();
    c.family = fr_family_find("gemma3", 6);
    c.rope_scaling = FR_ROPE_YARN;
    c.rope_factor = 4;
    fr_rope r = open_rope(&c, NULL);
    assert_close(r.magnitude, 0.1 * log(4) + 1, 1e-14);
    assert_close(r.magnitude_local, 1, 0);
    float cs[64];
    fr_rope_fill(&r, true, 0, cs);
    assert_true(cs[0] == 1 && cs[1] == 0);
    fr_rope_close(&r);
    c.rope_attn_factor = 0.5f;
    r = open_rope(&c, NULL);
    assert_close(r.magnitude, 0.5 * (0.1 * log(4) + 1), 1e-14);
    assert_close(r.magnitude_local, 0.5, 0);
    fr_rope_close(&r);
}

static void a_magnitude_needs_no_scaling(void **state) {
    (void)state;
    const fr_family *families[] = {fr_family_find("llama", 5), fr_family_find("gemma3", 6)};
    for (int i = 0; i < 2; i++)
        for (int scaling = FR_ROPE_NONE; scaling <= FR_ROPE_LINEAR; scaling++) {
            fr_config c = plain_config();
            c.family = families[i];
            c.rope_scaling = (fr_rope_scaling)scaling;
            c.rope_attn_factor = 1.25f;
            fr_rope r = open_rope(&c, NULL);
            assert_close(r.magnitude, 1.25, 0);
            assert_close(r.magnitude_local, 1.25, 0);
            fr_rope_close(&r);
        }
}

// Llama 3.1: wavelengths up to L/high keep their frequency, beyond L/low it is divided by 8, and
// between them 1 / ((1-s)/8 + s) with s = (L/wavelength - low) / (high - low). Files hold the
// divisors.
static void llama3_factors(float *factors, int n, double base) {
    const double context = 8192, low = 1, high = 4, factor = 8;
    for (int i = 0; i < n; i++) {
        double wavelength = 2 * PI / theta(base, i, 2 * n);
        double s = (context / wavelength - low) / (high - low);
        factors[i] = wavelength < context / high  ? 1
                     : wavelength > context / low ? (float)factor
                                                  : (float)(1 / ((1 - s) / factor + s));
    }
}

static void llama3_tables_give_its_published_frequencies(void **state) {
    (void)state;
    fr_config c = plain_config();
    float factors[32];
    llama3_factors(factors, 32, 500000);
    int kept = 0, divided = 0;
    fr_rope r = open_rope(&c, factors);
    for (int i = 0; i < 32; i++) {
        double f = theta(500000, i, 64), wavelength = 2 * PI / f;
        double s = (8192 / wavelength - 1) / 3;
        double expected = wavelength < 2048   ? f
                          : wavelength > 8192 ? f / 8
                                              : (1 - s) * f / 8 + s * f;
        assert_close(r.freq[i], expected, 1e-6); // the file's factors are f32
        kept += factors[i] == 1;
        divided += factors[i] == 8;
    }
    assert_true(kept > 0 && divided > 0 && kept + divided < 32); // all three cases were seen
    assert_close(r.magnitude, 1, 0);
    fr_rope_close(&r);
}

// YaRN (Peng et al. 2023, §3.2 and §3.4) by wavelengths, as Qwen2.5 uses it: factor 4 of 32768.
static void yarn_follows_its_paper(void **state) {
    (void)state;
    fr_config c = plain_config();
    c.rope_base = c.rope_base_local = 1e6f;
    c.n_rot = c.head_dim = 128;
    c.rope_scaling = FR_ROPE_YARN;
    c.rope_factor = 4;
    c.rope_ctx_orig = 32768;
    fr_rope r = open_rope(&c, NULL);
    // The dimension that turns n times in the original context: d ln(L / (2 pi n)) / (2 ln b).
    double low = floor(128 * log(32768 / (32 * 2 * PI)) / (2 * log(1e6)));
    double high = ceil(128 * log(32768 / (1 * 2 * PI)) / (2 * log(1e6)));
    assert_true(low > 0 && low < high && high < 64);
    for (int i = 0; i < 64; i++) {
        double f = theta(1e6, i, 128), ramp = fmin(1, fmax(0, (i - low) / (high - low)));
        assert_close(r.freq[i], f / 4 * ramp + f * (1 - ramp), 1e-12);
        assert_close(r.freq_local[i], r.freq[i], 0);
    }
    assert_close(r.magnitude, 0.1 * log(4) + 1, 1e-14);
    fr_rope_close(&r);
    c.rope_attn_factor = 0.5f; // a file's own factor comes on top
    r = open_rope(&c, NULL);
    assert_close(r.magnitude, 0.5 * (0.1 * log(4) + 1), 1e-14);
    fr_rope_close(&r);
    c.rope_attn_factor = 0;
    c.rope_factor = 0.5f; // a context that is not extended needs no compensation
    r = open_rope(&c, NULL);
    assert_close(r.magnitude, 1, 0);
    assert_close(r.magnitude_local, 1, 0);
    fr_rope_close(&r);
}

// LongRoPE (Ding et al. 2024) as Phi-3 128k uses it: magnitude sqrt(1 + ln(s) / ln(L)), s = 32.
static void longrope_divides_by_its_table_and_grows(void **state) {
    (void)state;
    fr_config c = plain_config();
    c.family = fr_family_find("phi3", 4);
    c.rope_base = c.rope_base_local = 10000;
    c.n_rot = c.head_dim = 96;
    c.rope_scaling = FR_ROPE_LONG;
    c.n_ctx_train = 131072;
    c.rope_ctx_orig = 4096;
    float factors[48];
    for (int i = 0; i < 48; i++)
        factors[i] = 1 + 1.25f * (float)i;
    fr_rope r = open_rope(&c, factors);
    for (int i = 0; i < 48; i++) {
        assert_close(r.freq[i], 1 / (factors[i] * pow(10000, 2.0 * i / 96)), 1e-13);
        assert_close(r.freq_local[i], r.freq[i], 0);
    }
    assert_close(r.magnitude, 1.1902380714238083, 1e-14); // sqrt(1 + ln 32 / ln 4096) = sqrt(17/12)
    fr_rope_close(&r);
    c.rope_attn_factor = 1.25f;
    r = open_rope(&c, factors);
    assert_close(r.magnitude, 1.25, 0);
    fr_rope_close(&r);
    c.rope_attn_factor = 0;
    c.n_ctx_train = 4096; // not stretched
    r = open_rope(&c, factors);
    assert_close(r.magnitude, 1, 0);
    fr_rope_close(&r);
}

static void rotations_are_cosines_and_sines_of_the_angle(void **state) {
    (void)state;
    fr_config c = plain_config();
    c.rope_scaling = FR_ROPE_YARN;
    c.rope_factor = 2;
    fr_rope r = open_rope(&c, NULL);
    const int positions[] = {0, 1, 63, 4095, 131071, FR_MAX_CTX - 1};
    for (size_t p = 0; p < sizeof positions / sizeof *positions; p++) {
        float cs[64];
        fr_rope_fill(&r, false, positions[p], cs);
        for (int i = 0; i < 32; i++) {
            double angle = positions[p] * r.freq[i];
            // Half a unit of f32 at 1.07, and libm's rounding.
            assert_true(fabs(cs[2 * i] - r.magnitude * cos(angle)) < 1.2e-7);
            assert_true(fabs(cs[2 * i + 1] - r.magnitude * sin(angle)) < 1.2e-7);
        }
    }
    fr_rope_close(&r);
}

// The ends of what fr_config_read lets through: what comes out are numbers.
static void odd_settings_give_numbers(void **state) {
    (void)state;
    fr_config c = plain_config();
    const float bases[] = {2, 10000, 1e12f}, factors[] = {1e-3f, 1, 1e6f};
    const int contexts[] = {2, 8192, FR_MAX_CTX};
    for (int scaling = FR_ROPE_NONE; scaling <= FR_ROPE_LONG; scaling++)
        for (int i = 0; i < 27; i++) {
            c.rope_scaling = (fr_rope_scaling)scaling;
            c.rope_base = c.rope_base_local = bases[i % 3];
            c.rope_factor = factors[i / 3 % 3];
            c.rope_ctx_orig = contexts[i / 9];
            fr_rope r = open_rope(&c, NULL);
            float cs[64];
            fr_rope_fill(&r, false, 8191, cs);
            assert_true(isfinite(r.magnitude) && r.magnitude > 0);
            for (int k = 0; k < 32; k++)
                if (!isfinite(r.freq[k]) || !isfinite(cs[2 * k]) || !isfinite(cs[2 * k + 1]))
                    fail_msg("scaling %d, base %g, factor %g, context %d: frequency %d is %g",
                             scaling, c.rope_base, c.rope_factor, c.rope_ctx_orig, k, r.freq[k]);
            fr_rope_close(&r);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_frequencies_are_powers_of_the_base),
        cmocka_unit_test(partial_rotation_counts_rotated_values_only),
        cmocka_unit_test(linear_scaling_divides_every_frequency),
        cmocka_unit_test(gemma_scales_its_global_layers_only),
        cmocka_unit_test(gemmas_local_layers_keep_their_magnitude),
        cmocka_unit_test(a_magnitude_needs_no_scaling),
        cmocka_unit_test(llama3_tables_give_its_published_frequencies),
        cmocka_unit_test(yarn_follows_its_paper),
        cmocka_unit_test(longrope_divides_by_its_table_and_grows),
        cmocka_unit_test(rotations_are_cosines_and_sines_of_the_angle),
        cmocka_unit_test(odd_settings_give_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
