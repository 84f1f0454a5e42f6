// chain_world.h — a tiny target, samples of random states and distributions, and what tests of the
// learners of chains do with them.
#ifndef FR_TESTS_TRAIN_CHAIN_WORLD_H
#define FR_TESTS_TRAIN_CHAIN_WORLD_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "chain_reference.h"
#include "kern/repack.h"
#include "support/open_model.h"
#include "support/quick.h"

enum { D = 16, V = 24, SAMPLES = 3, ROWS = 14, TOP = REF_TOP, TAPS = 2 };
static const uint64_t seed = 77;

typedef struct world {
    fr_opened opened;
    fr_draft_vocab vocab;
    fr_shard_format format;
    fr_gemm *gemm;
    fr_batch batch;
    int32_t ids[SAMPLES][ROWS + 1], dist_id[SAMPLES][ROWS * TOP];
    uint8_t flags[SAMPLES][ROWS];
    uint16_t final[SAMPLES][ROWS * D], tap[SAMPLES][TAPS * ROWS * D], dist_lp[SAMPLES][ROWS * TOP];
} world;

static inline double random_number(uint64_t *at) {
    return fr_uniform(seed, (*at)++);
}

// Tokens are those that can be drafted, one in eight any.
static inline int32_t random_token(const world *w, uint64_t *at) {
    if (random_number(at) < 0.125)
        return (int32_t)(random_number(at) * w->opened.model.config.n_vocab);
    return w->vocab.ids[(int)(random_number(at) * V)];
}

static inline void make_sample(world *w, int n, uint64_t *at) {
    const int rows = ROWS - 3 * n;
    for (int i = 0; i <= rows; i++)
        w->ids[n][i] = random_token(w, at);
    for (int i = 0; i < rows * D; i++)
        w->final[n][i] = fr_f16_from_f32((float)(4 * random_number(at) - 2));
    uint64_t tap_at = 100000 * (uint64_t)(n + 1);
    for (int i = 0; i < TAPS * rows * D; i++)
        w->tap[n][i] = fr_f16_from_f32((float)(6 * random_number(&tap_at) - 3));
    for (int i = 0; i < rows; i++) {
        double left = 0.98;
        // A question, an answer with a gap, and what has no distribution.
        w->flags[n][i] = i >= 3 && i != 6 ? FR_ROW_ANSWER | FR_ROW_DISTRIBUTION : 0;
        if (n == 1 && i == 5) w->flags[n][i] = FR_ROW_ANSWER;
        for (int j = 0; j < TOP; j++) {
            const double p = left * (0.3 + 0.4 * random_number(at));
            left -= p;
            w->dist_lp[n][i * TOP + j] = fr_f16_from_f32((float)log(p));
            w->dist_id[n][i * TOP + j] = -1;
            int32_t id;
            bool again;
            do {
                id = random_token(w, at);
                again = false;
                for (int e = 0; e < j; e++)
                    again = again || w->dist_id[n][i * TOP + e] == id;
            } while (again);
            w->dist_id[n][i * TOP + j] = id;
        }
    }
    // Distributions begin where the answer does.
    const int first = n == 2 ? 2 : 0;
    w->batch.sample[n] = (fr_sample){.key = (uint64_t)n,
                                     .n = rows,
                                     .dist_first = first,
                                     .ids = w->ids[n],
                                     .flags = w->flags[n],
                                     .final = w->final[n],
                                     .tap = w->tap[n],
                                     .dist_id = w->dist_id[n] + first * TOP,
                                     .dist_lp = w->dist_lp[n] + first * TOP};
    w->batch.n = n + 1;
    w->batch.rows += rows;
}

// With products by so many threads.
static inline int make_world_of(void **state, int threads) {
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
    w->format =
        (fr_shard_format){.d = D, .n_vocab = n_vocab, .n_taps = TAPS, .taps = {0, 1}, .top = TOP};
    assert_int_equal(fr_gemm_open(&w->gemm, threads, FR_GEMM_F32, NULL), FR_OK);
    uint64_t at = 0;
    for (int n = 0; n < SAMPLES; n++)
        make_sample(w, n, &at);
    *state = w;
    return 0;
}

static inline int make_world(void **state) {
    return make_world_of(state, 1);
}

static inline int free_world(void **state) {
    world *w = *state;
    fr_opened_close(&w->opened);
    fr_free(w->vocab.ids), fr_free(w->vocab.index), fr_free(w->vocab.head);
    fr_gemm_close(w->gemm);
    fr_free(w);
    return 0;
}

static inline fr_learner_config config_of(world *w, int depth, const char *const *options) {
    return (fr_learner_config){.target = &w->opened.model,
                               .vocab = &w->vocab,
                               .format = &w->format,
                               .gemm = w->gemm,
                               .depth = depth,
                               .max_rows = SAMPLES * ROWS,
                               .seed = seed,
                               .options = options};
}

// Makes all parameters random: what begins as zero would hide an error behind it.
static inline void stir(fr_learner *l) {
    for (int i = 0; i < l->params.n; i++) {
        const fr_param *item = &l->params.item[i];
        float *w = fr_param_w(&l->params, i);
        for (int k = 0; k < item->rows * item->cols; k++) {
            const double u = 2 * fr_uniform(seed + (uint64_t)i, (uint64_t)k) - 1;
            w[k] = (float)(item->rows > 1 ? 1.2 * u / sqrt(item->cols) : 0.8 + 0.4 * u);
        }
    }
}

// Of every channel, over rows that are not a sample's first.
static inline void spread_of(const world *w, double *std) {
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

// Gradients against differences of an objective, every so many of each parameter's numbers; under
// FR_QUICK a quarter of them.
typedef double objective(const void *reference, const fr_batch *batch, const double *std);
static inline void compare(const fr_learner *l, objective *of, const void *r, double *values,
                           const fr_batch *batch, const double *std, int every) {
    if (fr_test_is_quick()) every *= 4;
    for (int i = 0; i < l->params.n; i++) {
        const fr_param *item = &l->params.item[i];
        const float *got = fr_param_grad(&l->params, i);
        const int n = item->rows * item->cols;
        double most = 0;
        for (int k = 0; k < n; k++)
            most = fmax(most, fabs((double)got[k]));
        if (!strcmp(item->name, "fc_taps.norm")) { // it is not learned
            assert_true(most == 0);
            continue;
        }
        assert_true(most > 0);
        for (int k = i % every; k < n; k += every) {
            const double h = 1e-5, was = values[item->at + (size_t)k];
            values[item->at + (size_t)k] = was + h;
            const double above = of(r, batch, std);
            values[item->at + (size_t)k] = was - h;
            const double below = of(r, batch, std);
            values[item->at + (size_t)k] = was;
            const double want = (above - below) / (2 * h);
            // Sums in float over some hundred terms.
            if (!(fabs((double)got[k] - want) <= 2e-4 * (fabs(want) + most) + 1e-6))
                fail_msg("seed %d: %s[%d]: %g, differences give %g", (int)seed, item->name, k,
                         (double)got[k], want);
        }
    }
}

// Adam without anything else.
static inline void descend(fr_learner *l, int step, double rate) {
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

// The least that a batch's cross entropy can be: the entropies of its distributions on the draft
// vocabulary.
static inline double least_loss(const world *w, int depth) {
    double sum = 0;
    for (int n = 0; n < w->batch.n; n++)
        for (int k = 1; k <= depth; k++)
            for (int i = 1; i + k < w->batch.sample[n].n; i++) {
                const fr_sample *s = &w->batch.sample[n];
                const int at = (i + k - s->dist_first) * TOP;
                if (!ref_counts(s, i + k) || w->vocab.index[s->dist_id[at]] < 0) continue;
                double mass = 0, entropy = 0;
                for (int j = 0; j < TOP; j++)
                    if (w->vocab.index[s->dist_id[at + j]] >= 0)
                        mass += exp((double)fr_f16_to_f32(s->dist_lp[at + j]));
                for (int j = 0; j < TOP; j++) {
                    if (w->vocab.index[s->dist_id[at + j]] < 0) continue;
                    const double p = exp((double)fr_f16_to_f32(s->dist_lp[at + j])) / mass;
                    entropy -= p * log(p);
                }
                sum += pow(0.8, k - 1) * entropy;
            }
    return sum;
}

#endif
