// The numbers of `bench` against numbers worked by hand or counted out.
#include "cmd/bench/tally.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool near(double a, double b) {
    return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

static fr_bench_counts plain_of(double seconds, int tokens) {
    return (fr_bench_counts){.decode = seconds, .tokens = tokens, .passes = tokens};
}

static void add_speedups(fr_bench_counts *t, const double *speedups, int n) {
    const fr_stats stats = {.completion_tokens = 1, .passes = 1, .seconds_decode = 1};
    for (int i = 0; i < n; i++)
        assert_int_equal(fr_bench_counts_add(t, &stats, 1,
                                             (fr_pair){.answer = i, .speedup = speedups[i]}, "id",
                                             NULL),
                         FR_OK);
}

static fr_speedup speedup_of(const double *speedups, int n) {
    fr_bench_counts t = {0};
    const fr_bench_counts plain = plain_of(1, 1);
    add_speedups(&t, speedups, n);
    assert_int_equal(fr_bench_counts_finish(&t, &plain, NULL), FR_OK);
    const fr_speedup s = t.speedup;
    fr_bench_counts_free(&t);
    return s;
}

// The table of the sign test: 1 - 2 P(Bin(n, 1/2) < k).
static void intervals_are_those_of_the_sign_test(void **state) {
    (void)state;
    double values[1200];
    for (int i = 0; i < 1200; i++)
        values[i] = 1200 - i; // n = 10: 1191..1200
    fr_speedup s = speedup_of(values, 0);
    assert_true(s.answers == 0 && s.median == 0);
    s = speedup_of(values, 1);
    assert_true(s.low == 1200 && s.high == 1200 && s.median == 1200 && s.confidence == 0);
    s = speedup_of(values, 5); // k = 1: 1 - 2/32
    assert_true(near(s.confidence, 1 - 2 / 32.) && s.low == 1196 && s.high == 1200);
    s = speedup_of(values, 6); // k = 1: 1 - 2/64; k = 2 has 1 - 14/64
    assert_true(near(s.confidence, 1 - 2 / 64.) && s.low == 1195 && s.high == 1200);
    assert_true(near(s.median, 1197.5) && s.answers == 6);
    s = speedup_of(values, 10); // k = 2: 1 - 2 (1 + 10) / 1024
    assert_true(near(s.confidence, 1 - 22 / 1024.) && s.low == 1192 && s.high == 1199);
    s = speedup_of(values, 20); // k = 6: 1 - 2 (1 + 20 + 190 + 1140 + 4845 + 15504) / 2^20
    assert_true(near(s.confidence, 1 - 2 * 21700 / 1048576.) && s.low == 1186 && s.high == 1195);
    s = speedup_of(values, 1200); // about 600 -+ 1.96 * sqrt(1200) / 2
    assert_true(s.confidence >= 0.95 && s.confidence < 0.96);
    assert_in_range((int)s.low, 564, 568);
    assert_true(s.low + s.high == 1201);
}

// Draws from a skewed distribution whose median is known: the interval must hold it as often as it
// says.
static void intervals_hold_the_median_as_often_as_they_say(void **state) {
    (void)state;
    uint64_t x = 12345;
    print_message("seed %llu\n", (unsigned long long)x);
    enum { ROUNDS = 4000, ANSWERS = 9 };
    int held = 0;
    double confidence = 0;
    for (int r = 0; r < ROUNDS; r++) {
        double values[ANSWERS];
        for (int i = 0; i < ANSWERS; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            values[i] = exp(3 * ((double)(x >> 11) / 9007199254740992.0 - 0.5)); // median 1
        }
        const fr_speedup s = speedup_of(values, ANSWERS);
        held += s.low <= 1 && s.high >= 1;
        confidence = s.confidence;
    }
    // k = 2 of 9: 1 - 2 (1 + 9) / 512; five standard deviations of 4000 trials.
    assert_true(near(confidence, 1 - 20 / 512.));
    const double error = 5 * sqrt(confidence * (1 - confidence) / ROUNDS);
    assert_true(fabs((double)held / ROUNDS - confidence) < error);
}

static void repeats_of_an_answer_count_as_one(void **state) {
    (void)state;
    const fr_stats stats = {.completion_tokens = 1, .passes = 1, .seconds_decode = 1};
    const double speedups[] = {1.0, 2.0, 1.2, 2.4, 9.0, 2.1}; // of answers 0 and 1 in turns
    fr_bench_counts t = {0};
    const fr_bench_counts plain = plain_of(1, 1);
    for (int i = 0; i < 6; i++)
        fr_bench_counts_add(&t, &stats, 1, (fr_pair){.answer = i % 2, .speedup = speedups[i]},
                            i % 2 ? "b" : "a", NULL);
    assert_int_equal(fr_bench_counts_finish(&t, &plain, NULL), FR_OK);
    assert_int_equal(t.speedup.answers, 2);
    assert_true(near(t.speedup.low, 1.2) && near(t.speedup.high, 2.1));
    assert_true(near(t.speedup.median, 1.65));
    assert_true(t.least == 1 && t.most == 9); // of all that ran
    assert_string_equal(t.least_id, "a");
    fr_bench_counts_free(&t);
}

// Four candidates in a row in every pass, each right with 1/2: 1 + 1/2 + 1/4 + 1/8 + 1/16 tokens.
static void break_even_is_worked_by_hand(void **state) {
    (void)state;
    fr_stats s = {.completion_tokens = 1550, .passes = 800, .seconds_decode = 12};
    for (int k = 0; k < 4; k++)
        s.offered[k] = 800;
    const fr_bench_counts plain = plain_of(10, 1000); // 10 ms a token; a step takes 15 ms
    fr_bench_counts t = {0};
    fr_bench_counts_add(&t, &s, 1, (fr_pair){.speedup = 1}, "", NULL);
    fr_bench_counts_finish(&t, &plain, NULL);
    assert_true(near(t.break_even.tokens_per_pass, 1.5));
    assert_true(near(t.break_even.reached, 0.5)); // 1550 / 800 = 31 / 16
    const double a = t.break_even.acceptance;
    assert_true(near(1 + a + a * a + a * a * a + a * a * a * a, 1.5));
    // One candidate in half of the passes: 1 + a / 2.
    t.offered[0] = 400;
    t.offered[1] = t.offered[2] = t.offered[3] = 0;
    t.tokens = 800 + 100;
    fr_bench_counts_finish(&t, &plain, NULL);
    assert_true(near(t.break_even.reached, 0.25));
    assert_true(near(t.break_even.acceptance, 1)); // 1.5 tokens need all of them
    t.decode = 12.1;
    fr_bench_counts_finish(&t, &plain, NULL);
    assert_true(isinf(t.break_even.acceptance)); // more than the trees hold
    t.decode = 7.9;
    fr_bench_counts_finish(&t, &plain, NULL);
    assert_true(t.break_even.acceptance == 0); // steps cheaper than plain tokens need nothing
    t.offered[0] = 0;
    fr_bench_counts_finish(&t, &plain, NULL);
    assert_true(isnan(t.break_even.acceptance) && isnan(t.break_even.reached));
    fr_bench_counts_free(&t);
}

// Acceptance above break-even and a speedup above 1 are the same statement.
static void break_even_is_where_the_speedup_is_one(void **state) {
    (void)state;
    for (int tokens = 810; tokens < 2400; tokens += 30) {
        fr_stats s = {.completion_tokens = tokens, .passes = 800, .seconds_decode = 12};
        s.offered[0] = 700, s.offered[1] = 600, s.offered[2] = 300;
        const fr_bench_counts plain = plain_of(11, 1000);
        fr_bench_counts t = {0};
        fr_bench_counts_add(&t, &s, 1, (fr_pair){.speedup = 1}, "", NULL);
        fr_bench_counts_finish(&t, &plain, NULL);
        const double speedup = tokens / 12. / (1000 / 11.);
        assert_true((t.break_even.reached >= t.break_even.acceptance) == (speedup >= 1));
        fr_bench_counts_free(&t);
    }
}

static void sets_add_up(void **state) {
    (void)state;
    fr_stats s = {.completion_tokens = 30,
                  .passes = 20,
                  .rows = 60,
                  .seconds_decode = 2,
                  .seconds_draft = 0.5,
                  .expected = 33,
                  .offered = {20, 10},
                  .accepted = {8, 2}};
    s.passes_by_rows[3] = 20;
    s.seconds_by_rows[3] = 1.5;
    s.predicted_by_rows[3] = 1.25;
    fr_bench_counts a = {0}, b = {0}, all = {0};
    fr_bench_counts_add(&a, &s, 100, (fr_pair){.answer = 0, .speedup = 1.5}, "first", NULL);
    fr_bench_counts_add(&b, &s, 50, (fr_pair){.answer = 1, .speedup = 0.5}, "second", NULL);
    fr_bench_counts_add(&b, &s, 50, (fr_pair){.answer = 2, .speedup = 2.5}, "third", NULL);
    b.difference = (fr_difference){"b.jsonl", "third", 1, 7};
    b.broken = true;
    assert_int_equal(fr_bench_counts_merge(&all, &a, NULL), FR_OK);
    assert_int_equal(fr_bench_counts_merge(&all, &b, NULL), FR_OK);
    assert_true(all.tokens == 90 && all.passes == 60 && all.rows == 180 && all.bytes == 200);
    assert_true(near(all.decode, 6) && near(all.draft, 1.5) && near(all.expected, 99));
    assert_true(all.offered[1] == 30 && all.accepted[0] == 24);
    assert_true(all.passes_by_rows[3] == 60 && near(all.seconds_by_rows[3], 4.5));
    assert_true(near(all.predicted_by_rows[3], 3.75));
    assert_true(all.n_pairs == 3 && all.least == 0.5 && all.most == 2.5 && all.broken);
    assert_string_equal(all.least_id, "second");
    assert_string_equal(all.most_id, "third");
    assert_string_equal(all.difference.id, "third");
    fr_bench_counts_free(&a);
    fr_bench_counts_free(&b);
    fr_bench_counts_free(&all);
}

// Two turns of a prompt are one draw: with two prompts the interval ends at each one's own ratio.
static void tokens_a_pass_are_drawn_by_prompt(void **state) {
    (void)state;
    const fr_bench_counts plain = plain_of(1, 1);
    const int tokens[] = {10, 30, 90}, prompts[] = {0, 0, 7};
    fr_bench_counts t = {0};
    for (int i = 0; i < 3; i++) {
        const fr_stats s = {.completion_tokens = tokens[i], .passes = 10, .seconds_decode = 1};
        fr_bench_counts_add(&t, &s, 1, (fr_pair){.answer = i, .speedup = 1, .prompt = prompts[i]},
                            "id", NULL);
    }
    assert_int_equal(fr_bench_counts_finish(&t, &plain, NULL), FR_OK);
    assert_true(near(t.tokens_per_pass.low, 2) && near(t.tokens_per_pass.high, 9));
    fr_bench_counts_free(&t);
}

static void the_first_difference_is_named(void **state) {
    (void)state;
    const int32_t a[] = {1, 2, 3}, b[] = {1, 5, 3};
    assert_int_equal(fr_first_difference(a, 3, a, 3), -1);
    assert_int_equal(fr_first_difference(a, 3, b, 3), 1);
    assert_int_equal(fr_first_difference(a, 3, a, 2), 2);
    assert_int_equal(fr_first_difference(a, 1, b, 3), 1);
    assert_int_equal(fr_first_difference(NULL, 0, NULL, 0), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_are_those_of_the_sign_test),
        cmocka_unit_test(intervals_hold_the_median_as_often_as_they_say),
        cmocka_unit_test(repeats_of_an_answer_count_as_one),
        cmocka_unit_test(break_even_is_worked_by_hand),
        cmocka_unit_test(break_even_is_where_the_speedup_is_one),
        cmocka_unit_test(sets_add_up),
        cmocka_unit_test(tokens_a_pass_are_drawn_by_prompt),
        cmocka_unit_test(the_first_difference_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
