// vocab.c — first the texts of tokens from their spellings, then the search for tokens, then
// opening: types, scores and bytes of all tokens, the hash table, the sorted list of special
// tokens.
#include "text/vocab.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include <stdlib.h>
#include <string.h>

// ---- the text of a token's spelling ---

// The byte-level alphabet: bytes that print in Latin-1 are their own characters, the 68 others are
// U+0100..U+0143 in order. -1: not a character of it.
static int byte_of_code(uint32_t code) {
    if ((code > 0x20 && code < 0x7F) || (code > 0xA0 && code <= 0xFF && code != 0xAD))
        return (int)code;
    if (code < 0x100 || code > 0x143) return -1;
    int k = (int)code - 0x100; // 0x00..0x20 are 33, 0x7F..0xA0 are 34, then 0xAD
    return k < 33 ? k : k < 67 ? 0x7F + (k - 33) : 0xAD;
}

bool fr_vocab_in_alphabet(fr_gguf_str s) {
    for (size_t at = 0; at < s.bytes;) {
        const fr_utf8_step step = fr_utf8_next((const uint8_t *)s.data + at, s.bytes - at);
        if (step.kind != FR_UTF8_WHOLE || byte_of_code(step.code) < 0) return false;
        at += (size_t)step.bytes;
    }
    return true;
}

size_t fr_vocab_unwrite(fr_vocab_kind kind, fr_gguf_str s, char *out) {
    size_t w = 0;
    for (size_t at = 0; at < s.bytes;) {
        fr_utf8_step step = fr_utf8_next((const uint8_t *)s.data + at, s.bytes - at);
        int byte = -1;
        if (step.kind == FR_UTF8_WHOLE && kind == FR_VOCAB_BPE) byte = byte_of_code(step.code);
        if (step.kind == FR_UTF8_WHOLE && kind != FR_VOCAB_BPE && step.code == 0x2581) byte = ' ';
        if (byte >= 0) {
            out[w++] = (char)byte;
        } else { // not in the alphabet: its text is itself
            memcpy(out + w, s.data + at, (size_t)step.bytes);
            w += (size_t)step.bytes;
        }
        at += (size_t)step.bytes;
    }
    return w;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

// The byte of "<0xHH>", or -1.
static int byte_token(fr_gguf_str s) {
    if (s.bytes != 6 || memcmp(s.data, "<0x", 3) != 0 || s.data[5] != '>') return -1;
    int high = hex_digit(s.data[3]), low = hex_digit(s.data[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static size_t unwrite_token(const fr_vocab *v, int32_t id, fr_gguf_str s, char *out) {
    fr_token_type type = fr_vocab_type(v, id);
    if (type == FR_TOKEN_BYTE && byte_token(s) >= 0) {
        out[0] = (char)byte_token(s);
        return 1;
    }
    // In a byte-level file, tokens that no merge gives are written as they are.
    if (v->kind == FR_VOCAB_BPE && type != FR_TOKEN_NORMAL && type != FR_TOKEN_UNUSED) {
        memcpy(out, s.data, s.bytes);
        return s.bytes;
    }
    return fr_vocab_unwrite(v->kind, s, out);
}

// ---- finding

static uint64_t hash_bytes(const char *p, size_t n) {
    uint64_t h = n, word;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
        h = fr_hash_step(h, word);
    }
    word = 0;
    memcpy(&word, p, n);
    return fr_hash_step(h, word);
}

static bool token_is(const fr_vocab *v, int32_t id, const char *text, size_t bytes) {
    return fr_vocab_bytes(v, id) == bytes && memcmp(fr_vocab_text(v, id), text, bytes) == 0;
}

// The slot that holds the token, or the empty one where it would be.
static size_t find_slot(const fr_vocab *v, const char *text, size_t bytes) {
    size_t i = hash_bytes(text, bytes) & v->slot_mask;
    while (v->slots[i] >= 0 && !token_is(v, v->slots[i], text, bytes))
        i = (i + 1) & v->slot_mask;
    return i;
}

int32_t fr_vocab_find(const fr_vocab *v, const char *text, size_t bytes) {
    return bytes > v->longest ? -1 : v->slots[find_slot(v, text, bytes)];
}

// The first of special[low, high), alike before byte k, whose byte k is at least `byte`.
static int first_special(const fr_vocab *v, int low, int high, size_t k, int byte) {
    while (low < high) {
        const int mid = low + (high - low) / 2;
        if ((uint8_t)fr_vocab_text(v, v->special[mid])[k] < byte)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool may_be_in(const fr_vocab *v, int32_t id, fr_mark mark) {
    const bool user = fr_vocab_type(v, id) == FR_TOKEN_USER;
    if (mark == FR_MARK_TEMPLATE) return true;
    return user && (mark == FR_MARK_PLAIN || !(v->flags[id] & FR_VOCAB_INNER));
}

int32_t fr_vocab_match_special(const fr_vocab *v, const char *text, size_t bytes, fr_mark mark) {
    uint8_t first = bytes ? (uint8_t)text[0] : 0;
    if (!bytes || !(v->special_first[first >> 6] >> (first & 63) & 1)) return -1;
    int32_t best = -1;
    int low = 0, high = v->n_special; // those that begin with text[0, k)
    for (size_t k = 0; low < high; k++) {
        int32_t id = v->special[low]; // the shortest of them comes first
        if (fr_vocab_bytes(v, id) == k) {
            if (k && may_be_in(v, id, mark)) best = id;
            while (low < high && fr_vocab_bytes(v, v->special[low]) == k)
                low++;
        }
        if (k == bytes) break;
        const int byte = (uint8_t)text[k];
        low = first_special(v, low, high, k, byte);
        high = first_special(v, low, high, k, byte + 1);
    }
    return best;
}

int32_t fr_vocab_find_special(const fr_vocab *v, const char *text, size_t bytes) {
    int32_t id = fr_vocab_match_special(v, text, bytes, FR_MARK_TEMPLATE);
    return id >= 0 && fr_vocab_bytes(v, id) == bytes ? id : -1;
}

// ---- opening

static bool type_is_special(fr_token_type type) {
    return type == FR_TOKEN_CONTROL || type == FR_TOKEN_USER || type == FR_TOKEN_UNKNOWN;
}

// Gives SentencePiece's byte tokens their type, if the file has another one. Where one token of a
// byte has the type already, the others keep theirs.
static void mend_bytes(fr_vocab *v, const fr_gguf_kv *tokens) {
    bool typed[256] = {false};
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < v->n; i++) {
            const int byte = byte_token(fr_gguf_item_str(tokens, (uint64_t)i));
            if (byte < 0) continue;
            if (pass && !typed[byte])
                v->flags[i] = (uint8_t)((v->flags[i] & ~FR_VOCAB_TYPE) | FR_TOKEN_BYTE);
            typed[byte] |= fr_vocab_type(v, i) == FR_TOKEN_BYTE;
        }
}

static fr_status read_types(fr_vocab *v, const fr_gguf *file, fr_error *err) {
    const fr_gguf_kv *types = NULL;
    fr_status st = fr_gguf_opt_array(file, "tokenizer.ggml.token_type", FR_GGUF_INTS, &types, err);
    if (st) return st;
    if (types && types->count != (uint64_t)v->n)
        return fr_fail(err, FR_EDATA,
                       "tokenizer.ggml.token_type: expected %d entries, one a token, found %llu",
                       v->n, (unsigned long long)types->count);
    for (int i = 0; i < v->n; i++) {
        int64_t type = types ? fr_gguf_item_i64(types, (uint64_t)i) : FR_TOKEN_NORMAL;
        if (type < 0 || type > FR_TOKEN_BYTE)
            return fr_fail(err, FR_EDATA,
                           "tokenizer.ggml.token_type[%d]: expected 1..6, found %lld", i,
                           (long long)type);
        v->flags[i] = (uint8_t)(type ? type : FR_TOKEN_NORMAL); // 0: undefined, in old files
    }
    return FR_OK;
}

// Order of floats as unsigned numbers, reversed: the highest score has the lowest rank.
static uint32_t rank_of_score(float score) {
    uint32_t bits;
    score += 0.0f; // -0 equals 0
    memcpy(&bits, &score, 4);
    return bits >> 31 ? bits : 0x7FFFFFFFu - bits;
}

static fr_status read_scores(fr_vocab *v, const fr_gguf *file, fr_error *err) {
    const fr_gguf_kv *scores;
    fr_status st = fr_gguf_get_array(file, "tokenizer.ggml.scores", FR_GGUF_FLOATS, &scores, err);
    if (st) return st;
    if (scores->count != (uint64_t)v->n)
        return fr_fail(err, FR_EDATA,
                       "tokenizer.ggml.scores: expected %d entries, one a token, found %llu", v->n,
                       (unsigned long long)scores->count);
    if (!(v->rank = fr_alloc_array((size_t)v->n, sizeof *v->rank)))
        return fr_fail(err, FR_ENOMEM, "tokenizer.ggml.scores: no memory for %d scores", v->n);
    for (int i = 0; i < v->n; i++)
        v->rank[i] = rank_of_score((float)fr_gguf_item_f64(scores, (uint64_t)i));
    return FR_OK;
}

static fr_status copy_texts(fr_vocab *v, const fr_gguf_kv *tokens, fr_error *err) {
    size_t total = 0;
    for (int i = 0; i < v->n; i++)
        total += fr_gguf_item_str(tokens, (uint64_t)i).bytes + 1;
    if (total > UINT32_MAX)
        return fr_fail(err, FR_EDATA,
                       "tokenizer.ggml.tokens: expected less than 4 GiB of text, found %zu bytes",
                       total);
    if (!(v->bytes = fr_alloc_zero(total)))
        return fr_fail(err, FR_ENOMEM, "tokenizer.ggml.tokens: no memory for %zu bytes of text",
                       total);
    size_t at = 0;
    for (int i = 0; i < v->n; i++) {
        v->at[i] = (uint32_t)at;
        const fr_gguf_str spelled = fr_gguf_item_str(tokens, (uint64_t)i);
        const size_t bytes = unwrite_token(v, i, spelled, v->bytes + at);
        if (v->kind == FR_VOCAB_BPE && !fr_vocab_in_alphabet(spelled)) v->flags[i] |= FR_VOCAB_RAW;
        if (bytes > v->longest) v->longest = bytes;
        v->bytes[at + bytes] = 0;
        at += bytes + 1;
    }
    v->at[v->n] = (uint32_t)at;
    return FR_OK;
}

// Of two tokens of the same bytes the first one is found.
static void index_token(fr_vocab *v, int32_t i) {
    const fr_token_type type = fr_vocab_type(v, i);
    const char *text = fr_vocab_text(v, i);
    const size_t bytes = fr_vocab_bytes(v, i);
    const bool byte = bytes == 1 && (type == FR_TOKEN_BYTE ||
                                     (v->kind == FR_VOCAB_BPE && !type_is_special(type)));
    if (byte && v->byte_id[(uint8_t)text[0]] < 0) v->byte_id[(uint8_t)text[0]] = i;
    if (type_is_special(type) || type == FR_TOKEN_BYTE || bytes == 0) return;
    const size_t slot = find_slot(v, text, bytes);
    if (v->slots[slot] < 0) v->slots[slot] = i;
}

// Tokens in the byte-level alphabet come first: merges do not make another one of the same bytes.
static fr_status index_tokens(fr_vocab *v, fr_error *err) {
    size_t n_slots = 16;
    while (n_slots < 2 * (size_t)v->n)
        n_slots *= 2;
    if (!(v->slots = fr_alloc_array(n_slots, sizeof *v->slots)))
        return fr_fail(err, FR_ENOMEM, "vocabulary: no memory for an index of %d tokens", v->n);
    memset(v->slots, 0xFF, n_slots * sizeof *v->slots);
    memset(v->byte_id, 0xFF, sizeof v->byte_id);
    v->slot_mask = n_slots - 1;
    for (int raw = 0; raw <= FR_VOCAB_RAW; raw += FR_VOCAB_RAW)
        for (int32_t i = 0; i < v->n; i++)
            if ((v->flags[i] & FR_VOCAB_RAW) == raw) index_token(v, i);
    return FR_OK;
}

typedef struct special_token { // for sorting
    const char *text;
    uint32_t bytes;
    int32_t id;
} special_token;

static int compare_special(const void *pa, const void *pb) {
    const special_token *a = pa, *b = pb;
    int c = memcmp(a->text, b->text, a->bytes < b->bytes ? a->bytes : b->bytes);
    if (c) return c;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

static bool is_utf8(const char *text, size_t bytes) {
    fr_utf8_step step = {FR_UTF8_WHOLE, 0, 0};
    for (size_t at = 0; at < bytes && step.kind == FR_UTF8_WHOLE; at += (size_t)step.bytes)
        step = fr_utf8_next((const uint8_t *)text + at, bytes - at);
    return step.kind == FR_UTF8_WHOLE;
}

// Whether it is searched for in texts. The texts between such tokens have to be whole characters.
static bool is_searched(const fr_vocab *v, int32_t id) {
    const size_t bytes = fr_vocab_bytes(v, id);
    return bytes && (type_is_special(fr_vocab_type(v, id)) || v->flags[id] & FR_VOCAB_ADDED) &&
           (v->kind == FR_VOCAB_SPM || is_utf8(fr_vocab_text(v, id), bytes));
}

fr_status fr_vocab_index_special(fr_vocab *v, fr_error *err) {
    int n = 0;
    fr_free(v->special);
    v->n_special = 0;
    for (int32_t i = 0; i < v->n; i++)
        n += is_searched(v, i);
    special_token *list = fr_alloc_array((size_t)n, sizeof *list);
    v->special = fr_alloc_array((size_t)n, sizeof *v->special);
    if (!list || !v->special) {
        fr_free(list);
        return fr_fail(err, FR_ENOMEM, "vocabulary: no memory for %d special tokens", n);
    }
    for (int32_t i = 0; i < v->n; i++)
        if (is_searched(v, i))
            list[v->n_special++] =
                (special_token){fr_vocab_text(v, i), (uint32_t)fr_vocab_bytes(v, i), i};
    qsort(list, (size_t)n, sizeof *list, compare_special);
    for (int i = 0; i < n; i++) {
        uint8_t first = (uint8_t)list[i].text[0];
        v->special[i] = list[i].id;
        v->special_first[first >> 6] |= 1ull << (first & 63);
    }
    fr_free(list);
    return FR_OK;
}

static fr_status open_tables(fr_vocab *v, const fr_gguf *file, fr_error *err) {
    const fr_gguf_kv *tokens;
    fr_status st = fr_gguf_get_array(file, "tokenizer.ggml.tokens", FR_GGUF_STRS, &tokens, err);
    if (st) return st;
    if (tokens->count == 0 || tokens->count > 1u << 28)
        return fr_fail(err, FR_EDATA, "tokenizer.ggml.tokens: expected 1..%u entries, found %llu",
                       1u << 28, (unsigned long long)tokens->count);
    v->n = (int)tokens->count;
    v->at = fr_alloc_array((size_t)v->n + 1, sizeof *v->at);
    v->flags = fr_alloc_zero((size_t)v->n);
    if (!v->at || !v->flags)
        return fr_fail(err, FR_ENOMEM, "vocabulary: no memory for %d tokens", v->n);
    if ((st = read_types(v, file, err))) return st;
    if (v->kind == FR_VOCAB_SPM && (st = read_scores(v, file, err))) return st;
    if (v->kind != FR_VOCAB_BPE) mend_bytes(v, tokens);
    return copy_texts(v, tokens, err);
}

fr_status fr_vocab_index(fr_vocab *v, fr_error *err) {
    const fr_status st = index_tokens(v, err);
    return st ? st : fr_vocab_index_special(v, err);
}

fr_status fr_vocab_open(fr_vocab *v, const fr_gguf *file, fr_vocab_kind kind, fr_error *err) {
    *v = (fr_vocab){.kind = kind};
    fr_status st = open_tables(v, file, err);
    if (st) fr_vocab_close(v);
    return st;
}

void fr_vocab_close(fr_vocab *v) {
    fr_free(v->bytes);
    fr_free(v->at);
    fr_free(v->flags);
    fr_free(v->rank);
    fr_free(v->slots);
    fr_free(v->special);
    *v = (fr_vocab){0};
}
