// ngram_disk.h — n-gram vectors in an SQLite file, as one handle has it open.
//
// A row is a key, its floats and XXH64 over identity, key and floats; the table's own text says what
// the vectors are of, so a file whose schema is another one is foreign. Whoever opens a file that
// nobody has open reads all of it first: what is damaged or foreign is put aside (ngrams.db.aside,
// in place of what was put there before) and begun anew, never repaired, as every vector can be
// computed again. SQLite keeps threads, processes and killed ones apart; the one lock of our own
// (flock, on the folder) says who may put a file aside: all that have it open share it, and only
// who gets it alone may.
//
// Reader and writer are connections of their own: a reader sees what was committed last and never
// waits for a writer. Nothing of the file is mapped: an error of the disk would be a signal there, and
// lookups take no less (docs/speed-log.md).
#ifndef FR_DRAFT_CHIMERA_NGRAM_DISK_H
#define FR_DRAFT_CHIMERA_NGRAM_DISK_H
#include "base/status.h"
#include "draft/chimera/ngram.h"
#include "gguf/hash.h"
#include <limits.h>
#include <sqlite3.h>

typedef struct fr_ngram_disk {
    char path[PATH_MAX];
    char table[256]; // the statement that makes it
    int folder;      // locked; -1: not open
    fr_ngram_kind kind;
    size_t limit;
    fr_hash sum; // has read the identity
    sqlite3 *reader, *writer;
    sqlite3_stmt *find, *insert, *room;
    fr_error rebuilt; // why all was put aside at opening; FR_OK: it was not
} fr_ngram_disk;

// FR_EIO: cannot be read or written, or is in use for another kind; FR_ENOMEM. Then nothing is
// open.
fr_status fr_ngram_disk_open(fr_ngram_disk *k, const char *folder, const fr_ngram_kind *kind,
                             size_t limit, fr_error *err);
void fr_ngram_disk_close(fr_ngram_disk *k);

// One thread at a time. *found: the vector of d floats is in `out`, which else holds anything.
// FR_EDATA: not what was written; FR_EIO, FR_ENOMEM: cannot be read now.
fr_status fr_ngram_disk_get(fr_ngram_disk *k, const fr_ngram *key, float *out, bool *found,
                            fr_error *err);
// One thread at a time, beside the reader's. Commits n vectors in one transaction; a key that is
// there keeps its vector. *written: how many were not there and are now; *missing: how many are not
// there, which is an error: FR_EIO, beyond the limit or for what the disk says; FR_ENOMEM; FR_EDATA,
// the file is damaged.
fr_status fr_ngram_disk_put(fr_ngram_disk *k, const fr_ngram *keys, const float *vectors, int n,
                            int *written, int *missing, fr_error *err);

#endif
