// Means of late against their closed forms.
#include "base/mean.h"
#include "support/damage.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_thing_seen_n_times_ago_weighs_share_times_its_fading(void **state) {
    (void)state;
    const double share = 0.125;
    double value = 0;
    float single = 0;
    for (int i = 0; i < 40; i++) { // seen once, then only zeros
        fr_follow(&value, i == 0, share);
        fr_follow_f32(&single, i == 0, (float)share);
        const double expected = share * pow(1 - share, i);
        assert_true(fabs(value - expected) < 1e-15);
        assert_true(fabs((double)single - expected) < 1e-7);
    }
}

static void a_followed_value_stays_where_nothing_new_is_seen(void **state) {
    (void)state;
    double value = 0.3;
    float single = 0.3f;
    for (int i = 0; i < 1000; i++) {
        fr_follow(&value, 0.3, 0.05);
        fr_follow_f32(&single, 0.3f, 0.05f);
    }
    assert_true(value == 0.3 && single == 0.3f);
}

static void a_whole_share_takes_what_is_seen(void **state) {
    (void)state;
    double value = 0;
    fr_follow(&value, 0.7, 1);
    assert_true(value == 0.7);
}

static void a_fading_sum_is_the_geometric_one(void **state) {
    (void)state;
    double sum = 0, weight = 0;
    for (int i = 1; i <= 60; i++) {
        fr_fade(&sum, 6, 0.75);
        fr_fade(&weight, 2, 0.75);
        assert_true(fabs(sum - 6 * (1 - pow(0.75, i)) / 0.25) < 1e-12);
        assert_true(fabs(sum / weight - 3) < 1e-12);
    }
}

static void a_mean_is_the_plain_one_until_its_memory_is_full(void **state) {
    (void)state;
    fr_mean bounded = {0}, unbounded = {0};
    int sum = 0;
    for (int i = 1; i <= 64; i++) { // small integers: exact
        sum += i;
        fr_mean_add(&bounded, (float)i, 64);
        fr_mean_add(&unbounded, (float)i, 0);
        assert_true(bounded.sum == (float)sum && bounded.weight == (float)i);
        assert_true(fr_mean_value(&bounded) == (float)sum / (float)i);
    }
    for (int i = 0; i < 1000; i++)
        fr_mean_add(&unbounded, 1, 0);
    assert_true(unbounded.weight == 1064 && unbounded.sum == (float)(sum + 1000));
}

// With a full memory of m, one thing more moves the mean by 1 / m of the way.
static void a_full_memory_follows_with_its_inverse(void **state) {
    (void)state;
    fr_mean m = fr_mean_expect(0.25f, 32);
    double expected = 0.25;
    for (int i = 0; i < 500; i++) {
        const double seen = i % 3;
        fr_mean_add(&m, (float)seen, 32);
        fr_follow(&expected, seen, 1.0 / 32);
        assert_true(m.weight == 32); // 31 / 32 is exact
        assert_true(fabs((double)fr_mean_value(&m) - expected) < 1e-5);
    }
}

static void an_expectation_counts_as_much_as_its_weight(void **state) {
    (void)state;
    fr_mean m = fr_mean_expect(0.75f, 8);
    assert_true(fr_mean_value(&m) == 0.75f);
    for (int i = 0; i < 8; i++)
        fr_mean_add(&m, 0, 0);
    assert_true(fr_mean_value(&m) == 6.0f / 16);
}

static void the_check_of_a_mean_finds_damage(void **state) {
    (void)state;
    fr_mean m = fr_mean_expect(0.5f, 8);
    assert_noticed(m.sum, -1, fr_mean_is_sound(&m));
    assert_noticed(m.weight, -1, fr_mean_is_sound(&m));
    assert_noticed(m.sum, NAN, fr_mean_is_sound(&m));
    assert_noticed(m.weight, NAN, fr_mean_is_sound(&m));
}

// Halves count as halves, and no more than the memory is kept.
static void a_weighted_mean_is_the_quotient_of_its_sums(void **state) {
    (void)state;
    fr_mean unbounded = {0}, bounded = {0};
    for (int i = 1; i <= 64; i++) {
        fr_mean_add_weighted(&unbounded, (float)(i % 4), 0.5f, 0);
        fr_mean_add_weighted(&bounded, (float)(i % 4), 0.5f, 8);
        assert_true(bounded.weight == (i < 16 ? (float)i / 2 : 8));
    }
    assert_true(unbounded.sum == 96 && unbounded.weight == 32 && fr_mean_value(&unbounded) == 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thing_seen_n_times_ago_weighs_share_times_its_fading),
        cmocka_unit_test(a_followed_value_stays_where_nothing_new_is_seen),
        cmocka_unit_test(a_whole_share_takes_what_is_seen),
        cmocka_unit_test(a_fading_sum_is_the_geometric_one),
        cmocka_unit_test(a_mean_is_the_plain_one_until_its_memory_is_full),
        cmocka_unit_test(a_full_memory_follows_with_its_inverse),
        cmocka_unit_test(an_expectation_counts_as_much_as_its_weight),
        cmocka_unit_test(the_check_of_a_mean_finds_damage),
        cmocka_unit_test(a_weighted_mean_is_the_quotient_of_its_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
