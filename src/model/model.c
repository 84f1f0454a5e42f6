// model.c — opens a model: its tensors are bound (bind.h), the matrices repacked, RoPE prepared.
#include "model/model.h"
#include "kern/dequant.h"
#include "kern/repack.h"
#include "model/bind.h"
#include "model/left_out.h"
#include <assert.h>
#include <limits.h>
#include <string.h>

enum { MAX_FACTORS = 1 << 11 }; // half the widest head

static void check_factors(fr_binder *b, const char *name, int n) {
    float factors[MAX_FACTORS];
    const fr_gguf_tensor *t = b->status ? NULL : fr_gguf_tensor_find(b->m->gguf, name);
    if (!t) return;
    fr_dequant_row(t->type, t->data, factors, n);
    for (int i = 0; i < n && !b->status; i++)
        if (!(factors[i] > 0))
            b->status = fr_fail(b->err, FR_EDATA, "%s: expected factors above 0, found %g at %d",
                                name, (double)factors[i], i);
}

// Llama 3 keeps one table of frequency factors; Phi-3 one for contexts up to the original one and
// one for longer.
static void bind_rope_factors(fr_binder *b) {
    const fr_config *c = &b->m->config;
    const bool two = c->rope_scaling == FR_ROPE_LONG;
    const char *name[2] = {two ? "rope_factors_short.weight" : "rope_freqs.weight",
                           "rope_factors_long.weight"};
    const bool needed[2] = {two, two && c->n_ctx_train > c->rope_ctx_orig};
    for (int t = 0; t < (two ? 2 : 1); t++) {
        b->rope_factors[t] = fr_bind_vector(b, name[t], c->n_rot / 2, needed[t]);
        if (!b->fill) check_factors(b, name[t], c->n_rot / 2);
    }
}

static void bind_all(fr_binder *b) {
    const fr_config *c = &b->m->config;
    for (int i = 0; i < c->n_layer && !b->status; i++)
        fr_bind_layer(b, i);
    b->m->output_norm = fr_bind_norm(b, "output_norm");
    if (b->block) return;
    fr_bind_matrix(b, &b->m->head, c->tied ? "token_embd.weight" : "output.weight", c->n_vocab,
                   c->d);
    b->m->head_bias = fr_bind_vector(b, "output.bias", c->n_vocab, false);
    bind_rope_factors(b);
}

// Refuses tensors without which the model would give other text: biases of a variant, a router, one
// more layer, a norm of the embeddings.
static fr_status check_all_bound(const fr_binder *b) {
    const fr_gguf *g = b->m->gguf;
    for (size_t i = 0; i < fr_gguf_n_tensors(g); i++) {
        const fr_gguf_tensor *t = fr_gguf_tensor_at(g, i);
        if (!b->bound[i] && !fr_model_leaves_out(g, t, &b->m->config))
            return fr_fail(b->err, FR_EUNSUP, "%s: a tensor that no %s of %d layers has", t->name,
                           b->m->config.arch_name, b->m->config.n_layer);
    }
    return FR_OK;
}

static fr_status bind_first(fr_binder *b) {
    fr_status st;
    if (!(b->bound = fr_alloc_array(fr_gguf_n_tensors(b->m->gguf), sizeof *b->bound)))
        return fr_fail(b->err, FR_ENOMEM, "model: no memory for %zu tensors",
                       fr_gguf_n_tensors(b->m->gguf));
    if (b->m->embed) b->bound[b->m->embed - fr_gguf_tensor_at(b->m->gguf, 0)] = true;
    bind_all(b);
    if ((st = b->status)) return st;
    return b->block ? FR_OK : check_all_bound(b);
}

static fr_status check_embedding(fr_model *m, fr_error *err) {
    m->embed = fr_gguf_tensor_find(m->gguf, "token_embd.weight");
    if (m->embed->ne[0] != m->config.d)
        return fr_fail(err, FR_EDATA, "token_embd.weight: expected [%d,%d], found [%lld,%lld]",
                       m->config.d, m->config.n_vocab, (long long)m->embed->ne[0],
                       (long long)m->embed->ne[1]);
    return FR_OK;
}

// Second run: memory for everything, then the bindings, then the bytes.
static fr_status bind_second(fr_binder *b, const fr_repack_report *report) {
    fr_model *m = b->m;
    fr_status st;
    if (!(m->layers = fr_alloc_array((size_t)m->config.n_layer, sizeof *m->layers)))
        return fr_fail(b->err, FR_ENOMEM, "model: cannot get memory for %d layers",
                       m->config.n_layer);
    if (!(b->matrices = fr_alloc_array((size_t)b->n_matrices, sizeof *b->matrices)))
        return fr_fail(b->err, FR_ENOMEM, "model: cannot get memory for %d matrices",
                       b->n_matrices);
    const size_t stride = FR_ARENA_ROUND(b->panel_bytes), threads = fr_pool_threads(m->pool);
    const bool in_place = b->weights == FR_WEIGHTS_IN_PLACE;
    if (in_place) b->bytes += stride * threads;
    b->bytes += b->packed_bytes;
    if ((st = fr_arena_open(&m->arena, b->bytes, "model weights", b->err))) return st;
    // The vectors come after all panels. Between the panels they would make the system clear nearly
    // all pages here, on one thread. So the threads that fill the panels share that work, and it
    // can be interrupted.
    b->panels = fr_arena_take(&m->arena, b->packed_bytes);
    b->fill = true;
    b->n_matrices = 0;
    bind_all(b);
    if (b->status) return b->status;
    if (in_place) {
        m->scratch = fr_arena_take(&m->arena, stride * threads);
        m->scratch_stride = stride;
        return FR_OK;
    }
    fr_repack_report from = *report;
    from.done = b->done;
    from.total = b->total;
    return fr_repack_run(m->gguf, m->pool, b->matrices, b->n_matrices, &from, b->err);
}

// The first run, which finds all errors of a file. After it only memory can fail.
static fr_status open_first(fr_binder *b, const fr_gguf *g) {
    fr_status st = fr_config_read(&b->m->config, g, b->err);
    if (!st) st = check_embedding(b->m, b->err);
    return st ? st : bind_first(b);
}

fr_status fr_model_check(fr_config *c, uint64_t *weights_bytes, const fr_gguf *g, fr_error *err) {
    fr_model m = {.gguf = g};
    fr_binder b = {.m = &m, .weights = FR_WEIGHTS_PACKED, .err = err};
    const fr_status st = open_first(&b, g);
    *c = m.config;
    if (weights_bytes) *weights_bytes = b.packed_bytes;
    fr_free(b.bound);
    return st;
}

fr_status fr_model_open(fr_model *m, const fr_gguf *g, const fr_kern *kern, fr_pool *pool,
                        fr_weights weights, fr_progress_fn *progress, void *user, fr_error *err) {
    *m = (fr_model){.gguf = g, .kern = kern, .pool = pool};
    fr_binder b = {.m = m, .weights = weights, .err = err};
    fr_status st = open_first(&b, g);
    if (st) goto done;
    if ((st = bind_second(&b, &(fr_repack_report){.progress = progress, .user = user}))) goto done;
    if ((st = fr_rope_open(&m->rope, &m->config, b.rope_factors[0], err))) goto done;
    if (b.rope_factors[1]) st = fr_rope_open(&m->rope_long, &m->config, b.rope_factors[1], err);
done:
    fr_free(b.bound);
    fr_free(b.matrices);
    if (st) fr_model_close(m);
    return st;
}

fr_status fr_model_open_block(fr_model *m, const fr_gguf *g, const fr_config *config,
                              const fr_matrix *head, const fr_kern *kern, fr_pool *pool,
                              fr_error *err) {
    *m = (fr_model){.config = *config, .gguf = g, .kern = kern, .pool = pool, .head = *head};
    fr_binder b = {.m = m, .weights = FR_WEIGHTS_PACKED, .block = true, .err = err};
    fr_status st = bind_first(&b);
    if (!st) st = bind_second(&b, &(fr_repack_report){0});
    if (!st) st = fr_rope_open(&m->rope, &m->config, NULL, err);
    m->weights_bytes += head->panel_bytes * (size_t)head->n_panels;
    m->row_bytes += head->panel_bytes * (size_t)head->n_panels;
    m->macs_per_row += (uint64_t)head->m * (uint64_t)head->k;
    fr_free(b.bound);
    fr_free(b.matrices);
    if (st) fr_model_close(m);
    return st;
}

void fr_model_close(fr_model *m) {
    fr_rope_close(&m->rope);
    fr_rope_close(&m->rope_long);
    fr_free(m->layers);
    fr_arena_close(&m->arena);
    *m = (fr_model){0};
}

int fr_model_stretch_at(const fr_model *m) {
    return m->rope_long.freq ? m->config.rope_ctx_orig : INT_MAX;
}

void fr_model_head_row(const fr_model *m, int32_t id, float *x) {
    fr_matrix_row(&m->head, id, x);
    if (m->config.logit_scale != 1) m->kern->scale(x, m->config.logit_scale, m->config.d);
}

void fr_model_norm(const fr_model *m, float *y, const float *x, fr_norm norm) {
    const fr_config *c = &m->config;
    if (c->plan[0].norm == FR_NORM_LAYER) {
        m->kern->layernorm(y, x, norm.w, norm.b, c->d, c->eps);
        return;
    }
    m->kern->rmsnorm(y, x, norm.w, c->d, c->eps);
    if (norm.b) m->kern->add(y, norm.b, c->d);
}

void fr_model_embed(const fr_model *m, int32_t id, float *x) {
    const fr_config *c = &m->config;
    assert(id >= 0 && id < c->n_vocab);
    if (c->tied && m->head.panels) {
        fr_unpack_row(&m->head, id, x);
    } else {
        const uint8_t *row =
            (const uint8_t *)m->embed->data + (size_t)fr_qtype_row_bytes(m->embed->type, c->d) * id;
        fr_dequant_row(m->embed->type, row, x, c->d);
    }
    if (c->embed_scale != 1)
        for (int i = 0; i < c->d; i++)
            x[i] *= c->embed_scale;
}
