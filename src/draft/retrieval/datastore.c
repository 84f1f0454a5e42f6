// datastore.c — maps a store and checks header and checksum. A query narrows the sorted places by
// one more token of the text at a time, with two binary searches each.
#include "draft/retrieval/datastore_file.h"
#include "gguf/hash.h"
#include <assert.h>
#include <stddef.h>
#include <string.h>

uint64_t fr_datastore_checksum(const void *data, size_t bytes) {
    return fr_hash_around(data, bytes, offsetof(fr_datastore_header, checksum));
}

// ---------------------------------------------------------------- opening

bool fr_datastore_is(const void *data, size_t bytes) {
    return bytes >= 8 && !memcmp(data, FR_DATASTORE_MAGIC, 7);
}

static bool makes_sense(const fr_datastore_header *h) {
    return h->n_ids <= INT32_MAX && h->n_places <= h->n_ids &&
           h->bytes == sizeof *h + 4 * (h->n_ids + h->n_places) && h->n_vocab <= 1 << 24 &&
           h->order == FR_DATASTORE_ORDER && memchr(h->vocab, 0, FR_VOCAB_NAME);
}

fr_status fr_datastore_take(fr_datastore *s, const void *data, size_t bytes, const char *name,
                            fr_error *err) {
    const fr_datastore_header *h = data;
    *s = (fr_datastore){0};
    if (bytes < sizeof *h || !fr_datastore_is(data, bytes))
        return fr_fail(err, FR_EDATA, "%s: is not a datastore ('forerun datastore' makes one)",
                       name);
    if (memcmp(h->magic, FR_DATASTORE_MAGIC, 8))
        return fr_fail(err, FR_EDATA, "%s: expected a datastore of version %c, found '%c'", name,
                       FR_DATASTORE_MAGIC[7], h->magic[7]);
    if (h->bytes != bytes)
        return fr_fail(err, FR_EDATA, "%s: expected %llu bytes, found %zu", name,
                       (unsigned long long)h->bytes, bytes);
    if (h->checksum != fr_datastore_checksum(data, bytes))
        return fr_fail(err, FR_EDATA, "%s: is damaged (its checksum is another)", name);
    if (!makes_sense(h)) return fr_fail(err, FR_EDATA, "%s: its header makes no sense", name);
    s->ids = (const void *)(h + 1);
    s->places = (const uint32_t *)(s->ids + h->n_ids);
    s->n_ids = (uint32_t)h->n_ids;
    s->n_places = (uint32_t)h->n_places;
    s->n_texts = h->n_texts;
    s->bytes = bytes;
    s->n_vocab = (int)h->n_vocab;
    memcpy(s->vocab, h->vocab, sizeof s->vocab);
    assert(fr_datastore_is_sound(s));
    return FR_OK;
}

bool fr_datastore_is_sound(const fr_datastore *s) {
    const uint64_t n = (uint64_t)s->n_ids + s->n_places;
    return s->ids && s->places == (const uint32_t *)(s->ids + s->n_ids) &&
           s->n_places <= s->n_ids && s->bytes == sizeof(fr_datastore_header) + 4 * n &&
           s->n_vocab >= 0 && memchr(s->vocab, 0, sizeof s->vocab);
}

fr_status fr_datastore_open(fr_datastore *s, const char *path, fr_error *err) {
    fr_map map;
    *s = (fr_datastore){0};
    fr_status st = fr_map_open(&map, path, err);
    if (st) return st;
    fr_map_prefetch(&map, 0, map.bytes);
    st = fr_datastore_take(s, map.data, map.bytes, path, err);
    if (st)
        fr_map_close(&map);
    else
        s->map = map;
    return st;
}

void fr_datastore_close(fr_datastore *s) {
    fr_map_close(&s->map);
    *s = (fr_datastore){0};
}

// ---------------------------------------------------------------- queries

// The id that stands `back` tokens before the place of number i; a mark before the first.
static int32_t before(const fr_datastore *s, uint32_t i, uint32_t back) {
    const uint32_t at = s->places[i] - back; // wraps to beyond the end
    return at < s->n_ids ? s->ids[at] : FR_DATASTORE_MARK;
}

// Places [begin, end) have the same back - 1 tokens before them. Returns the first whose next token
// back is not below id; end: there is none.
static uint32_t first_not_below(const fr_datastore *s, uint32_t begin, uint32_t end, uint32_t back,
                                int32_t id) {
    while (begin < end) {
        const uint32_t middle = begin + (end - begin) / 2;
        if (before(s, middle, back) < id)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

int fr_datastore_find(const fr_datastore *s, const int32_t *ids, int n, int most,
                      fr_datastore_match match[FR_DATASTORE_ORDER]) {
    uint32_t begin = 0, end = s->n_places;
    int span = 0;
    assert(fr_datastore_is_sound(s));
    while (span < most && span < n) {
        const int32_t id = ids[n - span - 1];
        begin = first_not_below(s, begin, end, (uint32_t)span + 1, id);
        end = first_not_below(s, begin, end, (uint32_t)span + 1, id + 1);
        if (begin == end) break;
        match[span++] = (fr_datastore_match){begin, end};
    }
    return span;
}
