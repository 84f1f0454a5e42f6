// config_keys.c — keys that no code here reads. Most change nothing in a pass. Those of RoPE and of
// attention do, as do a few others of related families: a file with one of them would run, give other
// text, and no error.
#include "model/config_reader.h"
#include "model/rope.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

// A key may have one of two values.
typedef struct allowed_key {
    const char *suffix;
    double value, other;
} allowed_key;

// These change nothing in a pass over text: how a model was trained (families that read it do so
// elsewhere), where pictures stand in a rotation, the epsilon of a kind of norm that these families
// do not have.
static const char *const silent[] = {
    "rope.scaling.finetuned",
    "rope.dimension_sections",
    "rope.mrope_section",
    "attention.group_norm_epsilon",
    "attention.indexer.kpool_select_tail",
};

// Outside RoPE and attention all other keys change nothing. These have to have a value that does not.
static const allowed_key scalings[] = {
    {"logit_scale", 1, 0},
    {"embedding_scale", 1, 0},
    {"residual_scale", 1, 0},
    {"attn_logit_softcapping", 0, 0},
    {"final_logit_softcapping", 0, 0},
    {"use_parallel_residual", 0, 0},
    {"swin_norm", 0, 0},
    {"full_attention_interval", 0, 1},
    {"num_loops", 0, 1},
    {"embedding_length_per_layer_input", 0, 0},
    {"decoder_block_count", 0, 0},
};

// Item i as a number, NAN where it is none.
static double number_at(const fr_gguf_kv *kv, uint64_t i) {
    switch (kv->item) {
    case FR_GGUF_STR:
    case FR_GGUF_ARRAY:
        return NAN;
    case FR_GGUF_BOOL:
        return fr_gguf_item_bool(kv, i);
    case FR_GGUF_F32:
    case FR_GGUF_F64:
        return fr_gguf_item_f64(kv, i);
    case FR_GGUF_U8:
    case FR_GGUF_I8:
    case FR_GGUF_U16:
    case FR_GGUF_I16:
    case FR_GGUF_U32:
    case FR_GGUF_I32:
    case FR_GGUF_U64:
    case FR_GGUF_I64:
        break;
    }
    return (double)fr_gguf_item_i64(kv, i);
}

static bool near(double found, double value) {
    return fabs(found - value) <= 1e-6 * fabs(value);
}

// Because of item i.
static void refuse(fr_config_reader *r, const fr_gguf_kv *kv, uint64_t i) {
    char text[64];
    if (kv->item != FR_GGUF_STR)
        snprintf(text, sizeof text, "%g", number_at(kv, i));
    else {
        const fr_gguf_str s = fr_gguf_item_str(kv, i);
        snprintf(text, sizeof text, "'%.*s'", (int)(s.bytes < 40 ? s.bytes : 40), s.data);
    }
    r->status = fr_fail(r->err, FR_EUNSUP, "%.*s: expected none, found %s: cannot be run",
                        (int)kv->key.bytes, kv->key.data, text);
}

static void check_allowed(fr_config_reader *r, const fr_gguf_kv *kv, const allowed_key *k) {
    for (uint64_t i = 0; i < kv->count && !r->status; i++) {
        if (kv->item == FR_GGUF_STR && !fr_gguf_item_str(kv, i).bytes) continue;
        const double found = number_at(kv, i);
        if (!near(found, k->value) && !near(found, k->other)) refuse(r, kv, i);
    }
}

static bool is_read(const fr_config_reader *r, const char *suffix) {
    for (int i = 0; i < r->n_read; i++)
        if (!strcmp(r->read[i], suffix)) return true;
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        if (!strcmp(silent[i], suffix)) return true;
    return false;
}

static const allowed_key *find(const allowed_key *list, size_t n, const char *suffix) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].suffix, suffix)) return &list[i];
    return NULL;
}

// Other programs write these too. Their values must be those by which the model is run here.
static void check_geometry(fr_config_reader *r, const fr_config *c, const fr_gguf_kv *kv,
                           const char *suffix) {
    // Both 1 and YaRN's magnitude leave it as it is.
    const double magnitude = c->rope_scaling == FR_ROPE_YARN ? fr_rope_yarn_magnitude(c) : 1;
    const double named =
        kv->item != FR_GGUF_STR && near(number_at(kv, 0), magnitude) ? magnitude : 1;
    const allowed_key list[] = {
        {"attention.causal", 1, 1},
        {"attention.rope_pattern", 1, 1},
        {"attention.scale", 0, c->plan[0].attn_scale},
        {"attention.head_dim", 0, c->head_dim},
        {"attention.key_length_swa", 0, c->head_dim},
        {"attention.value_length_swa", 0, c->head_dim},
        {"rope.dimension_count_swa", 0, c->n_rot},
        {"rope.freq_scale", 0, 1},
        {"attention.temperature_length", 0, c->rope_ctx_orig},
        {"rope.scaling.yarn_attn_factor", named, 0},
        {"rope.scaling.mscale", 1, 0},
        {"rope.scaling.alpha", 0, 1},
    };
    static const allowed_key nothing = {NULL, 0, 0};
    const allowed_key *k = find(list, sizeof list / sizeof *list, suffix);
    check_allowed(r, kv, k ? k : &nothing);
}

void fr_config_refuse_unread(fr_config_reader *r, const fr_config *c) {
    const size_t arch = strlen(r->arch);
    for (size_t i = 0; i < fr_gguf_n_kv(r->g) && !r->status; i++) {
        const fr_gguf_kv *kv = fr_gguf_kv_at(r->g, i);
        char suffix[64];
        if (kv->key.bytes <= arch + 1 || memcmp(kv->key.data, r->arch, arch) ||
            kv->key.data[arch] != '.')
            continue;
        const size_t bytes = kv->key.bytes - arch - 1;
        snprintf(suffix, sizeof suffix, "%.*s", (int)(bytes < 63 ? bytes : 63),
                 kv->key.data + arch + 1);
        const allowed_key *k = find(scalings, sizeof scalings / sizeof *scalings, suffix);
        if (is_read(r, suffix)) continue;
        if (k)
            check_allowed(r, kv, k);
        else if (!strncmp(suffix, "rope.", 5) || !strncmp(suffix, "attention.", 10))
            check_geometry(r, c, kv, suffix);
    }
}
