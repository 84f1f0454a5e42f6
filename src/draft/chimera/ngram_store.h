// ngram_store.h — n-gram vectors on disk, from one run to the next: the second storage of Chimera's
// section 3.2.1.
//
// A cache: every vector can be computed again from its key, so once the store is open nothing here
// is an error. A key has one vector. What cannot be written, or is damaged, is left out and
// counted. What get returns is, bit for bit, what was added under that key and this identity, by
// whatever handle. Several processes, and several handles of one process, may have a folder open at
// once; after fork a handle is of no use to the child.
#ifndef FR_DRAFT_CHIMERA_NGRAM_STORE_H
#define FR_DRAFT_CHIMERA_NGRAM_STORE_H
#include "base/status.h"
#include "draft/chimera/ngram.h"

typedef struct fr_ngram_store fr_ngram_store; // a handle: one thread at a time

typedef struct fr_ngram_store_options {
    const char *folder; // made where it is missing; holds ngrams.db, an SQLite file
    fr_ngram_kind kind; // n 1..FR_NGRAM_MAX, d 1..FR_NGRAM_STORE_D
    size_t limit; // bytes of the file, FR_NGRAM_STORE_LEAST or more; beyond, nothing is added. Its
                  // log takes some MB more
} fr_ngram_store_options;
enum { FR_NGRAM_STORE_D = 1 << 20, FR_NGRAM_STORE_LEAST = 1 << 20 };

typedef struct fr_ngram_store_counts { // of this handle
    int64_t found, missed;             // gets
    int64_t damaged;                   // ... which met a value that was not what had been written
    int64_t written;                   // entries that were not there before
    int64_t known;                     // ... that were
    int64_t dropped;   // ... that found no room: in the queue, below the limit or on the disk
    bool rebuilt;      // at opening the file was damaged, or of another kind, and put aside
    char trouble[512]; // the last thing that went wrong, a sentence; "": nothing
} fr_ngram_store_counts;

// A file of another kind, or one that is damaged, is put aside (ngrams.db.aside) and begun anew: no
// error. The first to open it reads it from end to end for that. FR_EIO: it cannot be written (no
// folder, a full disk, no permission), or is open for another kind; FR_EARG: a limit too low;
// FR_ENOMEM.
fr_status fr_ngram_store_open(fr_ngram_store **out, const fr_ngram_store_options *options,
                              fr_error *err);
void fr_ngram_store_close(fr_ngram_store *s); // after a sync; NULL is fine

// The vector of d floats into `out`; false: there is none (yet), and `out` holds anything. Waits
// for nothing but the disk.
bool fr_ngram_store_get(fr_ngram_store *s, const fr_ngram *key, float *out);
// Queues the entry, to be committed within about a second. Never waits: where the queue is full the
// entry is dropped and counted.
void fr_ngram_store_add(fr_ngram_store *s, const fr_ngram *key, const float *vector);
// The same, but waits for space in the queue: for many at once, when no other caller waits.
void fr_ngram_store_wait_add(fr_ngram_store *s, const fr_ngram *key, const float *vector);
// Waits until all that was added before, by this handle, is committed, or counted as dropped.
void fr_ngram_store_sync(fr_ngram_store *s);

fr_ngram_store_counts fr_ngram_store_count(fr_ngram_store *s);

#endif
