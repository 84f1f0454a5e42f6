// The draw against its definition, written out plainly: sort everything, add, walk. Every
// instruction set must give the same token and the same distribution.
#include "decode/draw/sampler.h"
#include "kern/math.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 20000, SEED = 77 };

typedef struct plain { // a token as the definition has it
    float logit;
    int32_t id;
} plain;

static int best_first(const void *a, const void *b) {
    const plain *x = a, *y = b;
    if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

// Tokens that may be drawn, best first, and their weights.
static int define(plain *c, uint64_t *w, uint64_t *total, const float *logits, int n,
                  const fr_sampling *g) {
    for (int i = 0; i < n; i++)
        c[i] = (plain){logits[i], i};
    qsort(c, (size_t)n, sizeof *c, best_first);
    const float best = c[0].logit;
    if (g->top_k > 0 && g->top_k < n) n = g->top_k;
    if (g->top_p > 0 && g->top_p < 1) {
        uint64_t all = 0, sum = 0;
        int kept = 0;
        for (int i = 0; i < n; i++)
            all += fr_fixed(fr_exp(c[i].logit - best));
        while (kept < n && (double)sum < (double)g->top_p * (double)all)
            sum += fr_fixed(fr_exp(c[kept++].logit - best));
        n = kept;
    }
    if (g->min_p > 0) {
        const float least = (float)(best + fr_log(g->min_p));
        while (c[n - 1].logit < least)
            n--;
    }
    *total = 0;
    for (int i = 0; i < n; i++)
        *total += w[i] = fr_fixed(fr_exp((c[i].logit - best) * (1 / g->temperature)));
    return n;
}

// Kinds of rows: peaked as a model's, flat, many equal, all equal, some left out, one far above.
enum { KINDS = 7 };
static void make_row(float *x, int n, int kind, uint64_t seed) {
    for (int i = 0; i < n; i++) {
        const double u = fr_uniform(seed, 2 * (uint64_t)i),
                     v = fr_uniform(seed, 2 * (uint64_t)i + 1);
        const double normal = sqrt(-2 * log(1 - u)) * cos(2 * M_PI * v);
        x[i] = (float)(kind == 0   ? 3 * normal - 2 * log(-log(1 - v * 0.999) + 1e-9)
                       : kind == 1 ? normal
                       : kind == 2 ? floor(8 * u) / 4
                       : kind == 3 ? 2.5
                       : kind == 4 ? (v < 0.3 ? -INFINITY : 6 * u)
                       : kind == 5 ? (i == n / 3 ? 12 : 1e-3 * u)
                                   : 30 * u - 15);
    }
}

static const fr_sampling settings[] = {
    {.temperature = 1, .seed = SEED},
    {.temperature = 0.3f, .seed = SEED},
    {.temperature = 100, .seed = SEED},
    {.temperature = 1e-40f, .seed = SEED},
    {.temperature = 1, .top_p = 0.95f, .seed = SEED},
    {.temperature = 1.7f, .top_p = 0.5f, .seed = SEED},
    {.temperature = 1, .top_p = 1e-6f, .seed = SEED},
    {.temperature = 1, .min_p = 0.05f, .seed = SEED},
    {.temperature = 1, .min_p = 1, .seed = SEED},
    {.temperature = 1, .top_k = 2, .seed = SEED},
    {.temperature = 1, .top_k = 40, .seed = SEED},
    {.temperature = 1, .top_k = 3000, .seed = SEED},
    {.temperature = 1, .top_k = 15000, .seed = SEED},
    {.temperature = 0.8f, .top_k = 40, .top_p = 0.9f, .min_p = 0.02f, .seed = SEED},
    {.temperature = 1.2f, .top_k = 12000, .top_p = 0.9f, .min_p = 0.001f, .seed = SEED},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

typedef struct fixture {
    float x[MOST], copy[MOST];
    plain c[MOST];
    uint64_t w[MOST];
    float p[MOST];
} fixture;

static void check_draws(fixture *f, fr_sampler *s, int n_kept, uint64_t total, int n) {
    for (int position = 0; position < 20; position++) {
        const double u = fr_uniform(SEED, (uint64_t)position);
        uint64_t sum = 0, target = (uint64_t)(u * (double)total);
        int at = 0;
        while ((sum += f->w[at]) <= target && at < n_kept - 1)
            at++;
        memcpy(f->copy, f->x, sizeof(float) * (size_t)n);
        assert_int_equal(fr_sampler_token(s, f->copy, NULL, 0, position), f->c[at].id);
        const fr_chance again = fr_sampler_draw(s, position);
        assert_int_equal(again.id, f->c[at].id);
        assert_true(again.p == (float)((double)f->w[at] / (double)total) ||
                    fabs(again.p - (double)f->w[at] / (double)total) < 1e-7);
    }
}

static void check_dists(fixture *f, fr_sampler *s, int n_kept, uint64_t total, int n) {
    const fr_chance *dist;
    double sum = 0;
    int expected = 0;
    for (int i = 0; i < n; i++)
        f->p[i] = 0;
    for (int i = 0; i < n_kept; i++) {
        f->p[f->c[i].id] = (float)((double)f->w[i] / (double)total);
        expected += f->w[i] != 0;
    }
    memcpy(f->copy, f->x, sizeof(float) * (size_t)n);
    fr_sampler_read(s, f->copy, NULL, 0);
    const int m = fr_sampler_dist(s, &dist);
    assert_int_equal(m, expected);
    for (int i = 0; i < m; i++) {
        assert_true(!i || dist[i - 1].id < dist[i].id);
        assert_true(fabs(dist[i].p - f->p[dist[i].id]) < 1e-7);
        sum += dist[i].p;
    }
    assert_true(fabs(sum - 1) < 1e-4);
    const int asked[] = {1, 4, FR_LIKELIEST_MOST};
    for (int k = 0; k < 3; k++) {
        memcpy(f->copy, f->x, sizeof(float) * (size_t)n);
        fr_sampler_read(s, f->copy, NULL, 0);
        const int found = fr_sampler_likeliest(s, asked[k], &dist);
        assert_int_equal(found, n_kept < asked[k] ? n_kept : asked[k]);
        for (int i = 0; i < found; i++) {
            assert_int_equal(dist[i].id, f->c[i].id);
            assert_true(fabs(dist[i].p - f->p[dist[i].id]) < 1e-7);
        }
    }
}

static void check_row(fixture *f, const fr_kern *kern, int n, int kind) {
    fr_sampler *s = malloc(sizeof *s);
    assert_int_equal(fr_sampler_open(s, kern, n, NULL), FR_OK);
    for (int i = 0; i < SETTINGS; i++) {
        uint64_t total;
        if (settings[i].temperature < 1e-30f) { // only the best, or its equals
            fr_sampler_begin(s, &settings[i], 0);
            memcpy(f->copy, f->x, sizeof(float) * (size_t)n);
            const int32_t id = fr_sampler_token(s, f->copy, NULL, 0, 3);
            assert_true(f->x[id] == f->x[kern->argmax(f->x, n)]);
            continue;
        }
        const int kept = define(f->c, f->w, &total, f->x, n, &settings[i]);
        fr_sampler_begin(s, &settings[i], 0);
        check_draws(f, s, kept, total, n);
        check_dists(f, s, kept, total, n);
    }
    fr_sampler_close(s);
    free(s);
    (void)kind;
}

static void every_setting_draws_as_defined(void **state) {
    (void)state;
    static const int sizes[] = {1, 2, 63, 64, 65, 1000, MOST};
    fixture *f = malloc(sizeof *f);
    assert_non_null(f);
    for (int isa = 0; isa < FR_ISA_COUNT; isa++) {
        const fr_kern *kern = fr_kern_of((fr_isa)isa);
        for (size_t size = 0; kern && size < sizeof sizes / sizeof *sizes; size++)
            for (int kind = 0; kind < KINDS; kind++) {
                make_row(f->x, sizes[size], kind, 1000 + (uint64_t)kind);
                if (!(f->x[kern->argmax(f->x, sizes[size])] > -INFINITY)) continue;
                check_row(f, kern, sizes[size], kind);
            }
    }
    free(f);
}

// What are no logits must not lead astray: some token comes, none that is no number if there is
// another.
static void no_numbers_give_some_token(void **state) {
    (void)state;
    static float x[MOST];
    for (int isa = 0; isa < FR_ISA_COUNT; isa++) {
        const fr_kern *kern = fr_kern_of((fr_isa)isa);
        for (int kind = 0; kern && kind < 5; kind++)
            for (int i = 0; i < SETTINGS; i++) {
                fr_sampler *s = malloc(sizeof *s);
                const fr_chance *dist;
                assert_int_equal(fr_sampler_open(s, kern, MOST, NULL), FR_OK);
                fr_sampler_begin(s, &settings[i], 0);
                for (int k = 0; k < MOST; k++)
                    x[k] = kind == 0   ? NAN
                           : kind == 1 ? -INFINITY
                           : kind == 2 ? INFINITY
                           : kind == 3 ? (k % 3 ? NAN : (float)(k % 100))
                                       : (k % 5 ? (float)(k % 7) * 1e38f : -3e38f);
                const int32_t id = fr_sampler_token(s, x, NULL, 0, i);
                assert_in_range(id, 0, MOST - 1);
                if (kind == 3) assert_true(x[id] == x[id]);
                assert_in_range(fr_sampler_dist(s, &dist), 1, MOST);
                assert_in_range(fr_sampler_likeliest(s, 4, &dist), 1, 4);
                fr_sampler_close(s);
                free(s);
            }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_setting_draws_as_defined),
        cmocka_unit_test(no_numbers_give_some_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
