// config_rope.c — the keys of RoPE, by llama.cpp's names and by Ollama's.
#include "model/config_reader.h"

static void read_bases(fr_config_reader *r, fr_config *c) {
    // The logarithms of base and original context are divided by: neither may be 1.
    fr_config_float(r, (fr_config_name){"rope.freq_base", "rope.global.freq_base", false}, 2, 1e12f,
                    &c->rope_base);
    if (c->rope_base_local == 0) c->rope_base_local = c->rope_base;
    fr_config_float(r, (fr_config_name){"rope.freq_base_swa", "rope.local.freq_base", false}, 2,
                    1e12f, &c->rope_base_local);
}

// 0 means that nothing is scaled.
static void read_factor(fr_config_reader *r, fr_config *c) {
    fr_config_float(r, (fr_config_name){"rope.scaling.factor", "rope.scale_linear", false}, 0, 1e6f,
                    &c->rope_factor);
    if (r->status) return;
    if (c->rope_factor == 0) c->rope_factor = 1;
    if (c->rope_factor < 1e-3f)
        r->status = fr_fail(r->err, FR_EDATA, "%s: expected 0, or 0.001..1000000, found %g", r->key,
                            (double)c->rope_factor);
}

// 0, or no key: the usual value.
static void read_beta(fr_config_reader *r, fr_config_name name, float usual, float *value) {
    float found = 0;
    fr_config_float(r, name, 0, 1e6f, &found);
    *value = found > 0 ? found : usual;
    if (!r->status && *value < 1e-3f)
        r->status = fr_fail(r->err, FR_EDATA, "%s: expected 0, or 0.001..1000000, found %g", r->key,
                            (double)found);
}

static void read_numbers(fr_config_reader *r, fr_config *c) {
    c->n_rot = c->head_dim;
    fr_config_int(r, (fr_config_name){"rope.dimension_count", NULL, false}, 2, 1 << 14, &c->n_rot);
    fr_config_float(r, (fr_config_name){"rope.scaling.attn_factor", NULL, false}, 0, 1e3f,
                    &c->rope_attn_factor);
    if (c->family->reads & FR_READS_YARN_MULTIPLIER)
        fr_config_float(r,
                        (fr_config_name){"rope.scaling.yarn_log_multiplier",
                                         "rope.scaling.mscale_all_dim", false},
                        0, 1e3f, &c->yarn_multiplier);
    read_beta(r, (fr_config_name){"rope.scaling.yarn_beta_fast", "rope.scaling.beta_fast", false},
              32, &c->yarn_beta_fast);
    read_beta(r, (fr_config_name){"rope.scaling.yarn_beta_slow", "rope.scaling.beta_slow", false},
              1, &c->yarn_beta_slow);
    c->rope_ctx_orig = c->n_ctx_train;
    fr_config_int(r, (fr_config_name){"rope.scaling.original_context_length", NULL, false}, 2,
                  FR_MAX_CTX, &c->rope_ctx_orig);
}

static void read_type(fr_config_reader *r, fr_config *c) {
    fr_gguf_str type = {"", 0};
    if (r->status) return;
    const char *key = fr_config_key(r, "rope.scaling.type");
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
    if (c->family->has_long_factors && fr_gguf_tensor_find(r->g, "rope_factors_long.weight"))
        c->rope_scaling = FR_ROPE_LONG;
}

// Refuses settings that other programs run in different ways.
static void refuse_doubtful(fr_config_reader *r, const fr_config *c) {
    float extrapolation = -1; // llama.cpp saves -1 if a file had no value
    fr_config_float(r,
                    (fr_config_name){"rope.scaling.yarn_ext_factor",
                                     "rope.scaling.extrapolation_factor", false},
                    -1, 1e6f, &extrapolation);
    if (r->status) return;
    const bool yarn = c->rope_scaling == FR_ROPE_YARN, plain = c->rope_factor == 1;
    if (extrapolation != -1 && extrapolation != yarn && !(plain && extrapolation == 1))
        r->status = fr_fail(r->err, FR_EUNSUP, "%s: expected none, found %g: cannot be run", r->key,
                            (double)extrapolation);
    else if (c->rope_scaling == FR_ROPE_LONG && !plain)
        r->status = fr_fail(
            r->err, FR_EUNSUP,
            "%s.rope.scaling.factor: expected none beside longrope, found %g: cannot be run",
            r->arch, (double)c->rope_factor);
}

void fr_config_rope(fr_config_reader *r, fr_config *c) {
    read_bases(r, c);
    read_factor(r, c);
    read_numbers(r, c);
    read_type(r, c);
    refuse_doubtful(r, c);
}
