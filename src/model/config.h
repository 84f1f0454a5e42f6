// config.h — the model's shape from the model file, checked.
//
// Everything below the loader trusts these numbers: they are positive, bounded, and agree with each
// other.
#ifndef FR_MODEL_CONFIG_H
#define FR_MODEL_CONFIG_H
#include "base/status.h"
#include "gguf/gguf.h"
#include "model/plan.h"

enum { FR_MAX_LAYERS = 512, FR_MAX_CTX = 1 << 24 };

typedef enum fr_rope_scaling {
    FR_ROPE_NONE,
    FR_ROPE_LINEAR,
    FR_ROPE_YARN,
    FR_ROPE_LONG
} fr_rope_scaling;

enum {
    FR_CANDIDATE_ROWS = 192,  // of a pass, besides those of prompts
    FR_PREFILL_ROWS = 64,     // of prompts; any split gives the same bits
    FR_PREFILL_EXPERTS = 256, // ... where there are experts, of which each has few of the rows
    FR_ROWS = FR_CANDIDATE_ROWS + FR_PREFILL_ROWS, // of a pass of any model
};
typedef struct fr_config fr_config;
struct fr_config {
    const fr_family *family; // NULL: a block of a drafter
    char arch_name[32], name[128];
    int n_layer, d, d_ff, n_head, n_kv, head_dim, n_vocab, n_ctx_train;
    fr_layer_plan plan[FR_MAX_LAYERS]; // [n_layer]
    fr_experts experts;
    float eps;              // of every norm
    float embed_scale;      // embeddings are multiplied by it (1: not at all)
    float logit_scale;      // logits are multiplied by it (1: not at all)
    float logit_cap;        // ... and become cap * tanh(logit / cap); 0: not at all
    bool ignores_final_cap; // the file names a cap that the model does not have
    bool tied;              // the head is the embedding matrix
    int window;             // of layers that have one; 0: no layer has
    bool chunks; // a window is a chunk of so many positions, of which a row sees those up to itself
    // Tempered layers (fr_layer_plan) multiply queries at position p by
    // 1 + temperature * ln(1 + floor((p + temper_ahead) / temper_length)); temperature 0: none.
    float temperature;
    int temper_ahead, temper_length;
    bool has_local; // some layers rotate by the table of layers with a window

    int n_rot;       // rotated values of a head
    bool neox;       // pairs (i, i + n_rot/2); else (2i, 2i+1)
    float rope_base; // of layers that see everything
    float rope_base_local;
    fr_rope_scaling rope_scaling;
    float rope_factor; // context extension: positions count 1/factor
    // Cosines and sines are multiplied by it; 0: not at all. With YARN what follows from rope_factor
    // comes on top. With LONG it takes the place of what follows from the contexts.
    float rope_attn_factor;
    float yarn_beta_fast, yarn_beta_slow;
    float yarn_multiplier; // of the logarithm that YaRN's magnitude is divided by; 0: not at all
    int rope_ctx_orig;     // context before extension
};

static inline int fr_prefill_rows(const fr_config *c) {
    return c->experts.n ? FR_PREFILL_EXPERTS : FR_PREFILL_ROWS;
}

static inline int fr_expert_layers(const fr_config *c) { // layers with experts
    int n = 0;
    for (int i = 0; i < c->n_layer; i++)
        n += c->plan[i].experts;
    return n;
}

// Rows of a pass at most; a sequence has as many scratch slots.
static inline int fr_most_rows(const fr_config *c) {
    return FR_CANDIDATE_ROWS + fr_prefill_rows(c);
}

// FR_EUNSUP: an architecture or a feature that this engine lacks; FR_EDATA: numbers that make no
// model.
fr_status fr_config_read(fr_config *c, const fr_gguf *g, fr_error *err);

// Whether a context may hold n_ctx tokens: FR_EARG below 1 or above what the model has.
fr_status fr_config_check_context(const fr_config *c, int n_ctx, fr_error *err);

#endif
