// The learner of early exits: slopes against finite differences, what an untrained exit says, what
// is counted at each depth, settings.
#include "support/near.h"
#include "train/direction.h"
#include "train/made_job.h"
#include "train/method/learners.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 3, DEPTH = 3, EXIT = 2 };

static job *open_job(void) {
    job *j = new_job(3, &(fr_shard_format){.n_taps = 2, .taps = {1, EXIT}, .top = 6});
    for (int i = 0; i < SAMPLES; i++)
        add_sample(j, 20 + 7 * i, 4);
    return j;
}

static fr_status open_learner(fr_learner **l, const job *j, const char *const *options,
                              fr_error *err) {
    const fr_learner_config config = {.target = &j->target.model,
                                      .vocab = &j->vocab,
                                      .format = &j->form,
                                      .gemm = j->gemm,
                                      .depth = DEPTH,
                                      .max_rows = 200,
                                      .options = options};
    return fr_learn_early_exit.open(l, &config, err);
}

static fr_learner *learner_of(const job *j) {
    fr_learner *l;
    fr_error err;
    if (open_learner(&l, j, (const char *const[]){"exit=2", NULL}, &err)) fail_msg("%s", err.text);
    return l;
}

typedef struct judging {
    fr_learner *learner;
    const job *job;
} judging;

static double loss_of(void *of) {
    const judging *x = of;
    fr_tally t = {0};
    x->learner->ops->judge(x->learner, &x->job->batch, &t);
    return t.loss;
}

static void slopes_are_those_of_the_loss(void **state) {
    (void)state;
    job *j = open_job();
    fr_learner *l = learner_of(j);
    fr_tally t = {0};
    assert_int_equal(l->params.n, 3);
    for (int i = 0; i < l->params.n; i++)
        fr_param_random(&l->params, i, 0.1f, 3);
    l->ops->learn(l, &j->batch, 0, &t);
    judging x = {l, j};
    assert_near(t.loss, loss_of(&x), 1e-3);
    for (int i = 0; i < l->params.n; i++)
        for (unsigned seed = 0; seed <= 3; seed++)
            check_direction(&l->params, i, seed, seed ? 2e-3 : 2e-4, 2e-3, loss_of, &x);
    l->ops->close(l);
    close_job(j);
}

// The draft's token and its loss at a row, of an exit that nothing was learned by, in double.
static int naive_row(const job *j, const fr_sample *s, int row, double *nats) {
    const int d = j->form.d, at = (row - s->dist_first) * j->form.top;
    double h[64], z[DRAFT], squares = 0, sum = 0, of_dist = 0, mass = 0;
    int best = 0;
    for (int i = 0; i < d; i++) {
        h[i] = (double)fr_f16_to_f32(s->tap[((size_t)s->n + (size_t)row) * (size_t)d + (size_t)i]);
        squares += h[i] * h[i];
    }
    for (int v = 0; v < DRAFT; v++) {
        z[v] = 0;
        for (int i = 0; i < d; i++)
            z[v] += (double)j->vocab.head[v * d + i] * h[i] / sqrt(squares / d + 1e-6) *
                    (double)j->target.model.output_norm.w[i];
        sum += exp(z[v]);
        best = z[v] > z[best] ? v : best;
    }
    for (int r = 0; r < j->form.top; r++) {
        const int v = j->vocab.index[s->dist_id[at + r]];
        const double p = exp((double)fr_f16_to_f32(s->dist_lp[at + r]));
        mass += v >= 0 ? p : 0;
        of_dist += v >= 0 ? p * (log(sum) - z[v]) : 0;
    }
    *nats = j->vocab.index[s->dist_id[at]] < 0 ? NAN : of_dist / mass;
    return j->vocab.ids[best];
}

static bool counts(const fr_sample *s, int row) {
    return row >= 1 && row < s->n && s->flags[row] & FR_ROW_ANSWER;
}

static void an_untrained_exit_is_the_head_on_the_middle_state(void **state) {
    (void)state;
    job *j = open_job();
    fr_learner *l = learner_of(j);
    fr_tally t = {0};
    double nats = 0, rows = 0, reached[DEPTH] = {0}, followed[DEPTH] = {0};
    for (int i = 0; i < SAMPLES; i++) {
        const fr_sample *s = &j->sample[i].s;
        for (int row = 1; row < s->n; row++) {
            double of_row;
            bool alive = counts(s, row);
            if (!alive) continue;
            naive_row(j, s, row, &of_row);
            if (of_row == of_row) {
                nats += of_row;
                rows++;
            }
            for (int k = 0; k < DEPTH && alive && counts(s, row + k); k++) {
                reached[k]++;
                alive = naive_row(j, s, row + k, &of_row) == s->ids[row + k + 1];
                followed[k] += alive;
            }
        }
    }
    l->ops->judge(l, &j->batch, &t);
    assert_true(rows > 20);
    assert_near(t.weight, rows, 0);
    assert_near(t.loss, nats, 1e-3 * rows);
    for (int k = 0; k < DEPTH; k++) {
        assert_near(t.reached[k], reached[k], 0);
        assert_near(t.followed[k], followed[k], 0);
    }
    l->ops->close(l);
    close_job(j);
}

static void wrong_settings_are_named(void **state) {
    (void)state;
    static const char *const wrong[][3] = {{NULL}, {"exit=0"}, {"exit=3"}, {"tap=2"}, {"exit=1x"}};
    static const char *const why[] = {"exit=LAYER is needed, 1 to 2", "exit=1 to 2", "exit=1 to 2",
                                      "early-exit knows exit", "exit=1 to 2"};
    job *j = open_job();
    fr_learner *l;
    fr_error err;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(open_learner(&l, j, wrong[i], &err), FR_EARG);
        assert_null(l);
        assert_non_null(strstr(err.text, why[i]));
    }
    j->form.n_taps = 1;
    assert_int_equal(open_learner(&l, j, (const char *const[]){"exit=2", NULL}, &err), FR_EARG);
    assert_non_null(strstr(err.text, "no states of that layer"));
    close_job(j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_are_those_of_the_loss),
        cmocka_unit_test(an_untrained_exit_is_the_head_on_the_middle_state),
        cmocka_unit_test(wrong_settings_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
