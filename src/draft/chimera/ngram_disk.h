// ngram_disk.h — n-gram vectors in an SQLite file, as one handle has it open.
//
// A row is a key, its floats and the XXH64 of identity, key and floats. The table's CREATE
// statement names the kind of the vectors, so a file with another schema belongs to another pack or
// model. The first to open a file reads and checks all of it. A damaged or foreign file is never
// repaired, as every vector can be computed again: it is renamed to ngrams.db.aside (an older one
// is replaced) and a new file is begun. SQLite keeps threads and processes apart, killed ones too.
// The one lock of our own is an flock on the folder: every handle that has the file open holds it
// shared, and only a handle that gets it exclusively may rename the file.
//
// Reader and writer have a connection each: a reader sees what was committed last and never waits
// for a writer. The file is not memory-mapped: a disk error would raise a signal, and lookups would
// not be faster (docs/speed-log.md).
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
// For one thread at a time, besides the reader's. Commits n vectors in one transaction; an existing
// key keeps its vector. *written: number of new vectors; *missing: number of vectors that were not
// written, which is an error: FR_EIO, the limit is reached or the disk failed; FR_ENOMEM; FR_EDATA,
// the file is damaged.
fr_status fr_ngram_disk_put(fr_ngram_disk *k, const fr_ngram *keys, const float *vectors, int n,
                            int *written, int *missing, fr_error *err);

#endif
