// config.c — reads the architecture's name, then its sizes, RoPE, what the family adds, and the
// vocabulary. Each number is checked where it is read, and in the end against the others.
#include "model/config_reader.h"
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

// Which layers see everything. An array says of each layer whether it has a window. A number n says
// that every n-th has none, and 0 that all have one.
static void read_pattern(fr_config_reader *r, fr_config *c) {
    int every = c->arch == FR_ARCH_GEMMA3 ? 6 : 0;
    if (r->status) return;
    const char *key = fr_config_key(r, "attention.sliding_window_pattern");
    const fr_gguf_kv *kv = fr_gguf_find(r->g, key);
    if (!kv || kv->type != FR_GGUF_ARRAY) {
        fr_config_int(r, (fr_config_name){"attention.sliding_window_pattern", NULL, false}, 0,
                      INT32_MAX, &every);
        for (int i = 0; i < c->n_layer && every; i++)
            c->sees_all[i] = (i + 1) % every == 0;
        return;
    }
    const bool bools = kv->item == FR_GGUF_BOOL;
    const fr_gguf_class items = bools ? FR_GGUF_BOOLS : FR_GGUF_INTS;
    if ((r->status = fr_gguf_get_array(r->g, key, items, &kv, r->err))) return;
    if (kv->count != (uint64_t)r->n_blocks) {
        r->status = fr_fail(r->err, FR_EDATA, "%s: expected %d values, one a layer, found %llu",
                            key, r->n_blocks, (unsigned long long)kv->count);
        return;
    }
    for (int i = 0; i < c->n_layer; i++)
        c->sees_all[i] =
            bools ? !fr_gguf_item_bool(kv, (uint64_t)i) : !fr_gguf_item_i64(kv, (uint64_t)i);
}

static void read_window(fr_config_reader *r, fr_config *c) {
    fr_config_int(r, (fr_config_name){"attention.sliding_window", NULL, false}, 0, FR_MAX_CTX,
                  &c->window);
    read_pattern(r, c);
    if (r->status) return;
    if (c->window >= c->n_ctx_train && c->arch != FR_ARCH_GEMMA3) c->window = 0;
    if (c->window && (c->arch == FR_ARCH_QWEN2 || c->arch == FR_ARCH_QWEN3))
        r->status = fr_fail(r->err, FR_EUNSUP,
                            "%s.attention.sliding_window: expected none, found %d: cannot be run",
                            r->arch, c->window);
    else if (c->window && c->arch != FR_ARCH_GEMMA3 && c->rope_base_local != c->rope_base)
        r->status = fr_fail(r->err, FR_EUNSUP,
                            "%s.rope.freq_base_swa: expected %g as in all layers, found %g: cannot "
                            "be run",
                            r->arch, (double)c->rope_base, (double)c->rope_base_local);
}

// The names that other programs give to the two activations.
static void check_activation(fr_config_reader *r, const fr_config *c) {
    static const char *const names[2][4] = {{"silu", "swish", "swiglu", ""},
                                            {"gelu_pytorch_tanh", "gelu", "geglu", "gelu_new"}};
    static const char *const suffixes[] = {"hidden_activation", "hidden_act"};
    for (int s = 0; s < 2; s++) {
        fr_gguf_str found = {"", 0};
        if (r->status) return;
        const char *key = fr_config_key(r, suffixes[s]);
        if ((r->status = fr_gguf_opt_str(r->g, key, &found, r->err))) return;
        bool known = !found.bytes;
        for (int i = 0; i < 4; i++)
            known |= fr_gguf_str_is(found, names[c->gelu][i]);
        if (!known)
            r->status =
                fr_fail(r->err, FR_EUNSUP, "%s: expected %s, found '%.*s': cannot be run", key,
                        names[c->gelu][0], (int)(found.bytes < 40 ? found.bytes : 40), found.data);
    }
}

static void read_family(fr_config_reader *r, fr_config *c) {
    if (r->status) return;
    c->embed_scale = 1;
    c->attn_scale = (float)(1 / sqrt((double)c->head_dim));
    c->neox = c->arch != FR_ARCH_LLAMA;
    if (c->arch == FR_ARCH_GEMMA3) {
        c->gelu = true;
        c->embed_scale = (float)sqrt((double)c->d);
        // The 27B model alone scales by the width of a head as if the heads split the residual
        // stream.
        if (c->n_layer == 62) c->attn_scale = (float)(1 / sqrt((double)c->d / c->n_head));
    }
    read_window(r, c);
    check_activation(r, c);
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

static void read_layers(fr_config_reader *r, fr_config *c) {
    int ahead = 0;
    fr_config_int(r, (fr_config_name){"block_count", NULL, true}, 1, FR_MAX_LAYERS, &r->n_blocks);
    // The last blocks guess tokens further ahead. They are no layers of the model's own pass.
    fr_config_int(r, (fr_config_name){"nextn_predict_layers", NULL, false}, 0,
                  r->n_blocks ? r->n_blocks - 1 : 0, &ahead);
    c->n_layer = r->n_blocks - ahead;
}

// What the file says; *value_length: values of a head that are summed up.
static void read_sizes(fr_config_reader *r, fr_config *c, int *value_length) {
    read_layers(r, c);
    fr_config_int(r, (fr_config_name){"embedding_length", NULL, true}, 1, 1 << 17, &c->d);
    fr_config_layers_int(r, (fr_config_name){"feed_forward_length", NULL, true}, 1, 1 << 20,
                         &c->d_ff);
    fr_config_layers_int(r, (fr_config_name){"attention.head_count", NULL, true}, 1, 1 << 12,
                         &c->n_head);
    c->n_kv = c->n_head;
    fr_config_layers_int(r, (fr_config_name){"attention.head_count_kv", NULL, false}, 1, 1 << 12,
                         &c->n_kv);
    fr_config_int(r, (fr_config_name){"context_length", NULL, true}, 2, FR_MAX_CTX,
                  &c->n_ctx_train);
    // Gemma 3's is the same in all sizes, and Ollama's files leave it out.
    c->eps = 1e-6f;
    const bool needed = c->arch != FR_ARCH_GEMMA3;
    fr_config_float(r, (fr_config_name){"attention.layer_norm_rms_epsilon", NULL, needed}, 0, 1,
                    &c->eps);
    if (r->status) return;
    c->head_dim = c->d / c->n_head;
    fr_config_int(r, (fr_config_name){"attention.key_length", "attention.head_dim", false}, 2,
                  1 << 14, &c->head_dim);
    *value_length = c->head_dim;
    fr_config_int(r, (fr_config_name){"attention.value_length", NULL, false}, 2, 1 << 14,
                  value_length);
}

static fr_status read_keys(fr_config *c, int *value_length, const fr_gguf *g, fr_error *err) {
    fr_config_reader r = {.g = g, .arch = c->arch_name, .err = err};
    int n_expert = 0;
    read_sizes(&r, c, value_length);
    fr_config_rope(&r, c);
    read_family(&r, c);
    fr_config_int(&r, (fr_config_name){"expert_count", NULL, false}, 0, 1 << 16, &n_expert);
    if (!r.status && n_expert)
        return fr_fail(
            err, FR_EUNSUP,
            "%s.expert_count: expected none, found %d: mixtures of experts cannot be run",
            c->arch_name, n_expert);
    fr_config_refuse_unread(&r, c);
    return r.status;
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
    if (!st) st = read_keys(c, &value_length, g, err);
    if (!st) st = check_heads(c, value_length, err);
    return st ? st : read_vocab(c, g, err);
}
