// Attention of unrolled chains against a literal masked attention in double: values, and gradients
// by differences.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "decode/draw/sampler.h"
#include "train/math/attention.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 4, KV = 2, HD = 6, Q = HEADS * HD, K = KV * HD, STEPS = 3 };
static const uint64_t seed = 99;

typedef struct shape { // contexts and their bases
    int contexts, n_rows, n_bases;
    int row0[4], base0[4], row[200];
} shape;

// Arrays in the order q, k0, v0, k2, v2, k3, v3: floats for the code, doubles for the literal form.
enum { AT_Q, AT_K0, AT_V0, AT_OWN, ARRAYS = AT_OWN + 2 * (STEPS - 1) };
typedef struct problem {
    shape s;
    size_t size[ARRAYS];
    float *x[ARRAYS], *grad[ARRAYS], *d_o, *o, *lse;
    double *wide[ARRAYS];
} problem;

static float *numbers(size_t n, uint64_t stream, double size) {
    float *x = fr_alloc_array(n, sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(size * (2 * fr_uniform(seed + stream, i) - 1));
    return x;
}

static void make(problem *p, const shape *s) {
    *p = (problem){.s = *s};
    const size_t rows = (size_t)s->n_rows, bases = (size_t)s->n_bases;
    for (int a = 0; a < ARRAYS; a++) {
        p->size[a] = a == AT_Q ? bases * Q : a < AT_OWN ? rows * K : bases * K;
        p->x[a] = numbers(p->size[a], (uint64_t)a, 1.5);
        p->grad[a] = fr_alloc_array(p->size[a], sizeof(float));
        p->wide[a] = fr_alloc_array(p->size[a], sizeof(double));
        for (size_t i = 0; i < p->size[a]; i++)
            p->wide[a][i] = (double)p->x[a][i];
    }
    p->d_o = numbers(bases * Q, 50, 1);
    p->o = fr_alloc_array(bases * Q, sizeof(float));
    p->lse = fr_alloc_array(bases * HEADS, sizeof(float));
}

static void drop(problem *p) {
    for (int a = 0; a < ARRAYS; a++)
        fr_free(p->x[a]), fr_free(p->grad[a]), fr_free(p->wide[a]);
    fr_free(p->d_o), fr_free(p->o), fr_free(p->lse);
}

static int context_of(const shape *s, int base) {
    int c = 0;
    while (base >= s->base0[c + 1])
        c++;
    return c;
}

// Whether base b sees row r: of the same context, and not behind.
static bool sees(const shape *s, int b, int r) {
    return r >= s->row0[context_of(s, b)] && r <= s->row[b];
}

static double inner(const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < HD; i++)
        sum += a[i] * b[i];
    return sum;
}

static void literal(const problem *p, int b, int head, double *o) {
    const shape *s = &p->s;
    const int kv = head / (HEADS / KV) * HD;
    const double *q = p->wide[AT_Q] + b * Q + head * HD;
    double sum = 0;
    memset(o, 0, HD * sizeof *o);
    for (int j = 0; j < s->n_rows + STEPS - 1; j++) { // all keys, those of the own base last
        const int own = j - s->n_rows;
        if (own < 0 && !sees(s, b, j)) continue;
        const int array = own < 0 ? AT_K0 : AT_OWN + 2 * own;
        const size_t at = (size_t)((own < 0 ? j : b) * K + kv);
        const double e = exp(inner(q, p->wide[array] + at) / sqrt(HD));
        sum += e;
        for (int i = 0; i < HD; i++)
            o[i] += e * p->wide[array + 1][at + (size_t)i];
    }
    for (int i = 0; i < HD; i++)
        o[i] /= sum;
}

static double objective(const problem *p) {
    double sum = 0, o[HD];
    for (int b = 0; b < p->s.n_bases; b++)
        for (int h = 0; h < HEADS; h++) {
            literal(p, b, h, o);
            for (int i = 0; i < HD; i++)
                sum += o[i] * (double)p->d_o[b * Q + h * HD + i];
        }
    return sum;
}

typedef enum context { LEARNED, CONSTANT } context; // whether k0 and v0 get gradients
static void run(problem *p, int threads, context kind) {
    fr_attention a;
    assert_int_equal(fr_attention_open(&a, HEADS, KV, HD, p->s.n_rows, threads, NULL), FR_OK);
    assert_true(fr_attention_bytes(&a) > 0);
    const fr_bases bases = {p->s.contexts, p->s.n_bases, p->s.row0, p->s.base0, p->s.row};
    float *const k[] = {NULL, NULL, p->x[AT_OWN], p->x[AT_OWN + 2]};
    float *const v[] = {NULL, NULL, p->x[AT_OWN + 1], p->x[AT_OWN + 3]};
    float *const dk[] = {NULL, NULL, p->grad[AT_OWN], p->grad[AT_OWN + 2]};
    float *const dv[] = {NULL, NULL, p->grad[AT_OWN + 1], p->grad[AT_OWN + 3]};
    const fr_attention_step step = {.bases = &bases,
                                    .step = STEPS,
                                    .q = p->x[AT_Q],
                                    .k0 = p->x[AT_K0],
                                    .v0 = p->x[AT_V0],
                                    .k = k,
                                    .v = v,
                                    .o = p->o,
                                    .lse = p->lse};
    fr_attention_forward(&a, &step);
    const bool learned = kind == LEARNED;
    fr_attention_backward(&a, &step, p->d_o, p->grad[AT_Q], learned ? p->grad[AT_K0] : NULL,
                          learned ? p->grad[AT_V0] : NULL, dk, dv);
    fr_attention_close(&a);
}

static void check_values(const problem *p) {
    double want[HD];
    for (int b = 0; b < p->s.n_bases; b++)
        for (int h = 0; h < HEADS; h++) {
            literal(p, b, h, want);
            for (int i = 0; i < HD; i++)
                if (!(fabs((double)p->o[b * Q + h * HD + i] - want[i]) <= 1e-5))
                    fail_msg("seed %d: base %d head %d: %g, not %g", (int)seed, b, h,
                             (double)p->o[b * Q + h * HD + i], want[i]);
        }
}

// Two contexts of which one has gaps between its bases, and one without any base.
static const shape small = {.contexts = 3,
                            .n_rows = 12,
                            .n_bases = 6,
                            .row0 = {0, 7, 9, 12},
                            .base0 = {0, 4, 4, 6},
                            .row = {1, 2, 5, 6, 10, 11}};

static void values_and_gradients_are_those_of_masked_attention(void **state) {
    (void)state;
    problem p;
    make(&p, &small);
    for (int a = 1; a < ARRAYS; a++) // added to; only the queries' is overwritten
        for (size_t i = 0; i < p.size[a]; i++)
            p.grad[a][i] = 0.5f;
    run(&p, 2, LEARNED);
    check_values(&p);
    for (int a = 0; a < ARRAYS; a++)
        for (size_t i = 0; i < p.size[a]; i++) {
            const double h = 1e-5, was = p.wide[a][i];
            p.wide[a][i] = was + h;
            const double above = objective(&p);
            p.wide[a][i] = was - h;
            const double below = objective(&p);
            p.wide[a][i] = was;
            const double want = (above - below) / (2 * h) + (a ? 0.5 : 0);
            if (!(fabs((double)p.grad[a][i] - want) <= 2e-5 * (1 + fabs(want))))
                fail_msg("seed %d: array %d number %zu: %g, differences give %g", (int)seed, a, i,
                         (double)p.grad[a][i], want);
        }
    drop(&p);
}

// More queries than fit a tile; along random directions, as entries are many.
static void tiles_join(void **state) {
    (void)state;
    static shape s = {.contexts = 1, .n_rows = 190, .row0 = {0, 190}};
    for (int r = 3; r < s.n_rows; r++)
        if (r % 7) s.row[s.n_bases++] = r;
    s.base0[1] = s.n_bases;
    assert_true(s.n_bases > 128);
    problem p;
    make(&p, &s);
    run(&p, 2, LEARNED);
    check_values(&p);
    for (int a = 0; a < ARRAYS; a++) {
        float *to = numbers(p.size[a], 100 + (uint64_t)a, 1);
        double value[2], slope = 0;
        for (int side = 0; side < 2; side++) {
            for (size_t i = 0; i < p.size[a]; i++)
                p.wide[a][i] = (double)p.x[a][i] + (side ? 1e-5 : -1e-5) * (double)to[i];
            value[side] = objective(&p);
        }
        for (size_t i = 0; i < p.size[a]; i++) {
            p.wide[a][i] = (double)p.x[a][i];
            slope += (double)to[i] * (double)p.grad[a][i];
        }
        const double want = (value[1] - value[0]) / 2e-5;
        if (!(fabs(slope - want) <= 1e-3 * (1 + fabs(want))))
            fail_msg("seed %d: array %d: slope %g, not %g", (int)seed, a, slope, want);
        fr_free(to);
    }
    drop(&p);
}

static void threads_change_no_bit(void **state) {
    (void)state;
    problem one, many;
    make(&one, &small), make(&many, &small);
    run(&one, 1, LEARNED), run(&many, 3, LEARNED);
    assert_memory_equal(one.o, many.o, (size_t)small.n_bases * Q * sizeof(float));
    for (int a = 0; a < ARRAYS; a++)
        assert_memory_equal(one.grad[a], many.grad[a], one.size[a] * sizeof(float));
    drop(&one), drop(&many);
}

static void a_constant_context_changes_no_other_gradient(void **state) {
    (void)state;
    problem all, chains;
    make(&all, &small), make(&chains, &small);
    run(&all, 1, LEARNED), run(&chains, 1, CONSTANT);
    for (int a = 0; a < ARRAYS; a++)
        if (a != AT_K0 && a != AT_V0)
            assert_memory_equal(all.grad[a], chains.grad[a], all.size[a] * sizeof(float));
    drop(&all), drop(&chains);
}

// Scores in the hundreds: the softmax is shifted by the largest.
static void large_scores_stay_finite(void **state) {
    (void)state;
    problem p;
    make(&p, &small);
    for (size_t i = 0; i < p.size[AT_Q]; i++)
        p.wide[AT_Q][i] = (double)(p.x[AT_Q][i] *= 60);
    run(&p, 1, LEARNED);
    check_values(&p);
    for (int a = 0; a < ARRAYS; a++)
        for (size_t i = 0; i < p.size[a]; i++)
            assert_true(isfinite(p.grad[a][i]));
    drop(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_gradients_are_those_of_masked_attention),
        cmocka_unit_test(tiles_join),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(a_constant_context_changes_no_other_gradient),
        cmocka_unit_test(large_scores_stay_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
