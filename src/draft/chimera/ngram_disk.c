// ngram_disk.c — opens the file: lock the folder, check the whole file if no other process has it
// open, then connect a reader and a writer. After that single vectors are read, and many are
// written in one transaction.
#include "draft/chimera/ngram_disk.h"
#include "base/save.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

// Pages hold 1 to 3 vectors of the usual 2 to 6 KB. A log of 4 MB goes into the file at once, so
// that few commits wait for the disk.
enum { PAGE = 8192, LOG = 4 << 20, SPLITS = 6 /* pages that a row takes besides its own */ };
enum { ANSWER = 400 };                            // bytes of a text
enum { READER_WAITS = 50, WRITER_WAITS = 10000 }; // ms, for another process
static const char SETTINGS[] =
    "PRAGMA page_size=%d; PRAGMA synchronous=NORMAL; PRAGMA journal_mode=WAL;"
    "PRAGMA wal_autocheckpoint=%d; PRAGMA journal_size_limit=%d;"
    "PRAGMA cell_size_check=ON; PRAGMA trusted_schema=OFF";

static size_t key_bytes(const fr_ngram_kind *kind) {
    return (size_t)kind->n * sizeof(int32_t);
}

static size_t vector_bytes(const fr_ngram_kind *kind) {
    return (size_t)kind->d * sizeof(float);
}

static int64_t sum_of(const fr_ngram_disk *k, const void *key, const void *floats) {
    fr_hash h = k->sum;
    fr_hash_add(&h, key, key_bytes(&k->kind));
    fr_hash_add(&h, floats, vector_bytes(&k->kind));
    return (int64_t)fr_hash_value(&h);
}

// Makes an error of SQLite's code, with the system's own message where there is one. FR_EDATA: the
// file itself is wrong, not its place or what other processes do.
static fr_status refuse(const fr_ngram_disk *k, sqlite3 *db, int rc, const char *what,
                        fr_error *err) {
    const int kind = rc & 0xff;
    const bool memory = kind == SQLITE_NOMEM || rc == SQLITE_IOERR_NOMEM;
    const bool disk = kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN || kind == SQLITE_FULL;
    const bool other = kind == SQLITE_BUSY || kind == SQLITE_PERM || kind == SQLITE_PROTOCOL;
    int system = kind == SQLITE_FULL ? ENOSPC : disk ? sqlite3_system_errno(db) : 0;
    if (disk && !system) system = errno; // of a commit SQLite does not keep it
    return fr_fail(err,
                   memory          ? FR_ENOMEM
                   : disk || other ? FR_EIO
                                   : FR_EDATA,
                   "n-gram store %s: %s: %s", k->path, what,
                   system && !memory ? strerror(system) : sqlite3_errstr(rc));
}

static int run(sqlite3 *db, const char *sql) {
    errno = 0;
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static int prepare(sqlite3 *db, sqlite3_stmt **out, const char *sql) {
    return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
}

// Columns 0 and 1 are a vector and its sum. NULL: not what was written under that key.
static const void *sound_vector(const fr_ngram_disk *k, sqlite3_stmt *row, const void *key) {
    const void *vector = sqlite3_column_blob(row, 0);
    const bool whole = vector && (size_t)sqlite3_column_bytes(row, 0) == vector_bytes(&k->kind);
    return whole && sqlite3_column_int64(row, 1) == sum_of(k, key, vector) ? vector : NULL;
}

// ---------------------------------------------------------------- connections

// Its keys are pieces of answers, so other users may not read a new file. SQLite gives its log the same
// rights. A file that is there is not opened: closing it would drop this process's locks.
static void make_private(const char *path) {
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
}

static int connect(const fr_ngram_disk *k, sqlite3 **out) {
    enum {
        HOW = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
              SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE
    };
    char settings[sizeof SETTINGS + 30];
    snprintf(settings, sizeof settings, SETTINGS, PAGE, LOG / PAGE, LOG);
    make_private(k->path);
    int rc = sqlite3_open_v2(k->path, out, HOW, NULL);
    if (rc) return rc;
    sqlite3_busy_timeout(*out, WRITER_WAITS);
    // No allocation by a length that a damaged row claims.
    sqlite3_limit(*out, SQLITE_LIMIT_LENGTH, (int)vector_bytes(&k->kind) + 4096);
    return run(*out, settings);
}

// The one text that a statement gives, cut to its buffer.
static fr_status ask(const fr_ngram_disk *k, sqlite3 *db, const char *sql, char said[ANSWER],
                     fr_error *err) {
    sqlite3_stmt *s = NULL;
    int rc = prepare(db, &s, sql);
    if (!rc) rc = sqlite3_step(s);
    const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    if (text) snprintf(said, ANSWER, "%s", text);
    sqlite3_finalize(s);
    return text ? FR_OK
                : refuse(k, db, rc == SQLITE_ROW ? SQLITE_NOMEM : rc, "cannot be read", err);
}

// *empty: nothing is in it yet.
static fr_status check_schema(const fr_ngram_disk *k, sqlite3 *db, bool *empty, fr_error *err) {
    char said[ANSWER], want[ANSWER];
    const fr_status st = ask(
        k, db, "SELECT count(*) || coalesce(' ' || max(sql), '') FROM sqlite_schema", said, err);
    snprintf(want, sizeof want, "2 %s", k->table); // it, and the index of its keys
    *empty = !st && !strcmp(said, "0");
    if (st || *empty || !strcmp(said, want)) return st;
    return fr_fail(err, FR_EDATA, "n-gram store %s: expected %s, found %.150s", k->path, want,
                   said);
}

// ---------------------------------------------------------------- the check at opening

static fr_status check_pages(const fr_ngram_disk *k, sqlite3 *db, fr_error *err) {
    char said[ANSWER];
    const fr_status st = ask(k, db, "PRAGMA integrity_check(1)", said, err);
    if (st || !strcmp(said, "ok")) return st;
    return fr_fail(err, FR_EDATA, "n-gram store %s: %.150s", k->path, said);
}

static fr_status check_rows(const fr_ngram_disk *k, sqlite3 *db, fr_error *err) {
    sqlite3_stmt *s = NULL;
    fr_status st = FR_OK;
    int rc = prepare(db, &s, "SELECT vector, sum, key FROM vectors");
    while (!rc && !st && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        const void *key = sqlite3_column_blob(s, 2);
        rc = SQLITE_OK;
        if ((size_t)sqlite3_column_bytes(s, 2) != key_bytes(&k->kind) || !sound_vector(k, s, key))
            st = fr_fail(err, FR_EDATA, "n-gram store %s: a vector is damaged", k->path);
    }
    sqlite3_finalize(s);
    return rc == SQLITE_DONE || !rc ? st : refuse(k, db, rc, "cannot be read", err);
}

// Makes an empty file one of our kind and checks any other. FR_EDATA: it is damaged or of another
// kind.
static fr_status examine(const fr_ngram_disk *k, fr_error *err) {
    sqlite3 *db = NULL;
    bool empty;
    int rc = connect(k, &db);
    fr_status st =
        rc ? refuse(k, db, rc, "cannot be opened", err) : check_schema(k, db, &empty, err);
    if (!st && empty && (rc = run(db, k->table))) st = refuse(k, db, rc, "cannot be written", err);
    if (!st) st = check_pages(k, db, err);
    if (!st) st = check_rows(k, db, err);
    sqlite3_close(db);
    return st;
}

static fr_status put_aside(const fr_ngram_disk *k, fr_error *err) {
    static const char *const log[] = {"-wal", "-shm"};
    char other[PATH_MAX + 8];
    snprintf(other, sizeof other, "%s.aside", k->path);
    if (rename(k->path, other))
        return fr_fail(err, FR_EIO, "n-gram store %s: cannot be put aside: %s", k->path,
                       strerror(errno));
    for (int i = 0; i < 2; i++) {
        snprintf(other, sizeof other, "%s%s", k->path, log[i]);
        (void)unlink(other);
    }
    return FR_OK;
}

// As examine, but a file that fails is put aside and begun anew. Only while no other process has
// the folder.
static fr_status make_sound(fr_ngram_disk *k, fr_error *err) {
    fr_status st = examine(k, &k->rebuilt);
    if (st != FR_EDATA) return st ? fr_fail(err, st, "%s", k->rebuilt.text) : FR_OK;
    st = put_aside(k, err);
    return st ? st : examine(k, err);
}

// ---------------------------------------------------------------- opening

static bool lock(int fd, int how) {
    int failed;
    do
        failed = flock(fd, how);
    while (failed && errno == EINTR);
    return !failed;
}

// Makes the folder, which only its owner may read, and takes its lock. *alone: no other process has it.
static fr_status enter(fr_ngram_disk *k, const char *folder, bool *alone, fr_error *err) {
    char real[PATH_MAX];
    const int n = snprintf(k->path, sizeof k->path, "%s/ngrams.db", folder);
    if (n < 0 || n >= (int)sizeof k->path)
        return fr_fail(err, FR_EIO, "n-gram store %.80s...: too long a path", folder);
    const fr_status st = fr_make_folders(k->path, 0700, err);
    if (st) return st;
    k->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *alone = k->folder >= 0 && lock(k->folder, LOCK_EX | LOCK_NB);
    const bool in = *alone || (k->folder >= 0 && errno == EWOULDBLOCK && lock(k->folder, LOCK_SH));
    if (!in || !realpath(folder, real))
        return fr_fail(err, FR_EIO, "n-gram store %s: cannot be locked: %s", k->path,
                       strerror(errno));
    snprintf(k->path, sizeof k->path, "%s/ngrams.db", real); // links are not followed from here on
    return FR_OK;
}

// Shares the lock and connects. Others may open the file from here on. Before, another process may
// have had it alone, so the schema is checked again.
static fr_status share(fr_ngram_disk *k, const char *folder, fr_error *err) {
    fr_error why;
    bool empty;
    (void)lock(k->folder, LOCK_SH);
    int rc = connect(k, &k->writer);
    if (!rc) rc = connect(k, &k->reader);
    fr_status st = rc ? refuse(k, k->reader ? k->reader : k->writer, rc, "cannot be opened", &why)
                      : check_schema(k, k->writer, &empty, &why);
    if (st == FR_EDATA || (!st && empty))
        return fr_fail(err, FR_EIO,
                       "n-gram store %s: expected a folder of its own for each pack, found it in "
                       "use, here or by another process, for the vectors of another pack or model; "
                       "give one of them no store, or run them one after the other",
                       folder);
    if (st) return fr_fail(err, st, "%s", why.text);
    sqlite3_busy_timeout(k->reader, READER_WAITS);
    rc = prepare(k->reader, &k->find, "SELECT vector, sum FROM vectors WHERE key = ?1");
    if (!rc) rc = prepare(k->writer, &k->insert, "INSERT OR IGNORE INTO vectors VALUES(?1,?2,?3)");
    if (!rc) rc = prepare(k->writer, &k->room, "PRAGMA page_count");
    return rc ? refuse(k, k->writer, rc, "cannot be opened", err) : FR_OK;
}

// The kind in hexadecimal digits, so that it can be looked at.
static void name_table(fr_ngram_disk *k) {
    char identity[2 * FR_NGRAM_IDENTITY + 1];
    for (int i = 0; i < FR_NGRAM_IDENTITY; i++)
        snprintf(identity + 2 * i, 3, "%02x", k->kind.identity[i]);
    snprintf(k->table, sizeof k->table,
             "CREATE TABLE vectors(key BLOB PRIMARY KEY, vector BLOB, sum INTEGER "
             "/* %d floats by %d tokens, of %s */)",
             k->kind.d, k->kind.n, identity);
}

fr_status fr_ngram_disk_open(fr_ngram_disk *k, const char *folder, const fr_ngram_kind *kind,
                             size_t limit, fr_error *err) {
    bool alone;
    *k = (fr_ngram_disk){.folder = -1, .kind = *kind, .limit = limit};
    fr_hash_open(&k->sum, 0);
    fr_hash_add(&k->sum, kind->identity, sizeof kind->identity);
    name_table(k);
    fr_status st = enter(k, folder, &alone, err);
    if (!st && alone) st = make_sound(k, err);
    if (!st) st = share(k, folder, err);
    if (st) fr_ngram_disk_close(k);
    return st;
}

void fr_ngram_disk_close(fr_ngram_disk *k) {
    sqlite3_finalize(k->find);
    sqlite3_finalize(k->insert);
    sqlite3_finalize(k->room);
    sqlite3_close(k->reader);
    sqlite3_close(k->writer);
    if (k->folder >= 0) close(k->folder);
    *k = (fr_ngram_disk){.folder = -1};
}

// ---------------------------------------------------------------- reading and writing

fr_status fr_ngram_disk_get(fr_ngram_disk *k, const fr_ngram *key, float *out, bool *found,
                            fr_error *err) {
    fr_status st = FR_OK;
    *found = false;
    sqlite3_bind_blob(k->find, 1, key->id, (int)key_bytes(&k->kind), SQLITE_STATIC);
    const int rc = sqlite3_step(k->find);
    if (rc == SQLITE_ROW) {
        const void *vector = sound_vector(k, k->find, key->id);
        *found = vector;
        if (vector)
            memcpy(out, vector, vector_bytes(&k->kind));
        else
            st = fr_fail(err, FR_EDATA, "n-gram store %s: a vector is damaged", k->path);
    } else if (rc != SQLITE_DONE) {
        st = refuse(k, k->reader, rc, "cannot be read", err);
    }
    sqlite3_reset(k->find);
    return st;
}

// Whether one more row fits below the limit.
static int has_room(fr_ngram_disk *k, bool *fits) {
    const size_t row = vector_bytes(&k->kind) / PAGE + 1 + SPLITS;
    const int rc = sqlite3_step(k->room);
    *fits = rc == SQLITE_ROW && (size_t)sqlite3_column_int64(k->room, 0) + row <= k->limit / PAGE;
    sqlite3_reset(k->room);
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int insert(fr_ngram_disk *k, const fr_ngram *key, const float *vector) {
    sqlite3_bind_blob(k->insert, 1, key->id, (int)key_bytes(&k->kind), SQLITE_STATIC);
    sqlite3_bind_blob(k->insert, 2, vector, (int)vector_bytes(&k->kind), SQLITE_STATIC);
    sqlite3_bind_int64(k->insert, 3, sum_of(k, key->id, vector));
    const int rc = sqlite3_step(k->insert);
    sqlite3_reset(k->insert);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

fr_status fr_ngram_disk_put(fr_ngram_disk *k, const fr_ngram *keys, const float *vectors, int n,
                            int *written, int *missing, fr_error *err) {
    const sqlite3_int64 before = sqlite3_total_changes64(k->writer);
    bool fits = true;
    int done = 0;
    int rc = run(k->writer, "BEGIN IMMEDIATE");
    while (!rc && done < n && !(rc = has_room(k, &fits)) && fits) {
        rc = insert(k, &keys[done], vectors + (size_t)done * (size_t)k->kind.d);
        done++;
    }
    if (!rc) rc = run(k->writer, "COMMIT");
    const fr_status st = rc ? refuse(k, k->writer, rc, "cannot be written", err) : FR_OK;
    if (st) (void)run(k->writer, "ROLLBACK"); // some errors have rolled back already
    *written = rc ? 0 : (int)(sqlite3_total_changes64(k->writer) - before);
    *missing = rc ? n : n - done;
    if (st || fits) return st;
    return fr_fail(err, FR_EIO, "n-gram store %s: full: the limit is %zu bytes", k->path, k->limit);
}
