// tiny_model.h — makes small GGUF models with random weights, for tests that need a whole model.
//
// The same options give the same file on every machine. Weights are scaled so that activations stay
// near 1 and logits have a spread of about 3: greedy text varies, sampling has real choices, and
// the context matters. What the model says means nothing.
#ifndef FR_TESTS_SUPPORT_TINY_MODEL_H
#define FR_TESTS_SUPPORT_TINY_MODEL_H
#include "base/status.h"
#include "gguf/writer.h"

typedef struct fr_tiny_options { // {0}: the defaults in brackets
    const char *arch;            // the name of a family (model/plan.h) [llama]
    fr_type type;                // of all matrices [f32]
    uint64_t seed;
    int n_layer; // [3]
    int d;       // residual width, a multiple of the type's block [64, or 256 for blocks of 256]
    int d_ff;    // the same [2 d]
    int n_head, n_kv; // [4, 2]; n_head * head_dim is a multiple of the type's block too
    int head_dim;     // [d / n_head]
    int n_ctx;        // context_length [512]
    int n_ctx_short; // phi3, minicpm: LongRoPE, whose long table counts beyond so many tokens [none]
    float rope_base;  // [10000]
    int window;       // sliding window [families that mix layers: 24; others: none]
    int global_every; // of those: every such layer sees everything [2]
    int n_padding;    // rows of the embedding beyond the tokens [0]
    bool untied;      // with an output.weight of its own
    int loud_every;   // untied: one row of so many of output.weight is loud, so few tokens are said
                      // [1]
    int n_expert; // experts of a layer [families that always have some: as the table of the maker
                  // says; others: none]
    int n_used;   // ... that a row reads [2]
    bool quantized_router; // of o->type, else f32
    bool biases;           // every bias that a file of the family may have
    uint32_t identity;     // bit 2 l: layer l's attention adds nothing; 2 l + 1: its feed-forward
    bool spm;        // SentencePiece vocabulary, else byte-level BPE [gemma3 and phi3: always]
    const char *pre; // tokenizer.ggml.pre of a byte-level vocabulary ["gpt-2"]; "gemma4": merges
                     // of characters, as Gemma 4 has
    const char *chat_template; // ["" for none; NULL: ChatML, Gemma's or Phi-3's shortest form]
    const char *tool_template; // the second, for conversations with tools [none]
} fr_tiny_options;

// Adds everything to an open writer; tests may add more (or a broken thing) before they finish.
void fr_tiny_add(fr_gguf_writer *w, const fr_tiny_options *o);

// Writes the whole model to `path`, or into memory (*data: the caller's to fr_free).
fr_status fr_tiny_write(const fr_tiny_options *o, const char *path, fr_error *err);
fr_status fr_tiny_memory(const fr_tiny_options *o, void **data, size_t *bytes, fr_error *err);

// Writes the model with `value` in the place of number `at` of a tensor of type f32.
fr_status fr_tiny_write_broken(const fr_tiny_options *o, const char *path, const char *tensor,
                               size_t at, float value, fr_error *err);

// Adds the tokenizer alone; returns the number of tokens.
// Byte-level: ids 0..255 are the bytes, then merges, then <|endoftext|> <|im_start|> <|im_end|>.
// SentencePiece: <unk> <s> </s>, the 256 bytes, pieces, then the turn marks.
int fr_tiny_add_vocab(fr_gguf_writer *w, const fr_tiny_options *o);

#endif
