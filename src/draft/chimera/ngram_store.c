// ngram_store.c — handles on a process's stores.
//
// LMDB forbids a process to open one file twice, and sessions may share a drafter's folder. So
// there is one list of what the process has open: the only state of the library that belongs to no
// handle.
#include "draft/chimera/ngram_store.h"
#include "base/alloc.h"
#include "draft/chimera/ngram_disk.h"
#include "draft/chimera/ngram_writer.h"
#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>

typedef struct shared shared;
struct shared {
    shared *next;
    int handles;
    fr_ngram_disk disk;
    fr_ngram_writer writer;
    atomic_bool lost;     // damage was met: nothing is read or written any more
    pthread_mutex_t lock; // of what follows
    int64_t written, known, dropped;
    fr_error trouble;
};

struct fr_ngram_store {
    shared *shared;
    MDB_txn *reader;
    int64_t found, missed, damaged;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static shared *list;

static void trouble(shared *h, const char *what, const char *why) {
    pthread_mutex_lock(&h->lock);
    fr_fail(&h->trouble, FR_EIO, "n-gram store %s: %s: %s", h->disk.file.path, what, why);
    pthread_mutex_unlock(&h->lock);
}

// ---------------------------------------------------------------- writing

static void count(shared *h, int written, int known, int dropped) {
    pthread_mutex_lock(&h->lock);
    h->written += written;
    h->known += known;
    h->dropped += dropped;
    pthread_mutex_unlock(&h->lock);
}

static void commit(void *arg, const fr_ngram *keys, const float *vectors, int n) {
    shared *h = arg;
    int written = 0, missing = n, why = 0;
    if (!atomic_load(&h->lost))
        why = fr_ngram_disk_put(&h->disk, keys, vectors, n, &written, &missing);
    if (why == MDB_MAP_FULL) {
        char limit[48];
        snprintf(limit, sizeof limit, "the limit is %zu bytes", h->disk.limit);
        trouble(h, "full", limit);
    } else if (why) {
        trouble(h, "cannot be written", mdb_strerror(why));
    }
    count(h, written, n - written - missing, missing);
}

void fr_ngram_store_add(fr_ngram_store *s, const fr_ngram *key, const float *vector) {
    if (!fr_ngram_writer_add(&s->shared->writer, key, vector)) count(s->shared, 0, 0, 1);
}

void fr_ngram_store_wait_add(fr_ngram_store *s, const fr_ngram *key, const float *vector) {
    fr_ngram_writer_wait_add(&s->shared->writer, key, vector);
}

void fr_ngram_store_sync(fr_ngram_store *s) {
    fr_ngram_writer_sync(&s->shared->writer);
}

// ---------------------------------------------------------------- reading

bool fr_ngram_store_get(fr_ngram_store *s, const fr_ngram *key, float *out) {
    shared *h = s->shared;
    int why;
    fr_ngram_read found = FR_NGRAM_MISSING;
    if (!atomic_load(&h->lost)) found = fr_ngram_disk_get(&h->disk, s->reader, key, out, &why);
    s->found += found == FR_NGRAM_FOUND;
    s->missed += found != FR_NGRAM_FOUND;
    if (found == FR_NGRAM_REFUSED) trouble(h, "cannot be read", mdb_strerror(why));
    if (found == FR_NGRAM_DAMAGED) {
        // Where one value is wrong the pages may be too. The next opening finds it and begins anew.
        s->damaged++;
        atomic_store(&h->lost, true);
        trouble(h, "no longer used", "a value is damaged");
    }
    return found == FR_NGRAM_FOUND;
}

fr_ngram_store_counts fr_ngram_store_count(const fr_ngram_store *s) {
    shared *h = s->shared;
    pthread_mutex_lock(&h->lock);
    fr_ngram_store_counts c = {.found = s->found,
                               .missed = s->missed,
                               .damaged = s->damaged,
                               .written = h->written,
                               .known = h->known,
                               .dropped = h->dropped,
                               .rebuilt = h->disk.rebuilt.code != FR_OK};
    snprintf(c.trouble, sizeof c.trouble, "%s", h->trouble.text);
    pthread_mutex_unlock(&h->lock);
    return c;
}

// ---------------------------------------------------------------- what the process has open

static fr_status share_new(shared **out, const fr_ngram_file *file, const fr_ngram_store_options *o,
                           fr_error *err) {
    shared *h = fr_alloc_zero(sizeof *h);
    if (!h) {
        fr_ngram_file_close(&(fr_ngram_file){.fd = file->fd, .door = -1});
        return fr_fail(err, FR_ENOMEM, "n-gram store: %zu bytes", sizeof *h);
    }
    fr_status st = fr_ngram_disk_open(&h->disk, file, &o->kind, o->limit, err);
    if (st) goto no_disk;
    pthread_mutex_init(&h->lock, NULL);
    if ((st = fr_ngram_writer_open(&h->writer, o->kind.d, commit, h, err))) goto no_writer;
    if (h->disk.rebuilt.code) trouble(h, "begun anew", h->disk.rebuilt.text);
    h->next = list;
    *out = list = h;
    return FR_OK;
no_writer:
    pthread_mutex_destroy(&h->lock);
    fr_ngram_disk_close(&h->disk);
no_disk:
    fr_free(h);
    return st;
}

// One that is open already, or a new one.
static fr_status share(shared **out, const fr_ngram_store_options *o, fr_error *err) {
    fr_ngram_file file;
    const fr_status st = fr_ngram_file_open(&file, o->folder, err);
    if (st) return st;
    shared *h = list;
    while (h && (h->disk.file.device != file.device || h->disk.file.number != file.number))
        h = h->next;
    if (!h) return share_new(out, &file, o, err);
    fr_ngram_file_close(&file);
    *out = h;
    const fr_ngram_kind *is = &h->disk.kind;
    if (is->n == o->kind.n && is->d == o->kind.d &&
        !memcmp(is->identity, o->kind.identity, sizeof is->identity))
        return FR_OK;
    return fr_fail(err, FR_EIO,
                   "n-gram store %s: expected a folder of its own for each pack, found it open for "
                   "the vectors of another pack or model; give one of them no store, or run them "
                   "one after the other",
                   o->folder);
}

static void unshare(shared *h) {
    if (h->handles) {
        fr_ngram_writer_sync(&h->writer);
        return;
    }
    shared **link = &list;
    while (*link != h)
        link = &(*link)->next;
    *link = h->next;
    fr_ngram_writer_close(&h->writer);
    pthread_mutex_destroy(&h->lock);
    fr_ngram_disk_close(&h->disk);
    fr_free(h);
}

fr_status fr_ngram_store_open(fr_ngram_store **out, const fr_ngram_store_options *o,
                              fr_error *err) {
    assert(o->kind.n >= 1 && o->kind.n <= FR_NGRAM_MAX);
    assert(o->kind.d >= 1 && o->kind.d <= FR_NGRAM_STORE_D);
    if (o->limit < FR_NGRAM_STORE_LEAST)
        return fr_fail(err, FR_EARG,
                       "n-gram store %s: expected a limit of %d bytes or more, got %zu", o->folder,
                       FR_NGRAM_STORE_LEAST, o->limit);
    fr_ngram_store *s = fr_alloc_zero(sizeof *s);
    if (!s) return fr_fail(err, FR_ENOMEM, "n-gram store: %zu bytes", sizeof *s);
    pthread_mutex_lock(&list_lock);
    fr_status st = share(&s->shared, o, err);
    if (!st) {
        st = fr_ngram_disk_reader(&s->shared->disk, &s->reader, err);
        if (!st) s->shared->handles++;
        if (st && !s->shared->handles) unshare(s->shared);
    }
    pthread_mutex_unlock(&list_lock);
    if (st)
        fr_free(s);
    else
        *out = s;
    return st;
}

void fr_ngram_store_close(fr_ngram_store *s) {
    if (!s) return;
    pthread_mutex_lock(&list_lock);
    mdb_txn_abort(s->reader);
    s->shared->handles--;
    unshare(s->shared);
    pthread_mutex_unlock(&list_lock);
    fr_free(s);
}
