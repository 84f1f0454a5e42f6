// family.c — the table of families: one row each. docs/models.md lists them for users.
#include "gguf/gguf.h"
#include "model/config.h"
#include <math.h>
#include <string.h>

// Ollama's files of Gemma 3 leave out keys that are the same in all sizes; those with an encoder of
// pictures leave out all keys of RoPE, which is scaled by 8 from 4B on. The 27B model alone scales by
// the width of a head as if the heads split the residual stream.
static void amend_gemma3(fr_config *c, const fr_gguf *g) {
    const bool silent = !fr_gguf_find(g, "gemma3.rope.freq_base") &&
                        !fr_gguf_find(g, "gemma3.rope.global.freq_base");
    if (silent && (c->n_layer == 34 || c->n_layer == 48 || c->n_layer == 62)) c->rope_factor = 8;
    if (c->n_layer == 62) c->plan[0].attn_scale = (float)(1 / sqrt((double)c->d / c->n_head));
    // Ollama's converter gave the 1B model a cap of 30. The model has none, and Ollama ignores it.
    c->ignores_final_cap = c->n_layer == 26 && fr_gguf_find(g, "gemma3.rope.local.freq_base");
}

const fr_family fr_families[] = {
    {.name = "llama", .windows = FR_WINDOW_ALL},
    {.name = "qwen2", .neox = true, .has_biases = true},
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
     .amend = amend_gemma3},
};
const int fr_n_families = sizeof fr_families / sizeof *fr_families;

const fr_family *fr_family_find(const char *name, size_t bytes) {
    for (int i = 0; i < fr_n_families; i++)
        if (strlen(fr_families[i].name) == bytes && !memcmp(fr_families[i].name, name, bytes))
            return &fr_families[i];
    return NULL;
}

bool fr_plan_is_plain(const fr_layer_plan *p) {
    return p->norm == FR_NORM_RMS && p->place == FR_NORM_BEFORE && p->feed == FR_FEED_SILU &&
           (p->qk_norm == FR_QK_PLAIN || p->qk_norm == FR_QK_HEAD) && p->rope != FR_ROPE_OF_NONE &&
           !p->attn_cap && p->residual_scale == 1 && !p->temperature;
}

fr_layer_plan fr_plan_of_llama(int head_dim) {
    return (fr_layer_plan){.attn_scale = (float)(1 / sqrt((double)head_dim)), .residual_scale = 1};
}
