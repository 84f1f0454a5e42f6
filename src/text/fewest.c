// fewest.c — a lower bound of the number of a text's tokens, by its bytes alone: no token has
// more bytes than the longest one.
#include "text/tokenizer_parts.h"
#include <string.h>

static bool has_all_bytes(const fr_vocab *v) {
    for (int i = 0; i < 256; i++)
        if (v->byte_id[i] < 0) return false;
    return true;
}

static bool strips(const fr_vocab *v) {
    for (int i = 0; i < v->n_special; i++)
        if (v->flags[v->special[i]] & FR_VOCAB_RSTRIP) return true;
    return false;
}

void fr_fewest_open(fr_tokenizer *t) {
    t->has_all_bytes = has_all_bytes(&t->vocab);
    t->strips = strips(&t->vocab);
}

// Bytes that certainly become part of a token. A byte without a token is left out; a U+FFFD in
// place of invalid bytes may be.
static size_t bpe_bytes(const fr_tokenizer *t, const char *text, size_t bytes) {
    size_t n = 0;
    if (t->has_all_bytes) return bytes;
    for (size_t i = 0; i < bytes; i++)
        n += (uint8_t)text[i] < 0x80 && t->vocab.byte_id[(uint8_t)text[i]] >= 0;
    return n;
}

// The same where U+2581 becomes one byte, a space. Only SentencePiece has an unknown token for
// characters without a token and without bytes.
static size_t spm_bytes(const fr_tokenizer *t, const char *text, size_t bytes) {
    size_t n = 0;
    const bool leaves_out = t->special.unknown < 0 || t->vocab.kind != FR_VOCAB_SPM;
    if (leaves_out && !t->has_all_bytes) return 0;
    for (size_t i = 0; i < bytes; i++) {
        const bool space = i + 2 < bytes && !memcmp(text + i, "\xE2\x96\x81", 3);
        if (space) i += 2;
        n += !t->strips || (!space && !(text[i] && strchr(" \t\n\v\f\r", text[i])));
    }
    return n;
}

size_t fr_tokenizer_fewest(const fr_tokenizer *t, const char *text, size_t bytes) {
    enum { CHARACTER = 4 }; // bytes of one character, for which an unknown token stands
    const size_t each = t->vocab.longest > CHARACTER ? t->vocab.longest : CHARACTER;
    const size_t n =
        t->vocab.kind == FR_VOCAB_BPE ? bpe_bytes(t, text, bytes) : spm_bytes(t, text, bytes);
    return n / each + (n % each != 0);
}
