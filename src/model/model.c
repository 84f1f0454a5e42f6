// model.c — binds the tensors of a file twice: the first run checks shapes and adds up memory, the
// second fills it. Then the matrices are repacked and RoPE is prepared.
#include "model/model.h"
#include "kern/dequant.h"
#include "kern/repack.h"
#include "model/left_out.h"
#include "model/repack.h"
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

typedef struct fr_binder {
    fr_model *m;
    fr_weights weights;
    bool block; // layers and the norm after them alone; the head is the caller's
    bool fill;
    size_t bytes;         // first run: what the arena must hold
    size_t packed_bytes;  // first run: ... of it all panels, which lie together
    size_t panel_bytes;   // first run: of the largest panel
    uint64_t done, total; // source bytes
    fr_repack *matrices;  // second run
    uint8_t *panels;      // second run: where the next matrix' lie
    int n_matrices;
    bool *bound;                  // by number of the tensor in the file
    const float *rope_factors[2]; // for all contexts or short ones; for long ones; NULL: none
    fr_status status;
    fr_error *err;
} fr_binder;

static const fr_gguf_tensor *find(fr_binder *b, const char *name, bool required) {
    const fr_gguf_tensor *t = fr_gguf_tensor_find(b->m->gguf, name);
    if (!t && required)
        b->status = fr_fail(b->err, FR_EDATA, "%s: expected a tensor, found none", name);
    if (t) b->bound[t - fr_gguf_tensor_at(b->m->gguf, 0)] = true;
    return t;
}

// A vector of n floats (norms, biases, RoPE factors), any type in the file, f32 here.
static const float *bind_vector(fr_binder *b, const char *name, int n, bool required) {
    if (b->status) return NULL;
    const fr_gguf_tensor *t = find(b, name, required);
    if (!t) return NULL;
    if (t->n_dims != 1 || t->ne[0] != n) {
        b->status = fr_fail(b->err, FR_EDATA, "%s: expected [%d], found %d dimensions, [%lld,%lld]",
                            name, n, t->n_dims, (long long)t->ne[0], (long long)t->ne[1]);
        return NULL;
    }
    if (!b->fill) {
        b->bytes += FR_ARENA_ROUND((size_t)n * sizeof(float));
        b->total += t->bytes;
        return NULL;
    }
    b->done += t->bytes;
    float *v = fr_arena_take(&b->m->arena, (size_t)n * sizeof(float));
    fr_dequant_row(t->type, t->data, v, n);
    return v;
}

// Room for a matrix whose rows begin `begin` bytes into its tensor, or where it lies in the file.
static void place_matrix(fr_binder *b, fr_matrix *w, const fr_matrix *bound,
                         const fr_gguf_tensor *t, size_t begin) {
    const size_t bytes = bound->panel_bytes * (size_t)bound->n_panels;
    if (!b->fill) {
        if (b->weights == FR_WEIGHTS_PACKED) b->packed_bytes += FR_ARENA_ROUND(bytes);
        if (bound->panel_bytes > b->panel_bytes) b->panel_bytes = bound->panel_bytes;
        b->total += (uint64_t)fr_qtype_row_bytes(bound->type, bound->k) * (uint64_t)bound->m;
        b->n_matrices++;
        return;
    }
    *w = *bound;
    b->m->macs_per_row += (uint64_t)w->m * (uint64_t)w->k;
    b->m->weights_bytes += bytes;
    if (b->weights == FR_WEIGHTS_IN_PLACE) {
        w->rows = (const uint8_t *)t->data + begin;
        return;
    }
    w->panels = b->panels;
    b->matrices[b->n_matrices++] = (fr_repack){t, begin, w, b->panels};
    b->panels += FR_ARENA_ROUND(bytes);
}

// Rows [first, first+m) of a matrix tensor with k inputs and rows_total outputs (a fused tensor
// holds several).
static void bind_rows(fr_binder *b, fr_matrix *w, const char *name, int first, int m,
                      int rows_total, int k) {
    if (b->status) return;
    const fr_gguf_tensor *t = find(b, name, true);
    if (!t) return;
    if (t->n_dims != 2 || t->ne[0] != k || t->ne[1] != rows_total) {
        b->status =
            fr_fail(b->err, FR_EDATA, "%s: expected [%d,%d], found %d dimensions, [%lld,%lld]",
                    name, k, rows_total, t->n_dims, (long long)t->ne[0], (long long)t->ne[1]);
        return;
    }
    const fr_matrix bound = {.type = t->type,
                             .m = m,
                             .k = k,
                             .n_panels = (m + FR_PANEL - 1) / FR_PANEL,
                             .panel_bytes = fr_repack_panel_bytes(t->type, k)};
    place_matrix(b, w, &bound, t, (size_t)fr_qtype_row_bytes(t->type, k) * (size_t)first);
}

static void bind_matrix(fr_binder *b, fr_matrix *w, const char *name, int m, int k) {
    bind_rows(b, w, name, 0, m, m, k);
}

enum { BLOCK_NAME = 64 };

// "blk.I.SUFFIX", in `name`.
static const char *block_name(char name[BLOCK_NAME], int i, const char *suffix) {
    snprintf(name, BLOCK_NAME, "blk.%d.%s", i, suffix);
    return name;
}

// "blk.I.SUFFIX" in `name`, n values.
static const float *bind_block_vector(fr_binder *b, int i, const char *suffix, int n,
                                      bool required) {
    char name[BLOCK_NAME];
    return bind_vector(b, block_name(name, i, suffix), n, required);
}

static bool is_biased(const fr_config *c) {
    return c->family && c->family->is_biased;
}

// STEM.weight, and STEM.bias where the family has one.
static fr_norm bind_norm(fr_binder *b, const char *stem) {
    char name[BLOCK_NAME + 8];
    fr_norm norm = {0};
    snprintf(name, sizeof name, "%s.weight", stem);
    norm.w = bind_vector(b, name, b->m->config.d, true);
    snprintf(name, sizeof name, "%s.bias", stem);
    if (is_biased(&b->m->config)) norm.b = bind_vector(b, name, b->m->config.d, true);
    return norm;
}

static fr_norm bind_block_norm(fr_binder *b, int i, const char *suffix) {
    char stem[BLOCK_NAME];
    return bind_norm(b, block_name(stem, i, suffix));
}

// Fused like the matrices, or one each: some files of fused matrices have biases of their own.
static void bind_query_biases(fr_binder *b, fr_layer *l, int i) {
    const fr_config *c = &b->m->config;
    const int nq = c->n_head * c->head_dim, nkv = c->n_kv * c->head_dim;
    const bool required = is_biased(c);
    char name[BLOCK_NAME];
    if (!fr_gguf_tensor_find(b->m->gguf, block_name(name, i, "attn_qkv.bias"))) {
        l->q_bias = bind_block_vector(b, i, "attn_q.bias", nq, required);
        l->k_bias = bind_block_vector(b, i, "attn_k.bias", nkv, required);
        l->v_bias = bind_block_vector(b, i, "attn_v.bias", nkv, required);
        return;
    }
    const float *all = bind_vector(b, name, nq + 2 * nkv, true);
    l->q_bias = all;
    l->k_bias = all ? all + nq : NULL;
    l->v_bias = all ? all + nq + nkv : NULL;
}

static void bind_queries(fr_binder *b, fr_layer *l, int i) {
    const fr_config *c = &b->m->config;
    const int nq = c->n_head * c->head_dim, nkv = c->n_kv * c->head_dim, all = nq + 2 * nkv;
    char name[BLOCK_NAME];
    if (fr_gguf_tensor_find(b->m->gguf, block_name(name, i, "attn_qkv.weight"))) {
        bind_rows(b, &l->q, name, 0, nq, all, c->d);
        bind_rows(b, &l->k, name, nq, nkv, all, c->d);
        bind_rows(b, &l->v, name, nq + nkv, nkv, all, c->d);
    } else {
        bind_matrix(b, &l->q, block_name(name, i, "attn_q.weight"), nq, c->d);
        bind_matrix(b, &l->k, block_name(name, i, "attn_k.weight"), nkv, c->d);
        bind_matrix(b, &l->v, block_name(name, i, "attn_v.weight"), nkv, c->d);
    }
    bind_query_biases(b, l, i);
}

static void bind_attention(fr_binder *b, fr_layer *l, int i) {
    const fr_config *c = &b->m->config;
    const int nq = c->n_head * c->head_dim, nkv = c->n_kv * c->head_dim;
    const fr_qk_norm norm = c->plan[i].qk_norm;
    char name[BLOCK_NAME];
    bind_queries(b, l, i);
    bind_matrix(b, &l->o, block_name(name, i, "attn_output.weight"), c->d, nq);
    l->o_bias = bind_block_vector(b, i, "attn_output.bias", c->d, is_biased(c));
    if (norm == FR_QK_PLAIN) return;
    const bool whole = norm == FR_QK_WHOLE;
    l->q_norm = bind_block_vector(b, i, "attn_q_norm.weight", whole ? nq : c->head_dim, true);
    l->k_norm = bind_block_vector(b, i, "attn_k_norm.weight", whole ? nkv : c->head_dim, true);
}

// Gate and up stacked in one tensor.
static void bind_stacked(fr_binder *b, fr_layer *l, int i) {
    const fr_config *c = &b->m->config;
    char name[BLOCK_NAME];
    block_name(name, i, "ffn_up.weight");
    bind_rows(b, &l->gate, name, 0, c->d_ff, 2 * c->d_ff, c->d);
    bind_rows(b, &l->up, name, c->d_ff, c->d_ff, 2 * c->d_ff, c->d);
    const float *both = bind_block_vector(b, i, "ffn_up.bias", 2 * c->d_ff, is_biased(c));
    l->gate_bias = both;
    l->up_bias = both ? both + c->d_ff : NULL;
}

static void bind_feed_forward(fr_binder *b, fr_layer *l, int i) {
    const fr_config *c = &b->m->config;
    const bool plain = c->plan[i].feed == FR_FEED_PLAIN;
    char name[BLOCK_NAME];
    const bool gated = fr_gguf_tensor_find(b->m->gguf, block_name(name, i, "ffn_gate.weight"));
    if (!plain && gated) {
        bind_matrix(b, &l->gate, name, c->d_ff, c->d);
        l->gate_bias = bind_block_vector(b, i, "ffn_gate.bias", c->d_ff, is_biased(c));
    }
    if (plain || gated) {
        bind_matrix(b, &l->up, block_name(name, i, "ffn_up.weight"), c->d_ff, c->d);
        l->up_bias = bind_block_vector(b, i, "ffn_up.bias", c->d_ff, is_biased(c));
    } else {
        bind_stacked(b, l, i);
    }
    bind_matrix(b, &l->down, block_name(name, i, "ffn_down.weight"), c->d, c->d_ff);
    l->down_bias = bind_block_vector(b, i, "ffn_down.bias", c->d, is_biased(c));
}

static void bind_layer(fr_binder *b, int i) {
    const fr_config *c = &b->m->config;
    const fr_norm_place place = c->plan[i].place;
    const char *ffn_norm = c->family && c->family->ffn_norm ? c->family->ffn_norm : "ffn_norm";
    fr_layer unused, *l = b->fill ? &b->m->layers[i] : &unused;
    *l = (fr_layer){0};
    if (place != FR_NORM_AFTER) l->attn_norm = bind_block_norm(b, i, "attn_norm");
    bind_attention(b, l, i);
    if (place == FR_NORM_AFTER || place == FR_NORM_AROUND) {
        l->post_attn_norm = bind_block_norm(b, i, "post_attention_norm");
        l->post_ffn_norm = bind_block_norm(b, i, "post_ffw_norm");
    }
    if (place == FR_NORM_SHARED) l->ffn_norm = l->attn_norm;
    if (place == FR_NORM_BEFORE || place == FR_NORM_AROUND)
        l->ffn_norm = bind_block_norm(b, i, ffn_norm);
    bind_feed_forward(b, l, i);
}

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
        b->rope_factors[t] = bind_vector(b, name[t], c->n_rot / 2, needed[t]);
        if (!b->fill) check_factors(b, name[t], c->n_rot / 2);
    }
}

static void bind_all(fr_binder *b) {
    const fr_config *c = &b->m->config;
    for (int i = 0; i < c->n_layer && !b->status; i++)
        bind_layer(b, i);
    b->m->output_norm = bind_norm(b, "output_norm");
    if (b->block) return;
    bind_matrix(b, &b->m->head, c->tied ? "token_embd.weight" : "output.weight", c->n_vocab, c->d);
    b->m->head_bias = bind_vector(b, "output.bias", c->n_vocab, false);
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

fr_status fr_model_check(fr_config *c, const fr_gguf *g, fr_error *err) {
    fr_model m = {.gguf = g};
    fr_binder b = {.m = &m, .weights = FR_WEIGHTS_PACKED, .err = err};
    const fr_status st = open_first(&b, g);
    *c = m.config;
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
