// config.c — reads the architecture's name, then its sizes, RoPE, what the family adds, and the
// vocabulary. Each number is checked where it is read, and in the end against the others.
#include "model/config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    fr_arch arch;
} ARCHITECTURES[] = {
    {"llama", FR_ARCH_LLAMA},   {"qwen2", FR_ARCH_QWEN2}, {"qwen3", FR_ARCH_QWEN3},
    {"gemma3", FR_ARCH_GEMMA3}, {"phi3", FR_ARCH_PHI3},
};

// Reads keys "ARCH.suffix"; remembers the first failure, so that a list of reads is checked once at
// its end.
typedef struct config_reader {
    const fr_gguf *g;
    const char *arch;
    fr_status status;
    fr_error *err;
    char key[96];
} config_reader;

static const char *key_of(config_reader *r, const char *suffix) {
    snprintf(r->key, sizeof r->key, "%s.%s", r->arch, suffix);
    return r->key;
}

static void read_int(config_reader *r, const char *suffix, bool required, int low, int high,
                     int *value) {
    if (r->status) return;
    uint32_t v = (uint32_t)*value;
    const char *key = key_of(r, suffix);
    r->status =
        required ? fr_gguf_get_u32(r->g, key, &v, r->err) : fr_gguf_opt_u32(r->g, key, &v, r->err);
    if (r->status) return;
    if (v < (uint32_t)low || v > (uint32_t)high)
        r->status = fr_fail(r->err, FR_EDATA, "%s: expected %d..%d, found %u", key, low, high, v);
    else
        *value = (int)v;
}

static void read_float(config_reader *r, const char *suffix, bool required, float low, float high,
                       float *value) {
    if (r->status) return;
    float v = *value;
    const char *key = key_of(r, suffix);
    r->status =
        required ? fr_gguf_get_f32(r->g, key, &v, r->err) : fr_gguf_opt_f32(r->g, key, &v, r->err);
    if (r->status) return;
    if (!(v >= low && v <= high))
        r->status = fr_fail(r->err, FR_EDATA, "%s: expected %g..%g, found %g", key, low, high, v);
    else
        *value = v;
}

static fr_status read_name(fr_config *c, const fr_gguf *g, fr_error *err) {
    fr_gguf_str arch, name = {"", 0};
    fr_status st = fr_gguf_get_str(g, "general.architecture", &arch, err);
    if (st) return st;
    if ((st = fr_gguf_opt_str(g, "general.name", &name, err))) return st;
    snprintf(c->arch_name, sizeof c->arch_name, "%.*s", (int)(arch.bytes < 31 ? arch.bytes : 31),
             arch.data);
    snprintf(c->name, sizeof c->name, "%.*s", (int)(name.bytes < 127 ? name.bytes : 127),
             name.data);
    for (size_t i = 0; i < sizeof ARCHITECTURES / sizeof *ARCHITECTURES; i++)
        if (fr_gguf_str_is(arch, ARCHITECTURES[i].name)) {
            c->arch = ARCHITECTURES[i].arch;
            return FR_OK;
        }
    return fr_fail(err, FR_EUNSUP,
                   "general.architecture: expected llama, qwen2, qwen3, gemma3 or phi3, found '%s'",
                   c->arch_name);
}

static void read_rope(config_reader *r, fr_config *c) {
    c->rope_base = 10000;
    // The logarithms of base and original context are divided by: neither may be 1.
    read_float(r, "rope.freq_base", false, 2, 1e12f, &c->rope_base);
    c->rope_base_local = c->arch == FR_ARCH_GEMMA3 ? 10000 : c->rope_base;
    read_float(r, "rope.freq_base_swa", false, 2, 1e12f, &c->rope_base_local);
    c->n_rot = c->head_dim;
    read_int(r, "rope.dimension_count", false, 2, 1 << 14, &c->n_rot);
    c->rope_factor = 1;
    c->yarn_beta_fast = 32;
    c->yarn_beta_slow = 1;
    c->rope_ctx_orig = c->n_ctx_train;
    read_float(r, "rope.scale_linear", false, 1e-3f, 1e6f, &c->rope_factor);
    read_float(r, "rope.scaling.factor", false, 1e-3f, 1e6f, &c->rope_factor);
    read_float(r, "rope.scaling.attn_factor", false, 0, 1e3f, &c->rope_attn_factor);
    read_float(r, "rope.scaling.yarn_beta_fast", false, 1e-3f, 1e6f, &c->yarn_beta_fast);
    read_float(r, "rope.scaling.yarn_beta_slow", false, 1e-3f, 1e6f, &c->yarn_beta_slow);
    read_int(r, "rope.scaling.original_context_length", false, 2, FR_MAX_CTX, &c->rope_ctx_orig);
    if (r->status) return;

    fr_gguf_str type = {"", 0};
    const char *key = key_of(r, "rope.scaling.type");
    if ((r->status = fr_gguf_opt_str(r->g, key, &type, r->err))) return;
    if (fr_gguf_str_is(type, "yarn"))
        c->rope_scaling = FR_ROPE_YARN;
    else if (fr_gguf_str_is(type, "longrope") || fr_gguf_str_is(type, "su"))
        c->rope_scaling = FR_ROPE_LONG;
    else if (fr_gguf_str_is(type, "none"))
        c->rope_factor = 1;
    else if (type.bytes == 0 || fr_gguf_str_is(type, "linear"))
        c->rope_scaling = c->rope_factor != 1 ? FR_ROPE_LINEAR : FR_ROPE_NONE;
    else
        r->status =
            fr_fail(r->err, FR_EUNSUP, "%s: expected none, linear, yarn or longrope, found '%.*s'",
                    key, (int)(type.bytes < 40 ? type.bytes : 40), type.data);
    if (c->arch == FR_ARCH_PHI3 && fr_gguf_tensor_find(r->g, "rope_factors_long.weight"))
        c->rope_scaling = FR_ROPE_LONG;
}

static void read_family(config_reader *r, fr_config *c) {
    c->embed_scale = 1;
    c->attn_scale = (float)(1 / sqrt((double)c->head_dim));
    c->neox = c->arch != FR_ARCH_LLAMA;
    if (c->arch == FR_ARCH_GEMMA3) {
        c->gelu = true;
        c->embed_scale = (float)sqrt((double)c->d);
        c->global_every = 6;
        // The 27B model alone scales by the width of a head as if the heads split the residual
        // stream.
        if (c->n_layer == 62) c->attn_scale = (float)(1 / sqrt((double)c->d / c->n_head));
        read_int(r, "attention.sliding_window_pattern", false, 0, FR_MAX_LAYERS, &c->global_every);
    }
    if (c->arch != FR_ARCH_QWEN2 && c->arch != FR_ARCH_QWEN3)
        read_int(r, "attention.sliding_window", c->arch == FR_ARCH_GEMMA3, 0, FR_MAX_CTX,
                 &c->window);
    if (c->window >= c->n_ctx_train && c->arch != FR_ARCH_GEMMA3) c->window = 0;
}

// Refuses scalings that related families have and this engine lacks: a file that asks for one would
// run and give nonsense. Those of YaRN change its ramp and its magnitude (apply_yarn in rope.c).
static void refuse_scalings(config_reader *r) {
    static const struct {
        const char *suffix;
        float none, unset;
    } scalings[] = {
        {"logit_scale", 1, 1},
        {"embedding_scale", 1, 1},
        {"residual_scale", 1, 1},
        {"attention.scale", 0, 0},
        {"attention.clamp_kqv", 0, 0},
        {"attention.max_alibi_bias", 0, 0},
        {"attn_logit_softcapping", 0, 0},
        {"final_logit_softcapping", 0, 0},
        {"rope.scaling.yarn_ext_factor", 1, -1}, // llama.cpp saves -1 where a file said nothing
        {"rope.scaling.yarn_attn_factor", 1, 1},
        {"rope.scaling.yarn_log_multiplier", 0, 0},
    };
    for (size_t i = 0; i < sizeof scalings / sizeof *scalings && !r->status; i++) {
        float v = scalings[i].none;
        const char *key = key_of(r, scalings[i].suffix);
        r->status = fr_gguf_opt_f32(r->g, key, &v, r->err);
        if (!r->status && v != scalings[i].none && v != scalings[i].unset)
            r->status = fr_fail(r->err, FR_EUNSUP, "%s: expected none, found %g: cannot be run",
                                key, (double)v);
    }
}

static fr_status read_vocab(fr_config *c, const fr_gguf *g, fr_error *err) {
    const fr_gguf_tensor *embed = fr_gguf_tensor_find(g, "token_embd.weight");
    if (!embed) return fr_fail(err, FR_EDATA, "token_embd.weight: expected a tensor, found none");
    if (embed->n_dims != 2 || embed->ne[1] > 1 << 22)
        return fr_fail(
            err, FR_EDATA,
            "token_embd.weight: expected [%d, at most 4194304], found %d dimensions, [%lld,%lld]",
            c->d, embed->n_dims, (long long)embed->ne[0], (long long)embed->ne[1]);
    c->n_vocab = (int)embed->ne[1];
    c->tied = !fr_gguf_tensor_find(g, "output.weight");
    return FR_OK;
}

fr_status fr_config_check_context(const fr_config *c, int n_ctx, fr_error *err) {
    if (n_ctx >= 1 && n_ctx <= c->n_ctx_train) return FR_OK;
    return fr_fail(err, FR_EARG, "ctx-size: expected 1 to %d, the model's context, found %d",
                   c->n_ctx_train, n_ctx);
}

// What the file says; *value_length: values of a head that are summed up.
static fr_status read_sizes(fr_config *c, int *value_length, const fr_gguf *g, fr_error *err) {
    config_reader r = {.g = g, .arch = c->arch_name, .err = err};
    read_int(&r, "block_count", true, 1, FR_MAX_LAYERS, &c->n_layer);
    read_int(&r, "embedding_length", true, 1, 1 << 17, &c->d);
    read_int(&r, "feed_forward_length", true, 1, 1 << 20, &c->d_ff);
    read_int(&r, "attention.head_count", true, 1, 1 << 12, &c->n_head);
    c->n_kv = c->n_head;
    read_int(&r, "attention.head_count_kv", false, 1, 1 << 12, &c->n_kv);
    read_int(&r, "context_length", true, 2, FR_MAX_CTX, &c->n_ctx_train);
    read_float(&r, "attention.layer_norm_rms_epsilon", true, 0, 1, &c->eps);
    if (r.status) return r.status;
    c->head_dim = c->d / c->n_head;
    read_int(&r, "attention.key_length", false, 2, 1 << 14, &c->head_dim);
    *value_length = c->head_dim;
    read_int(&r, "attention.value_length", false, 2, 1 << 14, value_length);
    read_rope(&r, c);
    read_family(&r, c);
    refuse_scalings(&r);
    int n_expert = 0;
    read_int(&r, "expert_count", false, 0, 1 << 16, &n_expert);
    if (r.status || !n_expert) return r.status;
    return fr_fail(err, FR_EUNSUP,
                   "%s.expert_count: expected none, found %d: mixtures of experts cannot be run",
                   c->arch_name, n_expert);
}

static fr_status check_heads(const fr_config *c, int value_length, fr_error *err) {
    if (c->n_head % c->n_kv)
        return fr_fail(err, FR_EDATA,
                       "%s.attention.head_count: expected a multiple of head_count_kv %d, found %d",
                       c->arch_name, c->n_kv, c->n_head);
    if (value_length != c->head_dim)
        return fr_fail(err, FR_EUNSUP,
                       "%s.attention.value_length: expected key_length %d, found %d", c->arch_name,
                       c->head_dim, value_length);
    if (c->head_dim < 2 || c->head_dim > 1 << 12 || (int64_t)c->head_dim * c->n_head > 1 << 20)
        return fr_fail(err, FR_EDATA,
                       "%s: %d heads of %d values: expected at most 1048576 in all, 2 to 4096 each",
                       c->arch_name, c->n_head, c->head_dim);
    if (c->n_rot > c->head_dim || c->n_rot % 2)
        return fr_fail(err, FR_EDATA,
                       "%s.rope.dimension_count: expected an even number up to %d, found %d",
                       c->arch_name, c->head_dim, c->n_rot);
    return FR_OK;
}

fr_status fr_config_read(fr_config *c, const fr_gguf *g, fr_error *err) {
    int value_length;
    *c = (fr_config){0};
    fr_status st = read_name(c, g, err);
    if (!st) st = read_sizes(c, &value_length, g, err);
    if (!st) st = check_heads(c, value_length, err);
    return st ? st : read_vocab(c, g, err);
}
