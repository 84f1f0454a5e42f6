// Chimera's learner: its gradient against differences of the objective spelled out in double, with
// every form of its encoder and heads; the n-grams at a text's beginning; learning by heart.
#include "chimera_objective.h"
#include "train/method/learners.h"
#include "train/param_named.h"

static fr_learner *open_learner(world *w, int depth, const char *const *options) {
    const fr_learner_config config = config_of(w, depth, options);
    fr_learner *l;
    fr_error err;
    if (fr_learn_chimera.open(&l, &config, &err)) fail_msg("%s", err.text);
    return l;
}

static void gradient_is_that_of_the_objective(void **state) {
    check_gradient(*state,
                   open_learner(*state, 3, (const char *const[]){"hidden=32", "feature=0.3", NULL}),
                   0.3, false);
}

static void so_is_that_of_the_residual_encoder(void **state) {
    const char *const options[] = {"encoder=residual", "feature=0", NULL};
    check_gradient(*state, open_learner(*state, 3, options), 0, true);
}

static void so_is_that_of_two_layers_of_five_tokens(void **state) {
    const char *const options[] = {"encoder=layers", "hidden=64", "ngram=5", "feature=0.1", NULL};
    check_gradient(*state, open_learner(*state, 3, options), 0.1f, false);
}

static void so_is_that_without_the_bases_state(void **state) {
    const char *const options[] = {"residual=0", "ngram=1", "hidden=32", "feature=0", NULL};
    check_gradient(*state, open_learner(*state, 3, options), 0, false);
}

static void so_is_that_of_own_heads(void **state) {
    const char *const options[] = {"variant=own-heads", "hidden=32", "ngram=2", "feature=0.1",
                                   NULL};
    check_gradient(*state, open_learner(*state, 3, options), 0.1f, false);
}

// ---------------------------------------------------------------- first values, learning
// The encoder's linear map explains the next states better than any multiple of it does.
static void the_fit_is_of_least_squares(void **state) {
    world *w = *state;
    fr_learner *l =
        open_learner(w, 2, (const char *const[]){"ngram=1", "residual=0", "hidden=32", NULL});
    fr_error err;
    assert_true(l->fit_rows > 0);
    assert_int_equal(l->ops->fit_add(l, &w->batch, &err), FR_OK);
    l->ops->fit_end(l);
    const float *map = fr_param_w(&l->params, param_named(&l->params, "ngram.skip.weight"));
    const float *gain = fr_param_w(&l->params, param_named(&l->params, "output_norm.weight"));
    double along = 0, squares = 0;
    for (int n = 0; n < w->batch.n; n++)
        for (int i = 1; i + 1 < w->batch.sample[n].n; i++) {
            const fr_sample *s = &w->batch.sample[n];
            float e[D];
            fr_model_embed(&w->opened.model, s->ids[i + 1], e);
            double length = 0;
            for (int c = 0; c < D; c++)
                length += (double)e[c] * (double)e[c] / D;
            for (int r = 0; r < D; r++) {
                double y = 0;
                for (int c = 0; c < D; c++)
                    y += (double)map[r * D + c] * (double)e[c] / sqrt(length + 1e-6);
                along += y * (double)fr_f16_to_f32(s->final[(i + 1) * D + r]) / (double)gain[r];
                squares += y * y;
            }
        }
    assert_true(squares > 0);
    if (!(fabs(along / squares - 1) < 0.05)) fail_msg("%g of what it should be", along / squares);
    l->ops->close(l);
}

static void make_samples(world *w, uint64_t *at) {
    w->batch.n = w->batch.rows = 0;
    for (int n = 0; n < SAMPLES; n++)
        make_sample(w, n, at);
}

// Where states follow from the states before, the first head begins with that.
static void the_fit_makes_use_of_the_bases(void **state) {
    world *w = *state;
    fr_learner *l = open_learner(w, 1, (const char *const[]){"ngram=1", "hidden=32", NULL});
    fr_error err;
    uint64_t at = 1 << 20;
    for (int round = 0; round < 40; round++) {
        make_samples(w, &at);
        for (int n = 0; n < SAMPLES; n++)
            for (int i = D; i < w->batch.sample[n].n * D; i++)
                w->final[n][i] =
                    fr_f16_from_f32(0.9f * fr_f16_to_f32(w->final[n][i - D]) +
                                    0.1f * fr_f16_to_f32(w->final[n][i])); // and what was random
        assert_int_equal(l->ops->fit_add(l, &w->batch, &err), FR_OK);
    }
    l->ops->fit_end(l);
    const float *map = fr_param_w(&l->params, param_named(&l->params, "chimera.1.state.weight"));
    double along = 0, squares[2] = {0};
    for (int i = D; i + D < w->batch.sample[0].n * D; i += D)
        for (int r = 0; r < D; r++) {
            double y = 0;
            for (int c = 0; c < D; c++)
                y += (double)map[r * D + c] * (double)fr_f16_to_f32(w->final[0][i + c]);
            const double next = (double)fr_f16_to_f32(w->final[0][i + D + r]);
            along += y * next, squares[0] += y * y, squares[1] += next * next;
        }
    const double cosine = along / sqrt(squares[0] * squares[1]);
    if (!(cosine > 0.95)) fail_msg("cosine %g", cosine);
    l->ops->close(l);
    at = 0;
    make_samples(w, &at); // as they were
}

static void it_learns_a_batch_by_heart(void **state) {
    world *w = *state;
    fr_learner *l =
        open_learner(w, 2, (const char *const[]){"ffn=256", "hidden=256", "feature=0", NULL});
    double first = 0, last = 0;
    for (int step = 1; step <= 600; step++) {
        fr_tally tally = {0};
        l->ops->learn(l, &w->batch, (uint64_t)step, &tally);
        descend(l, step, step < 400 ? 0.01 : 0.002);
        if (step == 1) first = tally.loss;
        last = tally.loss;
    }
    const double least = least_loss(w, 2);
    assert_true(least > 0 && first > least);
    if (!(last - least < 0.1 * (first - least)))
        fail_msg("from %g to %g, the least is %g", first, last, least);
    l->ops->close(l);
}

static void settings_are_checked(void **state) {
    static const char *const wrong[] = {"ngram=0", "ngram=6",     "encoder=odd", "hidden=33",
                                        "ffn=1",   "residual=2",  "variant=a",   "init=target",
                                        "depth=9", "feature=big", "nothing=1",   "ngram"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *const options[] = {wrong[i], NULL};
        const fr_learner_config config = config_of(*state, 2, options);
        fr_learner *l;
        fr_error err;
        assert_int_equal(fr_learn_chimera.open(&l, &config, &err), FR_EARG);
        assert_null(l);
        assert_non_null(strstr(err.text, wrong[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_is_that_of_the_objective),
        cmocka_unit_test(so_is_that_of_the_residual_encoder),
        cmocka_unit_test(so_is_that_of_two_layers_of_five_tokens),
        cmocka_unit_test(so_is_that_without_the_bases_state),
        cmocka_unit_test(so_is_that_of_own_heads),
        cmocka_unit_test(the_fit_is_of_least_squares),
        cmocka_unit_test(the_fit_makes_use_of_the_bases),
        cmocka_unit_test(it_learns_a_batch_by_heart),
        cmocka_unit_test(settings_are_checked),
    };
    return cmocka_run_group_tests(tests, make_world, free_world);
}
