// test_chimera_layer.c — the target's first layer in the place of Chimera's n-grams: its gradient
// against differences of the objective; a frozen one learns nothing.
#include "lab/train/learners.h"
#include "train/method/chimera_objective.h"

static fr_learner *open_learner(world *w, int depth, const char *const *options) {
    const fr_learner_config config = config_of(w, depth, options);
    fr_learner *l;
    fr_error err;
    if (lab_learn_chimera_layer_open(&l, &config, &err)) fail_msg("%s", err.text);
    return l;
}

static void gradient_is_that_of_the_objective(void **state) {
    check_gradient(
        *state,
        open_learner(*state, 3,
                     (const char *const[]){"layer=tuned", "hidden=32", "feature=0", NULL}),
        0, false);
}

// A layer that is frozen is left as it is; what stands behind it learns as it did.
static void a_frozen_layer_learns_nothing(void **state) {
    world *w = *state;
    fr_learner *l[2] = {open_learner(w, 2, (const char *const[]){"layer=frozen", NULL}),
                        open_learner(w, 2, (const char *const[]){"layer=tuned", NULL})};
    fr_tally tally = {0};
    for (int i = 0; i < 2; i++)
        l[i]->ops->learn(l[i], &w->batch, 1, &tally);
    for (int i = 0; i < l[0]->params.n; i++) {
        const fr_param *item = &l[0]->params.item[i];
        const bool of_layer = !strncmp(item->name, "first.", 6);
        const float *frozen = fr_param_grad(&l[0]->params, i);
        const float *tuned = fr_param_grad(&l[1]->params, i);
        assert_true(!of_layer || !item->decays);
        for (int k = 0; k < item->rows * item->cols; k++)
            assert_true(frozen[k] == (of_layer ? 0 : tuned[k]));
    }
    for (int i = 0; i < 2; i++)
        l[i]->ops->close(l[i]);
}

static void settings_are_checked(void **state) {
    static const char *const wrong[] = {"layer=soft", "hidden=33", "ngram=0", "nothing=1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *const options[] = {wrong[i], NULL};
        const fr_learner_config config = config_of(*state, 2, options);
        fr_learner *l;
        fr_error err;
        assert_int_equal(lab_learn_chimera_layer_open(&l, &config, &err), FR_EARG);
        assert_null(l);
        assert_non_null(strstr(err.text, wrong[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_is_that_of_the_objective),
        cmocka_unit_test(a_frozen_layer_learns_nothing),
        cmocka_unit_test(settings_are_checked),
    };
    return cmocka_run_group_tests(tests, make_world, free_world);
}
