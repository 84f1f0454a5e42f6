// ngrams.h — keys and vectors for the tests of n-gram stores: a vector follows from its key, so
// that whatever a store gives can be judged.
#ifndef TESTS_DRAFT_NGRAMS_H
#define TESTS_DRAFT_NGRAMS_H
#include "draft/chimera/ngram_store.h"
#include "tree/dice.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NGRAM_N = 3, NGRAM_D_MOST = 2048 };

static inline fr_ngram ngram_key(int i) { // all different; of three tokens, some of two or one
    const int32_t ids[3] = {i % 97, i / 97 % 89, i / (97 * 89)};
    return fr_ngram_of(ids, ids[2] ? 3 : ids[1] ? 2 : 1, NGRAM_N);
}

// Any bits: denormals, infinities and NaN with payloads too.
static inline void ngram_vector(const fr_ngram *key, float *out, int d) {
    uint64_t z = 7;
    for (int i = 0; i < FR_NGRAM_MAX; i++)
        z = (z ^ (uint32_t)key->id[i]) * 0x9e3779b97f4a7c15u;
    for (int k = 0; k < d; k++) {
        z = (z ^ z >> 29) * 0xbf58476d1ce4e5b9u + 0x94d049bb133111ebu;
        const uint32_t bits = (uint32_t)(z >> 32);
        memcpy(&out[k], &bits, sizeof bits);
    }
}

static inline bool ngram_is_right(const fr_ngram *key, const float *vector, int d) {
    float want[NGRAM_D_MOST];
    ngram_vector(key, want, d);
    return !memcmp(want, vector, (size_t)d * sizeof *want);
}

typedef struct place {                                        // a folder of a test's own
    char folder[32], file[64], log[64], index[64], aside[64]; // SQLite's two beside its file
} place;

static inline void place_begin(place *p) {
    strcpy(p->folder, "ngrams-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    snprintf(p->file, sizeof p->file, "%s/ngrams.db", p->folder);
    snprintf(p->log, sizeof p->log, "%s/ngrams.db-wal", p->folder);
    snprintf(p->index, sizeof p->index, "%s/ngrams.db-shm", p->folder);
    snprintf(p->aside, sizeof p->aside, "%s/ngrams.db.aside", p->folder);
}

static inline void place_end(const place *p) {
    unlink(p->file);
    unlink(p->log);
    unlink(p->index);
    unlink(p->aside);
    assert_int_equal(rmdir(p->folder), 0);
}

static inline fr_ngram_store_options ngram_options(const place *p, int d) {
    fr_ngram_store_options o = {.folder = p->folder, .limit = 64 << 20};
    o.kind = (fr_ngram_kind){.n = NGRAM_N, .d = d, .identity = "tests"};
    return o;
}

// ---------------------------------------------------------------- stores

static bool in_child; // where a failed assertion would go on with the next test

static inline pid_t fork_child(void) {
    const pid_t child = fork();
    assert_true(child >= 0);
    in_child = !child;
    return child;
}

static inline fr_ngram_store *open_store(const fr_ngram_store_options *o) {
    fr_ngram_store *s = NULL;
    fr_error err = {0};
    if (!fr_ngram_store_open(&s, o, &err)) return s;
    if (in_child) _exit(99);
    fail_msg("%s", err.text);
    return NULL;
}

// Keys [from, to), all of them committed afterwards.
static inline void add(fr_ngram_store *s, int from, int to, int d) {
    float v[NGRAM_D_MOST];
    for (int i = from; i < to; i++) {
        const fr_ngram key = ngram_key(i);
        ngram_vector(&key, v, d);
        fr_ngram_store_wait_add(s, &key, v);
    }
    fr_ngram_store_sync(s);
}

// How many of keys [from, to) are there; -1: one is wrong.
static inline int there(fr_ngram_store *s, int from, int to, int d) {
    float v[NGRAM_D_MOST];
    int n = 0;
    for (int i = from; i < to; i++) {
        const fr_ngram key = ngram_key(i);
        if (!fr_ngram_store_get(s, &key, v)) continue;
        if (!ngram_is_right(&key, v, d)) return -1;
        n++;
    }
    return n;
}

static inline void expect_error(const fr_ngram_store_options *o, fr_status status,
                                const char *part) {
    fr_ngram_store *s = NULL;
    fr_error err = {0};
    assert_int_equal(fr_ngram_store_open(&s, o, &err), status);
    assert_null(s);
    if (!strstr(err.text, part)) fail_msg("expected '%s' in: %s", part, err.text);
}

// ---------------------------------------------------------------- children, and files as bytes

static inline int exit_of(pid_t child) {
    int status;
    pid_t got;
    while ((got = waitpid(child, &status, 0)) < 0 && errno == EINTR)
        ;
    assert_int_equal(got, child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

// A file in memory: what damage is done to.
typedef struct bytes {
    uint8_t *data;
    size_t n;
} bytes;

static inline bytes bytes_read(const char *path) {
    bytes b = {0};
    struct stat s;
    const int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && !fstat(fd, &s));
    b.n = (size_t)s.st_size;
    b.data = malloc(b.n + 1);
    assert_true(read(fd, b.data, b.n) == (ssize_t)b.n);
    close(fd);
    return b;
}

static inline void bytes_write(const char *path, const uint8_t *data, size_t n) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    close(fd);
}

#endif
