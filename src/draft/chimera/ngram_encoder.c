// ngram_encoder.c — takes the encoder's matrices and the memory of states. States that are kept are
// copied; the others are computed together (embeddings, hidden layer, output) and kept.
#include "draft/chimera/ngram_encoder.h"
#include "gguf/hash.h"
#include <assert.h>
#include <string.h>

static const float EPS = (float)FR_PACK_EPS;

static const fr_chimera_pack *own_of(const fr_ngram_encoder *g) {
    return fr_chimera_pack_of(g->pack);
}

// ---------------------------------------------------------------- open
static fr_status take_matrix(fr_ngram_encoder *g, fr_pack_weights *w, const char *name,
                             const fr_matrix **to, fr_error *err) {
    const fr_status st = fr_pack_weights_matrix(w, name, to, err);
    g->bytes += fr_matrix_bytes(*to);
    return st;
}

static fr_status take_weights(fr_ngram_encoder *g, fr_pack_weights *w, fr_error *err) {
    fr_status st = take_matrix(g, w, "ngram.hidden.weight", &g->hidden, err);
    if (!st) st = take_matrix(g, w, "ngram.out.weight", &g->out, err);
    if (!st && fr_chimera_pack_of(&w->pack)->encoder == FR_ENCODER_WIDE)
        st = take_matrix(g, w, "ngram.skip.weight", &g->skip, err);
    return st ? st : fr_pack_weights_values(w, "ngram.hidden.bias", &g->bias, err);
}

static fr_status open_buffers(fr_ngram_encoder *g, fr_error *err) {
    const fr_pack *p = g->pack;
    const size_t rows = FR_NGRAM_ENCODER_ROWS * sizeof(float);
    g->t_stride = fr_linear_stride(own_of(g)->ngram * p->d);
    g->h_stride = fr_linear_stride(own_of(g)->hidden);
    g->stride = fr_linear_stride(p->d);
    const size_t hidden = FR_ARENA_ROUND((size_t)own_of(g)->hidden * sizeof(float));
    const size_t t = FR_ARENA_ROUND((size_t)g->t_stride * rows);
    const size_t h = FR_ARENA_ROUND((size_t)g->h_stride * rows);
    const size_t y = FR_ARENA_ROUND((size_t)g->stride * rows);
    const fr_status st = fr_arena_open(&g->arena, hidden + t + h + 2 * y, "encoder", err);
    if (st) return st;
    g->ones = fr_arena_take(&g->arena, hidden);
    g->t = fr_arena_take(&g->arena, t);
    g->h = fr_arena_take(&g->arena, h);
    g->y = fr_arena_take(&g->arena, y);
    g->g = fr_arena_take(&g->arena, y);
    for (int i = 0; i < own_of(g)->hidden; i++)
        g->ones[i] = 1;
    return FR_OK;
}

// All that a state is computed from: the target by its fingerprint, the encoder by its tensors.
static void identify(const fr_ngram_encoder *g, uint8_t identity[FR_NGRAM_IDENTITY]) {
    static const char *const tensors[] = {"ngram.hidden.weight", "ngram.hidden.bias",
                                          "ngram.out.weight", "ngram.skip.weight"};
    const fr_pack *p = g->pack;
    const int form[] = {own_of(g)->ngram, own_of(g)->hidden, (int)own_of(g)->encoder, p->d};
    for (int part = 0; part < FR_NGRAM_IDENTITY / 8; part++) {
        fr_hash h;
        fr_hash_open(&h, (uint64_t)part);
        fr_hash_add(&h, p->target, sizeof p->target);
        fr_hash_add(&h, form, sizeof form);
        for (int i = 0; i < 4; i++) {
            const fr_gguf_tensor *t = fr_pack_tensor(p, tensors[i]);
            if (t) fr_hash_add(&h, t->data, t->bytes);
        }
        const uint64_t value = fr_hash_value(&h);
        memcpy(identity + 8 * part, &value, 8);
    }
}

static fr_status open_memory(fr_ngram_encoder *g, const fr_ngram_encoder_options *options,
                             fr_error *err) {
    const size_t limit = (size_t)1 << 30;
    fr_ngram_memory_options o = {.capacity = options->cache,
                                 .store = {.folder = options->store,
                                           .kind = {.n = own_of(g)->ngram, .d = g->pack->d},
                                           .limit = limit}};
    if (!options->cache) return FR_OK;
    if (o.store.folder) identify(g, o.store.kind.identity);
    g->remembers = true;
    return fr_ngram_memory_open(&g->memory, &o, err);
}

fr_status fr_ngram_encoder_open(fr_ngram_encoder *g, fr_pack_weights *w,
                                const fr_ngram_encoder_options *options, fr_error *err) {
    const fr_pack *pack = &w->pack;
    const fr_model *target = w->target;
    *g = (fr_ngram_encoder){.pack = pack, .target = target};
    const int t = own_of(g)->ngram * pack->d;
    fr_status st = take_weights(g, w, err);
    if (!st) st = open_buffers(g, err);
    if (!st)
        st = fr_linear_open(&g->linear, target->kern, target->pool, FR_NGRAM_ENCODER_ROWS,
                            t > own_of(g)->hidden ? t : own_of(g)->hidden, err);
    if (!st) st = open_memory(g, options, err);
    if (st) fr_ngram_encoder_close(g);
    return st;
}

void fr_ngram_encoder_close(fr_ngram_encoder *g) {
    fr_ngram_memory_close(&g->memory);
    fr_linear_close(&g->linear);
    fr_arena_close(&g->arena);
    *g = (fr_ngram_encoder){0};
}

// ---------------------------------------------------------------- run
static void put_tokens(fr_ngram_encoder *g, int row, const fr_ngram *gram) {
    const int d = g->pack->d, n = own_of(g)->ngram;
    const float by = 1 / (float)n;
    float *t = g->t + (size_t)row * (size_t)g->t_stride;
    int there = 0;
    while (there < n && gram->id[there] >= 0)
        there++;
    for (int i = there - 1; i >= 0; i--, t += d) { // the newest first
        fr_model_embed(g->target, gram->id[i], t);
        g->target->kern->rmsnorm(t, t, NULL, d, EPS);
        for (int k = 0; k < d; k++)
            t[k] *= by;
    }
    memset(t, 0, sizeof *t * (size_t)(n - there) * (size_t)d);
}

// h of the rows, from W_1 t.
static void finish_hidden(fr_ngram_encoder *g, int n) {
    const fr_kern *kern = g->target->kern;
    const int hidden = own_of(g)->hidden;
    for (int i = 0; i < n; i++) {
        float *h = g->h + (size_t)i * (size_t)g->h_stride;
        kern->add(h, g->bias, hidden);
        kern->silu_mul(h, h, g->ones, hidden);
        if (own_of(g)->encoder == FR_ENCODER_RESIDUAL)
            kern->add(h, g->t + (size_t)i * (size_t)g->t_stride, hidden);
    }
}

// Computes the states of the n rows whose tokens were put, into g.
static void encode(fr_ngram_encoder *g, int n) {
    const int d = g->pack->d;
    const bool wide = own_of(g)->encoder == FR_ENCODER_WIDE;
    const fr_linear_product first[] = {{g->hidden, g->t, g->t_stride, g->h, g->h_stride},
                                       {g->skip, g->t, g->t_stride, g->y, g->stride}};
    fr_linear_run(&g->linear, first, wide ? 2 : 1, n);
    finish_hidden(g, n);
    const fr_linear_product second = {g->out, g->h, g->h_stride, g->g, g->stride};
    fr_linear_run(&g->linear, &second, 1, n);
    for (int i = 0; i < n && wide; i++)
        g->target->kern->add(g->g + (size_t)i * (size_t)g->stride,
                             g->y + (size_t)i * (size_t)g->stride, d);
}

void fr_ngram_encoder_states(fr_ngram_encoder *g, const fr_ngram *gram, int n, float *x, int ldx) {
    const size_t bytes = sizeof *x * (size_t)g->pack->d;
    int missing[FR_NGRAM_ENCODER_ROWS], n_missing = 0;
    assert(n >= 1 && n <= FR_NGRAM_ENCODER_ROWS);
    for (int i = 0; i < n; i++) {
        const float *known = g->remembers ? fr_ngram_memory_get(&g->memory, &gram[i]) : NULL;
        if (known)
            memcpy(x + (size_t)i * (size_t)ldx, known, bytes);
        else
            missing[n_missing++] = i;
    }
    if (!n_missing) return;
    for (int i = 0; i < n_missing; i++)
        put_tokens(g, i, &gram[missing[i]]);
    encode(g, n_missing);
    for (int i = 0; i < n_missing; i++) {
        const float *state = g->g + (size_t)i * (size_t)g->stride;
        memcpy(x + (size_t)missing[i] * (size_t)ldx, state, bytes);
        if (g->remembers) fr_ngram_memory_put(&g->memory, &gram[missing[i]], state);
    }
}
