// plan.h — what a family of models has in common, and what each layer of one model computes.
//
// A *family* is a row of the table in family.c. When a model opens, config.c makes one *plan* for
// each layer from its family's row and the keys of the file. A pass reads plans: it knows no
// family's name.
#ifndef FR_MODEL_PLAN_H
#define FR_MODEL_PLAN_H
#include <stdbool.h>
#include <stddef.h>

typedef enum fr_norm_kind {
    FR_NORM_RMS,
    FR_NORM_LAYER // subtracts the mean, and may have biases
} fr_norm_kind;

// Where the norms of a sublayer f are (attention, then feed-forward).
typedef enum fr_norm_place {
    FR_NORM_BEFORE, // x += f(norm(x))
    FR_NORM_AFTER,  // x += norm(f(x))
    FR_NORM_AROUND, // x += norm(f(norm(x)))
    FR_NORM_SHARED  // x += attention(norm(x)) + feed-forward(norm(x)), of one norm
} fr_norm_place;

// RMS norms of queries and keys.
typedef enum fr_qk_norm {
    FR_QK_PLAIN,   // none
    FR_QK_HEAD,    // of each head, before RoPE
    FR_QK_ROTATED, // of each head, after RoPE
    FR_QK_UNIT,    // of each head, after RoPE where there is one, without weights
    FR_QK_WHOLE    // of all heads together, before RoPE
} fr_qk_norm;

typedef enum fr_feed {
    FR_FEED_SILU,    // down(silu(gate(x)) * up(x))
    FR_FEED_GELU,    // down(gelu(gate(x)) * up(x))
    FR_FEED_CLAMPED, // as SILU with both cut off (kern/math.h, fr_clamped)
    FR_FEED_PLAIN    // down(gelu(up(x)))
} fr_feed;

typedef enum fr_rope_of {
    FR_ROPE_OF_FULL,  // the table of layers that see everything
    FR_ROPE_OF_LOCAL, // the table of layers with a window
    FR_ROPE_OF_NONE   // nothing is rotated
} fr_rope_of;

// How the products of a router become the weights of experts. The values are those of files.
typedef enum fr_gating {
    FR_GATE_SOFTMAX = 1, // over all experts
    FR_GATE_SIGMOID = 2,
    FR_GATE_CHOSEN = 3 // softmax over the chosen ones
} fr_gating;

enum { FR_EXPERTS_MOST = 1024, FR_EXPERTS_USED = 64, FR_EXPERT_GROUPS = 64 };

// What all layers with experts have alike. n experts, of which a row reads `used`: the sum of what
// they give, each times its weight, is what the feed-forward gives. route.h has the rule.
typedef struct fr_experts {
    int n, used;  // n 0: no layer has experts
    int d_ff;     // inner values of one
    int d_shared; // ... and of one more that all rows read; 0: there is none
    fr_gating gating;
    bool normed;             // the weights of a row are divided by their sum
    float scale;             // ... and then multiplied by this
    int groups, groups_used; // experts are chosen from the best groups alone
    // The weight multiplies an expert's input, not its output. Then experts are chosen by the products
    // themselves, because a sigmoid may round different products to one score.
    bool weighs_inputs;
} fr_experts;

typedef struct fr_layer_plan {
    fr_norm_kind norm; // of the sublayers; the norm after the last layer is of the same kind
    fr_norm_place place;
    fr_qk_norm qk_norm;
    fr_feed feed;
    bool experts; // the feed-forward is fr_config.experts
    fr_rope_of rope;
    int window;           // sliding window in tokens; 0: sees everything
    float attn_scale;     // scores are multiplied by it
    float attn_cap;       // ... and become cap * tanh(score / cap); 0: not at all
    float residual_scale; // what a sublayer adds is multiplied by it
    bool tempered;        // queries are multiplied by what fr_config.temperature says
} fr_layer_plan;

// Which layers have a window, where the file has one but no pattern.
typedef enum fr_window_rule {
    FR_WINDOW_NEVER, // a file with a window is refused
    FR_WINDOW_ALL,   // or as a pattern of the file says
    FR_WINDOW_SOME   // all but every n-th (fr_family.full_every), or as a pattern of the file says
} fr_window_rule;

// Which layers rotate queries and keys.
typedef enum fr_rope_rule {
    FR_ROTATE_ALL,
    FR_ROTATE_LOCAL, // those with a window; all where the model has none
    FR_ROTATE_THREE  // all but every fourth
} fr_rope_rule;

// Whether a family's files have experts.
typedef enum fr_has_experts {
    FR_EXPERTS_NEVER, // a file with more than one is refused
    FR_EXPERTS_SOME,  // some
    FR_EXPERTS_ALWAYS // one without is refused
} fr_has_experts;

// Keys that change a pass. A file of a family that does not read one is refused if it has it.
enum {
    FR_READS_EMBEDDING_SCALE = 1 << 0,
    FR_READS_RESIDUAL_SCALE = 1 << 1,
    FR_READS_ATTENTION_SCALE = 1 << 2,
    FR_READS_LOGIT_SCALE = 1 << 3,   // logits are multiplied by it
    FR_READS_LOGIT_DIVISOR = 1 << 4, // the same key, but logits are divided by it
    FR_READS_ATTENTION_CAP = 1 << 5,
    FR_READS_FINAL_CAP = 1 << 6,
    FR_READS_TEMPERATURE = 1 << 7,
    FR_READS_YARN_MULTIPLIER = 1 << 8,
    FR_READS_FINETUNED = 1 << 9, // rope.scaling.finetuned: whether any layer rotates
};

struct fr_config;
struct fr_gguf;

typedef struct fr_family {
    const char *name; // general.architecture
    bool neox;        // RoPE turns pairs (i, i + n_rot/2); else (2i, 2i+1)
    // Every product of a layer needs a bias, and every norm has one. Else products may have them,
    // and norms have none. The head may have one in every family.
    bool is_biased;
    fr_norm_kind norm;
    fr_norm_place place;
    const char *ffn_norm; // name of the norm before the feed-forward; NULL: ffn_norm
    fr_qk_norm qk_norm;
    fr_feed feed;
    fr_window_rule windows;
    int full_every;
    fr_rope_rule rope_rule;
    int window;                // of files without the key
    bool chunks;               // windows do not slide: fr_config.chunks
    float still_temperature;   // of layers that do not rotate beside some that do; 0: none
    bool names_yarn_magnitude; // rope.scaling.attn_factor is YaRN's magnitude, no factor beside it
    bool plain_local;          // layers with a window rotate without scaling or factors
    float rope_base, rope_base_local; // 0: 10000, and that of the other layers
    float eps;                        // of files without the key; 0: it is required
    float attn_cap, final_cap;        // of files without the keys
    bool scales_embeddings;           // by the square root of d
    bool has_sinks;                   // attention scores of no key, one for each head
    fr_has_experts has_experts;
    fr_gating gating;      // of files without the key; 0: FR_GATE_SOFTMAX
    bool keeps_weights;    // ... without the key, weights are not divided by their sum
    bool weighs_inputs;    // fr_experts.weighs_inputs
    bool has_long_factors; // rope_factors_long in a file means LongRoPE, whatever its keys say
    unsigned reads;        // FR_READS_...
    // What no field can say: changes defaults once the sizes are known, before the other keys are
    // read. NULL: nothing.
    void (*amend)(struct fr_config *c, const struct fr_gguf *g);
} fr_family;

// NULL: none of that name.
const fr_family *fr_family_find(const char *name, size_t bytes);
extern const fr_family fr_families[];
extern const int fr_n_families;

// Whether it is a layer as Llama has it: norms before, a gated SiLU, RoPE, nothing scaled or capped.
bool fr_plan_is_plain(const fr_layer_plan *p, int head_dim);
fr_layer_plan fr_plan_of_llama(int head_dim);

#endif
