// chimera_start.c — options of Chimera's learner, and the values that it begins with.
#include "draft/chimera/train/learn_chimera.h"
#include "draft/eagle/train/learn_eagle.h"
#include "train/learner/setting.h"
#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- options
static bool is_word(const char *option, const char *key, const char *value) {
    const size_t n = strlen(key);
    return !strncmp(option, key, n) && option[n] == '=' && !strcmp(option + n + 1, value);
}

static bool read_word(fr_chimera_options *o, const char *option) {
    for (int form = 0; form < FR_PACK_ENCODERS; form++)
        if (is_word(option, "encoder", fr_pack_encoder_name((fr_pack_encoder)form))) {
            o->form = (fr_pack_encoder)form;
            return true;
        }
    if (is_word(option, "variant", "shared") || is_word(option, "variant", "own-heads")) {
        o->own_heads = is_word(option, "variant", "own-heads");
        return true;
    }
    if (!is_word(option, "init", "fit") && !is_word(option, "init", "random")) return false;
    o->fit = is_word(option, "init", "fit");
    return true;
}

static fr_status read_option(fr_chimera_options *o, const char *option, fr_error *err) {
    if (read_word(o, option) || fr_setting_int(option, "ngram", 1, FR_PACK_NGRAM, &o->ngram) ||
        fr_setting_int(option, "depth", 1, FR_DEPTHS, &o->depth) ||
        fr_setting_float(option, "feature", 0, 100, &o->feature) ||
        fr_setting_switch(option, "residual", &o->residual))
        return FR_OK;
    if (fr_setting_int(option, "hidden", 32, 1 << 16, &o->hidden) && o->hidden % 32 == 0)
        return FR_OK;
    if (fr_setting_int(option, "ffn", 32, 1 << 16, &o->ffn) && o->ffn % 32 == 0) return FR_OK;
    return fr_fail(err, FR_EARG,
                   "--set %.64s: chimera knows ngram=1 to %d, encoder=wide, residual or layers, "
                   "hidden=WIDTH and ffn=WIDTH (multiples of 32), residual=0 or 1, variant=shared "
                   "or own-heads, init=fit or random, feature=0 to 100, depth=1 to %d",
                   option, FR_PACK_NGRAM, FR_DEPTHS);
}

fr_status fr_chimera_read_options(fr_chimera_options *o, const fr_learner_config *config,
                                  fr_error *err) {
    *o = (fr_chimera_options){.ngram = 3,
                              .hidden = 512,
                              .depth = config->depth ? config->depth : 4,
                              .feature = 0.1f,
                              .residual = true,
                              .fit = true};
    for (const char *const *option = config->options; option && *option; option++) {
        const fr_status st = read_option(o, *option, err);
        if (st) return st;
    }
    if (o->depth < 1 || o->depth > FR_DEPTHS)
        return fr_fail(err, FR_EARG, "depth %d: expected 1 to %d", o->depth, FR_DEPTHS);
    return FR_OK;
}

// ---------------------------------------------------------------- first values without data
static float size_of(const float *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return (float)sqrt(sum / (double)n);
}

// Heads that pass the block's output on.
static void start_heads(fr_chimera_learner *m) {
    fr_params *p = &m->learner.params;
    const size_t d = (size_t)m->chain.shape.d;
    const size_t head = (size_t)m->learner.vocab->n * d * sizeof(float);
    const float size = size_of(m->learner.target->output_norm.w, d);
    for (int k = 0; k < m->options.depth; k++) {
        float *chain = fr_param_w(p, m->head[k].chain);
        if (m->options.own_heads) {
            memcpy(chain, m->learner.vocab->head, head);
            continue;
        }
        for (size_t i = 0; i < d; i++) {
            chain[i * d + i] = 1;
            fr_param_w(p, m->head[k].norm)[i] = size;
        }
    }
}

void fr_chimera_start(fr_chimera_learner *m, uint64_t seed) {
    fr_train_encoder_start(&m->ngram, seed);
    start_heads(m);
}

void fr_chimera_read_ngrams(fr_chimera_learner *m, const fr_batch *batch) {
    if (m->source && m->source->read) {
        m->source->read(m);
        return;
    }
    for (int s = 0, first = 0; s < batch->n; first += batch->sample[s++].n) {
        const fr_sample *sample = &batch->sample[s];
#pragma omp parallel for schedule(static)
        for (int i = 0; i < sample->n; i++)
            fr_train_encoder_read(&m->ngram, m->learner.target, sample->ids, i + 1, first + i);
    }
}

// ---------------------------------------------------------------- first values from data
// The linear map from an n-gram and the state before its last token to the state of that token,
// over the gain of the block's last norm: its two parts become the encoder's map and what the heads
// make of the bases' states.
static int fit_inputs(const fr_chimera_learner *m) {
    return m->chain.shape.d * (m->options.ngram + (m->options.residual ? 1 : 0));
}

static void set_inputs(const void *user, const fr_unrolled *c, int row, float *x) {
    const fr_chimera_learner *m = user;
    const size_t d = (size_t)c->shape.d, t = d * (size_t)m->options.ngram;
    memcpy(x, m->ngram.t + (size_t)row * t, t * sizeof *x);
    if (m->options.residual) memcpy(x + t, c->state + (size_t)row * d, d * sizeof *x);
}

fr_status fr_chimera_fit_add(fr_chimera_learner *m, const fr_batch *batch, fr_error *err) {
    const fr_learner *l = &m->learner;
    const fr_unrolled *c = &m->chain;
    fr_status st = FR_OK;
    if (!m->fit.block)
        st = fr_linear_fit_open(&m->fit, fit_inputs(m), c->shape.d, fr_gemm_threads(l->gemm), err);
    if (st) return st;
    fr_unrolled_batch_set(&m->batch, batch, 1, 0);
    fr_chimera_read_ngrams(m, batch);
    fr_unrolled_fit_rows(&m->fit, c, set_inputs, m);
    return FR_OK;
}

// How large the encoder's states are, of the first rows that still stand there.
static float fitted_size(const fr_chimera_learner *m) {
    enum { ROWS = 32 };
    const size_t t = (size_t)m->chain.shape.d * (size_t)m->options.ngram, k = (size_t)m->fit.k;
    double squares = 0;
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < (size_t)m->fit.m; i++) {
            double y = 0;
            for (size_t j = 0; j < t; j++)
                y += (double)m->fit.w[i * k + j] * (double)m->fit.x[row * k + j];
            squares += y * y;
        }
    return (float)sqrt(squares / ROWS / m->fit.m);
}

// The block norms what the encoder gives, so what stands beside it grows as much; the further ahead
// a head guesses, the less it takes of the base. Heads of a pack stay as they are.
static void fit_heads(fr_chimera_learner *m) {
    const size_t d = (size_t)m->chain.shape.d, t = d * (size_t)m->options.ngram;
    const float *gain = fr_param_w(m->chain.params, m->chain.at.out_norm);
    float by = 1 / fitted_size(m);
    for (int k = 0; k < m->options.depth; k++, by /= 2)
        for (size_t i = 0; i < d && !m->learner.params.item[m->head[k].state].given; i++)
            for (size_t j = 0; j < d; j++)
                fr_param_w(&m->learner.params, m->head[k].state)[i * d + j] =
                    by * gain[i] * m->fit.w[i * (size_t)m->fit.k + t + j];
}

void fr_chimera_fit_end(fr_chimera_learner *m) {
    enum { STEPS = 60 };
    const float ridge = 1e-3f;
    if (!fr_linear_fit_solve(&m->fit, ridge, STEPS, m->learner.watch)) return;
    fr_fit_take_columns(&m->fit, &m->learner.params, fr_train_encoder_linear(&m->ngram), 0);
    if (m->options.residual && !m->options.own_heads) fit_heads(m);
    fr_unrolled_quieten(&m->chain);
    fr_linear_fit_close(&m->fit);
}

size_t fr_chimera_fit_bytes(const fr_chimera_learner *m) {
    return m->learner.fit_rows ? fr_linear_fit_bytes(fit_inputs(m), m->chain.shape.d) : 0;
}

uint64_t fr_chimera_fit_rest(const fr_learner *l) {
    const fr_chimera_learner *m = (const fr_chimera_learner *)(const void *)l;
    const int map = fr_train_encoder_linear(&m->ngram);
    return map >= 0 && !l->params.item[map].given ? l->fit_rows : 0;
}

// Enough for each of the map's inputs, within minutes.
uint64_t fr_chimera_fit_rows(const fr_chimera_learner *m) {
    const int wanted = fit_inputs(m) * 48, most = 150000;
    if (!m->options.fit || fr_train_encoder_linear(&m->ngram) < 0) return 0;
    return (uint64_t)(wanted < most ? wanted : most);
}
