// The chain learners: their gradient against differences of the objective spelled out in double,
// what they count, and that they can learn a sample by heart.
#include "chain_world.h"
#include "train/learner/pack_write.h"
#include "train/method/learners.h"
#include "train/param_named.h"

static fr_learner *open_learner(world *w, bool eagle, int depth, const char *const *options) {
    const fr_learner_config config = config_of(w, depth, options);
    fr_learner *l;
    fr_error err;
    const fr_status st =
        (eagle ? fr_learn_eagle.open : fr_learn_hidden_state.open)(&l, &config, &err);
    if (st) fail_msg("%s", err.text);
    return l;
}

static reference reference_of(const world *w, const fr_learner *l, const double *values, bool eagle,
                              uint64_t noise) {
    const fr_config *t = &w->opened.model.config;
    const int gate = param_named(&l->params, "blk.0.ffn_gate.weight");
    const int rank = param_named(&l->params, "inject.token.weight");
    const int taps = param_named(&l->params, "fc_taps.weight");
    const int n_taps = taps < 0 ? 0 : l->params.item[taps].cols / D;
    return (reference){.params = &l->params,
                       .w = values,
                       .target = &w->opened.model,
                       .vocab = &w->vocab,
                       .d = D,
                       .n_head = t->n_head,
                       .n_kv = t->n_kv,
                       .hd = t->head_dim,
                       .ff = l->params.item[gate].rows,
                       .rank = rank < 0 ? 0 : l->params.item[rank].rows,
                       .depth = l->depth,
                       .base = 10000,
                       .feed = eagle ? 1 : 0.5,
                       .eagle = eagle,
                       .n_taps = n_taps,
                       .tap = {n_taps == 1, 1, -1},
                       .pure = param_named(&l->params, "fc_token.weight") < 0,
                       .gate = param_named(&l->params, "inject.gate.weight") >= 0,
                       .noise = noise};
}

static double objective_of(const void *r, const fr_batch *batch, const double *std) {
    return reference_objective(r, batch, std);
}

// Of so many steps where a share `done` of the training is behind.
static void check_gradient_at(world *w, bool eagle, const char *const *options, double feature,
                              double ztail, int every, double done, int steps) {
    const uint64_t noise = 5;
    fr_learner *l = open_learner(w, eagle, 3, options);
    l->done = done;
    stir(l);
    double *values = fr_alloc_array(l->params.n_floats, sizeof *values), std[D];
    for (size_t i = 0; i < l->params.n_floats; i++)
        values[i] = (double)l->params.w[i];
    reference r = reference_of(w, l, values, eagle, noise);
    r.feature = feature, r.ztail = ztail, r.depth = steps;
    spread_of(w, std);
    fr_tally tally = {0};
    l->ops->learn(l, &w->batch, noise, &tally);
    const double want = reference_objective(&r, &w->batch, std);
    if (!(fabs(tally.loss - want) <= 1e-5 * want)) fail_msg("loss %g, not %g", tally.loss, want);
    compare(l, objective_of, &r, values, &w->batch, std, every);
    fr_free(values);
    l->ops->close(l);
}

static void check_gradient(world *w, bool eagle, const char *const *options, double feature,
                           double ztail, int every) {
    check_gradient_at(w, eagle, options, feature, ztail, every, 0, 3);
}

// One step, then two of three, then all; judged are all of them all the while.
static void steps_rise_where_they_are_to(void **state) {
    static const char *const options[] = {"feature=0.3", "steps-rise=1", NULL};
    static const struct {
        double done;
        int steps;
    } at[] = {{0, 1}, {0.3, 1}, {0.5, 2}, {0.7, 3}, {1, 3}};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        check_gradient_at(*state, true, options, 0.3, 0, 11, at[i].done, at[i].steps);
    fr_learner *l = open_learner(*state, true, 3, options);
    assert_true(l->settled > 0.6 && l->settled < 0.7);
    fr_tally tally = {0}, judged = {0};
    l->ops->learn(l, &((world *)*state)->batch, 1, &tally);
    l->ops->judge(l, &((world *)*state)->batch, &judged);
    assert_true(tally.tried[0] > 0 && tally.tried[1] == 0);
    assert_true(judged.tried[0] == tally.tried[0] && judged.tried[2] > 0);
    l->ops->close(l);
}

static void eagle_gradient_is_that_of_its_objective(void **state) {
    check_gradient(*state, true, (const char *const[]){"feature=0.3", NULL}, 0.3, 0, 5);
}

// Of the embedding's row, the residual behind the first layer and the final state; and of one
// alone.
static void so_is_that_of_states_of_several_layers(void **state) {
    check_gradient(*state, true, (const char *const[]){"feature=0.3", "taps=0,1,2", NULL}, 0.3, 0,
                   5);
    check_gradient(*state, true, (const char *const[]){"feature=0", "taps=1", NULL}, 0, 0, 7);
}

static void hidden_state_gradient_is_that_of_its_objective(void **state) {
    const char *const options[] = {"rank=6", "feature=0.2", "ztail=0.4", NULL};
    check_gradient(*state, false, options, 0.2, 0.4, 5);
}

static void so_is_that_of_states_alone(void **state) {
    const char *const options[] = {"pure=1", "inject=0", "feature=0", "ffn=64", NULL};
    check_gradient(*state, false, options, 0, 0, 7);
}

static void so_is_that_without_a_gate(void **state) {
    const char *const options[] = {"gate=0", "rank=3", "ztail=0", "feature=0.1", NULL};
    check_gradient(*state, false, options, 0.1, 0, 7);
}

// ---------------------------------------------------------------- counting
// Rows that count at step k: those with a base before them that is not a sample's first row.
static void counts_rows_by_distance(void **state) {
    world *w = *state;
    fr_learner *l = open_learner(w, true, 3, NULL);
    fr_tally tally = {0};
    l->ops->judge(l, &w->batch, &tally);
    for (int k = 1; k <= 3; k++) {
        double want = 0;
        for (int s = 0; s < w->batch.n; s++)
            for (int i = 1; i + k < w->batch.sample[s].n; i++)
                want += ref_counts(&w->batch.sample[s], i + k);
        assert_true(tally.tried[k - 1] == want);
        assert_true(tally.reached[k - 1] <= tally.tried[k - 1]);
        assert_true(tally.followed[k - 1] <= tally.reached[k - 1]);
    }
    assert_true(tally.reached[0] == tally.tried[0]);
    for (size_t i = 0; i < l->params.n_floats; i++)
        assert_true(l->params.grad[i] == 0); // judging leaves them
    l->ops->close(l);
}

// The gradient of one batch with so many threads, in [n_floats] of its own.
static float *gradient_with(int threads, size_t *n) {
    const char *const options[] = {"feed=0", "feature=0", NULL};
    void *state;
    assert_int_equal(make_world_of(&state, threads), 0);
    world *w = state;
    fr_learner *l = open_learner(w, false, 3, options);
    fr_tally tally = {0};
    stir(l);
    l->ops->learn(l, &w->batch, 1, &tally);
    *n = l->params.n_floats;
    float *all = fr_alloc_array(*n, sizeof *all);
    memcpy(all, l->params.grad, *n * sizeof *all);
    l->ops->close(l);
    free_world(&state);
    return all;
}

// The same bits with the same number of threads; with another the sums are made in another order.
static void threads_change_the_order_of_sums_alone(void **state) {
    (void)state;
    size_t n;
    float *one = gradient_with(1, &n), *three = gradient_with(3, &n), *again = gradient_with(3, &n);
    assert_memory_equal(three, again, n * sizeof *three);
    for (size_t i = 0; i < n; i++)
        assert_true(fabs((double)(one[i] - three[i])) <= 1e-4 * fabs((double)one[i]) + 1e-4);
    fr_free(one), fr_free(three), fr_free(again);
}

// The gradient of the sum of two batches.
static void gradients_of_batches_add_up(void **state) {
    world *w = *state;
    const char *const options[] = {"feed=0", "feature=0", NULL};
    fr_learner *l = open_learner(w, false, 3, options);
    stir(l);
    fr_tally tally = {0};
    fr_batch one = {.n = 1, .rows = w->batch.sample[0].n, .sample = {w->batch.sample[0]}};
    fr_batch rest = {.n = 2,
                     .rows = w->batch.rows - one.rows,
                     .sample = {w->batch.sample[1], w->batch.sample[2]}};
    l->ops->learn(l, &w->batch, 1, &tally);
    float *whole = fr_alloc_array(l->params.n_floats, sizeof *whole);
    memcpy(whole, l->params.grad, l->params.n_floats * sizeof *whole);
    memset(l->params.grad, 0, l->params.n_floats * sizeof *whole);
    l->ops->learn(l, &one, 2, &tally);
    l->ops->learn(l, &rest, 3, &tally);
    for (size_t i = 0; i < l->params.n_floats; i++)
        assert_true(fabs((double)(whole[i] - l->params.grad[i])) <=
                    1e-4 * fabs((double)whole[i]) + 1e-4);
    fr_free(whole);
    l->ops->close(l);
}

// ---------------------------------------------------------------- learning
static void learns_by_heart(world *w, bool eagle) {
    const char *const options[] = {"ffn=256", "feature=0", eagle ? NULL : "ztail=0", NULL};
    fr_learner *l = open_learner(w, eagle, 2, options);
    const double least = least_loss(w, 2);
    double first = 0, last = 0;
    // The distributions are of states drawn at random, so little width says them only roughly.
    for (int step = 1; step <= 600; step++) {
        fr_tally tally = {0};
        l->ops->learn(l, &w->batch, (uint64_t)step, &tally);
        descend(l, step, step < 400 ? 0.01 : 0.002);
        if (step == 1) first = tally.loss;
        last = tally.loss;
    }
    assert_true(least > 0 && first > least);
    if (!(last - least < 0.1 * (first - least)))
        fail_msg("%s: from %g to %g, the least is %g", l->name, first, last, least);
    l->ops->close(l);
}

static void eagle_learns_a_batch_by_heart(void **state) {
    learns_by_heart(*state, true);
}

static void hidden_state_learns_a_batch_by_heart(void **state) {
    learns_by_heart(*state, false);
}

// ---------------------------------------------------------------- the target's last layer
// The score of two positions, with W's rows as the target has them and turned as the target does.
static double turned_score(const float *q, const float *k, const double *a, const double *b, int pa,
                           int pb, bool halves, double base) {
    enum { HEAD = 8 };
    double x[2][HEAD], sum = 0;
    for (int i = 0; i < HEAD; i++) {
        x[0][i] = x[1][i] = 0;
        for (int c = 0; c < D; c++) {
            x[0][i] += (double)q[i * D + c] * a[c];
            x[1][i] += (double)k[i * D + c] * b[c];
        }
    }
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < HEAD / 2; i++) {
            const double angle = (side ? pb : pa) * pow(base, -2.0 * i / HEAD);
            double *u = &x[side][halves ? i : 2 * i],
                   *v = &x[side][halves ? i + HEAD / 2 : 2 * i + 1];
            const double was = *u;
            *u = was * cos(angle) - *v * sin(angle);
            *v = *v * cos(angle) + was * sin(angle);
        }
    for (int i = 0; i < HEAD; i++)
        sum += x[0][i] * x[1][i];
    return sum;
}

// The target is of the kind that turns neighbours; the block turns halves.
static void a_start_from_the_target_keeps_its_scores(void **state) {
    world *w = *state;
    const fr_model *m = &w->opened.model;
    assert_false(m->config.neox);
    fr_learner *l = open_learner(w, true, 2, (const char *const[]){"init=target", "ffn=32", NULL});
    const fr_layer *last = &m->layers[m->config.n_layer - 1];
    float q[8 * D], k[8 * D];
    double a[D], b[D];
    for (int c = 0; c < D; c++)
        a[c] = fr_uniform(seed, (uint64_t)c) - 0.5, b[c] = fr_uniform(seed + 1, (uint64_t)c) - 0.5;
    for (int head = 0; head < 2; head++) { // the heads of keys, and the first two of queries
        for (int i = 0; i < 8; i++) {
            fr_matrix_row(&last->q, head * 8 + i, q + i * D);
            fr_matrix_row(&last->k, head * 8 + i, k + i * D);
        }
        const int at = head * 8 * D, base = (int)m->config.rope_base;
        const float *own_q = fr_param_w(&l->params, param_named(&l->params, "blk.0.attn_q.weight"));
        const float *own_k = fr_param_w(&l->params, param_named(&l->params, "blk.0.attn_k.weight"));
        const double want = turned_score(q, k, a, b, 9, 4, false, base);
        const double got = turned_score(own_q + at, own_k + at, a, b, 9, 4, true, base);
        assert_true(fabs(got - want) <= 1e-9 * (1 + fabs(want)));
    }
    float row[32]; // the widths agree, so the feed-forward part is the target's too
    fr_matrix_row(&last->down, 5, row);
    const int down = param_named(&l->params, "blk.0.ffn_down.weight");
    assert_memory_equal(fr_param_w(&l->params, down) + 5 * 32, row, sizeof row);
    l->ops->close(l);
}

// With its neurons, and added to a fitted row by as much as is best on the text.
static void a_start_from_the_last_layer_is_scaled_to_the_text(void **state) {
    world *w = *state;
    const fr_model *m = &w->opened.model;
    fr_learner *l =
        open_learner(w, true, 2, (const char *const[]){"init=last-layer", "ffn=32", NULL});
    const int o = param_named(&l->params, "blk.0.attn_output.weight");
    const int down = param_named(&l->params, "blk.0.ffn_down.weight");
    float row[32], want[32];
    assert_true(l->fit_rows > 0 && l->ops->workspace(l) > 0);
    assert_int_equal(l->ops->fit_add(l, &w->batch, NULL), FR_OK);
    l->ops->fit_end(l);
    fr_matrix_row(&m->layers[m->config.n_layer - 1].down, 5, row);
    const float by = fr_param_w(&l->params, down)[5 * 32] / row[0];
    for (int j = 0; j < 32; j++)
        want[j] = by * row[j];
    assert_true(log2((double)by) == round(log2((double)by)) && by <= 1);
    assert_memory_equal(fr_param_w(&l->params, down) + 5 * 32, want, sizeof want);
    double loss[3];
    for (int i = 0; i < 3; i++) { // half of it, it, twice of it
        const float scale = i ? 2 : 0.5f;
        fr_tally tally = {0};
        for (int k = 0; k < D * 32; k++)
            fr_param_w(&l->params, down)[k] *= scale, fr_param_w(&l->params, o)[k] *= scale;
        l->ops->judge(l, &w->batch, &tally);
        loss[i] = tally.loss;
    }
    if (by > 0x1p-10f) assert_true(loss[1] <= loss[0]);
    if (by < 1) assert_true(loss[1] <= loss[2]);
    l->ops->close(l);
}

// ---------------------------------------------------------------- packs
static uint32_t number_of(const fr_gguf *g, const char *key) {
    uint32_t value = 0;
    assert_int_equal(fr_gguf_get_u32(g, key, &value, NULL), FR_OK);
    return value;
}

static void what_is_written_can_be_read(void **state) {
    world *w = *state;
    fr_learner *l = open_learner(w, false, 3, (const char *const[]){"rank=6", "ffn=64", NULL});
    fr_gguf_writer *writer;
    void *data;
    size_t bytes;
    fr_gguf *g;
    bool gate = false;
    stir(l);
    assert_int_equal(fr_gguf_writer_open(&writer, NULL), FR_OK);
    l->ops->write(l, writer, FR_TYPE_F32);
    assert_int_equal(fr_gguf_writer_finish_memory(writer, &data, &bytes, NULL), FR_OK);
    assert_int_equal(fr_gguf_open_memory(&g, data, bytes, "pack", NULL), FR_OK);
    assert_int_equal(number_of(g, "forerun.heads"), 3);
    assert_int_equal(number_of(g, "forerun.n_head"), 4);
    assert_int_equal(number_of(g, "forerun.n_kv"), 2);
    assert_int_equal(number_of(g, "forerun.head_dim"), 8);
    assert_int_equal(number_of(g, "forerun.d_ff"), 64);
    assert_int_equal(number_of(g, "forerun.rank"), 6);
    assert_int_equal(fr_gguf_get_bool(g, "forerun.gate", &gate, NULL), FR_OK);
    assert_true(gate);
    float *was = fr_alloc_array(l->params.n_floats, sizeof *was);
    memcpy(was, l->params.w, l->params.n_floats * sizeof *was);
    memset(l->params.w, 0, l->params.n_floats * sizeof *was);
    assert_int_equal(fr_pack_read_params(&l->params, g, NULL), FR_OK);
    for (int i = 0; i < l->params.n; i++) {
        const fr_param *item = &l->params.item[i];
        assert_memory_equal(fr_param_w(&l->params, i), was + item->at,
                            (size_t)item->rows * (size_t)item->cols * sizeof *was);
    }
    assert_true(l->ops->workspace(l) > 0);
    fr_gguf_close(g);
    fr_gguf_writer_close(writer);
    fr_free(data), fr_free(was);
    l->ops->close(l);
}

// ---------------------------------------------------------------- options
static void wrong_options_are_refused(void **state) {
    world *w = *state;
    fr_learner_config config = {.target = &w->opened.model,
                                .vocab = &w->vocab,
                                .format = &w->format,
                                .gemm = w->gemm,
                                .max_rows = 32};
    static const char *const wrong[] = {"ffn=33",     "ffn=",      "rank=0", "feed=2",
                                        "gate=2",     "depth=9",   "pure",   "nothing=1",
                                        "init=zeros", "feature=x", "taps=1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fr_learner *l;
        fr_error err;
        config.options = (const char *const[]){wrong[i], NULL};
        assert_int_equal(fr_learn_hidden_state.open(&l, &config, &err), FR_EARG);
        assert_null(l);
        assert_non_null(strstr(err.text, wrong[i]));
    }
    fr_learner *l;
    config.options = (const char *const[]){"rank=4", NULL}; // not one of eagle's
    assert_int_equal(fr_learn_eagle.open(&l, &config, NULL), FR_EARG);
    // Layers that do not ascend, are no layers, or of which the samples have nothing.
    static const char *const taps[] = {"taps=1,0", "taps=",  "taps=0,1,3",
                                       "taps=0,",  "taps=x", "taps=0,0"};
    for (size_t i = 0; i < sizeof taps / sizeof *taps; i++) {
        config.options = (const char *const[]){taps[i], NULL};
        assert_int_equal(fr_learn_eagle.open(&l, &config, NULL), FR_EARG);
    }
    w->format.n_taps = 1;
    config.options = (const char *const[]){"taps=1", NULL};
    assert_int_equal(fr_learn_eagle.open(&l, &config, NULL), FR_EARG);
    w->format.n_taps = TAPS;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eagle_gradient_is_that_of_its_objective),
        cmocka_unit_test(so_is_that_of_states_of_several_layers),
        cmocka_unit_test(steps_rise_where_they_are_to),
        cmocka_unit_test(hidden_state_gradient_is_that_of_its_objective),
        cmocka_unit_test(so_is_that_of_states_alone),
        cmocka_unit_test(so_is_that_without_a_gate),
        cmocka_unit_test(counts_rows_by_distance),
        cmocka_unit_test(threads_change_the_order_of_sums_alone),
        cmocka_unit_test(gradients_of_batches_add_up),
        cmocka_unit_test(eagle_learns_a_batch_by_heart),
        cmocka_unit_test(hidden_state_learns_a_batch_by_heart),
        cmocka_unit_test(a_start_from_the_target_keeps_its_scores),
        cmocka_unit_test(a_start_from_the_last_layer_is_scaled_to_the_text),
        cmocka_unit_test(what_is_written_can_be_read),
        cmocka_unit_test(wrong_options_are_refused),
    };
    return cmocka_run_group_tests(tests, make_world, free_world);
}
