#include "model/rope.h"
#include "base/alloc.h"
#include "kern/math.h"
#include <math.h>

static const double TWO_PI = 6.283185307179586;

// YaRN: the rotated dimension whose wavelength fits `turns` times into the original context.  [Peng
// et al. 2023, §3.2]
static double yarn_dimension(const fr_config *c, double base, double turns) {
    return c->n_rot * fr_log(c->rope_ctx_orig / (turns * TWO_PI)) / (2 * fr_log(base));
}

// Dimensions that turn often keep their frequency, slow ones are interpolated, between them a ramp.
static void apply_yarn(double *freq, double base, const fr_config *c) {
    double low = floor(yarn_dimension(c, base, c->yarn_beta_fast));
    double high = ceil(yarn_dimension(c, base, c->yarn_beta_slow));
    low = low < 0 ? 0 : low;
    high = high > c->n_rot - 1 ? c->n_rot - 1 : high;
    for (int i = 0; i < c->n_rot / 2; i++) {
        double ramp = (i - low) / (high - low > 0.001 ? high - low : 0.001);
        ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
        freq[i] *= ramp / c->rope_factor + (1 - ramp);
    }
}

static double yarn_scale(const fr_config *c, double multiplier) {
    return c->rope_factor > 1 ? 1 + 0.1 * multiplier * fr_log(c->rope_factor) : 1;
}

double fr_rope_yarn_magnitude(const fr_config *c) {
    return yarn_scale(c, 1) / (c->yarn_multiplier > 0 ? yarn_scale(c, c->yarn_multiplier) : 1);
}

// LongRoPE: the published magnitude for a context stretched by s = trained / original.  [Ding et
// al. 2024]
static double long_magnitude(const fr_config *c) {
    double s = (double)c->n_ctx_train / c->rope_ctx_orig;
    return s <= 1 ? 1 : sqrt(1 + fr_log(s) / fr_log(c->rope_ctx_orig));
}

// A factor that the file names holds for all layers, but for families whose files name YaRN's own
// magnitude there. YaRN's magnitude comes on top of it, in layers that
// see everything. LongRoPE's is used where the file names none.
static void find_magnitudes(fr_rope *r, const fr_config *c) {
    const bool named = c->family && c->family->names_yarn_magnitude;
    const double own = c->rope_attn_factor > 0 && !named ? c->rope_attn_factor : 1;
    r->magnitude = r->magnitude_local = own;
    if (c->rope_scaling == FR_ROPE_YARN) r->magnitude *= fr_rope_yarn_magnitude(c);
    if (c->rope_scaling == FR_ROPE_LONG && !(c->rope_attn_factor > 0))
        r->magnitude = long_magnitude(c);
}

static void find_plain_frequencies(double *freq, double base, const fr_config *c) {
    for (int i = 0; i < c->n_rot / 2; i++)
        freq[i] = fr_pow(base, -2.0 * i / c->n_rot);
}

static void find_frequencies(double *freq, double base, const fr_config *c, const float *factors) {
    find_plain_frequencies(freq, base, c);
    for (int i = 0; i < c->n_rot / 2; i++) {
        if (factors) freq[i] /= factors[i];
        if (c->rope_scaling == FR_ROPE_LINEAR) freq[i] /= c->rope_factor;
    }
    if (c->rope_scaling == FR_ROPE_YARN) apply_yarn(freq, base, c);
}

fr_status fr_rope_open(fr_rope *r, const fr_config *c, const float *factors, fr_error *err) {
    int half = c->n_rot / 2;
    *r = (fr_rope){.n_rot = c->n_rot};
    if (!(r->freq = fr_alloc_array((size_t)half * 2, sizeof *r->freq)))
        return fr_fail(err, FR_ENOMEM, "RoPE: cannot get memory for %d frequencies", half);
    r->freq_local = r->freq + half;
    const bool plain_local = c->family && c->family->plain_local;
    find_magnitudes(r, c);
    find_frequencies(r->freq, c->rope_base, c, factors);
    if (plain_local) {
        find_plain_frequencies(r->freq_local, c->rope_base_local, c);
        return FR_OK;
    }
    find_frequencies(r->freq_local, c->rope_base_local, c, factors);
    r->magnitude_local = r->magnitude;
    return FR_OK;
}

void fr_rope_close(fr_rope *r) {
    fr_free(r->freq);
    *r = (fr_rope){0};
}

void fr_rope_fill(const fr_rope *r, bool local, int pos, float *cs) {
    const double *freq = local ? r->freq_local : r->freq;
    const double magnitude = local ? r->magnitude_local : r->magnitude;
    for (int i = 0; i < r->n_rot / 2; i++) {
        double s, c;
        fr_sincos(pos * freq[i], &s, &c);
        cs[2 * i] = (float)(c * magnitude);
        cs[2 * i + 1] = (float)(s * magnitude);
    }
}
