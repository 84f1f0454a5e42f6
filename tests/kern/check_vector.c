// check_vector.c — what happens to one row by itself: every instruction set against ref/, bit for
// bit, at every small size, with and without overlap, at any alignment.
#include "check.h"
#include "kern/half.h"
#include <float.h>
#include <math.h>
#include <string.h>

// Values of several kinds: moderate, wide, subnormal, the ends of exp, signed zeros.
static float odd_value(check *c) {
    switch (check_below(c, 12)) {
    case 0:
        return check_uniform(c, -100.0f, 100.0f);
    case 1:
        return check_uniform(c, -1e-38f, 1e-38f);
    case 2:
        return check_below(c, 2) ? 0.0f : -0.0f;
    case 3:
        return check_uniform(c, -1.0f, 1.0f) * 1e6f;
    case 4:
        return (float)(check_below(c, 400) - 200) * 0.5f; // -87 and 88 among them
    default:
        return check_uniform(c, -4.0f, 4.0f);
    }
}

static float *odd_row(check *c, int n) {
    float *x = check_buffer((size_t)n * sizeof *x);
    for (int i = 0; i < n; i++)
        x[i] = odd_value(c);
    return x;
}

// What is not a number, not finite, or at an end of what floats hold; and numbers between.
static float *special_row(check *c, int n) {
    static const float special[] = {NAN,      INFINITY,  -INFINITY, FLT_MAX, -FLT_MAX, FLT_MIN,
                                    -FLT_MIN, 0x1p-149f, -0.0f,     0.0f,    1e20f,    -1e30f};
    float *x = odd_row(c, n);
    const int first = check_below(c, 4) ? 3 : 0; // most rows are finite, or all sums would be NaN
    for (int i = 0; i < n; i++)
        if (!check_below(c, 3))
            x[i] = special[first + check_below(c, (int)(sizeof special / sizeof *special) - first)];
    return x;
}

static float *any_row(check *c, int n, int specials) {
    return specials ? special_row(c, n) : odd_row(c, n);
}

static float *copy_row(const float *x, int n) {
    float *y = check_buffer((size_t)n * sizeof *y);
    memcpy(y, x, (size_t)n * sizeof *y);
    return y;
}

static void compare(check *c, const float *expected, const float *found, int n, const char *what) {
    const bool same = !memcmp(expected, found, (size_t)n * sizeof(float));
    check_case(c, same && check_fronts_intact(), "%s n %d", what, n);
    check_release();
}

// Equal bits, or NaN in both: which NaN is left to the processor.
static void compare_numbers(check *c, const float *expected, const float *found, int n,
                            const char *what) {
    bool same = check_fronts_intact();
    for (int i = 0; i < n; i++)
        same &= isnan(expected[i]) ? isnan(found[i])
                                   : fr_f32_bits(expected[i]) == fr_f32_bits(found[i]);
    check_case(c, same, "%s n %d", what, n);
    check_release();
}

static void rmsnorm_in_place_and_not(check *c, int n) {
    const float eps = check_below(c, 2) ? 1e-6f : 1e-5f;
    for (int mode = 0; mode < 4; mode++) { // bit 0: y is x; bit 1: no weights
        float *x0 = odd_row(c, n), *x1 = copy_row(x0, n), *w = mode & 2 ? NULL : odd_row(c, n);
        float *y0 = mode & 1 ? x0 : check_buffer((size_t)n * sizeof(float));
        float *y1 = mode & 1 ? x1 : check_buffer((size_t)n * sizeof(float));
        c->ref->rmsnorm(y0, x0, w, n, eps);
        c->kern->rmsnorm(y1, x1, w, n, eps);
        compare(c, y0, y1, n, "rmsnorm");
    }
}

static void layernorm_in_place_and_not(check *c, int n) {
    const float eps = check_below(c, 2) ? 1e-6f : 1e-5f;
    for (int mode = 0; mode < 16; mode++) { // y is x; no weights; no biases; specials
        float *x0 = any_row(c, n, mode & 8), *x1 = copy_row(x0, n);
        float *w = mode & 2 ? NULL : odd_row(c, n), *b = mode & 4 ? NULL : odd_row(c, n);
        float *y0 = mode & 1 ? x0 : check_buffer((size_t)n * sizeof(float));
        float *y1 = mode & 1 ? x1 : check_buffer((size_t)n * sizeof(float));
        c->ref->layernorm(y0, x0, w, b, n, eps);
        c->kern->layernorm(y1, x1, w, b, n, eps);
        compare_numbers(c, y0, y1, n, "layernorm");
    }
}

// Also by its promise: the bits of gelu_mul beside ones.
static void gelu_in_place_and_not(check *c, int n) {
    for (int mode = 0; mode < 4; mode++) { // y is x; specials
        float *x0 = any_row(c, n, mode & 2), *x1 = copy_row(x0, n), *x2 = copy_row(x0, n);
        float *ones = check_buffer((size_t)n * sizeof(float));
        for (int i = 0; i < n; i++)
            ones[i] = 1.0f;
        float *y0 = mode & 1 ? x0 : check_buffer((size_t)n * sizeof(float));
        float *y1 = mode & 1 ? x1 : check_buffer((size_t)n * sizeof(float));
        c->ref->gelu(y0, x0, n);
        c->kern->gelu(y1, x1, n);
        c->kern->gelu_mul(x2, x2, ones, n);
        for (int i = 0; i < n; i++)
            if (isnan(y1[i]) && isnan(x2[i])) x2[i] = y1[i];
        check_case(c, !memcmp(y1, x2, (size_t)n * sizeof *y1), "gelu and gelu_mul, n %d", n);
        compare_numbers(c, y0, y1, n, "gelu");
    }
}

static void softcap(check *c, int n) {
    static const float caps[] = {50, 30, 15, 1, 0.007f, 1e-30f, 1e30f, FLT_MAX};
    for (int specials = 0; specials < 2; specials++) {
        const float cap = caps[check_below(c, (int)(sizeof caps / sizeof *caps))];
        const float size = cap < 1e30f ? cap : 1.0f;
        float *x0 = any_row(c, n, specials);
        for (int i = 0; i < n; i++)
            if (check_below(c, 2)) x0[i] *= size; // where tanh bends
        float *x1 = copy_row(x0, n);
        c->ref->softcap(x0, n, cap);
        c->kern->softcap(x1, n, cap);
        bool inside = true;
        for (int i = 0; i < n; i++) // the reference itself by the promise's words
            inside &= isnan(x0[i]) || fabsf(x0[i]) <= cap;
        check_case(c, inside, "softcap n %d: a value beyond the cap %g", n, (double)cap);
        compare_numbers(c, x0, x1, n, "softcap");
    }
}

static void add_and_scale(check *c, int n) {
    float *x = odd_row(c, n), *y0 = odd_row(c, n), *y1 = copy_row(y0, n);
    c->ref->add(y0, x, n);
    c->kern->add(y1, x, n);
    compare(c, y0, y1, n, "add");
    const float factor = odd_value(c);
    y0 = odd_row(c, n), y1 = copy_row(y0, n);
    c->ref->scale(y0, factor, n);
    c->kern->scale(y1, factor, n);
    compare(c, y0, y1, n, "scale");
    x = odd_row(c, n), y0 = odd_row(c, n), y1 = copy_row(y0, n);
    c->ref->add_times(y0, factor, x, n);
    c->kern->add_times(y1, factor, x, n);
    compare(c, y0, y1, n, "add_times");
}

typedef void gated_fn(float *y, const float *gate, const float *up, int n);

static void gated(check *c, gated_fn *ref, gated_fn *kern, int n, const char *what) {
    for (int in_place = 0; in_place < 2; in_place++) {
        float *g0 = odd_row(c, n), *g1 = copy_row(g0, n), *up = odd_row(c, n);
        float *y0 = in_place ? g0 : check_buffer((size_t)n * sizeof(float));
        float *y1 = in_place ? g1 : check_buffer((size_t)n * sizeof(float));
        ref(y0, g0, up, n);
        kern(y1, g1, up, n);
        compare(c, y0, y1, n, what);
    }
}

static void rope(check *c, int half) {
    for (int neox = 0; neox < 2; neox++) {
        const int rest = check_below(c, 5); // values behind n_rot stay as they are
        float *cs = odd_row(c, 2 * half), *h0 = odd_row(c, 2 * half + rest);
        float *h1 = copy_row(h0, 2 * half + rest);
        c->ref->rope(h0, cs, 2 * half, neox);
        c->kern->rope(h1, cs, 2 * half, neox);
        compare(c, h0, h1, 2 * half + rest, neox ? "rope neox" : "rope");
    }
}

// Also what does not fit f16: saturation, infinities, ties, NaN (stays NaN).
static void fill_kv(check *c, float *x, int n) {
    for (int i = 0; i < n; i++) {
        const int kind = check_below(c, 10);
        x[i] = odd_value(c);
        if (kind == 0) x[i] = 65504.0f + (float)check_below(c, 40);
        if (kind == 1) x[i] = check_below(c, 2) ? INFINITY : -INFINITY;
        if (kind == 2) x[i] = fr_f32_from_bits(check_random(c) & 0x47ffffffu); // any size
        if (kind == 3) x[i] = -65519.996f;
        if (kind == 4 && !check_below(c, 10)) x[i] = NAN;
    }
}

static void kv_store(check *c, fr_kv_form form, int head_dim) {
    const int blocks = 1 + check_below(c, 3), slots = FR_KV_BLOCK * blocks;
    const size_t n = (size_t)blocks * fr_kv_block_bytes(form, head_dim);
    uint8_t *k0 = check_buffer(n), *k1 = check_buffer(n);
    uint8_t *v0 = check_buffer(n), *v1 = check_buffer(n);
    float *key = check_buffer((size_t)head_dim * sizeof(float));
    float *value = check_buffer((size_t)head_dim * sizeof(float));
    for (int i = 0; i < 4; i++) {
        const int slot = check_below(c, slots);
        fill_kv(c, key, head_dim);
        fill_kv(c, value, head_dim);
        c->ref->store_k[form](k0, slot, head_dim, key);
        c->ref->store_v[form](v0, slot, head_dim, value);
        c->kern->store_k[form](k1, slot, head_dim, key);
        c->kern->store_v[form](v1, slot, head_dim, value);
    }
    check_case(c, !memcmp(k0, k1, n) && !memcmp(v0, v1, n) && check_fronts_intact(),
               "kv_store form %d head_dim %d", form, head_dim);
    check_release();
}

static void argmax(check *c, int n) {
    for (int kind = 0; kind < 5; kind++) {
        float *x = odd_row(c, n);
        for (int i = 0; i < n; i++) {
            if (kind == 1) x[i] = (float)check_below(c, 3); // ties: the lowest index wins
            if (kind == 2) x[i] = check_below(c, 4) ? NAN : x[i];
            if (kind == 3) x[i] = check_below(c, 3) ? NAN : -INFINITY;
            if (kind == 4) x[i] = NAN;
        }
        const int expected = c->ref->argmax(x, n), found = c->kern->argmax(x, n);
        bool largest = expected >= 0 && expected < n;
        for (int i = 0; i < n && largest; i++) // the reference itself by the promise's words
            if (x[i] > x[expected] || (i < expected && x[i] == x[expected]) ||
                (isnan(x[expected]) && !isnan(x[i])))
                largest = false;
        check_case(c, expected == found && largest, "argmax n %d kind %d: expected %d, found %d", n,
                   kind, expected, found);
        check_release();
    }
}

// Logits with ties, -inf and NaN.
static float *logits_row(check *c, int n) {
    float *x = check_buffer((size_t)n * sizeof *x);
    const bool tied = check_below(c, 2);
    for (int i = 0; i < n; i++) {
        x[i] = tied ? (float)check_below(c, 9) : check_uniform(c, -60.0f, 20.0f);
        if (!check_below(c, 30)) x[i] = -INFINITY;
        if (!check_below(c, 60)) x[i] = NAN;
    }
    return x;
}

static void run_max(check *c, int n) {
    const int runs = (n + FR_RUN - 1) / FR_RUN;
    float *x = logits_row(c, n);
    float *y0 = check_buffer((size_t)runs * sizeof *y0), *y1 = copy_row(y0, runs);
    c->ref->run_max(y0, x, n);
    c->kern->run_max(y1, x, n);
    compare(c, y0, y1, runs, "run_max");
}

static void weigh(check *c, int n) {
    const float low = check_below(c, 3) ? -INFINITY : check_uniform(c, -20.0f, 20.0f);
    const float rate = check_below(c, 4) ? check_uniform(c, 0.01f, 3.0f) : 3.4e38f;
    float *x = logits_row(c, n), *w0 = check_buffer((size_t)n * sizeof *w0), *w1 = copy_row(w0, n);
    const uint64_t s0 = c->ref->weigh(w0, x, n, 20.0f, rate, low);
    const uint64_t s1 = c->kern->weigh(w1, x, n, 20.0f, rate, low);
    check_case(c, s0 == s1, "weigh: sum, n %d", n);
    compare(c, w0, w1, n, "weigh");
}

static void split(check *c, int n) {
    for (int weighted = 0; weighted < 2; weighted++) {
        float *x = logits_row(c, n), *w = check_buffer((size_t)n * sizeof *w);
        float low = check_below(c, 5) ? (float)check_below(c, 9) : -INFINITY;
        float high = check_below(c, 5) ? low + (float)check_below(c, 9) : INFINITY;
        uint64_t sum0 = 7, sum1 = 7;
        for (int i = 0; i < n; i++)
            w[i] = check_uniform(c, 0.0f, 1.0f) * (check_below(c, 2) ? 1.0f : 1e-9f);
        int32_t *at0 = check_buffer((size_t)n * sizeof *at0);
        int32_t *at1 = check_buffer((size_t)n * sizeof *at1);
        const int m0 = c->ref->split(at0, x, weighted ? w : NULL, n, low, high, &sum0);
        const int m1 = c->kern->split(at1, x, weighted ? w : NULL, n, low, high, &sum1);
        const bool same = m0 == m1 && sum0 == sum1 && !memcmp(at0, at1, (size_t)m0 * sizeof *at0);
        check_case(c, same && check_fronts_intact(), "split n %d weighted %d", n, weighted);
        check_release();
    }
}

static void one_size(check *c, int n) {
    rmsnorm_in_place_and_not(c, n);
    layernorm_in_place_and_not(c, n);
    add_and_scale(c, n);
    gated(c, c->ref->silu_mul, c->kern->silu_mul, n, "silu_mul");
    gated(c, c->ref->clamped_mul, c->kern->clamped_mul, n, "clamped_mul");
    gated(c, c->ref->gelu_mul, c->kern->gelu_mul, n, "gelu_mul");
    gelu_in_place_and_not(c, n);
    softcap(c, n);
    argmax(c, n);
    run_max(c, n);
    weigh(c, n);
    split(c, n);
}

void check_vector(check *c) {
    static const int large[] = {576, 1536, 4095, 4096, 4097, 8960, 49152, 151936};
    layernorm_in_place_and_not(c, 0), gelu_in_place_and_not(c, 0), softcap(c, 0);
    for (int n = 1; n <= (c->quick ? 70 : 300); n++)
        one_size(c, n);
    for (int i = 0; i < (c->quick ? 6 : 8); i++)
        one_size(c, large[i]);
    for (int half = 1; half <= 70; half++)
        rope(c, half);
    rope(c, 128);
    for (int d = 1; d <= 70; d++)
        kv_store(c, FR_FORM_F16, d);
    kv_store(c, FR_FORM_F16, 80), kv_store(c, FR_FORM_F16, 96), kv_store(c, FR_FORM_F16, 128);
    kv_store(c, FR_FORM_F16, 256);
    for (int d = 32; d <= 256; d += 32)
        kv_store(c, FR_FORM_Q8_0, d);
}
