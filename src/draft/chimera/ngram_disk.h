// ngram_disk.h — n-gram vectors in an LMDB file, as one process has it open.
//
// The first process to open a file checks all of it (lmdb_check.h, and the sum of every value)
// before LMDB sees it; what is not sound is thrown away, never repaired: every value can be
// computed again. One of the threads may write at a time, any number may read; a reader never
// waits.
//
// A value is its floats and XXH64 over identity, key and floats. The least key, of one byte, leads
// to the head: what the vectors are of.
#ifndef FR_DRAFT_CHIMERA_NGRAM_DISK_H
#define FR_DRAFT_CHIMERA_NGRAM_DISK_H
#include "draft/chimera/ngram.h"
#include "draft/chimera/ngram_file.h"
#include "gguf/hash.h"
#include <lmdb.h>
#include <pthread.h>

typedef struct fr_ngram_disk {
    fr_ngram_file file;
    fr_ngram_kind kind;
    size_t limit;
    fr_hash sum; // has read the identity
    MDB_env *env;
    MDB_dbi table;
    pthread_rwlock_t map; // read: somebody looks into the map; write: it is moved
    bool full;            // the writer's
    fr_error rebuilt;     // why all was thrown away at opening; FR_OK: it was not
} fr_ngram_disk;

typedef enum fr_ngram_read {
    FR_NGRAM_FOUND,
    FR_NGRAM_MISSING,
    FR_NGRAM_DAMAGED, // a value that is not what was written
    FR_NGRAM_REFUSED, // LMDB does not let this process read
} fr_ngram_read;

// `file` is open and becomes the disk's, also when this fails. FR_EIO: cannot be read or written,
// or another process has it open for another kind; FR_ENOMEM, memory or addresses (`limit` of
// them).
fr_status fr_ngram_disk_open(fr_ngram_disk *k, const fr_ngram_file *file, const fr_ngram_kind *kind,
                             size_t limit, fr_error *err);
void fr_ngram_disk_close(fr_ngram_disk *k);

// A reader's transaction, at rest; mdb_txn_abort. FR_EIO: all places for readers are taken.
fr_status fr_ngram_disk_reader(fr_ngram_disk *k, MDB_txn **out, fr_error *err);
// One vector of d floats into `out`, which holds anything unless FR_NGRAM_FOUND. *why: LMDB's code
// where REFUSED.
fr_ngram_read fr_ngram_disk_get(fr_ngram_disk *k, MDB_txn *reader, const fr_ngram *key, float *out,
                                int *why);

// Commits n vectors, in one transaction unless the limit is near; a key that is there keeps its
// vector. *written: how many were not there and are now; *missing: how many are not there, for
// which the returned code of LMDB's (0: none are) is the reason. Once the limit is met nothing is
// added.
int fr_ngram_disk_put(fr_ngram_disk *k, const fr_ngram *keys, const float *vectors, int n,
                      int *written, int *missing);

#endif
