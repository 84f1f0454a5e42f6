// ngram_pool.h — n-grams by their first token: what lookahead decoding has seen or made.
//
// A key has a list of at most `per_key` different tails, the n tokens that followed it, the one
// added last first; an n-gram that comes again moves to the front, and where the list is full the
// one at its end goes.  [Fu et al. 2024, §3.3; the pool of the released code]
#ifndef FR_DRAFT_LOOKAHEAD_NGRAM_POOL_H
#define FR_DRAFT_LOOKAHEAD_NGRAM_POOL_H
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct fr_pool_entry {
    int32_t older; // the next one of its key; -1: none
    bool of_text;  // it stood in the text at some time; else the window alone made it
} fr_pool_entry;

typedef struct fr_ngram_pool {
    int n_keys, n, per_key;
    int n_entries, max_entries;
    int32_t *newest; // [key]: entry, -1: none
    fr_pool_entry *entry;
    int32_t *tail; // [entry][n]
} fr_ngram_pool;

// Keys are below n_keys; between two calls of begin there are at most `adds` additions. FR_ENOMEM.
fr_status fr_ngram_pool_open(fr_ngram_pool *p, int n_keys, int n, int per_key, int64_t adds,
                             fr_error *err);
void fr_ngram_pool_close(fr_ngram_pool *p); // a zeroed one is fine
void fr_ngram_pool_begin(fr_ngram_pool *p); // empty
// Every entry stands once in the list of one key, no list is longer than per_key.
bool fr_ngram_pool_is_sound(const fr_ngram_pool *p);
void fr_ngram_pool_add(fr_ngram_pool *p, int32_t key, const int32_t *tail, bool of_text);

static inline const int32_t *fr_ngram_pool_tail(const fr_ngram_pool *p, int entry) {
    return p->tail + (size_t)entry * (size_t)p->n;
}

#endif
