// ngram_table.h — vectors by n-gram, in memory: so many and no more, and the one that was not used
// for longest makes room for a new one.  [Chimera, Zeng et al. 2024, section 3.2.1]
//
// All memory is taken at opening; get and put allocate nothing and cannot fail. Entries have
// *places* 0..n-1, which they keep until they fall out.
#ifndef FR_DRAFT_CHIMERA_NGRAM_TABLE_H
#define FR_DRAFT_CHIMERA_NGRAM_TABLE_H
#include "base/alloc.h"
#include "draft/chimera/ngram.h"

typedef struct fr_ngram_entry {
    fr_ngram key;
    int newer, older; // places in the order of use; -1: none
    int next;         // of the same bucket; -1: none
} fr_ngram_entry;

// Entries of one bucket at most. Of the buckets of a full table fewer than one in 10^36 would have more.
enum { FR_NGRAM_BUCKET = 32 };

typedef struct fr_ngram_table {
    int capacity, n;
    int d, stride;      // floats of a vector; from one to the next
    int newest, oldest; // places; -1: the table is empty
    int n_buckets;      // a power of two
    int *bucket;        // [n_buckets]: the first place; -1: none
    fr_ngram_entry *entry;
    float *vectors; // [capacity][stride]
    fr_arena arena;
} fr_ngram_table;

// Room for `capacity` vectors (at least 1) of d floats. FR_ENOMEM.
fr_status fr_ngram_table_open(fr_ngram_table *t, int capacity, int d, fr_error *err);
void fr_ngram_table_close(fr_ngram_table *t); // a zeroed one is fine

// The key's vector, which becomes the newest; NULL: there is none. It stays where it is until the
// next put.
const float *fr_ngram_table_get(fr_ngram_table *t, const fr_ngram *key);

// The place of the key's vector, now the newest entry, for the caller to fill in. If the key is
// new, an entry may leave the table: the oldest of its bucket if that is full, else the oldest of
// all if the table is full. Then *fell is true and *out is its key. The returned place has the old
// vector until the caller writes there, so that it can be stored elsewhere without a copy.
float *fr_ngram_table_put(fr_ngram_table *t, const fr_ngram *key, fr_ngram *out, bool *fell);

// The place of a vector that get or put gave.
static inline int fr_ngram_table_place(const fr_ngram_table *t, const float *vector) {
    return (int)((vector - t->vectors) / t->stride);
}
static inline const float *fr_ngram_table_at(const fr_ngram_table *t, int place) {
    return t->vectors + (size_t)place * (size_t)t->stride;
}

// Whether every entry is once in the order of use, once in its bucket and nowhere else.
bool fr_ngram_table_is_sound(const fr_ngram_table *t);

#endif
