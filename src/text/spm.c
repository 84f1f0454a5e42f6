// spm.c — cuts a text into parts that no merge can cross, makes a symbol of each character,
// merges by score and appends the ids. A character without a token becomes its bytes.
#include "text/spm.h"
#include "base/alloc.h"
#include "base/utf8.h"

enum { PAIR_BITS = 21 };

// The next character of p[0, n), n > 0, its code in *code; a byte that begins none is a character
// of its own.
static size_t next_char(const char *p, size_t n, uint32_t *code) {
    fr_utf8_step step = fr_utf8_next((const uint8_t *)p, n);
    *code = step.kind == FR_UTF8_WHOLE ? step.code : 0x110000u + (uint8_t)p[0];
    return step.kind == FR_UTF8_WHOLE ? (size_t)step.bytes : 1;
}

static uint32_t pair_bit(uint32_t left, uint32_t right) {
    return (uint32_t)(fr_hash_step(0, (uint64_t)left << 32 | right) & ((1u << PAIR_BITS) - 1));
}

static bool may_join(const fr_spm *s, uint32_t left, uint32_t right) {
    uint32_t bit = pair_bit(left, right);
    return s->pairs[bit >> 6] >> (bit & 63) & 1;
}

static void note_pairs(fr_spm *s, const char *text, size_t bytes) {
    uint32_t left = 0, right;
    for (size_t at = 0, n; at < bytes; at += n, left = right) {
        n = next_char(text + at, bytes - at, &right);
        if (at == 0) continue;
        uint32_t bit = pair_bit(left, right);
        s->pairs[bit >> 6] |= 1ull << (bit & 63);
    }
}

fr_status fr_spm_open(fr_spm *s, const fr_vocab *vocab, int32_t unknown, fr_error *err) {
    *s = (fr_spm){.vocab = vocab, .unknown = unknown};
    if (!(s->pairs = fr_alloc_zero((1u << PAIR_BITS) / 8)))
        return fr_fail(err, FR_ENOMEM, "vocabulary: no memory for the table of character pairs");
    for (int32_t i = 0; i < vocab->n; i++) {
        fr_token_type type = fr_vocab_type(vocab, i);
        if (type == FR_TOKEN_NORMAL || type == FR_TOKEN_UNUSED)
            note_pairs(s, fr_vocab_text(vocab, i), fr_vocab_bytes(vocab, i));
    }
    return FR_OK;
}

void fr_spm_close(fr_spm *s) {
    fr_free(s->pairs);
    *s = (fr_spm){0};
}

static bool find_merge(const void *model, const char *text, const fr_symbol *left,
                       const fr_symbol *right, uint32_t *rank, int32_t *id) {
    const fr_spm *s = model;
    *id = fr_vocab_find(s->vocab, text + left->at, (size_t)left->bytes + right->bytes);
    if (*id < 0) return false;
    *rank = s->vocab->rank[*id];
    return true;
}

static fr_status push_bytes(const fr_spm *s, const char *text, const fr_symbol *symbol, fr_ids *ids,
                            fr_error *err) {
    fr_status st = FR_OK;
    bool known = true;
    for (uint32_t i = 0; i < symbol->bytes; i++)
        known = known && s->vocab->byte_id[(uint8_t)text[symbol->at + i]] >= 0;
    if (!known) return s->unknown >= 0 ? fr_ids_push(ids, s->unknown, err) : FR_OK;
    for (uint32_t i = 0; !st && i < symbol->bytes; i++)
        st = fr_ids_push(ids, s->vocab->byte_id[(uint8_t)text[symbol->at + i]], err);
    return st;
}

// Merges the symbols that the merger holds and appends their ids.
static fr_status finish_part(const fr_spm *s, fr_merger *m, fr_ids *ids, fr_error *err) {
    fr_status st = fr_merger_run(m, find_merge, s, err);
    for (int32_t i = m->n_symbols ? 0 : -1; !st && i >= 0; i = m->symbols[i].next) {
        const fr_symbol *symbol = &m->symbols[i];
        st = symbol->id >= 0 ? fr_ids_push(ids, symbol->id, err)
                             : push_bytes(s, m->text, symbol, ids, err);
    }
    return st;
}

// The first part of the text that can be merged by itself. It ends between two characters that are
// adjacent in no token, because no merge crosses such a place. *n_chars: its characters.
static size_t part_bytes(const fr_spm *s, const char *text, size_t bytes, size_t *n_chars) {
    uint32_t left, right;
    size_t at = next_char(text, bytes, &left), n;
    for (*n_chars = 1; at < bytes && at < FR_MERGE_MAX_BYTES; at += n, left = right, ++*n_chars) {
        n = next_char(text + at, bytes - at, &right);
        if (!may_join(s, left, right)) break;
    }
    return at;
}

fr_status fr_spm_text(const fr_spm *s, fr_merger *m, const char *text, size_t bytes, fr_ids *ids,
                      fr_error *err) {
    fr_status st = FR_OK;
    uint32_t code;
    for (size_t at = 0, part, n_chars; !st && at < bytes; at += part) {
        part = part_bytes(s, text + at, bytes - at, &n_chars);
        if ((st = fr_merger_begin(m, text + at, n_chars, err))) break;
        for (size_t i = 0, n; i < part; i += n) {
            n = next_char(text + at + i, part - i, &code);
            fr_merger_add(m, i, n, fr_vocab_find(s->vocab, text + at + i, n));
        }
        st = finish_part(s, m, ids, err);
    }
    return st;
}
