// family.c — the table of families: one row each. docs/models.md lists them for users.
#include "gguf/gguf.h"
#include "model/config.h"
#include <math.h>
#include <string.h>

// Gemma's 27B models scale by the width of a head as if the heads split the residual stream.
static void scale_by_stream(fr_config *c) {
    c->plan[0].attn_scale = (float)(1 / sqrt((double)c->d / c->n_head));
}

// Ollama's files of Gemma 3 leave out keys that are the same in all sizes; those with an encoder of
// pictures leave out all keys of RoPE, which is scaled by 8 from 4B on.
static void amend_gemma3(fr_config *c, const fr_gguf *g) {
    const bool silent = !fr_gguf_find(g, "gemma3.rope.freq_base") &&
                        !fr_gguf_find(g, "gemma3.rope.global.freq_base");
    if (silent && (c->n_layer == 34 || c->n_layer == 48 || c->n_layer == 62)) c->rope_factor = 8;
    if (c->n_layer == 62) scale_by_stream(c);
    // Ollama's converter gave the 1B model a cap of 30. The model has none, and Ollama ignores it.
    c->ignores_final_cap = c->n_layer == 26 && fr_gguf_find(g, "gemma3.rope.local.freq_base");
}

// The scales that Granite and MiniCPM read.
enum { SCALES = FR_READS_EMBEDDING_SCALE | FR_READS_RESIDUAL_SCALE | FR_READS_LOGIT_DIVISOR };

static void amend_gemma2(fr_config *c, const fr_gguf *g) {
    (void)g;
    if (c->n_layer == 46) scale_by_stream(c);
}

// Old files do not name their scales. Logits are divided by d / 256, as the models were trained;
// llama.cpp takes 256 / d for the divisor of such files.
static void amend_minicpm(fr_config *c, const fr_gguf *g) {
    (void)g;
    c->embed_scale = 12;
    c->plan[0].residual_scale = (float)(1.4 / sqrt((double)c->n_layer));
    c->logit_scale = 256 / (float)c->d;
}

// Models that read pictures too rotate by sections. All sections of a text count alike, but the
// converter puts the values of such a file's heads in the other order.
static void amend_glm4(fr_config *c, const fr_gguf *g) {
    static const char *const keys[] = {"glm4.rope.dimension_sections", "glm4.rope.mrope_section"};
    fr_error unsaid;
    for (int i = 0; i < 2; i++) {
        const fr_gguf_kv *kv = NULL;
        if (!fr_gguf_find(g, keys[i]) ||
            fr_gguf_get_array(g, keys[i], FR_GGUF_INTS, &kv, &unsaid) || kv->count < 2)
            continue;
        c->neox |= fr_gguf_item_i64(kv, 0) > 0 && fr_gguf_item_i64(kv, 1) > 0;
    }
}

// The largest model has no norms of queries and keys.
static void amend_llama4(fr_config *c, const fr_gguf *g) {
    uint32_t n = 0;
    fr_error unsaid;
    if (!fr_gguf_opt_u32(g, "llama4.expert_count", &n, &unsaid) && n == 128)
        c->plan[0].qk_norm = FR_QK_PLAIN;
    c->temper_ahead = 1;
    c->temper_length = 8192;
}

// Norms of queries and keys are in some sizes alone.
static void amend_glm4moe(fr_config *c, const fr_gguf *g) {
    if (!fr_gguf_tensor_find(g, "blk.0.attn_q_norm.weight")) c->plan[0].qk_norm = FR_QK_PLAIN;
}

// Files of the 32B model may leave out the size of the window.
static void amend_exaone4(fr_config *c, const fr_gguf *g) {
    (void)g;
    if (c->n_layer == 64) c->window = 4096;
}

const fr_family fr_families[] = {
    {.name = "llama", .windows = FR_WINDOW_ALL, .has_experts = FR_EXPERTS_SOME},
    {.name = "qwen2", .neox = true},
    {.name = "qwen3", .neox = true, .qk_norm = FR_QK_HEAD},
    {.name = "phi3", .neox = true, .windows = FR_WINDOW_ALL, .has_long_factors = true},
    {.name = "gemma3",
     .neox = true,
     .place = FR_NORM_AROUND,
     .qk_norm = FR_QK_HEAD,
     .feed = FR_FEED_GELU,
     .windows = FR_WINDOW_SOME,
     .full_every = 6,
     .plain_local = true,
     .rope_base = 1e6f,
     .rope_base_local = 10000,
     .eps = 1e-6f,
     .scales_embeddings = true,
     .reads = FR_READS_FINAL_CAP,
     .amend = amend_gemma3},
    {.name = "gemma2",
     .neox = true,
     .place = FR_NORM_AROUND,
     .feed = FR_FEED_GELU,
     .windows = FR_WINDOW_SOME,
     .full_every = 2,
     .window = 4096,
     .attn_cap = 50,
     .final_cap = 30,
     .scales_embeddings = true,
     .reads = FR_READS_ATTENTION_CAP | FR_READS_FINAL_CAP,
     .amend = amend_gemma2},
    {.name = "qwen3moe", .neox = true, .qk_norm = FR_QK_HEAD, .has_experts = FR_EXPERTS_ALWAYS},
    {.name = "qwen2moe", .neox = true, .has_experts = FR_EXPERTS_ALWAYS, .keeps_weights = true},
    {.name = "olmoe",
     .neox = true,
     .qk_norm = FR_QK_WHOLE,
     .has_experts = FR_EXPERTS_ALWAYS,
     .keeps_weights = true},
    {.name = "granitemoe",
     .has_experts = FR_EXPERTS_ALWAYS,
     .reads = SCALES | FR_READS_ATTENTION_SCALE | FR_READS_FINETUNED},
    {.name = "ernie4_5-moe", .has_experts = FR_EXPERTS_ALWAYS},
    {.name = "bailingmoe2", .neox = true, .qk_norm = FR_QK_HEAD, .has_experts = FR_EXPERTS_ALWAYS},
    {.name = "glm4moe",
     .neox = true,
     .ffn_norm = "post_attention_norm",
     .qk_norm = FR_QK_HEAD,
     .has_experts = FR_EXPERTS_ALWAYS,
     .gating = FR_GATE_SIGMOID,
     .amend = amend_glm4moe},
    {.name = "gpt-oss",
     .neox = true,
     .ffn_norm = "post_attention_norm",
     .feed = FR_FEED_CLAMPED,
     .windows = FR_WINDOW_SOME,
     .full_every = 2,
     .has_sinks = true,
     .has_experts = FR_EXPERTS_ALWAYS,
     .gating = FR_GATE_CHOSEN,
     .keeps_weights = true},
    {.name = "llama4",
     .qk_norm = FR_QK_UNIT,
     .windows = FR_WINDOW_SOME,
     .full_every = 4,
     .rope_rule = FR_ROTATE_LOCAL,
     .window = 8192,
     .chunks = true,
     .still_temperature = 0.1f,
     .has_experts = FR_EXPERTS_ALWAYS,
     .gating = FR_GATE_SIGMOID,
     .keeps_weights = true,
     .weighs_inputs = true,
     .amend = amend_llama4},
    {.name = "phimoe",
     .neox = true,
     .is_biased = true,
     .windows = FR_WINDOW_ALL,
     .has_experts = FR_EXPERTS_ALWAYS,
     .has_long_factors = true},
    {.name = "smollm3", .rope_rule = FR_ROTATE_THREE},
    {.name = "granite", .reads = SCALES | FR_READS_ATTENTION_SCALE | FR_READS_FINETUNED},
    {.name = "minicpm", .reads = SCALES, .amend = amend_minicpm},
    {.name = "mistral3", .reads = FR_READS_TEMPERATURE | FR_READS_YARN_MULTIPLIER},
    {.name = "ernie4_5"},
    {.name = "seed_oss", .neox = true, .ffn_norm = "post_attention_norm"},
    {.name = "glm4", .place = FR_NORM_AROUND, .amend = amend_glm4},
    {.name = "hunyuan-dense", .neox = true, .qk_norm = FR_QK_ROTATED},
    {.name = "olmo2",
     .neox = true,
     .place = FR_NORM_AFTER,
     .qk_norm = FR_QK_WHOLE,
     .windows = FR_WINDOW_SOME,
     .full_every = 4,
     .plain_local = true,
     .names_yarn_magnitude = true},
    {.name = "exaone4",
     .neox = true,
     .place = FR_NORM_AFTER,
     .qk_norm = FR_QK_HEAD,
     .windows = FR_WINDOW_SOME,
     .full_every = 4,
     .rope_rule = FR_ROTATE_LOCAL,
     .amend = amend_exaone4},
    {.name = "command-r",
     .norm = FR_NORM_LAYER,
     .place = FR_NORM_SHARED,
     .reads = FR_READS_LOGIT_SCALE},
    {.name = "cohere2",
     .norm = FR_NORM_LAYER,
     .place = FR_NORM_SHARED,
     .windows = FR_WINDOW_SOME,
     .full_every = 4,
     .rope_rule = FR_ROTATE_LOCAL,
     .reads = FR_READS_LOGIT_SCALE},
    {.name = "starcoder2",
     .neox = true,
     .is_biased = true,
     .norm = FR_NORM_LAYER,
     .feed = FR_FEED_PLAIN},
};
const int fr_n_families = sizeof fr_families / sizeof *fr_families;

const fr_family *fr_family_find(const char *name, size_t bytes) {
    for (int i = 0; i < fr_n_families; i++)
        if (strlen(fr_families[i].name) == bytes && !memcmp(fr_families[i].name, name, bytes))
            return &fr_families[i];
    return NULL;
}

fr_layer_plan fr_plan_of_llama(int head_dim) {
    return (fr_layer_plan){.attn_scale = (float)(1 / sqrt((double)head_dim)), .residual_scale = 1};
}

bool fr_plan_is_plain(const fr_layer_plan *p, int head_dim) {
    return p->attn_scale == fr_plan_of_llama(head_dim).attn_scale && p->norm == FR_NORM_RMS &&
           p->place == FR_NORM_BEFORE && p->feed == FR_FEED_SILU &&
           (p->qk_norm == FR_QK_PLAIN || p->qk_norm == FR_QK_HEAD) && p->rope != FR_ROPE_OF_NONE &&
           !p->experts && !p->attn_cap && p->residual_scale == 1 && !p->tempered;
}
