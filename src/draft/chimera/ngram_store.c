// ngram_store.c — a handle: a file, and the thread that writes to it.
#include "draft/chimera/ngram_store.h"
#include "base/alloc.h"
#include "draft/chimera/ngram_disk.h"
#include "draft/chimera/ngram_writer.h"
#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>

struct fr_ngram_store {
    fr_ngram_disk disk;
    fr_ngram_writer writer;
    int64_t found, missed, damaged;
    atomic_bool lost;     // damage was met: nothing is read or written any more
    pthread_mutex_t lock; // of what follows
    int64_t written, known, dropped;
    char trouble[512];
};

// Where one value is wrong the pages may be too. The next opening finds it and begins anew.
static void note(fr_ngram_store *s, const fr_error *why) {
    const bool lost = why->code == FR_EDATA;
    if (lost) atomic_store(&s->lost, true);
    pthread_mutex_lock(&s->lock);
    snprintf(s->trouble, sizeof s->trouble, "%s%s", why->text, lost ? "; no longer used" : "");
    pthread_mutex_unlock(&s->lock);
}

// ---------------------------------------------------------------- writing

static void count(fr_ngram_store *s, int written, int known, int dropped) {
    pthread_mutex_lock(&s->lock);
    s->written += written;
    s->known += known;
    s->dropped += dropped;
    pthread_mutex_unlock(&s->lock);
}

static void commit(void *arg, const fr_ngram *keys, const float *vectors, int n) {
    fr_ngram_store *s = arg;
    fr_error why;
    int written = 0, missing = n;
    if (!atomic_load(&s->lost) &&
        fr_ngram_disk_put(&s->disk, keys, vectors, n, &written, &missing, &why))
        note(s, &why);
    count(s, written, n - written - missing, missing);
}

void fr_ngram_store_add(fr_ngram_store *s, const fr_ngram *key, const float *vector) {
    if (!fr_ngram_writer_add(&s->writer, key, vector)) count(s, 0, 0, 1);
}

void fr_ngram_store_wait_add(fr_ngram_store *s, const fr_ngram *key, const float *vector) {
    fr_ngram_writer_wait_add(&s->writer, key, vector);
}

void fr_ngram_store_sync(fr_ngram_store *s) {
    fr_ngram_writer_sync(&s->writer);
}

// ---------------------------------------------------------------- reading

bool fr_ngram_store_get(fr_ngram_store *s, const fr_ngram *key, float *out) {
    bool found = false;
    fr_error why;
    fr_status st = FR_OK;
    if (!atomic_load(&s->lost)) st = fr_ngram_disk_get(&s->disk, key, out, &found, &why);
    s->found += found;
    s->missed += !found;
    s->damaged += st == FR_EDATA;
    if (st) note(s, &why);
    return found;
}

fr_ngram_store_counts fr_ngram_store_count(fr_ngram_store *s) {
    pthread_mutex_lock(&s->lock);
    fr_ngram_store_counts c = {.found = s->found,
                               .missed = s->missed,
                               .damaged = s->damaged,
                               .written = s->written,
                               .known = s->known,
                               .dropped = s->dropped,
                               .rebuilt = s->disk.rebuilt.code != FR_OK};
    snprintf(c.trouble, sizeof c.trouble, "%s", s->trouble);
    pthread_mutex_unlock(&s->lock);
    return c;
}

// ---------------------------------------------------------------- opening

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
    fr_status st = fr_ngram_disk_open(&s->disk, o->folder, &o->kind, o->limit, err);
    if (st) goto no_disk;
    pthread_mutex_init(&s->lock, NULL);
    if (s->disk.rebuilt.code)
        snprintf(s->trouble, sizeof s->trouble, "%.490s; begun anew", s->disk.rebuilt.text);
    if ((st = fr_ngram_writer_open(&s->writer, o->kind.d, commit, s, err))) goto no_writer;
    *out = s;
    return FR_OK;
no_writer:
    pthread_mutex_destroy(&s->lock);
    fr_ngram_disk_close(&s->disk);
no_disk:
    fr_free(s);
    return st;
}

void fr_ngram_store_close(fr_ngram_store *s) {
    if (!s) return;
    fr_ngram_writer_close(&s->writer);
    pthread_mutex_destroy(&s->lock);
    fr_ngram_disk_close(&s->disk);
    fr_free(s);
}
