// bpe.c — reads the list of merges into a hash table. A word begins as one symbol a byte or, in
// FR_VOCAB_CHARS, a character; the merger joins symbols by rank, and the ids of the remaining
// symbols are appended. A character without a token becomes its bytes.
#include "text/bpe.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include <string.h>

static size_t find_slot(const fr_bpe *b, int32_t left, int32_t right) {
    size_t i = fr_hash_step(0, (uint64_t)(uint32_t)left << 32 | (uint32_t)right) & b->mask;
    while (b->merges[i].left >= 0 && (b->merges[i].left != left || b->merges[i].right != right))
        i = (i + 1) & b->mask;
    return i;
}

// A token of a merge, or -1. A file may mark one as user-defined and still merge to it. `raw`: the
// merge is not spelled in the byte-level alphabet, so its tokens need not be either.
static int32_t find_token(const fr_vocab *v, const char *text, size_t bytes, bool raw) {
    int32_t id = fr_vocab_find(v, text, bytes);
    if (id < 0) id = fr_vocab_find_special(v, text, bytes);
    const bool plain = id >= 0 && fr_vocab_type(v, id) == FR_TOKEN_NORMAL;
    return plain && !raw && v->flags[id] & FR_VOCAB_RAW ? -1 : id;
}

// Reads "LEFT RIGHT". Neither is empty, nor contains a space, except in some files as the first
// character. `room`: a buffer as large as the entry.
static fr_status read_merge(fr_bpe *b, fr_gguf_str entry, uint32_t rank, char *room,
                            fr_error *err) {
    const char *space = entry.bytes > 1 ? memchr(entry.data + 1, ' ', entry.bytes - 1) : NULL;
    fr_gguf_str left = {entry.data, space ? (size_t)(space - entry.data) : entry.bytes};
    fr_gguf_str right = {entry.data + left.bytes + 1, space ? entry.bytes - left.bytes - 1 : 0};
    size_t n_left = fr_vocab_unwrite(b->vocab->kind, left, room);
    size_t n_right = space ? fr_vocab_unwrite(b->vocab->kind, right, room + n_left) : 0;
    const bool raw = !fr_vocab_in_alphabet(left) || !fr_vocab_in_alphabet(right);
    const int32_t l = find_token(b->vocab, room, n_left, raw);
    const int32_t r = find_token(b->vocab, room + n_left, n_right, raw);
    const int32_t id = find_token(b->vocab, room, n_left + n_right, raw);
    if (l < 0 || r < 0 || id < 0)
        return fr_fail(
            err, FR_EDATA,
            "tokenizer.ggml.merges[%u]: expected two tokens whose union is a token, found '%.*s'",
            rank, (int)(entry.bytes < 100 ? entry.bytes : 100), entry.data);
    // No text is merged to a control token: only templates write these.
    if (fr_vocab_type(b->vocab, id) == FR_TOKEN_CONTROL) return FR_OK;
    size_t slot = find_slot(b, l, r);
    if (b->merges[slot].left < 0)
        b->merges[slot] = (fr_bpe_merge){l, r, rank, id}; // given twice: the first counts
    return FR_OK;
}

static fr_status read_merges(fr_bpe *b, const fr_gguf_kv *entries, fr_error *err) {
    size_t longest = 0;
    for (uint64_t i = 0; i < entries->count; i++) {
        size_t bytes = fr_gguf_item_str(entries, i).bytes;
        if (bytes > longest) longest = bytes;
    }
    char *room = fr_alloc_zero(longest);
    if (!room)
        return fr_fail(err, FR_ENOMEM, "tokenizer.ggml.merges: no memory for %zu bytes", longest);
    fr_status st = FR_OK;
    for (uint64_t i = 0; !st && i < entries->count; i++)
        st = read_merge(b, fr_gguf_item_str(entries, i), (uint32_t)i, room, err);
    fr_free(room);
    return st;
}

fr_status fr_bpe_open(fr_bpe *b, const fr_gguf *file, const fr_vocab *vocab, fr_error *err) {
    *b = (fr_bpe){.vocab = vocab};
    const fr_gguf_kv *entries;
    fr_status st = fr_gguf_get_array(file, "tokenizer.ggml.merges", FR_GGUF_STRS, &entries, err);
    if (st) return st;
    if (entries->count > 1u << 28)
        return fr_fail(err, FR_EDATA,
                       "tokenizer.ggml.merges: expected at most %u entries, found %llu", 1u << 28,
                       (unsigned long long)entries->count);
    size_t n_slots = 16;
    while (n_slots < 2 * entries->count)
        n_slots *= 2;
    if (!(b->merges = fr_alloc_array(n_slots, sizeof *b->merges)))
        return fr_fail(err, FR_ENOMEM, "tokenizer.ggml.merges: no memory for %zu merges",
                       n_slots / 2);
    b->mask = n_slots - 1;
    for (size_t i = 0; i < n_slots; i++)
        b->merges[i].left = -1;
    if ((st = read_merges(b, entries, err))) fr_bpe_close(b);
    return st;
}

void fr_bpe_made(const fr_bpe *b, bool *made) {
    for (size_t i = 0; i <= b->mask; i++)
        if (b->merges[i].left >= 0) made[b->merges[i].id] = true;
}

void fr_bpe_close(fr_bpe *b) {
    fr_free(b->merges);
    *b = (fr_bpe){0};
}

static bool find_merge(const void *model, const char *text, const fr_symbol *left,
                       const fr_symbol *right, uint32_t *rank, int32_t *id) {
    const fr_bpe *b = model;
    (void)text;
    if (left->id < 0 || right->id < 0) return false;
    const fr_bpe_merge *merge = &b->merges[find_slot(b, left->id, right->id)];
    *rank = merge->rank;
    *id = merge->id;
    return merge->left >= 0;
}

static void add_symbols(const fr_bpe *b, fr_merger *m, const char *word, size_t bytes) {
    const fr_vocab *v = b->vocab;
    const uint8_t *at = (const uint8_t *)word;
    if (v->kind == FR_VOCAB_BPE)
        for (size_t i = 0; i < bytes; i++)
            fr_merger_add(m, i, 1, v->byte_id[at[i]]);
    else
        for (size_t i = 0, n; i < bytes; i += n) {
            n = (size_t)fr_utf8_next(at + i, bytes - i).bytes;
            fr_merger_add(m, i, n, fr_vocab_find(v, word + i, n));
        }
}

static fr_status push_symbol(const fr_bpe *b, const char *word, const fr_symbol *symbol,
                             fr_ids *ids, fr_error *err) {
    if (symbol->id >= 0) return fr_ids_push(ids, symbol->id, err);
    fr_status st = FR_OK;
    for (uint32_t i = 0; !st && i < symbol->bytes; i++) {
        const int32_t id = b->vocab->byte_id[(uint8_t)word[symbol->at + i]];
        if (id >= 0) st = fr_ids_push(ids, id, err);
    }
    return st;
}

static fr_status merge_part(const fr_bpe *b, fr_merger *m, const char *word, size_t bytes,
                            fr_ids *ids, fr_error *err) {
    fr_status st = fr_merger_begin(m, word, bytes, err);
    if (st) return st;
    add_symbols(b, m, word, bytes);
    st = fr_merger_run(m, find_merge, b, err);
    for (int32_t i = 0; !st && i >= 0; i = m->symbols[i].next)
        st = push_symbol(b, word, &m->symbols[i], ids, err);
    return st;
}

static bool is_newlines(const char *word, size_t bytes) {
    size_t n = 0;
    while (n < bytes && word[n] == '\n')
        n++;
    return n == bytes;
}

// The token that the word is without any merge, or -1.
static int32_t find_whole(const fr_bpe *b, const char *word, size_t bytes) {
    if (!b->whole_words && !(b->whole_lines && is_newlines(word, bytes))) return -1;
    const int32_t id = fr_vocab_find(b->vocab, word, bytes);
    return id >= 0 && b->vocab->flags[id] & FR_VOCAB_RAW ? -1 : id; // a raw one is no word
}

// Bytes of the word's next part, which ends between two characters where these are merged.
static size_t part_bytes(const fr_bpe *b, const char *word, size_t bytes) {
    size_t n = FR_MERGE_MAX_BYTES;
    if (bytes <= n) return bytes;
    while (b->vocab->kind == FR_VOCAB_CHARS && ((uint8_t)word[n] & 0xC0) == 0x80)
        n--;
    return n;
}

fr_status fr_bpe_word(const fr_bpe *b, fr_merger *m, const char *word, size_t bytes, fr_ids *ids,
                      fr_error *err) {
    const int32_t whole = find_whole(b, word, bytes);
    fr_status st = whole >= 0 ? fr_watch_ask(m->watch, err) : FR_OK;
    if (whole >= 0) return st ? st : fr_ids_push(ids, whole, err);
    for (size_t at = 0, n; !st && at < bytes; at += n) {
        n = part_bytes(b, word + at, bytes - at);
        st = merge_part(b, m, word + at, n, ids, err);
    }
    return st;
}
