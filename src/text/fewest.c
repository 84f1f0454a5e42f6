// fewest.c — how few tokens a text can become, told by its bytes alone: every token stands for at most
// as many of them as the longest does.
#include "text/tokenizer_parts.h"
#include <string.h>

static bool has_all_bytes(const fr_vocab *v) {
    for (int i = 0; i < 256; i++)
        if (v->byte_id[i] < 0) return false;
    return true;
}

// Whether there are tokens that take white space with them, any number of it.
static bool strips(const fr_vocab *v) {
    for (int i = 0; i < v->n_special; i++)
        if (v->flags[v->special[i]] & FR_VOCAB_RSTRIP) return true;
    return false;
}

// Bytes that surely come to stand in tokens. A byte without a token is left out, and so may be a
// U+FFFD that stands for what is no UTF-8.
static size_t bpe_bytes(const fr_vocab *v, const char *text, size_t bytes) {
    size_t n = 0;
    if (has_all_bytes(v)) return bytes;
    for (size_t i = 0; i < bytes; i++)
        n += (uint8_t)text[i] < 0x80 && v->byte_id[(uint8_t)text[i]] >= 0;
    return n;
}

// The same; U+2581 is one byte there, a space.
static size_t spm_bytes(const fr_vocab *v, const char *text, size_t bytes) {
    const bool stripped = strips(v);
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++) {
        const bool blank = i + 2 < bytes && !memcmp(text + i, "\xE2\x96\x81", 3);
        if (blank) i += 2;
        n += !stripped || (!blank && !(text[i] && strchr(" \t\n\v\f\r", text[i])));
    }
    return n;
}

size_t fr_tokenizer_fewest(const fr_tokenizer *t, const char *text, size_t bytes) {
    enum { CHARACTER = 4 }; // an unknown token stands for one character
    const fr_vocab *v = &t->vocab;
    size_t n, each = v->longest > CHARACTER ? v->longest : CHARACTER;
    if (v->kind == FR_VOCAB_BPE)
        n = bpe_bytes(v, text, bytes);
    else
        n = t->special.unknown >= 0 || has_all_bytes(v) ? spm_bytes(v, text, bytes) : 0;
    return n / each + (n % each != 0);
}
