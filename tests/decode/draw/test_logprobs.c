// Log probabilities: those of a softmax in double precision, the likeliest in order, the same bits on
// every instruction set.
#include "decode/draw/logprobs.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { V = 5000 };

static void fill(float *x, unsigned seed) {
    for (int i = 0; i < V; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / (float)(1 << 24) * 14 - 7;
    }
    x[77] = x[4000]; // a tie
}

static void they_are_those_of_a_softmax(void **state) {
    (void)state;
    float x[V];
    fr_error err;
    for (int isa = 0; isa < FR_ISA_COUNT; isa++) {
        const fr_kern *kern;
        fr_logprob_scorer s;
        if (fr_kern_pick(&kern, fr_isa_name((fr_isa)isa), &err)) continue;
        assert_int_equal(fr_logprob_scorer_open(&s, kern, V, &err), FR_OK);
        for (unsigned seed = 1; seed < 6; seed++) {
            fr_logprobs got;
            double sum = 0;
            fill(x, seed);
            for (int i = 0; i < V; i++)
                sum += exp((double)x[i]);
            s.n_top = FR_TOP_LOGPROBS;
            fr_logprob_scorer_keep(&s, x);
            fr_logprob_scorer_score(&s, 123, &got);
            assert_true(fabs(got.logprob - (x[123] - log(sum))) < 1e-5);
            assert_int_equal(got.n_top, FR_TOP_LOGPROBS);
            for (int i = 0; i < got.n_top; i++) {
                int better = 0; // tokens that stand before it
                const float at = x[got.top[i].token];
                for (int k = 0; k < V; k++)
                    better += x[k] > at || (x[k] == at && k < got.top[i].token);
                assert_int_equal(better, i);
                assert_true(fabs(got.top[i].logprob - (at - log(sum))) < 1e-5);
            }
        }
        fr_logprob_scorer_close(&s);
    }
}

static void every_instruction_set_gives_the_same_bits(void **state) {
    (void)state;
    float x[V];
    fr_logprobs want, got;
    fr_error err;
    fill(x, 9);
    for (int isa = 0; isa < FR_ISA_COUNT; isa++) {
        const fr_kern *kern;
        fr_logprob_scorer s;
        if (fr_kern_pick(&kern, fr_isa_name((fr_isa)isa), &err)) continue;
        assert_int_equal(fr_logprob_scorer_open(&s, kern, V, &err), FR_OK);
        s.n_top = 5;
        fr_logprob_scorer_keep(&s, x);
        memset(&got, 0, sizeof got);
        fr_logprob_scorer_score(&s, 4000, &got);
        if (!isa) want = got;
        assert_memory_equal(&got, &want, sizeof got);
        fr_logprob_scorer_close(&s);
    }
}

static void none_are_listed_where_none_are_wanted(void **state) {
    (void)state;
    float x[V];
    fr_logprobs got;
    fr_error err;
    const fr_kern *kern;
    fr_logprob_scorer s;
    fill(x, 3);
    assert_int_equal(fr_kern_pick(&kern, NULL, &err), FR_OK);
    assert_int_equal(fr_logprob_scorer_open(&s, kern, V, &err), FR_OK);
    fr_logprob_scorer_keep(&s, x);
    fr_logprob_scorer_score(&s, 0, &got);
    assert_int_equal(got.n_top, 0);
    assert_true(got.logprob < 0);
    fr_logprob_scorer_close(&s);
}

// What can be drawn and how likely: of the tokens that the settings leave, the best first, all of
// them where there are few; their sum is 1.
static void those_of_a_draw_are_of_what_can_be_drawn(void **state) {
    (void)state;
    static const fr_sampling settings[] = {
        {.size = sizeof(fr_sampling), .temperature = 0.7f, .top_k = 5, .seed = 3},
        {.size = sizeof(fr_sampling), .temperature = 1.3f, .top_p = 0.02f, .seed = 4},
        {.size = sizeof(fr_sampling), .temperature = 1, .min_p = 0.9f, .seed = 5},
        {.size = sizeof(fr_sampling), .temperature = 0},
        {.size = sizeof(fr_sampling), .temperature = 1, .seed = 6}};
    static fr_chance all[V];
    float x[V];
    fr_error err;
    fr_logprobs want[5], got;
    for (int isa = 0; isa < FR_ISA_COUNT; isa++) {
        const fr_kern *kern;
        fr_sampler s;
        if (fr_kern_pick(&kern, fr_isa_name((fr_isa)isa), &err)) continue;
        assert_int_equal(fr_sampler_open(&s, kern, V, &err), FR_OK);
        for (int k = 0; k < 5; k++) {
            const fr_chance *dist;
            fill(x, 21);
            fr_sampler_begin(&s, &settings[k], 0);
            fr_sampler_read(&s, x, NULL, 0);
            const int n = fr_sampler_dist(&s, &dist);
            memcpy(all, dist, sizeof *all * (size_t)n);
            const fr_chance drawn = fr_sampler_draw(&s, 9);
            memset(&got, 0, sizeof got);
            fr_drawn_logprobs(&s, drawn.id, FR_TOP_LOGPROBS, &got);
            assert_true(fabs(exp((double)got.logprob) - (double)drawn.p) < 1e-6);
            assert_int_equal(got.n_top, n < FR_TOP_LOGPROBS ? n : FR_TOP_LOGPROBS);
            double sum = 0;
            for (int i = 0; i < got.n_top; i++) {
                int better = 0;
                float own = 0;
                for (int j = 0; j < n; j++)
                    if (all[j].id == got.top[i].token) own = all[j].p;
                for (int j = 0; j < n; j++)
                    better += all[j].p > own || (all[j].p == own && all[j].id < got.top[i].token);
                assert_int_equal(better, i);
                assert_true(fabs(exp((double)got.top[i].logprob) - (double)own) < 1e-6);
                sum += (double)own;
            }
            if (n <= FR_TOP_LOGPROBS) assert_true(fabs(sum - 1) < 1e-5);
            if (!isa) want[k] = got;
            assert_memory_equal(&got, &want[k], sizeof got);
        }
        fr_sampler_close(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_those_of_a_softmax),
        cmocka_unit_test(every_instruction_set_gives_the_same_bits),
        cmocka_unit_test(none_are_listed_where_none_are_wanted),
        cmocka_unit_test(those_of_a_draw_are_of_what_can_be_drawn),
    };
    return cmocka_run_group_tests_name("decode/score", tests, NULL, NULL);
}
