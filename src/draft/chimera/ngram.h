// ngram.h — the key of vectors that depend on the last tokens of a text.
#ifndef FR_DRAFT_CHIMERA_NGRAM_H
#define FR_DRAFT_CHIMERA_NGRAM_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { FR_NGRAM_MAX = 5 };

typedef struct fr_ngram {
    int32_t id[FR_NGRAM_MAX]; // oldest token first; places that are not used come last and are -1
} fr_ngram;

enum { FR_NGRAM_IDENTITY = 32 };

typedef struct fr_ngram_kind {           // what the vectors by a key are
    int n, d;                            // ids of a key, floats of a vector
    uint8_t identity[FR_NGRAM_IDENTITY]; // a hash of all that they are computed from
} fr_ngram_kind;

// Of the last n of n_ids tokens, or of all where there are fewer (1 <= n <= FR_NGRAM_MAX).
static inline fr_ngram fr_ngram_of(const int32_t *ids, int n_ids, int n) {
    fr_ngram key;
    if (n > n_ids) n = n_ids;
    for (int i = 0; i < FR_NGRAM_MAX; i++)
        key.id[i] = i < n ? ids[n_ids - n + i] : -1;
    return key;
}

static inline bool fr_ngram_equal(const fr_ngram *a, const fr_ngram *b) {
    return !memcmp(a, b, sizeof *a);
}

#endif
