// ngram_writer.c — the thread waits for entries, lets some gather, and commits them with the lock
// released. Callers copy entries into the ring. Only the calls that say so wait for space or for a
// commit.
#include "draft/chimera/ngram_writer.h"
#include "base/signals.h"
#include <assert.h>
#include <time.h>

enum { ROOM_LEAST = 16, ROOM_MOST = 512, BYTES = 8 << 20 };

bool fr_ngram_writer_is_sound(const fr_ngram_writer *w) {
    if (w->d < 1 || w->room < 1 || w->first < 0 || w->first >= w->room) return false;
    return w->n >= 0 && w->n <= w->room && w->added - w->done == (uint64_t)w->n &&
           w->wanted <= w->added;
}

// ---------------------------------------------------------------- the thread

// Waits up to a second for more entries, unless a caller waits for the commit.
static void linger(fr_ngram_writer *w) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    bool late = false;
    while (!late && !w->closing && w->done >= w->wanted && w->n < w->room / 4)
        late = pthread_cond_timedwait(&w->gathered, &w->lock, &until);
}

static void *writer_main(void *self) {
    fr_ngram_writer *w = self;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->n && !w->closing)
            pthread_cond_wait(&w->gathered, &w->lock);
        if (!w->n) break;
        linger(w);
        const int first = w->first, n = w->n < w->room - first ? w->n : w->room - first;
        pthread_mutex_unlock(&w->lock);
        w->commit(w->arg, w->key + first, w->vector + (size_t)first * (size_t)w->d, n);
        pthread_mutex_lock(&w->lock);
        w->first = (first + n) % w->room;
        w->n -= n;
        w->done += (uint64_t)n;
        assert(fr_ngram_writer_is_sound(w));
        pthread_cond_broadcast(&w->emptied);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static int start(fr_ngram_writer *w) {
    sigset_t before;
    fr_signals_hold(&before);
    const int error = pthread_create(&w->thread, NULL, writer_main, w);
    fr_signals_restore(&before);
    return error;
}

// ---------------------------------------------------------------- opening

static fr_status take_queue(fr_ngram_writer *w, fr_error *err) {
    const size_t vector = (size_t)w->d * sizeof(float);
    const size_t fit = BYTES / vector;
    w->room = fit > ROOM_MOST ? ROOM_MOST : fit < ROOM_LEAST ? ROOM_LEAST : (int)fit;
    const size_t room = (size_t)w->room;
    const fr_status st = fr_arena_open(
        &w->arena, FR_ARENA_ROUND(room * sizeof *w->key) + FR_ARENA_ROUND(room * vector),
        "n-gram store", err);
    if (st) return st;
    w->key = fr_arena_take(&w->arena, room * sizeof *w->key);
    w->vector = fr_arena_take(&w->arena, room * vector);
    return FR_OK;
}

fr_status fr_ngram_writer_open(fr_ngram_writer *w, int d, fr_ngram_commit *commit, void *arg,
                               fr_error *err) {
    *w = (fr_ngram_writer){.commit = commit, .arg = arg, .d = d};
    const fr_status st = take_queue(w, err);
    if (st) return st;
    // Neither allocates memory; on Linux they cannot fail.
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->gathered, &monotonic);
    pthread_cond_init(&w->emptied, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (!start(w)) return FR_OK;
    fr_arena_close(&w->arena);
    return fr_fail(err, FR_ENOMEM, "n-gram store: cannot start a thread to write");
}

void fr_ngram_writer_close(fr_ngram_writer *w) {
    pthread_mutex_lock(&w->lock);
    w->closing = true;
    pthread_cond_signal(&w->gathered);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->gathered);
    pthread_cond_destroy(&w->emptied);
    pthread_mutex_destroy(&w->lock);
    fr_arena_close(&w->arena);
}

// ---------------------------------------------------------------- adding

static void copy_in(fr_ngram_writer *w, const fr_ngram *key, const float *vector) {
    const int at = (w->first + w->n) % w->room;
    w->key[at] = *key;
    memcpy(w->vector + (size_t)at * (size_t)w->d, vector, (size_t)w->d * sizeof *vector);
    w->n++;
    w->added++;
    assert(fr_ngram_writer_is_sound(w));
    if (w->n == 1 || w->n == w->room / 4) pthread_cond_signal(&w->gathered);
}

bool fr_ngram_writer_add(fr_ngram_writer *w, const fr_ngram *key, const float *vector) {
    pthread_mutex_lock(&w->lock);
    const bool fits = w->n < w->room;
    if (fits) copy_in(w, key, vector);
    pthread_mutex_unlock(&w->lock);
    return fits;
}

void fr_ngram_writer_wait_add(fr_ngram_writer *w, const fr_ngram *key, const float *vector) {
    pthread_mutex_lock(&w->lock);
    while (w->n == w->room)
        pthread_cond_wait(&w->emptied, &w->lock);
    copy_in(w, key, vector);
    pthread_mutex_unlock(&w->lock);
}

void fr_ngram_writer_sync(fr_ngram_writer *w) {
    pthread_mutex_lock(&w->lock);
    const uint64_t all = w->added;
    if (w->wanted < all) w->wanted = all;
    pthread_cond_signal(&w->gathered);
    while (w->done < all)
        pthread_cond_wait(&w->emptied, &w->lock);
    pthread_mutex_unlock(&w->lock);
}
