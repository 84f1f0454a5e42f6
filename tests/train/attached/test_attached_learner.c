// Learners of rows attached to the target, ppd and hidden-transfer: slopes against finite
// differences, bases, first values, packs.
#include "attached_job.h"
#include "support/near.h"
#include "train/math/optim.h"

typedef struct variant {
    const char *name, *options[4];
    int learned; // numbers from 0 of the parameters that are: -1 all
} variant;
static const variant variants[] = {
    {"ppd", {NULL}, -1},
    {"ppd", {"ensemble=2", "points=200"}, -1},
    {"ppd", {"ensemble=2", "distil=0"}, -1},
    {"hidden-transfer", {"layers=1/2/2"}, -1},
    {"hidden-transfer", {"layers=1/1/3", "masked=1"}, -1},
    {"hidden-transfer", {"layers=1/2/3", "step=2"}, 1},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

// Every base is taken where `points` are more than there are: learning and judging see the same.
static void slopes_are_those_of_the_loss(void **state) {
    (void)state;
    for (int v = 0; v < VARIANTS; v++) {
        job *j = open_job(variants[v].name, variants[v].options);
        fr_params *p = &j->learner->params;
        begin_anywhere(j);
        const double loss = learned(j, 1).loss;
        assert_near(loss, judged(j).loss, 1e-4 * loss);
        for (int i = 0; i < p->n; i++)
            if (variants[v].learned < 0 || i == variants[v].learned) check_slopes(j, i);
        for (int i = 0; i < p->n && variants[v].learned >= 0; i++)
            for (int k = 0; k < p->item[i].rows * p->item[i].cols && i != variants[v].learned; k++)
                assert_true(fr_param_grad(p, i)[k] == 0 && !p->item[i].decays);
        close_job(j);
    }
}

static void a_chain_ends_where_nothing_counts(void **state) {
    (void)state;
    double first, third;
    job *j = open_job("ppd", NULL);
    leave_gaps(j);
    follow_chains(j, &first, &third);
    assert_true(first > 0);
    assert_true(third == 0);
    close_job(j);
}

static void pieces_add_up(void **state) {
    (void)state;
    job *j = open_job("ppd", (const char *const[]){"ensemble=2", NULL});
    fr_params *p = &j->learner->params;
    begin_anywhere(j);
    const double loss = learned(j, 1).loss;
    float *grad = malloc(p->n_floats * sizeof *grad);
    memcpy(grad, p->grad, p->n_floats * sizeof *grad);
    ((fr_attached_learner *)(void *)j->learner)->max_piece = 5;
    assert_near(learned(j, 1).loss, loss, 1e-4 * loss);
    for (size_t i = 0; i < p->n_floats; i++)
        assert_near(p->grad[i], grad[i], 1e-4f * (1 + fabsf(grad[i])));
    free(grad);
    close_job(j);
}

// A text of three tokens in turn: what comes is a function of the distance and the last token.
static void one_text_can_be_learned(void **state) {
    (void)state;
    static const double rates[] = {0.1, 0.1, 0.05, 0.01, 0.01};
    for (int v = 0; v < 5; v++) {
        job *j = open_job(variants[v].name, variants[v].options);
        fr_params *p = &j->learner->params;
        j->batch.n = 1;
        for (int i = 0; i <= j->sample[0].s.n; i++) {
            j->sample[0].ids[i] = 20 + i % 3;
            if (i < j->sample[0].s.n) j->sample[0].flags[i] &= FR_ROW_ANSWER;
        }
        const fr_tally first = judged(j);
        for (uint64_t step = 1; step <= 60; step++) {
            const fr_tally t = learned(j, step);
            fr_adamw_step(p, rates[v], fr_grad_scale(fr_grad_norm(p), t.weight, 1), step);
        }
        const fr_tally last = judged(j);
        if (!(last.loss < 0.5 * first.loss))
            fail_msg("%s: loss %g, then %g", j->learner->name, first.loss, last.loss);
        close_job(j);
    }
}

// ---------------------------------------------------------------- bases
static void judging_is_the_same_every_time(void **state) {
    (void)state;
    for (int v = 0; v < VARIANTS; v++) {
        const char *options[5] = {"points=3"};
        for (int i = 0; i < 3; i++)
            options[i + 1] = variants[v].options[i];
        if (options[1] && options[2]) options[2] = NULL; // its own `points`
        job *j = open_job(variants[v].name, options);
        begin_anywhere(j);
        const fr_tally one = judged(j);
        learned(j, 5);
        const fr_tally two = judged(j);
        assert_memory_equal(&one, &two, sizeof one);
        assert_true(one.tried[0] == 3 * SAMPLES);
        close_job(j);
    }
}

static void noise_draws_the_bases(void **state) {
    (void)state;
    job *j = open_job("ppd", (const char *const[]){"points=3", NULL});
    const fr_attached_learner *a = (const fr_attached_learner *)(const void *)j->learner;
    int drawn[SAMPLES][MADE_ROWS] = {{0}};
    for (uint64_t noise = 0; noise < 100; noise++) {
        assert_true(learned(j, noise).tried[0] == 3 * SAMPLES);
        for (int b = 0; b < a->n_bases; b++)
            drawn[a->sample[b]][a->row[b]]++;
    }
    for (int s = 0; s < SAMPLES; s++) {
        const fr_sample *x = &j->sample[s].s;
        const int may = x->n - x->dist_first; // rows before those of the answer
        for (int row = 0; row < x->n; row++) {
            const double want = row >= x->dist_first - 1 && row < x->n - 1 ? 300.0 / may : 0;
            // Five standard deviations of a binomial number.
            assert_near(drawn[s][row], want, 5 * sqrt(want));
        }
    }
    const double one = learned(j, 7).loss;
    assert_true(one == learned(j, 7).loss && one != learned(j, 8).loss);
    close_job(j);
}

// ---------------------------------------------------------------- first values
// Sum of |h_{q+i} - h_q - D_i h_q|² over the batch.
static double left_over(job *j, int i, int layer) {
    fr_trunk_context c;
    const size_t d = (size_t)j->form.d;
    const float *map = fr_param_w(&j->learner->params, i);
    double sum = 0;
    if (fr_trunk_context_open(&c, &j->target.model, layer, &layer, 1, ROWS, NULL)) fail();
    for (int s = 0; s < SAMPLES; s++) {
        const int first = c.rows, n = j->batch.sample[s].n;
        fr_trunk_context_add_taps(&c, j->batch.sample[s].ids, n);
        for (int q = 1; q + i + 1 < n; q++)
            for (size_t r = 0; r < d; r++) {
                const float *h = fr_trunk_context_tap(&c, 0) + (size_t)(first + q) * d;
                double off = (double)h[(size_t)(i + 1) * d + r] - (double)h[r];
                for (size_t k = 0; k < d; k++)
                    off -= (double)map[r * d + k] * (double)h[k];
                sum += off * off;
            }
    }
    fr_trunk_context_close(&c);
    return sum;
}

static void maps_begin_with_least_squares(void **state) {
    (void)state;
    job *j = open_job("hidden-transfer", (const char *const[]){"layers=1/2/2", NULL});
    fr_error err;
    double identity[DEPTH];
    assert_true(j->learner->fit_rows == 32 * (uint64_t)j->form.d && j->learner->rate == 2e-4);
    for (int i = 0; i < DEPTH; i++)
        identity[i] = left_over(j, i, i ? 2 : 1);
    if (j->learner->ops->fit_add(j->learner, &j->batch, &err)) fail_msg("%s", err.text);
    j->learner->ops->fit_end(j->learner);
    for (int i = 0; i < DEPTH; i++) // fewer rows than inputs: only the ridge holds it back
        assert_true(left_over(j, i, i ? 2 : 1) < 0.1 * identity[i]);
    close_job(j);
    j = open_job("hidden-transfer", (const char *const[]){"start=identity", NULL});
    assert_true(j->learner->fit_rows == 0 && j->learner->rate == 1e-3);
    close_job(j);
}

// Vectors are embeddings of tokens of the vocabulary, and the rate is a fifth of their size.
static void vectors_begin_as_embeddings(void **state) {
    (void)state;
    job *j = open_job("ppd", (const char *const[]){"ensemble=2", NULL});
    const int d = j->form.d;
    float x[MADE_WIDTH];
    double sum = 0;
    int found[DEPTH * 2] = {0};
    for (int i = 0; i < DRAFT; i++) {
        fr_model_embed(&j->target.model, j->vocab.ids[i], x);
        for (int k = 0; k < d; k++)
            sum += (double)x[k] * (double)x[k];
        for (int v = 0; v < DEPTH * 2; v++)
            found[v] +=
                !memcmp(x, fr_param_w(&j->learner->params, 0) + v * d, sizeof *x * (size_t)d);
    }
    for (int v = 0; v < DEPTH * 2; v++)
        assert_int_equal(found[v], 1);
    assert_near(j->learner->rate, 0.2 * sqrt(sum / DRAFT / d), 1e-6);
    close_job(j);
}

// ---------------------------------------------------------------- packs
static void vectors_come_back_from_a_pack(void **state) {
    (void)state;
    char path[64];
    job *j = open_job("ppd", (const char *const[]){"ensemble=2", NULL});
    begin_anywhere(j);
    fr_gguf *g = write_and_open(j, FR_TYPE_Q8_0, path);
    fr_gguf_str name;
    assert_int_equal(fr_gguf_get_str(g, "general.architecture", &name, NULL), FR_OK);
    assert_true(fr_gguf_str_is(name, "forerun-ppd"));
    assert_u32(g, "forerun.heads", DEPTH);
    assert_u32(g, "forerun.ensemble", 2);
    assert_tensor(g, "ppd.vectors", FR_TYPE_F32, j->form.d, DEPTH * 2);
    assert_int_equal(fr_gguf_n_tensors(g), 1);
    assert_comes_back(j, g, 0);
    fr_gguf_close(g);
    remove(path);
    close_job(j);
}

static void maps_come_back_from_a_pack(void **state) {
    (void)state;
    static const fr_type asked[] = {FR_TYPE_F32, FR_TYPE_Q8_0},
                         found[] = {FR_TYPE_F32, FR_TYPE_F16};
    for (int k = 0; k < 2; k++) {
        char path[64];
        fr_error err;
        job *j = open_job("hidden-transfer", (const char *const[]){"layers=1/2/3", NULL});
        const int d = j->form.d;
        begin_anywhere(j);
        fr_gguf *g = write_and_open(j, asked[k], path);
        const fr_gguf_kv *layers;
        fr_gguf_str name;
        assert_int_equal(fr_gguf_get_str(g, "general.architecture", &name, NULL), FR_OK);
        assert_true(fr_gguf_str_is(name, "forerun-hidden-transfer"));
        assert_u32(g, "forerun.heads", DEPTH);
        assert_int_equal(fr_gguf_get_array(g, "forerun.layers", FR_GGUF_INTS, &layers, NULL),
                         FR_OK);
        assert_int_equal(layers->count, DEPTH);
        for (int i = 0; i < DEPTH; i++) {
            char tensor[32];
            float row[MADE_WIDTH];
            snprintf(tensor, sizeof tensor, "transfer.%d.weight", i + 1);
            assert_int_equal(fr_gguf_item_i64(layers, (uint64_t)i), i + 1);
            assert_tensor(g, tensor, found[k], d, d);
            fr_dequant_row(found[k], fr_gguf_tensor_find(g, tensor)->data, row, d);
            const float *map = fr_param_w(&j->learner->params, i);
            for (int c = 0; c < d; c++) // the first row, with the identity's
                assert_near(row[c], map[c] + (c ? 0.0f : 1.0f), 1e-3);
        }
        // F16 near 1 has steps of 2^-10; adding and taking 1 away costs a float's rounding.
        assert_comes_back(j, g, k ? 1e-3f : 1e-6f);
        close_job(j);
        j = open_job("hidden-transfer", (const char *const[]){"layers=1/1/3", NULL});
        assert_int_equal(fr_pack_read(j->learner, g, &err), FR_EDATA);
        assert_non_null(strstr(err.text, "step 2: expected a map of layer 1, found 2"));
        fr_gguf_close(g);
        remove(path);
        close_job(j);
    }
}

static void wrong_settings_are_named(void **state) {
    (void)state;
    static const struct {
        const char *name, *option, *why;
    } wrong[] = {
        {"ppd", "ensemble=11", "ensemble=1 to 10"},
        {"ppd", "mask=decoder", "ppd knows"},
        {"ppd", "points=0", "points=1 to 1024"},
        {"ppd", "layers=1/2/3", "ppd knows"},
        {"hidden-transfer", "layers=1/2", "expected 3 layers"},
        {"hidden-transfer", "layers=2/1/3", "rising, 1 to 3"},
        {"hidden-transfer", "layers=1/2/4", "rising, 1 to 3"},
        {"hidden-transfer", "layers=1/2/3/", "rising, 1 to 3"},
        {"hidden-transfer", "step=4", "there are 3 steps"},
        {"hidden-transfer", "start=random", "start=ridge or identity"},
        {"hidden-transfer", "masked=2", "masked=0 or 1"},
    };
    job *j = open_job("ppd", NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fr_learner *l;
        fr_error err;
        const char *const options[] = {wrong[i].option, NULL};
        assert_int_equal(open_learner(j, wrong[i].name, options, &l, &err), FR_EARG);
        assert_null(l);
        if (!strstr(err.text, wrong[i].why)) fail_msg("%s: %s", wrong[i].option, err.text);
    }
    close_job(j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_are_those_of_the_loss),
        cmocka_unit_test(a_chain_ends_where_nothing_counts),
        cmocka_unit_test(pieces_add_up),
        cmocka_unit_test(one_text_can_be_learned),
        cmocka_unit_test(judging_is_the_same_every_time),
        cmocka_unit_test(noise_draws_the_bases),
        cmocka_unit_test(maps_begin_with_least_squares),
        cmocka_unit_test(vectors_begin_as_embeddings),
        cmocka_unit_test(vectors_come_back_from_a_pack),
        cmocka_unit_test(maps_come_back_from_a_pack),
        cmocka_unit_test(wrong_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
