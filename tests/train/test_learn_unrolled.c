// The chain learners: their gradient against differences of the objective spelled out in double,
// what they count, and that they can learn a sample by heart.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "chain_reference.h"
#include "kern/pack.h"
#include "support/open_model.h"
#include "train/draft_vocab.h"
#include "train/pack_write.h"

enum { D = 16, V = 24, SAMPLES = 3, ROWS = 14, TOP = REF_TOP };
static const uint64_t seed = 77;

typedef struct world {
    fr_opened opened;
    fr_draft_vocab vocab;
    fr_shard_format format;
    fr_gemm *gemm;
    fr_batch batch;
    int32_t ids[SAMPLES][ROWS + 1], law_id[SAMPLES][ROWS * TOP];
    uint8_t flags[SAMPLES][ROWS];
    uint16_t final[SAMPLES][ROWS * D], law_lp[SAMPLES][ROWS * TOP];
} world;

static double random_number(uint64_t *at) {
    return fr_uniform(seed, (*at)++);
}

// Tokens are those that can be drafted, one in eight any.
static int32_t random_token(const world *w, uint64_t *at) {
    if (random_number(at) < 0.125)
        return (int32_t)(random_number(at) * w->opened.model.config.n_vocab);
    return w->vocab.ids[(int)(random_number(at) * V)];
}

static void make_sample(world *w, int n, uint64_t *at) {
    const int rows = ROWS - 3 * n;
    for (int i = 0; i <= rows; i++)
        w->ids[n][i] = random_token(w, at);
    for (int i = 0; i < rows * D; i++)
        w->final[n][i] = fr_f16_from_f32((float)(4 * random_number(at) - 2));
    for (int i = 0; i < rows; i++) {
        double left = 0.98;
        // A question, an answer with a gap, and what has no law.
        w->flags[n][i] = i >= 3 && i != 6 ? FR_ROW_ANSWER | FR_ROW_LAW : 0;
        if (n == 1 && i == 5) w->flags[n][i] = FR_ROW_ANSWER;
        for (int j = 0; j < TOP; j++) {
            const double p = left * (0.3 + 0.4 * random_number(at));
            left -= p;
            w->law_lp[n][i * TOP + j] = fr_f16_from_f32((float)log(p));
            w->law_id[n][i * TOP + j] = -1;
            int32_t id;
            bool again;
            do {
                id = random_token(w, at);
                again = false;
                for (int e = 0; e < j; e++)
                    again = again || w->law_id[n][i * TOP + e] == id;
            } while (again);
            w->law_id[n][i * TOP + j] = id;
        }
    }
    // Laws begin where the answer does.
    const int first = n == 2 ? 2 : 0;
    w->batch.sample[n] = (fr_sample){.key = (uint64_t)n,
                                     .n = rows,
                                     .law_first = first,
                                     .ids = w->ids[n],
                                     .flags = w->flags[n],
                                     .final = w->final[n],
                                     .law_id = w->law_id[n] + first * TOP,
                                     .law_lp = w->law_lp[n] + first * TOP};
    w->batch.n = n + 1;
    w->batch.rows += rows;
}

static int make_world(void **state) {
    world *w = fr_alloc_zero(sizeof *w);
    const fr_tiny_options tiny = {
        .d = D, .n_head = 4, .n_kv = 2, .head_dim = 8, .n_layer = 2, .d_ff = 32};
    fr_opened_open(&w->opened, &tiny, &fr_kern_scalar, 1);
    const int n_vocab = w->opened.model.config.n_vocab;
    w->vocab = (fr_draft_vocab){.n = V,
                                .ids = fr_alloc_array(V, sizeof(int32_t)),
                                .index = fr_alloc_array((size_t)n_vocab, sizeof(int32_t)),
                                .head = fr_alloc_array(V * D, sizeof(float))};
    for (int i = 0; i < n_vocab; i++)
        w->vocab.index[i] = -1;
    for (int i = 0; i < V; i++) {
        w->vocab.ids[i] = (i * 37 + 11) % 256;
        w->vocab.index[w->vocab.ids[i]] = i;
        fr_matrix_row(&w->opened.model.head, w->vocab.ids[i], w->vocab.head + (size_t)i * D);
    }
    w->format = (fr_shard_format){.d = D, .n_vocab = n_vocab, .top = TOP};
    assert_int_equal(fr_gemm_open(&w->gemm, 1, FR_GEMM_F32, NULL), FR_OK);
    uint64_t at = 0;
    for (int n = 0; n < SAMPLES; n++)
        make_sample(w, n, &at);
    *state = w;
    return 0;
}

static int free_world(void **state) {
    world *w = *state;
    fr_opened_close(&w->opened);
    fr_free(w->vocab.ids), fr_free(w->vocab.index), fr_free(w->vocab.head);
    fr_gemm_close(w->gemm);
    fr_free(w);
    return 0;
}

static fr_learner *open_learner(world *w, bool eagle, int depth, const char *const *options) {
    const fr_learner_config config = {.target = &w->opened.model,
                                      .vocab = &w->vocab,
                                      .format = &w->format,
                                      .gemm = w->gemm,
                                      .depth = depth,
                                      .max_rows = SAMPLES * ROWS,
                                      .seed = seed,
                                      .options = options};
    fr_learner *l;
    fr_error err;
    const fr_status st =
        (eagle ? fr_learn_eagle_open : fr_learn_hidden_state_open)(&l, &config, &err);
    if (st) fail_msg("%s", err.text);
    return l;
}

// Makes all parameters random: what begins as zero would hide an error behind it.
static void stir(fr_learner *l) {
    for (int i = 0; i < l->params.n; i++) {
        const fr_param *item = &l->params.item[i];
        float *w = fr_param_w(&l->params, i);
        for (int k = 0; k < item->rows * item->cols; k++) {
            const double u = 2 * fr_uniform(seed + (uint64_t)i, (uint64_t)k) - 1;
            w[k] = (float)(item->rows > 1 ? 1.2 * u / sqrt(item->cols) : 0.8 + 0.4 * u);
        }
    }
}

static reference reference_of(const world *w, const fr_learner *l, const double *values, bool eagle,
                              uint64_t noise) {
    const fr_config *t = &w->opened.model.config;
    const int gate = fr_params_find(&l->params, "blk.0.ffn_gate.weight");
    const int rank = fr_params_find(&l->params, "inject.token.weight");
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
                       .pure = fr_params_find(&l->params, "fc_token.weight") < 0,
                       .gate = fr_params_find(&l->params, "inject.gate.weight") >= 0,
                       .noise = noise};
}

// Of every channel, over rows that are not a sample's first.
static void spread_of(const world *w, double *std) {
    double most = 0;
    for (int c = 0; c < D; c++) {
        double sum = 0, squares = 0, n = 0;
        for (int s = 0; s < w->batch.n; s++)
            for (int i = 1; i < w->batch.sample[s].n; i++, n++) {
                const double x = (double)fr_f16_to_f32(w->batch.sample[s].final[i * D + c]);
                sum += x, squares += x * x;
            }
        std[c] = sqrt(squares / n - sum / n * (sum / n));
        most = fmax(most, std[c]);
    }
    for (int c = 0; c < D; c++)
        std[c] = fmax(std[c], 1e-3 * most);
}

static void compare(const fr_learner *l, reference *r, double *values, const fr_batch *batch,
                    const double *std, int every) {
    for (int i = 0; i < l->params.n; i++) {
        const fr_param *item = &l->params.item[i];
        const float *got = fr_param_grad(&l->params, i);
        const int n = item->rows * item->cols;
        double most = 0;
        for (int k = 0; k < n; k++)
            most = fmax(most, fabs((double)got[k]));
        assert_true(most > 0);
        for (int k = i % every; k < n; k += every) {
            const double h = 1e-5, was = values[item->at + (size_t)k];
            values[item->at + (size_t)k] = was + h;
            const double above = reference_objective(r, batch, std);
            values[item->at + (size_t)k] = was - h;
            const double below = reference_objective(r, batch, std);
            values[item->at + (size_t)k] = was;
            const double want = (above - below) / (2 * h);
            // Sums in float over some hundred terms.
            if (!(fabs((double)got[k] - want) <= 2e-4 * (fabs(want) + most) + 1e-6))
                fail_msg("seed %d: %s[%d]: %g, differences give %g", (int)seed, item->name, k,
                         (double)got[k], want);
        }
    }
}

static void check_gradient(world *w, bool eagle, const char *const *options, double feature,
                           double ztail, int every) {
    const uint64_t noise = 5;
    fr_learner *l = open_learner(w, eagle, 3, options);
    stir(l);
    double *values = fr_alloc_array(l->params.n_floats, sizeof *values), std[D];
    for (size_t i = 0; i < l->params.n_floats; i++)
        values[i] = (double)l->params.w[i];
    reference r = reference_of(w, l, values, eagle, noise);
    r.feature = feature, r.ztail = ztail;
    spread_of(w, std);
    fr_tally tally = {0};
    l->ops->learn(l, &w->batch, noise, &tally);
    const double want = reference_objective(&r, &w->batch, std);
    if (!(fabs(tally.loss - want) <= 1e-5 * want)) fail_msg("loss %g, not %g", tally.loss, want);
    compare(l, &r, values, &w->batch, std, every);
    fr_free(values);
    l->ops->close(l);
}

static void eagle_gradient_is_that_of_its_objective(void **state) {
    check_gradient(*state, true, (const char *const[]){"feature=0.3", NULL}, 0.3, 0, 5);
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

// The same gradient, whatever the number of threads and for the sum of two batches.
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
// Adam without anything else.
static void descend(fr_learner *l, int step, double rate) {
    fr_params *p = &l->params;
    for (size_t i = 0; i < p->n_floats; i++) {
        p->m[i] = 0.9f * p->m[i] + 0.1f * p->grad[i];
        p->v[i] = 0.95f * p->v[i] + 0.05f * p->grad[i] * p->grad[i];
        const double m = (double)p->m[i] / (1 - pow(0.9, step));
        const double v = (double)p->v[i] / (1 - pow(0.95, step));
        p->w[i] -= (float)(rate * m / (sqrt(v) + 1e-8));
        p->grad[i] = 0;
    }
}

// The least that a batch's cross entropy can be: the entropies of its laws on the draft vocabulary.
static double least_loss(const world *w, int depth) {
    double sum = 0;
    for (int n = 0; n < w->batch.n; n++)
        for (int k = 1; k <= depth; k++)
            for (int i = 1; i + k < w->batch.sample[n].n; i++) {
                const fr_sample *s = &w->batch.sample[n];
                const int at = (i + k - s->law_first) * TOP;
                if (!ref_counts(s, i + k) || w->vocab.index[s->law_id[at]] < 0) continue;
                double mass = 0, entropy = 0;
                for (int j = 0; j < TOP; j++)
                    if (w->vocab.index[s->law_id[at + j]] >= 0)
                        mass += exp((double)fr_f16_to_f32(s->law_lp[at + j]));
                for (int j = 0; j < TOP; j++) {
                    if (w->vocab.index[s->law_id[at + j]] < 0) continue;
                    const double p = exp((double)fr_f16_to_f32(s->law_lp[at + j])) / mass;
                    entropy -= p * log(p);
                }
                sum += pow(0.8, k - 1) * entropy;
            }
    return sum;
}

static void learns_by_heart(world *w, bool eagle) {
    const char *const options[] = {"ffn=256", "feature=0", eagle ? NULL : "ztail=0", NULL};
    fr_learner *l = open_learner(w, eagle, 2, options);
    const double least = least_loss(w, 2);
    double first = 0, last = 0;
    // The laws are of states drawn at random, so little width says them only roughly.
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
        const float *own_q =
            fr_param_w(&l->params, fr_params_find(&l->params, "blk.0.attn_q.weight"));
        const float *own_k =
            fr_param_w(&l->params, fr_params_find(&l->params, "blk.0.attn_k.weight"));
        const double want = turned_score(q, k, a, b, 9, 4, false, base);
        const double got = turned_score(own_q + at, own_k + at, a, b, 9, 4, true, base);
        assert_true(fabs(got - want) <= 1e-9 * (1 + fabs(want)));
    }
    float row[32]; // the widths agree, so the feed-forward part is the target's too
    fr_matrix_row(&last->down, 5, row);
    const int down = fr_params_find(&l->params, "blk.0.ffn_down.weight");
    assert_memory_equal(fr_param_w(&l->params, down) + 5 * 32, row, sizeof row);
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
    static const char *const wrong[] = {"ffn=33",  "ffn=", "rank=0",    "feed=2",     "gate=2",
                                        "depth=9", "pure", "nothing=1", "init=zeros", "feature=x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fr_learner *l;
        fr_error err;
        config.options = (const char *const[]){wrong[i], NULL};
        assert_int_equal(fr_learn_hidden_state_open(&l, &config, &err), FR_EARG);
        assert_null(l);
        assert_non_null(strstr(err.text, wrong[i]));
    }
    fr_learner *l;
    config.options = (const char *const[]){"rank=4", NULL}; // not one of eagle's
    assert_int_equal(fr_learn_eagle_open(&l, &config, NULL), FR_EARG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eagle_gradient_is_that_of_its_objective),
        cmocka_unit_test(hidden_state_gradient_is_that_of_its_objective),
        cmocka_unit_test(so_is_that_of_states_alone),
        cmocka_unit_test(so_is_that_without_a_gate),
        cmocka_unit_test(counts_rows_by_distance),
        cmocka_unit_test(gradients_of_batches_add_up),
        cmocka_unit_test(eagle_learns_a_batch_by_heart),
        cmocka_unit_test(hidden_state_learns_a_batch_by_heart),
        cmocka_unit_test(a_start_from_the_target_keeps_its_scores),
        cmocka_unit_test(what_is_written_can_be_read),
        cmocka_unit_test(wrong_options_are_refused),
    };
    return cmocka_run_group_tests(tests, make_world, free_world);
}
