#include "support/tiny_model.h"
#include "base/alloc.h"
#include "model/plan.h"
#include "support/quantize.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// How the files of families with experts differ. Layers before `lead` are dense.
typedef struct tiny_experts {
    const char *arch;
    int n, used, lead, groups, groups_used;
    int every; // one layer of so many has experts; 0: each
    bool shared, shared_gate, choice_bias, biases;
    float scale; // 0: no key
} tiny_experts;

static const tiny_experts of_experts[] = {
    {.arch = "llama", .used = 2},
    {.arch = "qwen3moe", .n = 6, .used = 3},
    {.arch = "qwen2moe", .n = 6, .used = 2, .shared = true, .shared_gate = true},
    {.arch = "olmoe", .n = 7, .used = 2},
    {.arch = "granitemoe", .n = 6, .used = 2, .shared = true},
    {.arch = "ernie4_5-moe", .n = 6, .used = 2, .lead = 1, .shared = true, .choice_bias = true},
    {.arch = "bailingmoe2",
     .n = 8,
     .used = 2,
     .lead = 1,
     .groups = 4,
     .groups_used = 2,
     .shared = true,
     .choice_bias = true,
     .scale = 1.5f},
    {.arch = "glm4moe",
     .n = 6,
     .used = 2,
     .lead = 1,
     .shared = true,
     .choice_bias = true,
     .scale = 1.5f},
    {.arch = "gpt-oss", .n = 6, .used = 2, .biases = true},
    {.arch = "llama4", .n = 6, .used = 1, .every = 2, .shared = true},
    {.arch = "phimoe", .n = 5, .used = 2},
};

typedef struct maker {
    fr_gguf_writer *w;
    fr_tiny_options o; // defaults filled in
    const fr_family *family;
    tiny_experts experts; // n 0: none
    uint64_t state;
    int n_vocab;
    int loud_every; // of the rows of the tensor that is being made; 0: all are loud
} maker;

// splitmix64: the next of a fixed sequence of uniform 64-bit numbers.
static uint64_t next_bits(maker *m) {
    uint64_t z = m->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

// Mean 0, variance 1: four uniform numbers added, no libm, so the same everywhere.
static float next_normal(maker *m) {
    double sum = -2;
    for (int i = 0; i < 4; i++)
        sum += (double)(next_bits(m) >> 11) * 0x1p-53;
    return (float)(sum * 1.7320508075688772);
}

// k values a row; a tensor of three dimensions has so many rows in each of `slices`.
static void add_slices(maker *m, const char *name, fr_type type, int n_dims, int64_t k,
                       int64_t rows_each, int64_t slices, float mean, float spread) {
    const int64_t rows = rows_each * slices, n = k * rows, ne[3] = {k, rows_each, slices};
    float *x = fr_alloc_array((size_t)n, sizeof *x);
    void *data = fr_alloc_zero((size_t)(fr_qtype_row_bytes(type, k) * rows));
    if (!x || !data) abort(); // a test's own memory
    for (int64_t i = 0; i < n; i++)
        x[i] = mean + spread * next_normal(m);
    for (int64_t i = 0; m->loud_every && i < n; i++)
        if (i / k % m->loud_every) x[i] *= 0.1f;
    fr_test_quantize(type, x, data, n);
    fr_gguf_writer_tensor_copy(m->w, name, type, n_dims, ne, data);
    fr_free(data);
    fr_free(x);
}

static void add_tensor(maker *m, const char *name, fr_type type, int n_dims, int64_t k,
                       int64_t rows, float mean, float spread) {
    add_slices(m, name, type, n_dims, k, rows, 1, mean, spread);
}

// Rows of variance 1 / k: unit inputs give unit outputs.
static void add_matrix(maker *m, const char *name, int64_t k, int64_t rows, float gain) {
    add_tensor(m, name, m->o.type, 2, k, rows, 0, gain / (float)sqrt((double)k));
}

// Whether a sublayer adds nothing. Sublayers beyond the bits of the mask are not left out.
static bool is_left_out(const fr_tiny_options *o, int sublayer) {
    return sublayer < 32 && o->identity >> sublayer & 1;
}

static void add_stack(maker *m, const char *name, int64_t k, int64_t rows, float gain) {
    add_slices(m, name, m->o.type, 3, k, rows, m->experts.n, 0, gain / (float)sqrt((double)k));
}

static void add_norm(maker *m, const char *name, int64_t n) {
    add_tensor(m, name, FR_TYPE_F32, 1, n, 1, 1, 0.1f);
}

static void add_bias_of(maker *m, const char *name, int64_t n, float spread) {
    add_tensor(m, name, FR_TYPE_F32, 1, n, 1, 0, spread);
}

static void add_bias(maker *m, const char *name, int64_t n) {
    add_bias_of(m, name, n, 0.2f);
}

static bool is(const maker *m, const char *arch) {
    return strcmp(m->o.arch, arch) == 0;
}

// Whether products of layers have biases.
static bool is_biased(const maker *m) {
    return m->family->is_biased || m->o.biases;
}

static bool has_post_norms(const fr_family *f) {
    return f->place == FR_NORM_AFTER || f->place == FR_NORM_AROUND;
}

// A sublayer's norm; families with biases have one here too.
static void add_layer_norm(maker *m, int layer, const char *stem) {
    char name[64];
    snprintf(name, sizeof name, "blk.%d.%s.weight", layer, stem);
    add_norm(m, name, m->o.d);
    snprintf(name, sizeof name, "blk.%d.%s.bias", layer, stem);
    if (m->family->is_biased) add_bias(m, name, m->o.d);
}

#define NAME(suffix) (snprintf(name, sizeof name, "blk.%d." suffix, layer), name)
static void add_attention(maker *m, int layer) {
    const fr_tiny_options *o = &m->o;
    const fr_family *f = m->family;
    const int nq = o->n_head * o->head_dim, nkv = o->n_kv * o->head_dim;
    const bool whole = f->qk_norm == FR_QK_WHOLE, left_out = is_left_out(o, 2 * layer);
    char name[64];
    if (f->place != FR_NORM_AFTER) add_layer_norm(m, layer, "attn_norm");
    if (is(m, "phi3")) {
        add_matrix(m, NAME("attn_qkv.weight"), o->d, nq + 2 * nkv, 1.5f);
        if (is_biased(m)) add_bias(m, NAME("attn_qkv.bias"), nq + 2 * nkv);
    } else {
        add_matrix(m, NAME("attn_q.weight"), o->d, nq, 1.5f);
        add_matrix(m, NAME("attn_k.weight"), o->d, nkv, 1.5f);
        add_matrix(m, NAME("attn_v.weight"), o->d, nkv, 1.5f);
    }
    if (!is(m, "phi3") && (is(m, "qwen2") || is_biased(m))) {
        add_bias(m, NAME("attn_q.bias"), nq);
        add_bias(m, NAME("attn_k.bias"), nkv);
        add_bias(m, NAME("attn_v.bias"), nkv);
    }
    if (f->has_sinks) add_bias_of(m, NAME("attn_sinks.weight"), o->n_head, 1);
    if (f->qk_norm != FR_QK_PLAIN && f->qk_norm != FR_QK_UNIT) {
        add_norm(m, NAME("attn_q_norm.weight"), whole ? nq : o->head_dim);
        add_norm(m, NAME("attn_k_norm.weight"), whole ? nkv : o->head_dim);
    }
    add_matrix(m, NAME("attn_output.weight"), nq, o->d, left_out ? 0 : 1.5f);
    if (is_biased(m)) add_bias_of(m, NAME("attn_output.bias"), o->d, left_out ? 0 : 0.2f);
    if (has_post_norms(f)) add_layer_norm(m, layer, "post_attention_norm");
}

static void add_experts(maker *m, int layer, bool left_out) {
    const fr_tiny_options *o = &m->o;
    const tiny_experts *e = &m->experts;
    const int ff = o->d_ff / 2;
    const float gain = left_out ? 0 : 1.5f;
    char name[64];
    if (o->quantized_router)
        add_matrix(m, NAME("ffn_gate_inp.weight"), o->d, e->n, 2);
    else
        add_tensor(m, NAME("ffn_gate_inp.weight"), FR_TYPE_F32, 2, o->d, e->n, 0,
                   2 / (float)sqrt((double)o->d));
    if (e->choice_bias) add_bias(m, NAME("exp_probs_b.bias"), e->n);
    add_stack(m, NAME("ffn_gate_exps.weight"), o->d, ff, 1.5f);
    add_stack(m, NAME("ffn_up_exps.weight"), o->d, ff, 1.5f);
    add_stack(m, NAME("ffn_down_exps.weight"), ff, o->d, gain);
    if (e->biases) {
        add_bias(m, NAME("ffn_gate_inp.bias"), e->n);
        add_tensor(m, NAME("ffn_gate_exps.bias"), FR_TYPE_F32, 2, ff, e->n, 0, 0.2f);
        add_tensor(m, NAME("ffn_up_exps.bias"), FR_TYPE_F32, 2, ff, e->n, 0, 0.2f);
        add_tensor(m, NAME("ffn_down_exps.bias"), FR_TYPE_F32, 2, o->d, e->n, 0,
                   left_out ? 0 : 0.2f);
    }
    if (!e->shared) return;
    add_matrix(m, NAME("ffn_gate_shexp.weight"), o->d, o->d_ff, 1.5f);
    add_matrix(m, NAME("ffn_up_shexp.weight"), o->d, o->d_ff, 1.5f);
    add_matrix(m, NAME("ffn_down_shexp.weight"), o->d_ff, o->d, gain);
    if (e->shared_gate)
        add_tensor(m, NAME("ffn_gate_inp_shexp.weight"), FR_TYPE_F32, 1, o->d, 1, 0, 0.1f);
}

static bool has_experts(const maker *m, int layer) {
    const tiny_experts *e = &m->experts;
    return e->n && layer >= e->lead && (!e->every || (layer + 1) % e->every == 0);
}

static void add_ffn(maker *m, int layer) {
    const fr_tiny_options *o = &m->o;
    const fr_family *f = m->family;
    const bool stacked = is(m, "phi3") || is(m, "glm4");
    const bool gated = !stacked && f->feed != FR_FEED_PLAIN;
    const bool left_out = is_left_out(o, 2 * layer + 1);
    char name[64];
    if (f->place == FR_NORM_BEFORE || f->place == FR_NORM_AROUND)
        add_layer_norm(m, layer, f->ffn_norm ? f->ffn_norm : "ffn_norm");
    if (has_experts(m, layer)) {
        add_experts(m, layer, left_out);
        return;
    }
    if (stacked) {
        add_matrix(m, NAME("ffn_up.weight"), o->d, 2 * o->d_ff, 1.5f);
    } else {
        if (gated) add_matrix(m, NAME("ffn_gate.weight"), o->d, o->d_ff, 1.5f);
        add_matrix(m, NAME("ffn_up.weight"), o->d, o->d_ff, 1.5f);
    }
    add_matrix(m, NAME("ffn_down.weight"), o->d_ff, o->d, left_out ? 0 : 1.5f);
    if (is_biased(m) && gated) add_bias(m, NAME("ffn_gate.bias"), o->d_ff);
    if (is_biased(m)) add_bias(m, NAME("ffn_up.bias"), stacked ? 2 * o->d_ff : o->d_ff);
    if (is_biased(m)) add_bias_of(m, NAME("ffn_down.bias"), o->d, left_out ? 0 : 0.2f);
    if (has_post_norms(f)) add_layer_norm(m, layer, "post_ffw_norm");
}
#undef NAME

static void add_u32(maker *m, const char *suffix, int value) {
    char key[96];
    snprintf(key, sizeof key, "%s.%s", m->o.arch, suffix);
    fr_gguf_writer_u32(m->w, key, (uint32_t)value);
}

static void add_f32(maker *m, const char *suffix, float value) {
    char key[96];
    snprintf(key, sizeof key, "%s.%s", m->o.arch, suffix);
    fr_gguf_writer_f32(m->w, key, value);
}

// Scales and caps that a family reads: values that show, and keep activations near 1.
static void add_scales(maker *m) {
    static const struct {
        unsigned bit;
        const char *suffix;
        float value;
    } scales[] = {
        {FR_READS_EMBEDDING_SCALE, "embedding_scale", 2},
        {FR_READS_RESIDUAL_SCALE, "residual_scale", 0.6f},
        {FR_READS_LOGIT_SCALE, "logit_scale", 0.75f},
        {FR_READS_LOGIT_DIVISOR, "logit_scale", 1.5f},
        {FR_READS_ATTENTION_CAP, "attn_logit_softcapping", 2},
        {FR_READS_FINAL_CAP, "final_logit_softcapping", 8},
        {FR_READS_TEMPERATURE, "attention.temperature_scale", 0.3f},
        {FR_READS_YARN_MULTIPLIER, "rope.scaling.yarn_log_multiplier", 0.5f},
    };
    if (is(m, "gemma3")) return; // its files name none
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        if (m->family->reads & scales[i].bit) add_f32(m, scales[i].suffix, scales[i].value);
    if (m->family->reads & FR_READS_ATTENTION_SCALE)
        add_f32(m, "attention.scale", 1.5f / sqrtf((float)m->o.head_dim));
    if (m->family->norm == FR_NORM_LAYER) add_f32(m, "attention.layer_norm_epsilon", 1e-5f);
    if (m->family->reads & FR_READS_YARN_MULTIPLIER || is(m, "olmo2")) {
        char key[96];
        snprintf(key, sizeof key, "%s.rope.scaling.type", m->o.arch);
        fr_gguf_writer_str(m->w, key, "yarn");
        add_f32(m, "rope.scaling.factor", 8);
        add_u32(m, "rope.scaling.original_context_length", 8);
    }
}

static void add_expert_keys(maker *m) {
    const tiny_experts *e = &m->experts;
    if (!e->n) return;
    add_u32(m, "expert_count", e->n);
    add_u32(m, "expert_used_count", e->used);
    add_u32(m, "expert_feed_forward_length", m->o.d_ff / 2);
    if (e->lead) add_u32(m, "leading_dense_block_count", e->lead);
    if (e->every) add_u32(m, "interleave_moe_layer_step", e->every);
    if (e->groups) add_u32(m, "expert_group_count", e->groups);
    if (e->groups) add_u32(m, "expert_group_used_count", e->groups_used);
    if (e->scale > 0) add_f32(m, "expert_weights_scale", e->scale);
}

static void add_config(maker *m) {
    const fr_tiny_options *o = &m->o;
    fr_gguf_writer_str(m->w, "general.architecture", o->arch);
    fr_gguf_writer_str(m->w, "general.name", "tiny");
    add_u32(m, "block_count", o->n_layer);
    add_u32(m, "embedding_length", o->d);
    add_u32(m, "feed_forward_length", o->d_ff);
    add_u32(m, "attention.head_count", o->n_head);
    add_u32(m, "attention.head_count_kv", o->n_kv);
    add_u32(m, "attention.key_length", o->head_dim);
    add_u32(m, "attention.value_length", o->head_dim);
    add_u32(m, "rope.dimension_count", o->head_dim);
    add_u32(m, "context_length", o->n_ctx);
    add_f32(m, "attention.layer_norm_rms_epsilon", 1e-5f);
    add_f32(m, "rope.freq_base", o->rope_base > 0 ? o->rope_base : 10000);
    if (o->window) add_u32(m, "attention.sliding_window", o->window);
    if (m->family->windows == FR_WINDOW_SOME && o->window)
        add_u32(m, "attention.sliding_window_pattern", o->global_every);
    add_expert_keys(m);
    add_scales(m);
    if (is(m, "phi3") || o->n_ctx_short)
        add_u32(m, "rope.scaling.original_context_length",
                o->n_ctx_short ? o->n_ctx_short : o->n_ctx);
    if (is(m, "minicpm") && o->n_ctx_short)
        fr_gguf_writer_str(m->w, "minicpm.rope.scaling.type", "longrope");
}

// Short factors near 1, long ones from 1 to 5 as the frequency falls.
static void add_rope_factors(maker *m) {
    const int64_t half = m->o.head_dim / 2;
    float *x = fr_alloc_array((size_t)half, 2 * sizeof *x), *stretched = x + half;
    if (!x) abort();
    for (int i = 0; i < half; i++) {
        x[i] = 1 + 0.1f * (float)i / (float)half;
        stretched[i] = 1 + 4 * (float)i / (float)half;
    }
    fr_gguf_writer_tensor_copy(m->w, "rope_factors_short.weight", FR_TYPE_F32, 1, &half, x);
    fr_gguf_writer_tensor_copy(m->w, "rope_factors_long.weight", FR_TYPE_F32, 1, &half, stretched);
    fr_free(x);
}

static void or_default(int *value, int otherwise) {
    if (!*value) *value = otherwise;
}

static fr_tiny_options with_defaults(const fr_tiny_options *given) {
    fr_tiny_options o = *given;
    if (!o.arch) o.arch = "llama";
    const fr_qtype *type = fr_qtype_of(o.type);
    assert(type);
    or_default(&o.d, type->block == 256 ? 256 : 64);
    or_default(&o.d_ff, 2 * o.d);
    or_default(&o.n_layer, 3);
    or_default(&o.n_head, 4);
    or_default(&o.n_kv, 2);
    or_default(&o.head_dim, o.d / o.n_head);
    or_default(&o.n_ctx, 512);
    const fr_family *family = fr_family_find(o.arch, strlen(o.arch));
    assert(family);
    if (family->windows == FR_WINDOW_SOME) or_default(&o.window, 24);
    or_default(&o.global_every, 2);
    return o;
}

static tiny_experts experts_of(const fr_tiny_options *o) {
    tiny_experts e = {0};
    for (size_t i = 0; i < sizeof of_experts / sizeof *of_experts; i++)
        if (!strcmp(of_experts[i].arch, o->arch)) e = of_experts[i];
    if (o->n_expert) e.n = o->n_expert;
    if (o->n_used) e.used = o->n_used;
    return e;
}

void fr_tiny_add(fr_gguf_writer *w, const fr_tiny_options *given) {
    maker m = {.w = w, .o = with_defaults(given), .state = given->seed};
    const fr_tiny_options *o = &m.o;
    m.family = fr_family_find(o->arch, strlen(o->arch));
    m.experts = experts_of(o);
    add_config(&m);
    m.n_vocab = fr_tiny_add_vocab(w, o) + o->n_padding;
    add_matrix(&m, "token_embd.weight", o->d, m.n_vocab, 3);
    for (int i = 0; i < o->n_layer; i++) {
        add_attention(&m, i);
        add_ffn(&m, i);
    }
    add_norm(&m, "output_norm.weight", o->d);
    if (m.family->is_biased) add_bias(&m, "output_norm.bias", o->d);
    if (o->n_ctx_short) add_rope_factors(&m);
    m.loud_every = o->loud_every;
    if (o->untied) add_matrix(&m, "output.weight", o->d, m.n_vocab, 3);
    m.loud_every = 0;
    if (o->biases || is(&m, "phimoe")) add_bias_of(&m, "output.bias", m.n_vocab, 1);
}

fr_status fr_tiny_write(const fr_tiny_options *o, const char *path, fr_error *err) {
    fr_gguf_writer *w;
    fr_status st = fr_gguf_writer_open(&w, err);
    if (st) return st;
    fr_tiny_add(w, o);
    st = fr_gguf_writer_finish(w, path, err);
    fr_gguf_writer_close(w);
    return st;
}

fr_status fr_tiny_memory(const fr_tiny_options *o, void **data, size_t *bytes, fr_error *err) {
    fr_gguf_writer *w;
    fr_status st = fr_gguf_writer_open(&w, err);
    if (st) return st;
    fr_tiny_add(w, o);
    st = fr_gguf_writer_finish_memory(w, data, bytes, err);
    fr_gguf_writer_close(w);
    return st;
}

fr_status fr_tiny_write_broken(const fr_tiny_options *o, const char *path, const char *tensor,
                               size_t at, float value, fr_error *err) {
    void *data;
    size_t bytes;
    fr_gguf *g;
    fr_status st = fr_tiny_memory(o, &data, &bytes, err);
    if (st) return st;
    st = fr_gguf_open_memory(&g, data, bytes, path, err);
    const fr_gguf_tensor *t = st ? NULL : fr_gguf_tensor_find(g, tensor);
    if (!st && (!t || t->type != FR_TYPE_F32 || at >= t->bytes / sizeof value))
        st = fr_fail(err, FR_EARG, "%s: %s: expected a tensor of f32 that has number %zu", path,
                     tensor, at);
    if (!st)
        memcpy((uint8_t *)data + ((const uint8_t *)t->data - (uint8_t *)data) + at * sizeof value,
               &value, sizeof value);
    fr_gguf_close(g);
    FILE *f = st ? NULL : fopen(path, "wb");
    if (!st && (!f || fwrite(data, 1, bytes, f) != bytes))
        st = fr_fail(err, FR_EIO, "%s: cannot be written", path);
    if (f) fclose(f);
    fr_free(data);
    return st;
}
