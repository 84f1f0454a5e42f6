// vocab.h — the tokens of a tokenizer: their bytes, types and scores, and functions that find
// them.
//
// Internal to text/. Owns copies of everything; read-only once open. A token's bytes are its text:
// the byte-level alphabet and U+2581 are already undone, and "<0x0A>" is one newline byte.
#ifndef FR_TEXT_VOCAB_H
#define FR_TEXT_VOCAB_H
#include "gguf/gguf.h"
#include "text/tokenizer.h"

typedef enum fr_vocab_kind {
    FR_VOCAB_BPE,   // tokenizer.ggml.model "gpt2": normal tokens are written in the byte-level
                    // alphabet
    FR_VOCAB_SPM,   // "llama": a space is written U+2581
    FR_VOCAB_CHARS, // "gemma4": written as in "llama", and joined by merges as in "gpt2"
} fr_vocab_kind;

enum { // bits of fr_vocab.flags above the type
    FR_VOCAB_TYPE = 7,
    FR_VOCAB_END = 8,     // ends a generation
    FR_VOCAB_RSTRIP = 16, // white space after it is dropped
    FR_VOCAB_ADDED = 32,  // ordinary, but no merge makes it: matched like control tokens
    FR_VOCAB_RAW = 64,    // BPE: not spelled in the byte-level alphabet
    FR_VOCAB_INNER = 128, // user-defined, and a mark of calls, results or thinking
};

typedef struct fr_vocab {
    fr_vocab_kind kind;
    int n;          // ids 0..n-1
    char *bytes;    // all tokens, each followed by NUL
    uint32_t *at;   // [n+1]: token i is bytes[at[i], at[i+1]-1)
    uint8_t *flags; // [n]: type and bits
    // [n], SPM: smaller for a higher score. Scores as unsigned numbers of the opposite order.
    uint32_t *rank;
    int32_t *slots; // open addressing over the tokens that merges may give; -1: empty
    size_t slot_mask;
    int32_t byte_id[256]; // token of one byte, or -1
    int32_t *special;     // tokens matched in text before anything else, sorted by bytes
    int n_special;
    uint64_t special_first[4]; // bit b: one of them begins with byte b
    size_t longest;            // bytes of the longest token
} fr_vocab;

// Reads tokens, types and scores. FR_EDATA names the key and the entry. On failure *v is {0}, which
// fr_vocab_close accepts. Searches work only after fr_vocab_index.
fr_status fr_vocab_open(fr_vocab *v, const fr_gguf *file, fr_vocab_kind kind, fr_error *err);
fr_status fr_vocab_index(fr_vocab *v, fr_error *err);         // FR_ENOMEM; once
fr_status fr_vocab_index_special(fr_vocab *v, fr_error *err); // after flags changed. FR_ENOMEM
void fr_vocab_close(fr_vocab *v);

static inline fr_token_type fr_vocab_type(const fr_vocab *v, int32_t id) {
    return (fr_token_type)(v->flags[id] & FR_VOCAB_TYPE);
}
static inline size_t fr_vocab_bytes(const fr_vocab *v, int32_t id) {
    return v->at[id + 1] - v->at[id] - 1;
}
static inline const char *fr_vocab_text(const fr_vocab *v, int32_t id) {
    return v->bytes + v->at[id];
}

// The normal (or unused) token with exactly these bytes, or -1. If there are several, the lowest
// id.
int32_t fr_vocab_find(const fr_vocab *v, const char *text, size_t bytes);
// The longest special token at the beginning of text[0, bytes) that may be in a text of this mark
// (marked.h), or -1.
int32_t fr_vocab_match_special(const fr_vocab *v, const char *text, size_t bytes, fr_mark mark);
// The special token with exactly these bytes, or -1.
int32_t fr_vocab_find_special(const fr_vocab *v, const char *text, size_t bytes);

// Whether all characters of a token or of a merge belong to the byte-level alphabet.
bool fr_vocab_in_alphabet(fr_gguf_str s);
// Writes the text of a normal token that the file spells `s`, at most s.bytes bytes; returns its
// length. Also for merges, which are spelled the same way.
size_t fr_vocab_unwrite(fr_vocab_kind kind, fr_gguf_str s, char *out);

static inline uint64_t fr_hash_step(uint64_t h, uint64_t word) {
    h = (h ^ word) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

#endif
