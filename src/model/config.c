// config.c — reads the architecture's name, then its sizes, RoPE, the plans of its layers, and the
// vocabulary. Each number is checked where it is read, and in the end against the others.
#include "model/config_reader.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

// "expected llama, ... or phi3, found 'x'".
static fr_status fail_family(const char *found, fr_error *err) {
    char names[1024] = "";
    size_t used = 0;
    for (int i = 0; i < fr_n_families && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                 !i                       ? ""
                                 : i + 1 == fr_n_families ? " or "
                                                          : ", ",
                                 fr_families[i].name);
    return fr_fail(err, FR_EUNSUP, "general.architecture: expected %s, found '%s'", names, found);
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
    c->family = fr_family_find(arch.data, arch.bytes);
    return c->family ? FR_OK : fail_family(c->arch_name, err);
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

// A model has norms of one kind; files name the epsilon of the other kind too.
static void read_epsilon(fr_config_reader *r, fr_config *c) {
    const bool rms = c->family->norm == FR_NORM_RMS;
    float rms_eps = c->family->eps, layer_eps = 0;
    fr_config_float(
        r, (fr_config_name){"attention.layer_norm_rms_epsilon", NULL, rms && c->family->eps == 0},
        0, 1, &rms_eps);
    fr_config_float(r, (fr_config_name){"attention.layer_norm_epsilon", NULL, !rms}, 0, 1,
                    &layer_eps);
    c->eps = rms ? rms_eps : layer_eps;
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
    read_epsilon(r, c);
    if (r->status) return;
    c->head_dim = c->d / c->n_head;
    fr_config_int(r, (fr_config_name){"attention.key_length", "attention.head_dim", false}, 2,
                  1 << 14, &c->head_dim);
    *value_length = c->head_dim;
    fr_config_int(r, (fr_config_name){"attention.value_length", NULL, false}, 2, 1 << 14,
                  value_length);
}

// Before any key is read that may change it.
static void take_defaults(fr_config_reader *r, fr_config *c) {
    const fr_family *f = c->family;
    if (r->status) return;
    c->neox = f->neox;
    c->embed_scale = f->scales_embeddings ? (float)sqrt((double)c->d) : 1;
    c->logit_scale = 1;
    c->logit_cap = f->final_cap;
    c->window = f->window;
    // Files without the keys are run by the family's bases. 0 as a factor means that nothing is
    // scaled.
    c->rope_base = f->rope_base > 0 ? f->rope_base : 10000;
    c->rope_base_local = f->rope_base_local; // 0: rope_base
    fr_layer_plan *p = &c->plan[0];
    *p = fr_plan_of_llama(c->head_dim);
    p->norm = f->norm;
    p->place = f->place;
    p->qk_norm = f->qk_norm;
    p->feed = f->feed;
    p->attn_cap = f->attn_cap;
    if (f->amend) f->amend(c, r->g);
}

static fr_status read_keys(fr_config *c, int *value_length, const fr_gguf *g, fr_error *err) {
    fr_config_reader r = {.g = g, .arch = c->arch_name, .err = err};
    read_sizes(&r, c, value_length);
    take_defaults(&r, c);
    fr_config_rope(&r, c);
    fr_config_plans(&r, c);
    fr_config_experts(&r, c);
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
