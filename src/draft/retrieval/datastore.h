// datastore.h — texts as token ids, and every place in them found by the tokens before it.
//
// One file, mapped and never written: a header, the ids of all texts with a mark around each, and
// the *places*. A place is the number of a token that follows another one of its text. Places are
// sorted by the tokens before them, the nearest first, up to FR_DATASTORE_ORDER of them. So the
// places after a span of tokens are adjacent, and those after a longer span are a part of those
// after a shorter one. [He et al. 2023, REST: there a suffix array, searched once a span.]
//
// Opening reads the file once, for its checksum. Reads after that are bounded all the same: a store
// that changes while it is open may give wrong ids, but nothing outside of it is read.
#ifndef FR_DRAFT_RETRIEVAL_DATASTORE_H
#define FR_DRAFT_RETRIEVAL_DATASTORE_H
#include "base/map.h"
#include "draft/kit/vocab_match.h"
#include <stdbool.h>

enum {
    FR_DATASTORE_ORDER = 16, // tokens that places are sorted by
    FR_DATASTORE_MARK = -1,  // stands around texts
};

typedef struct fr_datastore {
    fr_map map;             // {0}: the memory is the caller's
    const int32_t *ids;     // [n_ids], marks with them
    const uint32_t *places; // [n_places]
    uint32_t n_ids, n_places;
    uint64_t n_texts, bytes;
    int n_vocab;               // ids from here on count as marks
    char vocab[FR_VOCAB_NAME]; // of the vocabulary that the ids are of (vocab_match.h)
} fr_datastore;

// FR_EIO, FR_ENOMEM; FR_EDATA: no store, or a damaged one.
fr_status fr_datastore_open(fr_datastore *s, const char *path, fr_error *err);
// The same from memory (8-byte aligned) that outlives *s; `name` is for sentences.
fr_status fr_datastore_take(fr_datastore *s, const void *data, size_t bytes, const char *name,
                            fr_error *err);
void fr_datastore_close(fr_datastore *s); // {0} is fine
// The places follow the ids, within the file's size. (The values of places and ids are not trusted:
// the file may change while it is open.)
bool fr_datastore_is_sound(const fr_datastore *s);
// Whether bytes begin as a store does, of any version.
bool fr_datastore_is(const void *data, size_t bytes);

typedef struct fr_datastore_match { // places [begin, end)
    uint32_t begin, end;
} fr_datastore_match;

// For every span of the last tokens of ids[0..n), the places after it: match[k] has those after
// the last k + 1 tokens, a part of match[k - 1]. Returns how many spans, of up to `most`
// (1..FR_DATASTORE_ORDER) tokens, occur; 0: not even the last token.
int fr_datastore_find(const fr_datastore *s, const int32_t *ids, int n, int most,
                      fr_datastore_match match[FR_DATASTORE_ORDER]);

// The id `ahead` tokens (0: the first) after a place, or FR_DATASTORE_MARK at the text's end. Only
// meaningful if no mark is before it.
static inline int32_t fr_datastore_id(const fr_datastore *s, uint32_t place, uint32_t ahead) {
    const uint64_t at = (uint64_t)place + ahead;
    if (at >= s->n_ids) return FR_DATASTORE_MARK;
    const int32_t id = s->ids[at];
    return id >= 0 && id < s->n_vocab ? id : FR_DATASTORE_MARK;
}

#endif
