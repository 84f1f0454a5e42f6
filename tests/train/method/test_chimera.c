// Chimera's learner: its gradient against differences of the objective spelled out in double, with
// every form of its encoder and heads; the n-grams at a text's beginning; learning by heart.
#include "chain_world.h"
#include "train/block/ngram_encoder.h"
#include <stdio.h>

static fr_learner *open_learner(world *w, int depth, const char *const *options) {
    const fr_learner_config config = config_of(w, depth, options);
    fr_learner *l;
    fr_error err;
    if (fr_learn_chimera_open(&l, &config, &err)) fail_msg("%s", err.text);
    return l;
}

// ---------------------------------------------------------------- the objective
typedef struct chimera_reference {
    reference block;
    const reference *layer; // in place of n-grams; NULL: none
    int ngram, hidden;
    bool tied; // the residual form
} chimera_reference;

// What the target's first layer makes of tokens 1..at of a sample.
static void layer_state(const reference *r, double *t, const fr_sample *s, int at) {
    static ref_keys keys;
    keys.n = 0;
    for (int i = 1; i <= at; i++) {
        ref_embed(r, t, s->ids[i]);
        ref_add_key(r, &keys, t, i - 1);
    }
    ref_block(r, t, &keys, at - 1);
}

// The n-gram state of the n-gram that ends with token `at` of a sample.
static void encoder_states(const chimera_reference *c, double *g, const fr_sample *s, int at) {
    const reference *r = &c->block;
    double t[FR_PACK_NGRAM * D] = {0}, h[FR_PACK_NGRAM * D], skip[D];
    const double *w3 = ref_w(r, "ngram.skip.weight");
    if (c->layer) layer_state(c->layer, t, s, at);
    for (int i = 0; i < c->ngram && i <= at && !c->layer; i++) {
        ref_embed(r, t + i * D, s->ids[at - i]);
        ref_norm(t + i * D, t + i * D, NULL, D);
        for (int k = 0; k < D; k++)
            t[i * D + k] /= c->ngram;
    }
    ref_linear(h, ref_w(r, "ngram.hidden.weight"), t, c->hidden, c->ngram * D);
    for (int i = 0; i < c->hidden; i++) {
        h[i] += ref_w(r, "ngram.hidden.bias")[i];
        h[i] *= ref_sigmoid(h[i]);
        if (c->tied) h[i] += t[i];
    }
    ref_linear(g, ref_w(r, "ngram.out.weight"), h, D, c->hidden);
    if (!w3) return;
    ref_linear(skip, w3, t, D, c->ngram * D);
    for (int i = 0; i < D; i++)
        g[i] += skip[i];
}

static const double *head_part(const reference *r, const char *what, int k) {
    char name[48];
    snprintf(name, sizeof name, "chimera.%d.%s", k, what);
    return ref_w(r, name);
}

// y += W x; W NULL: nothing.
static void add_product(double *y, const double *w, const double *x, int m) {
    double part[REF_V];
    if (!w) return;
    ref_linear(part, w, x, m, D);
    for (int i = 0; i < m; i++)
        y[i] += part[i];
}

static void head_scores(const reference *r, double *scores, int k, const double *o,
                        const double *f) {
    const double *norm = head_part(r, "norm", k);
    double z[REF_V] = {0};
    add_product(z, head_part(r, "chain.weight", k), o, norm ? D : V);
    add_product(z, head_part(r, "state.weight", k), f, norm ? D : V);
    if (norm) ref_norm(z, z, norm, D);
    for (int v = 0; v < V; v++) {
        scores[v] = norm ? 0 : z[v];
        for (int i = 0; i < D && norm; i++)
            scores[v] += (double)r->vocab->head[v * D + i] * z[i];
    }
}

static double guess_terms(const reference *r, const fr_sample *s, int i, int k, const double *o,
                          const double *f, const double *std) {
    double scores[V], next[D];
    head_scores(r, scores, k, o, f);
    const double loss = ref_entropy(r, scores, s, i + k);
    if (loss != loss) return 0;
    for (int c = 0; c < D; c++)
        next[c] = (double)fr_f16_to_f32(s->final[(i + k) * D + c]);
    return pow(0.8, k - 1) * (loss + r->feature * ref_distance(r, o, next, std));
}

static double objective_of(const void *what, const fr_batch *batch, const double *std) {
    static ref_keys keys;
    const chimera_reference *c = what;
    const reference *r = &c->block;
    double sum = 0;
    for (int n = 0; n < batch->n; n++) {
        const fr_sample *s = &batch->sample[n];
        keys.n = 0;
        for (int i = 0; i < s->n; i++) {
            double f[REF_D], o[REF_D];
            for (int j = 0; j < D; j++)
                f[j] = (double)fr_f16_to_f32(s->final[i * D + j]);
            ref_add_key(r, &keys, f, i);
            const int mature = keys.n;
            for (int k = 1; k <= r->depth && i && i + k <= s->n; k++) {
                encoder_states(c, o, s, i + k);
                ref_add_key(r, &keys, o, i + k);
                ref_block(r, o, &keys, i + k);
                if (ref_counts(s, i + k)) sum += guess_terms(r, s, i, k, o, f, std);
            }
            keys.n = mature;
        }
    }
    return sum;
}

static void check_gradient(world *w, const char *const *options, double feature, bool tied) {
    fr_learner *l = open_learner(w, 3, options);
    stir(l);
    double *values = fr_alloc_array(l->params.n_floats, sizeof *values), std[D];
    for (size_t i = 0; i < l->params.n_floats; i++)
        values[i] = (double)l->params.w[i];
    const fr_config *t = &w->opened.model.config;
    static fr_params of_layer; // the same under the names of a block
    of_layer = l->params;
    bool has_layer = false;
    for (int i = 0; i < of_layer.n; i++) {
        char *name = of_layer.item[i].name;
        const bool first = !strncmp(name, "first.", 6);
        has_layer |= first;
        memmove(name, first ? name + 6 : "", first ? strlen(name + 6) + 1 : 1);
    }
    const fr_param *w1 = &l->params.item[fr_params_find(&l->params, "ngram.hidden.weight")];
    const reference layer = {.params = &of_layer,
                             .w = values,
                             .target = &w->opened.model,
                             .d = D,
                             .n_head = t->n_head,
                             .n_kv = t->n_kv,
                             .hd = t->head_dim,
                             .ff = t->d_ff,
                             .base = (double)t->rope_base};
    const chimera_reference r = {
        .block = {.params = &l->params,
                  .w = values,
                  .target = &w->opened.model,
                  .vocab = &w->vocab,
                  .d = D,
                  .n_head = t->n_head,
                  .n_kv = t->n_kv,
                  .hd = t->head_dim,
                  .ff = l->params.item[fr_params_find(&l->params, "blk.0.ffn_gate.weight")].rows,
                  .depth = l->depth,
                  .base = 10000,
                  .feature = feature},
        .ngram = w1->cols / D,
        .hidden = w1->rows,
        .tied = tied,
        .layer = has_layer ? &layer : NULL};
    spread_of(w, std);
    fr_tally tally = {0};
    l->ops->learn(l, &w->batch, 1, &tally);
    const double want = objective_of(&r, &w->batch, std);
    if (!(fabs(tally.loss - want) <= 1e-5 * want)) fail_msg("loss %g, not %g", tally.loss, want);
    compare(l, objective_of, &r, values, &w->batch, std, 7);
    fr_free(values);
    l->ops->close(l);
}

static void so_is_that_of_a_layer_in_place_of_n_grams(void **state) {
    check_gradient(*state, (const char *const[]){"layer=tuned", "hidden=32", "feature=0", NULL}, 0,
                   false);
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

static void gradient_is_that_of_the_objective(void **state) {
    check_gradient(*state, (const char *const[]){"hidden=32", "feature=0.3", NULL}, 0.3, false);
}

static void so_is_that_of_the_residual_encoder(void **state) {
    const char *const options[] = {"encoder=residual", "feature=0", NULL};
    check_gradient(*state, options, 0, true);
}

static void so_is_that_of_two_layers_of_five_tokens(void **state) {
    const char *const options[] = {"encoder=layers", "hidden=64", "ngram=5", "feature=0.1", NULL};
    check_gradient(*state, options, 0.1f, false);
}

static void so_is_that_without_the_bases_state(void **state) {
    const char *const options[] = {"residual=0", "ngram=1", "hidden=32", "feature=0", NULL};
    check_gradient(*state, options, 0, false);
}

static void so_is_that_of_own_heads(void **state) {
    const char *const options[] = {"variant=own-heads", "hidden=32", "ngram=2", "feature=0.1",
                                   NULL};
    check_gradient(*state, options, 0.1f, false);
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
    const float *map = fr_param_w(&l->params, fr_params_find(&l->params, "ngram.skip.weight"));
    const float *gain = fr_param_w(&l->params, fr_params_find(&l->params, "output_norm.weight"));
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
    const float *map = fr_param_w(&l->params, fr_params_find(&l->params, "chimera.1.state.weight"));
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
        assert_int_equal(fr_learn_chimera_open(&l, &config, &err), FR_EARG);
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
        cmocka_unit_test(so_is_that_of_a_layer_in_place_of_n_grams),
        cmocka_unit_test(a_frozen_layer_learns_nothing),
        cmocka_unit_test(the_fit_is_of_least_squares),
        cmocka_unit_test(the_fit_makes_use_of_the_bases),
        cmocka_unit_test(it_learns_a_batch_by_heart),
        cmocka_unit_test(settings_are_checked),
    };
    return cmocka_run_group_tests(tests, make_world, free_world);
}
