#include "draft/kit/vocab_match.h"
#include "gguf/hash.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool same_token(const fr_tokenizer *a, const fr_tokenizer *b, int32_t id) {
    if (fr_token_type_of(a, id) == FR_TOKEN_UNUSED || fr_token_type_of(b, id) == FR_TOKEN_UNUSED)
        return true;
    size_t n, m;
    const char *s = fr_token_bytes(a, id, &n), *t = fr_token_bytes(b, id, &m);
    return n == m && !memcmp(s, t, n) && fr_token_is_control(a, id) == fr_token_is_control(b, id);
}

// "special '<s>'" or "'the'", what does not print as \xNN, cut after some bytes.
static const char *show(const fr_tokenizer *t, int32_t id, char text[80]) {
    size_t bytes;
    const char *s = fr_token_bytes(t, id, &bytes);
    int n = snprintf(text, 80, "%s'", fr_token_is_control(t, id) ? "special " : "");
    for (size_t i = 0; i < bytes && n < 64; i++) {
        const unsigned char c = (unsigned char)s[i];
        n += snprintf(text + n, (size_t)(80 - n), c < 0x20 || c > 0x7e ? "\\x%02x" : "%c", c);
    }
    snprintf(text + n, (size_t)(80 - n), "'");
    return text;
}

int fr_vocab_match(const fr_tokenizer *target, const fr_tokenizer *draft, fr_error *err) {
    const int n = fr_tokenizer_size(target), m = fr_tokenizer_size(draft), both = n < m ? n : m;
    for (int32_t id = 0; id < both; id++) {
        if (same_token(target, draft, id)) continue;
        char here[80], there[80];
        fr_fail(err, FR_EUNSUP,
                "the draft model has another vocabulary: token %d is %s, the target's is %s", id,
                show(draft, id, there), show(target, id, here));
        return -1;
    }
    return both;
}

void fr_vocab_name(const fr_tokenizer *t, char hex[FR_VOCAB_NAME]) {
    fr_hash h;
    fr_hash_open(&h, 0);
    for (int32_t id = 0; id < fr_tokenizer_size(t); id++) {
        size_t bytes;
        const char *text = fr_token_bytes(t, id, &bytes);
        const uint64_t head[2] = {(uint64_t)id << 1 | fr_token_is_control(t, id), bytes};
        if (fr_token_type_of(t, id) == FR_TOKEN_UNUSED) continue;
        fr_hash_add(&h, head, sizeof head);
        fr_hash_add(&h, text, bytes);
    }
    snprintf(hex, FR_VOCAB_NAME, "%016" PRIx64, fr_hash_value(&h));
}
