// ngram_memory.h — n-gram vectors for a drafter: a table in memory and, if a folder is given, a
// store on disk. [Chimera, Zeng et al. 2024, section 3.2.1]
//
// Vectors that leave the table go to the store, and at the end all vectors of the table do. So a
// vector is computed once, not once a run. get and put allocate nothing and cannot fail.
#ifndef FR_DRAFT_CHIMERA_NGRAM_MEMORY_H
#define FR_DRAFT_CHIMERA_NGRAM_MEMORY_H
#include "draft/chimera/ngram_store.h"
#include "draft/chimera/ngram_table.h"

typedef struct fr_ngram_memory_options {
    int capacity;                 // entries in memory, at least 1
    fr_ngram_store_options store; // folder NULL: memory alone, of which only kind.d counts
} fr_ngram_memory_options;

typedef struct fr_ngram_memory_counts {
    int64_t in_memory, in_store, missed; // gets
    int64_t evicted;                     // entries that fell out of the table
} fr_ngram_memory_counts;

typedef struct fr_ngram_memory {
    fr_ngram_table table;
    fr_ngram_store *store; // NULL: none
    bool *stored;          // [capacity] by place: the store has it, or has been given it
    float *fetched;        // [d]
    fr_ngram_memory_counts counts;
} fr_ngram_memory;

// FR_ENOMEM, and the errors of fr_ngram_store_open.
fr_status fr_ngram_memory_open(fr_ngram_memory *m, const fr_ngram_memory_options *options,
                               fr_error *err);
// Stores the vectors in memory, the newest first. A zeroed one is fine.
void fr_ngram_memory_close(fr_ngram_memory *m);

// The key's vector of d floats, there until the next put, or get of another key; NULL: it must be
// computed, and put.
const float *fr_ngram_memory_get(fr_ngram_memory *m, const fr_ngram *key);
// The table is sound; with a store there is memory for its set of keys; no count is below 0.
bool fr_ngram_memory_is_sound(const fr_ngram_memory *m);
// A key has one vector, so no caller puts another one under it. `vector` is no part of the memory.
void fr_ngram_memory_put(fr_ngram_memory *m, const fr_ngram *key, const float *vector);

#endif
