// Medusa's heads: slopes against finite differences, the first step of an untrained head, the pack.
#include "support/near.h"
#include "train/direction.h"
#include "train/learner/pack_write.h"
#include "train/made_job.h"
#include "train/method/learners.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 3, DEPTH = 3, TAP = 2 };
static const char *const variants[][3] = {
    {"variant=shared"}, {"variant=own-heads"}, {"variant=hydra"}, {"variant=exit", "tap=2"}};

static job *open_job(int variant) {
    job *j = new_job(2, &(fr_shard_format){.n_taps = 2, .taps = {1, TAP}, .top = 6});
    fr_error err;
    for (int i = 0; i < SAMPLES; i++)
        add_sample(j, 20 + 7 * i, 4);
    const fr_learner_config config = {.target = &j->target.model,
                                      .vocab = &j->vocab,
                                      .format = &j->form,
                                      .gemm = j->gemm,
                                      .depth = DEPTH,
                                      .max_rows = 200,
                                      .options = variants[variant]};
    if (fr_learn_medusa.open(&j->learner, &config, &err)) fail_msg("%s", err.text);
    return j;
}

static double loss_of(void *of) {
    job *j = of;
    fr_tally t = {0};
    j->learner->ops->judge(j->learner, &j->batch, &t);
    return t.loss;
}

static void slopes_are_those_of_the_loss(void **state) {
    (void)state;
    for (int v = 0; v < 4; v++) {
        job *j = open_job(v);
        fr_params *p = &j->learner->params;
        for (int i = 0; i < p->n; i++)
            fr_param_random(p, i, 0.1f, 3);
        fr_tally t = {0};
        j->learner->ops->learn(j->learner, &j->batch, 0, &t);
        assert_near(t.loss, loss_of(j), 1e-3);
        for (int i = 0; i < p->n; i++)
            for (unsigned seed = 0; seed <= 3; seed++)
                check_direction(p, i, seed, seed ? 2e-3 : 2e-4, 2e-3, loss_of, j);
        close_job(j);
    }
}

// With A and c zero all heads say H' f: the loss at distance 1 in double, from the samples.
static void an_untrained_head_says_what_the_state_says(void **state) {
    (void)state;
    job *j = open_job(0);
    const int d = j->form.d;
    double nats = 0, rows = 0;
    fr_tally t = {0};
    for (int s = 0; s < SAMPLES; s++) {
        const fr_sample *sample = &j->sample[s].s;
        for (int row = 1; row + 1 < sample->n; row++) {
            if (!(sample->flags[row + 1] & FR_ROW_ANSWER)) continue;
            const int at = (row + 1 - sample->dist_first) * j->form.top;
            double z[DRAFT], sum = 0, of_dist = 0, mass = 0;
            if (j->vocab.index[sample->dist_id[at]] < 0) continue;
            for (int v = 0; v < DRAFT; v++) {
                z[v] = 0;
                for (int k = 0; k < d; k++)
                    z[v] += (double)j->vocab.head[v * d + k] *
                            (double)fr_f16_to_f32(sample->final[row * d + k]);
                sum += exp(z[v]);
            }
            for (int r = 0; r < j->form.top; r++) {
                const int v = j->vocab.index[sample->dist_id[at + r]];
                const double p = exp((double)fr_f16_to_f32(sample->dist_lp[at + r]));
                mass += v >= 0 ? p : 0;
                of_dist += v >= 0 ? p * (log(sum) - z[v]) : 0;
            }
            nats += of_dist / mass;
            rows++;
        }
    }
    j->learner->ops->judge(j->learner, &j->batch, &t);
    assert_true(rows > 20);
    assert_near(t.part[0], nats, 1e-3 * rows);
    close_job(j);
}

static void a_chain_ends_where_nothing_counts(void **state) {
    (void)state;
    double first, third;
    job *j = open_job(0);
    leave_gaps(j);
    follow_chains(j, &first, &third);
    assert_true(first > 0);
    assert_true(third == 0);
    close_job(j);
}

static void a_pack_gives_the_parameters_back(void **state) {
    (void)state;
    static const fr_type types[] = {FR_TYPE_F32, FR_TYPE_Q8_0};
    for (int v = 0; v < 4; v++)
        for (int k = 0; k < 2; k++) {
            job *j = open_job(v);
            fr_params *p = &j->learner->params;
            fr_tally t = {0};
            fr_gguf *g;
            fr_error err;
            char path[64];
            for (int i = 0; i < p->n; i++)
                fr_param_random(p, i, 0.1f, 3);
            const fr_pack_facts facts = {.target_name = "tiny",
                                         .target = "0123456789abcdef0123456789abcdef",
                                         .data = (const char *const[]){"here"},
                                         .n_data = 1,
                                         .answers = "own",
                                         .command = "by hand",
                                         .judged = &t};
            snprintf(path, sizeof path, "medusa_%ld.gguf", (long)getpid());
            if (fr_pack_write(path, j->learner, &facts, types[k], &err)) fail_msg("%s", err.text);
            float *wrote = malloc(p->n_floats * sizeof *wrote);
            memcpy(wrote, p->w, p->n_floats * sizeof *wrote);
            memset(p->w, 0, p->n_floats * sizeof *wrote);
            assert_int_equal(fr_gguf_open(&g, path, &err), FR_OK);
            if (fr_pack_read_params(p, g, &err)) fail_msg("%s", err.text);
            // Q8_0: half a step of 1/127 of the largest in 32, which normal numbers keep below 0.6.
            for (size_t i = 0; i < p->n_floats; i++)
                assert_near(p->w[i], wrote[i], k ? 0.6 / 254 + 1e-3 * 0.6 : 0);
            fr_gguf_close(g);
            free(wrote);
            remove(path);
            close_job(j);
        }
}

static void parameters_that_are_no_numbers_are_refused(void **state) {
    (void)state;
    static const float broken[] = {NAN, INFINITY, -INFINITY};
    job *j = open_job(0);
    fr_params *p = &j->learner->params;
    for (int i = 0; i < p->n; i++)
        for (int b = 0; b < 3; b++) {
            void *data;
            size_t bytes;
            fr_gguf *g;
            fr_gguf_writer *w;
            fr_error err;
            const fr_param *item = &p->item[i];
            float *last = fr_param_w(p, i) + (size_t)item->rows * (size_t)item->cols - 1;
            const float was = *last;
            *last = broken[b];
            assert_int_equal(fr_gguf_writer_open(&w, &err), FR_OK);
            fr_pack_params(w, p, FR_TYPE_F32);
            assert_int_equal(fr_gguf_writer_finish_memory(w, &data, &bytes, &err), FR_OK);
            assert_int_equal(fr_gguf_open_memory(&g, data, bytes, "pack", &err), FR_OK);
            assert_int_equal(fr_pack_read_params(p, g, &err), FR_EDATA);
            assert_non_null(strstr(err.text, item->name));
            fr_gguf_close(g);
            fr_gguf_writer_close(w);
            fr_free(data);
            *last = was;
            assert_int_equal(fr_params_check(p, &err), FR_OK);
        }
    close_job(j);
}

static void wrong_settings_are_named(void **state) {
    (void)state;
    static const char *const wrong[][3] = {
        {"variant=square"},        {"tap=x"}, {"tap=1"}, {"variant=exit"},
        {"variant=exit", "tap=0"}, {"k=v"}};
    static const char *const why[] = {
        "variant=shared",          "tap=0 to", "go together", "go together",
        "no states of that layer", "k=v"};
    job *j = open_job(0);
    for (int i = 0; i < 6; i++) {
        fr_learner *l;
        fr_error err;
        const fr_learner_config config = {.target = &j->target.model,
                                          .vocab = &j->vocab,
                                          .format = &j->form,
                                          .gemm = j->gemm,
                                          .max_rows = 200,
                                          .options = wrong[i]};
        assert_int_equal(fr_learn_medusa.open(&l, &config, &err), FR_EARG);
        assert_null(l);
        assert_non_null(strstr(err.text, why[i]));
    }
    close_job(j);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(slopes_are_those_of_the_loss),
                                       cmocka_unit_test(an_untrained_head_says_what_the_state_says),
                                       cmocka_unit_test(a_chain_ends_where_nothing_counts),
                                       cmocka_unit_test(a_pack_gives_the_parameters_back),
                                       cmocka_unit_test(parameters_that_are_no_numbers_are_refused),
                                       cmocka_unit_test(wrong_settings_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
