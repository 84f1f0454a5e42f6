// Searches over sets of sublayers and their Gaussian process, on functions whose best set is known.
#include "lab/train/gauss.h"
#include "lab/train/skip_search.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N = 12 };
// What leaving each sublayer out loses, and saves; pairs lose more together.
static const double LOSS[N] = {9, 0.2, 1, 0.1, 3, 0.4, 0.3, 0.2, 6, 0.1, 0.3, 5};
static const uint64_t BYTES[N] = {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2};

typedef struct made {
    int most, judged;
} made;

static double speed_of(unsigned set) {
    double loss = 0, saved = 0;
    for (int i = 0; i < N; i++) {
        if (!(set >> i & 1)) continue;
        loss += LOSS[i];
        saved += (double)BYTES[i];
        if (i && set >> (i - 1) & 1) loss += 0.3;
    }
    return (1 + exp(-loss)) / (1 + (1 - saved / 24) * 0.8);
}

static unsigned bits(const uint8_t *skip) {
    unsigned set = 0;
    for (int i = 0; i < N; i++)
        set |= (unsigned)skip[i] << i;
    return set;
}

static void judge(void *user, const uint8_t *skip, fr_skip_value *v) {
    made *m = user;
    const unsigned set = bits(skip);
    m->judged++;
    *v = (fr_skip_value){.speed = speed_of(set)};
    for (int i = 0; i < N; i++)
        if (set >> i & 1) v->divergence += LOSS[i] + (i && set >> (i - 1) & 1 ? 0.3 : 0);
}

static bool watch(void *user, const fr_skip_search *s) {
    made *m = user;
    assert_int_equal(m->judged, s->judgements);
    return m->judged < m->most;
}

static double best_of_all(void) {
    double best = 0;
    for (unsigned set = 1; set < 1u << N; set++)
        best = speed_of(set) > best ? speed_of(set) : best;
    return best;
}

static fr_skip_search search_of(made *m) {
    return (fr_skip_search){.n = N, .bytes = BYTES, .judge = judge, .watch = watch, .user = m};
}

static void elimination_and_flips_find_the_fastest_set(void **state) {
    (void)state;
    made m = {.most = 4096};
    fr_skip_search s = search_of(&m);
    fr_skip_eliminate(&s);
    const double eliminated = s.best_value.speed;
    assert_true(eliminated > 0.93 * best_of_all());
    assert_true(m.judged < 60); // not N of them for every sublayer that goes
    fr_skip_flip(&s);
    assert_true(s.best_value.speed >= eliminated);
    assert_true(fabs(s.best_value.speed - speed_of(bits(s.best))) < 1e-12);
    for (int i = 0; i < N; i++) // no single flip is faster
        if (bits(s.best) ^ 1u << i)
            assert_true(speed_of(bits(s.best) ^ 1u << i) <= s.best_value.speed);
}

static void bayesian_optimisation_finds_it_in_few_judgements(void **state) {
    (void)state;
    double found = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        made m = {.most = 4096};
        fr_skip_search s = search_of(&m);
        fr_error err;
        s.best[3] = 1; // to begin with
        assert_int_equal(fr_skip_bayes(&s, 70, seed, &err), FR_OK);
        assert_int_equal(m.judged, 70);
        assert_true(s.best_value.speed > 0.97 * best_of_all());
        found = s.best_value.speed > found ? s.best_value.speed : found;
    }
    assert_true(found > 0.999 * best_of_all());
}

static void a_search_ends_when_told(void **state) {
    (void)state;
    made m = {.most = 9};
    fr_skip_search s = search_of(&m);
    fr_error err;
    fr_skip_eliminate(&s);
    assert_true(s.ended && m.judged == 9 && s.best_value.speed > 0);
    s.ended = false;
    m.most = 15;
    fr_skip_flip(&s);
    assert_int_equal(m.judged, 15);
    s.ended = false;
    m.most = 20;
    assert_int_equal(fr_skip_bayes(&s, 70, 1, &err), FR_OK);
    assert_int_equal(m.judged, 20);
}

static void judge_nothing(void *user, const uint8_t *skip, fr_skip_value *v) {
    (void)skip;
    ((made *)user)->judged++;
    *v = (fr_skip_value){.divergence = INFINITY};
}

// As when it is interrupted while it judges.
static void what_is_left_unjudged_changes_nothing(void **state) {
    (void)state;
    made m = {.most = 4096};
    fr_skip_search s = search_of(&m);
    fr_skip_eliminate(&s);
    const fr_skip_search before = s;
    s.judge = judge_nothing;
    m.most = m.judged + 1;
    fr_skip_flip(&s);
    assert_true(s.ended);
    assert_memory_equal(s.best, before.best, N);
    assert_true(fabs(s.best_value.speed - before.best_value.speed) < 1e-12);
}

static void the_process_passes_through_what_it_saw(void **state) {
    (void)state;
    fr_gauss g;
    fr_error err;
    double mean, deviation, far;
    assert_int_equal(fr_gauss_open(&g, 1, 9, &err), FR_OK);
    for (int i = 0; i < 9; i++) {
        const double x = i / 4.0;
        fr_gauss_add(&g, &x, 3 + 2 * sin(2 * x));
    }
    fr_gauss_fit(&g);
    for (int i = 0; i < 9; i++) {
        const double x = i / 4.0;
        fr_gauss_predict(&g, &x, &mean, &deviation);
        assert_true(fabs(mean - (3 + 2 * sin(2 * x))) < 0.05 && deviation < 0.15);
    }
    for (int i = 0; i < 8; i++) { // and between
        const double x = (i + 0.5) / 4.0;
        fr_gauss_predict(&g, &x, &mean, &deviation);
        assert_true(fabs(mean - (3 + 2 * sin(2 * x))) < 0.1);
    }
    fr_gauss_predict(&g, &(double){9}, &mean, &far); // it knows what it does not know
    assert_true(far > 5 * deviation);
    assert_true(fr_gauss_improvement(&g, &(double){2}) < fr_gauss_improvement(&g, &(double){9}));
    fr_gauss_close(&g);
}

static void answers_leave_a_search_a_tenth_of_its_time(void **state) {
    (void)state;
    assert_true(fr_skip_seconds(100, 0) == 100);
    assert_true(fr_skip_seconds(100, 40) == 60);
    assert_true(fabs(fr_skip_seconds(100, 95) - 10) < 1e-9);
    assert_true(fabs(fr_skip_seconds(100, 500) - 10) < 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elimination_and_flips_find_the_fastest_set),
        cmocka_unit_test(bayesian_optimisation_finds_it_in_few_judgements),
        cmocka_unit_test(a_search_ends_when_told),
        cmocka_unit_test(what_is_left_unjudged_changes_nothing),
        cmocka_unit_test(answers_leave_a_search_a_tenth_of_its_time),
        cmocka_unit_test(the_process_passes_through_what_it_saw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
