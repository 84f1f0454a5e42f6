#include "draft/chimera/ngram_disk.h"
#include "draft/chimera/lmdb_check.h"
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { FORMAT = 1, READERS = 510 };

typedef struct head {
    uint32_t format, n, d, zero;
    uint8_t identity[FR_NGRAM_IDENTITY];
    uint64_t sum; // of what stands in front
} head;
_Static_assert(sizeof(head) == 56, "no holes");

static size_t key_bytes(const fr_ngram_kind *kind) {
    return (size_t)kind->n * sizeof(int32_t);
}

static size_t value_bytes(const fr_ngram_kind *kind) {
    return (size_t)kind->d * sizeof(float) + sizeof(uint64_t);
}

static uint64_t sum_of(const fr_ngram_disk *k, const void *key, const void *floats) {
    fr_hash h = k->sum;
    fr_hash_add(&h, key, key_bytes(&k->kind));
    fr_hash_add(&h, floats, (size_t)k->kind.d * sizeof(float));
    return fr_hash_value(&h);
}

static head head_of(const fr_ngram_kind *kind) {
    head h = {.format = FORMAT, .n = (uint32_t)kind->n, .d = (uint32_t)kind->d};
    memcpy(h.identity, kind->identity, sizeof h.identity);
    fr_hash sum;
    fr_hash_open(&sum, FORMAT);
    fr_hash_add(&sum, &h, offsetof(head, sum));
    h.sum = fr_hash_value(&sum);
    return h;
}

static MDB_val head_key(void) {
    return (MDB_val){1, ""};
}

// FR_EUNSUP: a head, but of other vectors.
static fr_status check_head(const fr_ngram_disk *k, const void *value, size_t bytes,
                            fr_error *err) {
    const head want = head_of(&k->kind);
    head is;
    if (bytes != sizeof is) return fr_fail(err, FR_EDATA, "head: %zu bytes", bytes);
    memcpy(&is, value, sizeof is);
    fr_hash sum;
    fr_hash_open(&sum, FORMAT);
    fr_hash_add(&sum, &is, offsetof(head, sum));
    if (is.sum != fr_hash_value(&sum)) return fr_fail(err, FR_EDATA, "head: a wrong sum");
    if (!memcmp(&is, &want, sizeof is)) return FR_OK;
    if (is.format != want.format || is.n != want.n || is.d != want.d)
        return fr_fail(err, FR_EUNSUP,
                       "expected %d floats by %d tokens in format %d, found %u by %u in %u",
                       k->kind.d, k->kind.n, FORMAT, is.d, is.n, is.format);
    return fr_fail(err, FR_EUNSUP, "vectors of another model or pack");
}

// ---------------------------------------------------------------- the check at opening

typedef struct examination {
    const fr_ngram_disk *disk;
    bool headed;
} examination;

static fr_status examine_entry(void *arg, const void *key, size_t n_key, const void *value,
                               size_t bytes, fr_error *err) {
    examination *e = arg;
    const fr_ngram_disk *k = e->disk;
    uint64_t sum;
    if (!e->headed) {
        const MDB_val first = head_key();
        e->headed = true;
        if (n_key != first.mv_size || memcmp(key, first.mv_data, n_key))
            return fr_fail(err, FR_EDATA, "head: missing");
        return check_head(k, value, bytes, err);
    }
    if (n_key != key_bytes(&k->kind) || bytes != value_bytes(&k->kind))
        return fr_fail(err, FR_EDATA, "a value of %zu bytes by %zu", bytes, n_key);
    memcpy(&sum, (const uint8_t *)value + bytes - sizeof sum, sizeof sum);
    if (sum != sum_of(k, key, value)) return fr_fail(err, FR_EDATA, "a value with a wrong sum");
    return FR_OK;
}

// Afterwards the file is sound and of our kind, or empty: what cannot be read is of no more use
// than what is damaged.
static fr_status examine(fr_ngram_disk *k, fr_error *err) {
    struct stat s;
    const size_t value = value_bytes(&k->kind);
    examination e = {.disk = k};
    if (!fstat(k->file.fd, &s) && !s.st_size) return FR_OK;
    const fr_status st = fr_lmdb_check(k->file.fd, value > sizeof(head) ? value : sizeof(head),
                                       examine_entry, &e, &k->rebuilt);
    if (!st) return FR_OK;
    if (st == FR_ENOMEM) return fr_fail(err, st, "n-gram store: %s", k->rebuilt.text);
    return fr_ngram_file_empty(&k->file, err);
}

// ---------------------------------------------------------------- opening

static fr_status refuse(const fr_ngram_disk *k, int rc, const char *what, fr_error *err) {
    return fr_fail(err, rc == ENOMEM ? FR_ENOMEM : FR_EIO, "n-gram store %s: %s: %s", k->file.path,
                   what, mdb_strerror(rc));
}

// The whole limit is mapped at once: addresses cost nothing, the file grows as it fills, and a map
// that never moves needs no agreement with readers.
static fr_status open_env(fr_ngram_disk *k, fr_error *err) {
    int rc = mdb_env_create(&k->env);
    if (!rc) rc = mdb_env_set_mapsize(k->env, k->limit);
    if (!rc) rc = mdb_env_set_maxreaders(k->env, READERS);
    if (!rc)
        rc = mdb_env_open(k->env, k->file.path, MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD, 0666);
    if (rc) return refuse(k, rc, "cannot be opened", err);
    (void)mdb_reader_check(k->env, NULL); // of processes that were killed
    return FR_OK;
}

static int put_head(fr_ngram_disk *k, MDB_txn *txn) {
    head h = head_of(&k->kind);
    MDB_val key = head_key(), value = {sizeof h, &h};
    return mdb_put(txn, k->table, &key, &value, 0);
}

// Writes the head into a new file, looks at that of an old one.
static fr_status open_table(fr_ngram_disk *k, fr_error *err) {
    MDB_txn *txn;
    MDB_val key = head_key(), value;
    fr_error why;
    int rc = mdb_txn_begin(k->env, NULL, k->file.alone ? 0 : MDB_RDONLY, &txn);
    if (rc) return refuse(k, rc, "cannot be read", err);
    rc = mdb_dbi_open(txn, NULL, 0, &k->table);
    if (!rc) rc = mdb_get(txn, k->table, &key, &value);
    if (!rc && check_head(k, value.mv_data, value.mv_size, &why)) {
        mdb_txn_abort(txn);
        return fr_fail(err, FR_EIO, "n-gram store %s: in use by another process: %s", k->file.path,
                       why.text);
    }
    if (rc == MDB_NOTFOUND && k->file.alone) rc = put_head(k, txn);
    if (rc)
        mdb_txn_abort(txn);
    else
        rc = mdb_txn_commit(txn);
    return rc ? refuse(k, rc, "cannot be written", err) : FR_OK;
}

fr_status fr_ngram_disk_open(fr_ngram_disk *k, const fr_ngram_file *file, const fr_ngram_kind *kind,
                             size_t limit, fr_error *err) {
    fr_status st;
    *k = (fr_ngram_disk){.file = *file, .kind = *kind, .limit = limit};
    fr_hash_open(&k->sum, FORMAT);
    fr_hash_add(&k->sum, kind->identity, sizeof kind->identity);
    if (pthread_rwlock_init(&k->map, NULL)) {
        fr_ngram_file_close(&k->file);
        return fr_fail(err, FR_ENOMEM, "n-gram store: no memory for a lock");
    }
    if ((st = fr_ngram_file_enter(&k->file, err))) goto fail;
    if (k->file.alone && (st = examine(k, err))) goto fail;
    if (k->file.alone && (st = fr_ngram_file_take_lock_room(&k->file, READERS, err))) goto fail;
    if ((st = open_env(k, err))) goto fail;
    if ((st = open_table(k, err))) goto fail;
    fr_ngram_file_share(&k->file);
    return FR_OK;
fail:
    fr_ngram_disk_close(k);
    return st;
}

void fr_ngram_disk_close(fr_ngram_disk *k) {
    if (k->env) {
        if (k->file.door < 0) fr_ngram_file_leave(&k->file);
        mdb_env_close(k->env);
    }
    fr_ngram_file_close(&k->file);
    pthread_rwlock_destroy(&k->map);
}

// ---------------------------------------------------------------- reading

fr_status fr_ngram_disk_reader(fr_ngram_disk *k, MDB_txn **out, fr_error *err) {
    pthread_rwlock_rdlock(&k->map);
    const int rc = mdb_txn_begin(k->env, NULL, MDB_RDONLY, out);
    if (!rc) mdb_txn_reset(*out);
    pthread_rwlock_unlock(&k->map);
    return rc ? refuse(k, rc, "cannot be read", err) : FR_OK;
}

static MDB_val key_of(const fr_ngram_disk *k, const fr_ngram *key) {
    return (MDB_val){key_bytes(&k->kind), (void *)key->id};
}

static fr_ngram_read look_up(fr_ngram_disk *k, MDB_txn *reader, const fr_ngram *key, float *out,
                             int *why) {
    MDB_val at = key_of(k, key), value;
    const size_t bytes = value_bytes(&k->kind) - sizeof(uint64_t);
    uint64_t sum;
    *why = mdb_get(reader, k->table, &at, &value);
    if (*why == MDB_NOTFOUND) return FR_NGRAM_MISSING;
    if (*why == MDB_CORRUPTED || *why == MDB_PAGE_NOTFOUND) return FR_NGRAM_DAMAGED;
    if (*why) return FR_NGRAM_REFUSED;
    if (value.mv_size != bytes + sizeof sum) return FR_NGRAM_DAMAGED;
    memcpy(out, value.mv_data, bytes);
    memcpy(&sum, (const uint8_t *)value.mv_data + bytes, sizeof sum);
    return sum == sum_of(k, key->id, out) ? FR_NGRAM_FOUND : FR_NGRAM_DAMAGED;
}

fr_ngram_read fr_ngram_disk_get(fr_ngram_disk *k, MDB_txn *reader, const fr_ngram *key, float *out,
                                int *why) {
    fr_ngram_read found = FR_NGRAM_REFUSED;
    *why = MDB_MAP_RESIZED;
    if (pthread_rwlock_tryrdlock(&k->map)) return found;
    *why = mdb_txn_renew(reader);
    if (!*why) {
        found = look_up(k, reader, key, out, why);
        mdb_txn_reset(reader);
    }
    pthread_rwlock_unlock(&k->map);
    return found;
}

// ---------------------------------------------------------------- writing

// MDB_KEYEXIST: there was one.
static int put_one(fr_ngram_disk *k, MDB_txn *txn, const fr_ngram *key, const float *vector) {
    MDB_val at = key_of(k, key), value = {value_bytes(&k->kind), NULL};
    const uint64_t sum = sum_of(k, key->id, vector);
    const int rc = mdb_put(txn, k->table, &at, &value, MDB_NOOVERWRITE | MDB_RESERVE);
    if (rc) return rc;
    memcpy(value.mv_data, vector, value.mv_size - sizeof sum);
    memcpy((uint8_t *)value.mv_data + value.mv_size - sizeof sum, &sum, sizeof sum);
    return 0;
}

static int commit(fr_ngram_disk *k, const fr_ngram *keys, const float *vectors, int n, int *added) {
    MDB_txn *txn;
    *added = 0;
    int rc = mdb_txn_begin(k->env, NULL, 0, &txn);
    if (rc) return rc;
    for (int i = 0; i < n; i++) {
        rc = put_one(k, txn, &keys[i], vectors + (size_t)i * (size_t)k->kind.d);
        if (!rc) ++*added;
        if (rc && rc != MDB_KEYEXIST) {
            mdb_txn_abort(txn);
            return rc;
        }
    }
    return mdb_txn_commit(txn);
}

// Another process, with a higher limit, has let the file grow beyond this one's map.
static int grow_map(fr_ngram_disk *k) {
    pthread_rwlock_wrlock(&k->map);
    const int rc = mdb_env_set_mapsize(k->env, 0);
    pthread_rwlock_unlock(&k->map);
    return rc;
}

// The map follows the file, and the file is full where it has met this process's limit.
static int follow_growth(fr_ngram_disk *k) {
    MDB_envinfo info;
    MDB_stat stat;
    (void)mdb_env_info(k->env, &info); // these fail on no environment alone
    (void)mdb_env_stat(k->env, &stat);
    const size_t pages = info.me_last_pgno + 1;
    k->full = k->full || pages > k->limit / stat.ms_psize;
    return pages > info.me_mapsize / stat.ms_psize ? grow_map(k) : 0;
}

int fr_ngram_disk_put(fr_ngram_disk *k, const fr_ngram *keys, const float *vectors, int n,
                      int *written, int *missing) {
    int rc = follow_growth(k), done = 0, piece = n;
    *written = 0;
    while (done < n && !rc && !k->full) {
        int added;
        if (piece > n - done) piece = n - done;
        rc = commit(k, keys + done, vectors + (size_t)done * (size_t)k->kind.d, piece, &added);
        if (rc == MDB_MAP_RESIZED && !(rc = grow_map(k))) continue;
        if (rc == MDB_MAP_FULL && piece > 1) { // part of it may still fit
            piece /= 2;
            rc = 0;
            continue;
        }
        k->full = rc == MDB_MAP_FULL;
        if (rc) break;
        *written += added;
        done += piece;
    }
    *missing = n - done;
    return k->full ? MDB_MAP_FULL : rc;
}
