// test_chimera_published.c — Chimera as its paper describes it: its gradient against differences of
// the objective, and that guesses are what they are to be of.
#include "lab/train/learners.h"
#include "support/near.h"
#include "train/method/chimera_objective.h"

static fr_learner *open_learner(world *w, int depth, const char *const *options) {
    const fr_learner_config config = config_of(w, depth, options);
    fr_learner *l;
    fr_error err;
    if (lab_learn_chimera_published_open(&l, &config, &err)) fail_msg("%s", err.text);
    return l;
}

static void gradient_is_that_of_the_objective(void **state) {
    const struct {
        const char *options[4];
        chimera_form form;
    } cases[] = {
        {{"feature=0"}, {.tied = true, .ngram_context = true, .hard = true}},
        {{"feature=0.1"}, {.feature = 0.1f, .tied = true, .ngram_context = true, .hard = true}},
        {{"feature=0", "context=states"}, {.tied = true, .hard = true}},
        {{"feature=0", "variant=shared", "labels=soft"}, {.tied = true, .ngram_context = true}},
        {{"feature=0", "encoder=wide", "hidden=32"}, {.ngram_context = true, .hard = true}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_form(*state, open_learner(*state, 3, cases[i].options), cases[i].form);
}

static double loss_of(world *w, const char *const *options) {
    fr_learner *l = open_learner(w, 3, options);
    fr_tally tally = {0};
    l->ops->judge(l, &w->batch, &tally);
    l->ops->close(l);
    return tally.loss;
}

static void turn_states_round(world *w) {
    for (int n = 0; n < SAMPLES; n++)
        for (int i = 0; i < ROWS * D; i++)
            w->final[n][i] ^= 0x8000;
}

// Heads that do not read the target's state, behind a context of n-grams, know nothing of it.
static void what_the_target_knew_enters_by_its_heads_alone(void **state) {
    static const char *const alone[] = {"residual=0", NULL}, *const seen[] = {"residual=0",
                                                                              "context=states",
                                                                              NULL};
    world *w = *state;
    const double before = loss_of(w, alone), with = loss_of(w, seen);
    turn_states_round(w);
    assert_near(loss_of(w, alone), before, 1e-9);
    assert_true(fabs(loss_of(w, seen) - with) > 1e-6);
    turn_states_round(w);
}

static void settings_are_checked(void **state) {
    static const char *const wrong[] = {"context=soft", "labels=", "hidden=33", "nothing=1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *const options[] = {wrong[i], NULL};
        const fr_learner_config config = config_of(*state, 2, options);
        fr_learner *l;
        fr_error err;
        assert_int_equal(lab_learn_chimera_published_open(&l, &config, &err), FR_EARG);
        assert_null(l);
        assert_non_null(strstr(err.text, wrong[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_is_that_of_the_objective),
        cmocka_unit_test(what_the_target_knew_enters_by_its_heads_alone),
        cmocka_unit_test(settings_are_checked),
    };
    return cmocka_run_group_tests(tests, make_world, free_world);
}
