// config_plans.c — makes the plan of every layer: the scales and caps that hold for all of them, then
// which layers have a window and which rotate.
#include "model/config_reader.h"
#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- scales and caps

static void read_scale(fr_config_reader *r, unsigned bit, unsigned reads, const char *suffix,
                       float low, float high, float *value) {
    if (reads & bit) fr_config_float(r, (fr_config_name){suffix, NULL, false}, low, high, value);
}

// A scale of 0 is none.
static void read_factor(fr_config_reader *r, unsigned bit, unsigned reads, const char *suffix,
                        float *value) {
    float found = 0;
    read_scale(r, bit, reads, suffix, -1e6f, 1e6f, &found);
    if (found != 0) *value = found;
}

static void read_logits(fr_config_reader *r, fr_config *c) {
    const unsigned reads = c->family->reads;
    float divisor = 0, named = c->logit_cap;
    read_factor(r, FR_READS_LOGIT_SCALE, reads, "logit_scale", &c->logit_scale);
    read_factor(r, FR_READS_LOGIT_DIVISOR, reads, "logit_scale", &divisor);
    if (divisor != 0) c->logit_scale = 1 / divisor;
    if (!r->status && !isfinite(c->logit_scale))
        r->status = fr_fail(r->err, FR_EDATA, "%s: expected a divisor of numbers, found %g", r->key,
                            (double)divisor);
    read_scale(r, FR_READS_FINAL_CAP, reads, "final_logit_softcapping", 0, 1e6f, &named);
    c->logit_cap = c->ignores_final_cap ? 0 : named;
}

static void read_scales(fr_config_reader *r, fr_config *c) {
    const unsigned reads = c->family->reads;
    fr_layer_plan *p = &c->plan[0];
    read_factor(r, FR_READS_EMBEDDING_SCALE, reads, "embedding_scale", &c->embed_scale);
    read_factor(r, FR_READS_RESIDUAL_SCALE, reads, "residual_scale", &p->residual_scale);
    read_factor(r, FR_READS_ATTENTION_SCALE, reads, "attention.scale", &p->attn_scale);
    read_scale(r, FR_READS_ATTENTION_CAP, reads, "attn_logit_softcapping", 0, 1e6f, &p->attn_cap);
    if (reads & FR_READS_TEMPERATURE)
        fr_config_float(r,
                        (fr_config_name){"attention.temperature_scale", "rope.scaling_beta", false},
                        0, 1e3f, &c->temperature);
    read_logits(r, c);
}

// The names that other programs give to the activations.
static void check_activation(fr_config_reader *r, const fr_config *c) {
    static const char *const names[2][4] = {{"silu", "swish", "swiglu", ""},
                                            {"gelu_pytorch_tanh", "gelu", "geglu", "gelu_new"}};
    static const char *const suffixes[] = {"hidden_activation", "hidden_act"};
    const fr_feed feed = c->plan[0].feed;
    const bool gelu = feed == FR_FEED_GELU || feed == FR_FEED_PLAIN;
    for (int s = 0; s < 2; s++) {
        fr_gguf_str found = {"", 0};
        if (r->status) return;
        const char *key = fr_config_key(r, suffixes[s]);
        if ((r->status = fr_gguf_opt_str(r->g, key, &found, r->err))) return;
        bool known = !found.bytes;
        for (int i = 0; i < 4; i++)
            known |= fr_gguf_str_is(found, names[gelu][i]);
        if (!known)
            r->status =
                fr_fail(r->err, FR_EUNSUP, "%s: expected %s, found '%.*s': cannot be run", key,
                        names[gelu][0], (int)(found.bytes < 40 ? found.bytes : 40), found.data);
    }
}

// ---------------------------------------------------------------- windows

// Whether each layer has a window. A file says so with an array of one value a layer, or with a
// number n: every n-th has none, and 0 means that all have one.
static void read_pattern(fr_config_reader *r, const fr_config *c, bool *local) {
    int every = c->family->windows == FR_WINDOW_SOME ? c->family->full_every : 0;
    if (r->status) return;
    const char *key = fr_config_key(r, "attention.sliding_window_pattern");
    const fr_gguf_kv *kv = fr_gguf_find(r->g, key);
    if (!kv || kv->type != FR_GGUF_ARRAY) {
        fr_config_int(r, (fr_config_name){"attention.sliding_window_pattern", NULL, false}, 0,
                      INT32_MAX, &every);
        for (int i = 0; i < c->n_layer; i++)
            local[i] = !every || (i + 1) % every != 0;
        return;
    }
    const bool bools = kv->item == FR_GGUF_BOOL;
    const fr_gguf_class items = bools ? FR_GGUF_BOOLS : FR_GGUF_INTS;
    if ((r->status = fr_gguf_get_array(r->g, key, items, &kv, r->err))) return;
    if (kv->count != (uint64_t)r->n_blocks && kv->count != (uint64_t)c->n_layer) {
        r->status = fr_fail(r->err, FR_EDATA, "%s: expected %d values, one a layer, found %llu",
                            key, r->n_blocks, (unsigned long long)kv->count);
        return;
    }
    for (int i = 0; i < c->n_layer; i++)
        local[i] = bools ? fr_gguf_item_bool(kv, (uint64_t)i) : fr_gguf_item_i64(kv, (uint64_t)i);
}

static void check_window(fr_config_reader *r, const fr_config *c) {
    if (r->status || !c->window || c->window >= c->n_ctx_train) return;
    if (c->family->windows == FR_WINDOW_NEVER)
        r->status = fr_fail(r->err, FR_EUNSUP,
                            "%s.attention.sliding_window: expected none, found %d: cannot be run",
                            r->arch, c->window);
    else if (c->family->windows == FR_WINDOW_ALL && c->rope_base_local != c->rope_base)
        r->status = fr_fail(r->err, FR_EUNSUP,
                            "%s.rope.freq_base_swa: expected %g as in all layers, found %g: cannot "
                            "be run",
                            r->arch, (double)c->rope_base, (double)c->rope_base_local);
}

// ---------------------------------------------------------------- rotation

static fr_rope_of rope_of(const fr_config *c, int layer, bool local, bool any_local, bool rotates) {
    const fr_rope_rule rule = c->family->rope_rule;
    const bool still = (rule == FR_ROTATE_LOCAL && any_local && !local) ||
                       (rule == FR_ROTATE_THREE && (layer + 1) % 4 == 0);
    return !rotates || still ? FR_ROPE_OF_NONE : local ? FR_ROPE_OF_LOCAL : FR_ROPE_OF_FULL;
}

static bool reads_rotation(fr_config_reader *r, const fr_config *c) {
    bool rotates = true;
    if (!r->status && c->family->reads & FR_READS_FINETUNED) {
        const char *key = fr_config_key(r, "rope.scaling.finetuned");
        r->status = fr_gguf_opt_bool(r->g, key, &rotates, r->err);
    }
    return rotates;
}

// ---------------------------------------------------------------- plans

// Families whose layers do not all rotate temper those that do not.
static bool is_tempered(const fr_config *c, int layer) {
    const bool still = c->plan[layer].rope == FR_ROPE_OF_NONE;
    return c->temperature > 0 && (!(c->family->still_temperature > 0) || still);
}

void fr_config_plans(fr_config_reader *r, fr_config *c) {
    bool local[FR_MAX_LAYERS] = {false};
    read_scales(r, c);
    fr_config_int(r, (fr_config_name){"attention.sliding_window", NULL, false}, 0, FR_MAX_CTX,
                  &c->window);
    read_pattern(r, c, local);
    check_window(r, c);
    check_activation(r, c);
    const bool rotates = reads_rotation(r, c);
    if (r->status) return;
    bool any_local = false;
    for (int i = 0; i < c->n_layer; i++)
        any_local |= local[i] &= c->window > 0 && c->family->windows != FR_WINDOW_NEVER;
    c->chunks = c->family->chunks;
    if (any_local && c->family->still_temperature > 0)
        c->temperature = c->family->still_temperature;
    if (!c->temper_length) c->temper_length = c->rope_ctx_orig;
    if (c->window >= c->n_ctx_train) c->window = 0; // no layer is limited by it
    for (int i = 0; i < c->n_layer; i++) {
        c->plan[i] = c->plan[0];
        c->plan[i].window = local[i] ? c->window : 0;
        c->plan[i].rope = rope_of(c, i, local[i], any_local, rotates);
        c->plan[i].tempered = is_tempered(c, i);
        c->has_local |= c->plan[i].rope == FR_ROPE_OF_LOCAL;
    }
}
