// made_vocab.h — small vocabularies put together in memory, so that every expected id follows from
// a few lines.
#ifndef FR_TESTS_TEXT_MADE_VOCAB_H
#define FR_TESTS_TEXT_MADE_VOCAB_H
#include "base/alloc.h"
#include "gguf/writer.h"
#include "text/tokenizer.h"
#include <stdio.h>
#include <string.h>

enum { MADE_MAX = 512 };

typedef struct made_vocab {
    const char *model, *pre, *architecture; // NULL: the key is left out
    char spelling[MADE_MAX][64];
    int32_t type[MADE_MAX];
    float score[MADE_MAX];
    int n;
    const char *merges[64];
    int n_merges;
    int64_t bos, eos, eot, unknown; // -1: no key
    int add_space_prefix;           // -1: no key
    int32_t ends[4];                // [n_ends] Ollama's key; none: no key
    int n_ends;
    uint32_t fim_file; // 0: no key
    bool no_bos;       // the file states that prompts begin without bos
} made_vocab;

static inline int made_add(made_vocab *v, const char *spelling, int type, float score) {
    snprintf(v->spelling[v->n], sizeof v->spelling[0], "%s", spelling);
    v->type[v->n] = type;
    v->score[v->n] = score;
    return v->n++;
}

// How the byte-level alphabet spells a byte (the table of GPT-2's encoder): printing Latin-1
// characters are themselves, the others U+0100, U+0101, ... in order.
static inline void made_spell_byte(int byte, char out[3]) {
    int code = 0x100;
    for (int b = 0; b <= byte; b++) {
        bool prints = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE);
        if (b == byte && prints) code = b;
        if (b < byte && !prints) code++;
    }
    int n = 0;
    if (code >= 0x80) out[n++] = (char)(0xC0 | code >> 6);
    out[n++] = (char)(code < 0x80 ? code : 0x80 | (code & 0x3F));
    out[n] = 0;
}

// Ids 0..255 are the bytes.
static inline void made_bpe_bytes(made_vocab *v) {
    *v = (made_vocab){
        .model = "gpt2", .pre = "gpt-2", .bos = -1, .eos = -1, .eot = -1, .unknown = -1};
    v->add_space_prefix = -1;
    for (int byte = 0; byte < 256; byte++) {
        char spelling[3];
        made_spell_byte(byte, spelling);
        made_add(v, spelling, FR_TOKEN_NORMAL, 0);
    }
}

// Adds the merge "LEFT RIGHT" and the token it makes, and returns the token's id.
static inline int made_merge(made_vocab *v, const char *merge) {
    char joined[64];
    const char *space = strchr(merge, ' ');
    v->merges[v->n_merges++] = merge;
    snprintf(joined, sizeof joined, "%.*s%s", (int)(space - merge), merge, space + 1);
    return made_add(v, joined, FR_TOKEN_NORMAL, 0);
}

// Ids: 0 unknown, 1 and 2 control, 3..258 the bytes when `bytes`. The same with model "gemma4", where
// merges follow and the names are those of Gemma 4: made_chars.
static inline void made_spm(made_vocab *v, bool bytes) {
    *v = (made_vocab){
        .model = "llama", .pre = "default", .bos = 1, .eos = 2, .eot = -1, .unknown = 0};
    v->add_space_prefix = -1;
    made_add(v, "<unk>", FR_TOKEN_UNKNOWN, 0);
    made_add(v, "<s>", FR_TOKEN_CONTROL, 0);
    made_add(v, "</s>", FR_TOKEN_CONTROL, 0);
    for (int byte = 0; bytes && byte < 256; byte++) {
        char spelling[8];
        snprintf(spelling, sizeof spelling, "<0x%02X>", (unsigned)byte);
        made_add(v, spelling, FR_TOKEN_BYTE, 0);
    }
}

static inline void made_chars(made_vocab *v, bool bytes) {
    made_spm(v, bytes);
    v->model = "gemma4";
    v->pre = NULL;
    snprintf(v->spelling[1], sizeof v->spelling[1], "<bos>");
    snprintf(v->spelling[2], sizeof v->spelling[2], "<eos>");
}

static inline void made_write(const made_vocab *v, fr_gguf_writer *w) {
    const char *tokens[MADE_MAX];
    for (int i = 0; i < v->n; i++)
        tokens[i] = v->spelling[i];
    fr_gguf_writer_str(w, "general.architecture", v->architecture ? v->architecture : "llama");
    if (v->model) fr_gguf_writer_str(w, "tokenizer.ggml.model", v->model);
    if (v->pre) fr_gguf_writer_str(w, "tokenizer.ggml.pre", v->pre);
    fr_gguf_writer_str_array(w, "tokenizer.ggml.tokens", tokens, (size_t)v->n);
    fr_gguf_writer_i32_array(w, "tokenizer.ggml.token_type", v->type, (size_t)v->n);
    fr_gguf_writer_f32_array(w, "tokenizer.ggml.scores", v->score, (size_t)v->n);
    fr_gguf_writer_str_array(w, "tokenizer.ggml.merges", v->merges, (size_t)v->n_merges);
    if (v->bos >= 0) fr_gguf_writer_u32(w, "tokenizer.ggml.bos_token_id", (uint32_t)v->bos);
    if (v->eos >= 0) fr_gguf_writer_u32(w, "tokenizer.ggml.eos_token_id", (uint32_t)v->eos);
    if (v->eot >= 0) fr_gguf_writer_u32(w, "tokenizer.ggml.eot_token_id", (uint32_t)v->eot);
    if (v->unknown >= 0)
        fr_gguf_writer_u32(w, "tokenizer.ggml.unknown_token_id", (uint32_t)v->unknown);
    if (v->n_ends)
        fr_gguf_writer_i32_array(w, "tokenizer.ggml.eos_token_ids", v->ends, (size_t)v->n_ends);
    if (v->fim_file) fr_gguf_writer_u32(w, "tokenizer.ggml.fim_sep_token_id", v->fim_file);
    if (v->no_bos) fr_gguf_writer_bool(w, "tokenizer.ggml.add_bos_token", false);
    if (v->add_space_prefix >= 0)
        fr_gguf_writer_bool(w, "tokenizer.ggml.add_space_prefix", v->add_space_prefix);
}

// Writes the vocabulary as a file in memory and opens it. The tokenizer owns nothing of either.
static inline fr_status made_open(const made_vocab *v, fr_tokenizer **out, fr_error *err) {
    fr_gguf_writer *w = NULL;
    fr_gguf *file = NULL;
    void *data = NULL;
    size_t bytes;
    *out = NULL;
    fr_status st = fr_gguf_writer_open(&w, err);
    if (st) return st;
    made_write(v, w);
    st = fr_gguf_writer_finish_memory(w, &data, &bytes, err);
    fr_gguf_writer_close(w);
    if (!st) st = fr_gguf_open_memory(&file, data, bytes, "made", err);
    if (!st) st = fr_tokenizer_open(out, file, err);
    fr_gguf_close(file);
    fr_free(data);
    return st;
}

#endif
