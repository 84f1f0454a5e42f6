// writer_file.c — writes a collected file, whole or not at all.
#define _GNU_SOURCE
#include "base/save.h"
#include "gguf/hash.h"
#include "gguf/writer_internal.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "tensor data is written as it lies in memory");

bool fr_gguf_buffer_add(fr_gguf_buffer *b, const void *data, size_t bytes) {
    size_t wanted;
    if (!bytes) return true;
    if (!fr_add_size(b->bytes, bytes, &wanted)) return false;
    if (wanted > b->cap) {
        const size_t cap = wanted < SIZE_MAX / 2 ? wanted * 2 : wanted;
        uint8_t *bigger = fr_alloc_zero(cap);
        if (!bigger) return false;
        if (b->bytes) memcpy(bigger, b->data, b->bytes);
        fr_free(b->data);
        b->data = bigger;
        b->cap = cap;
    }
    memcpy(b->data + b->bytes, data, bytes);
    b->bytes = wanted;
    return true;
}

enum { HEAD_BYTES = 4 + 4 + 8 + 8 }; // magic, version, two counts; then the entries

// Where the bytes go: a file descriptor, or (fd < 0) a buffer.
typedef struct sink {
    int fd;
    fr_gguf_buffer buffer;
    const char *path;
    uint64_t written;
    fr_hash *sum; // of the written bytes; NULL: none is computed
    fr_error *err;
} sink;

static fr_status put(sink *s, const void *data, size_t bytes) {
    s->written += bytes;
    if (s->sum) fr_hash_add(s->sum, data, bytes);
    if (s->fd < 0) {
        if (fr_gguf_buffer_add(&s->buffer, data, bytes)) return FR_OK;
        return fr_fail(s->err, FR_ENOMEM, "GGUF writer: no memory for %zu bytes", bytes);
    }
    if (fr_write_all(s->fd, data, bytes)) return FR_OK;
    return fr_fail(s->err, FR_EIO, "%s: %m", s->path);
}

static fr_status put_padding(sink *s, uint64_t alignment) {
    static const uint8_t zeros[64];
    fr_status st = FR_OK;
    while (!st && s->written % alignment) {
        const uint64_t n = alignment - s->written % alignment;
        st = put(s, zeros, n < sizeof zeros ? (size_t)n : sizeof zeros);
    }
    return st;
}

static bool add_u32(fr_gguf_buffer *b, uint32_t v) {
    return fr_gguf_buffer_add(b, &v, sizeof v);
}

static bool add_u64(fr_gguf_buffer *b, uint64_t v) {
    return fr_gguf_buffer_add(b, &v, sizeof v);
}

static uint64_t round_up(uint64_t n, uint64_t alignment) {
    return (n + alignment - 1) & ~(alignment - 1);
}

// Everything before the tensors' data. False: no memory.
static bool build_header(const fr_gguf_writer *w, fr_gguf_buffer *b) {
    bool ok = fr_gguf_buffer_add(b, "GGUF", 4) && add_u32(b, 3) && add_u64(b, w->n_tensors) &&
              add_u64(b, w->n_keys) && fr_gguf_buffer_add(b, w->kvs.data, w->kvs.bytes);
    uint64_t offset = 0;
    for (size_t i = 0; ok && i < w->n_tensors; i++) {
        const writer_tensor *t = &w->tensors[i];
        const size_t n = strlen(t->name);
        ok = add_u64(b, n) && fr_gguf_buffer_add(b, t->name, n) && add_u32(b, (uint32_t)t->n_dims);
        for (int k = 0; ok && k < t->n_dims; k++)
            ok = add_u64(b, (uint64_t)t->ne[k]);
        ok = ok && add_u32(b, (uint32_t)t->type) && add_u64(b, offset);
        offset = round_up(offset + t->bytes, w->alignment);
    }
    return ok;
}

static fr_status put_all(const fr_gguf_writer *w, sink *s) {
    fr_gguf_buffer header = {0};
    fr_status st = FR_OK;
    if (!build_header(w, &header))
        st = fr_fail(s->err, FR_ENOMEM, "GGUF writer: no memory for the header");
    if (!st) st = put(s, header.data, header.bytes);
    if (!st) st = put_padding(s, w->alignment);
    fr_free(header.data);
    for (size_t i = 0; !st && i < w->n_tensors; i++) {
        st = put(s, w->tensors[i].data, w->tensors[i].bytes);
        if (!st) st = put_padding(s, w->alignment);
    }
    return st;
}

static int compare_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// No name twice. The pointers are sorted, which changes nothing else.
static fr_status check_names(const char **names, size_t n, const char *what, fr_error *err) {
    qsort(names, n, sizeof *names, compare_text);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(names[i - 1], names[i]))
            return fr_fail(err, FR_EARG, "GGUF writer: the %s %s was given twice", what, names[i]);
    return FR_OK;
}

static fr_status check(const fr_gguf_writer *w, fr_error *err) {
    if (w->failed.code) return fr_fail(err, w->failed.code, "%s", w->failed.text);
    const size_t most = w->n_keys > w->n_tensors ? w->n_keys : w->n_tensors;
    if (!most) return FR_OK;
    const char **names = fr_alloc_array(most, sizeof *names);
    if (!names) return fr_fail(err, FR_ENOMEM, "GGUF writer: no memory");
    for (size_t i = 0; i < w->n_keys; i++)
        names[i] = w->keys[i];
    fr_status st = check_names(names, w->n_keys, "key", err);
    for (size_t i = 0; i < w->n_tensors; i++)
        names[i] = w->tensors[i].name;
    if (!st) st = check_names(names, w->n_tensors, "tensor", err);
    fr_free(names);
    return st;
}

// The sum of what was written, in its place.
static fr_status put_sum(const sink *s, uint64_t hole) {
    const uint64_t sum = fr_hash_value(s->sum);
    if (pwrite(s->fd, &sum, sizeof sum, (off_t)hole) == sizeof sum) return FR_OK;
    return fr_fail(s->err, FR_EIO, "%s: %m", s->path);
}

// hole: where the sum of everything goes; 0: no sum.
static fr_status write_file(fr_gguf_writer *w, uint64_t hole, const char *path, fr_error *err) {
    fr_saving saving;
    fr_hash sum;
    fr_status st = check(w, err);
    if (!st) st = fr_save_begin(&saving, path, err);
    if (st) return st;
    sink s = {.fd = saving.fd, .path = path, .sum = hole ? &sum : NULL, .err = err};
    fr_hash_open(&sum, 0);
    st = put_all(w, &s);
    if (!st && hole) st = put_sum(&s, hole);
    if (!st) return fr_save_finish(&saving, err);
    fr_save_drop(&saving);
    return st;
}

fr_status fr_gguf_writer_finish(fr_gguf_writer *w, const char *path, fr_error *err) {
    return write_file(w, 0, path, err);
}

// The entry that is added is the last one, so its value is the end of them.
fr_status fr_gguf_writer_finish_summed(fr_gguf_writer *w, const char *key, const char *path,
                                       fr_error *err) {
    fr_gguf_writer_u64(w, key, 0);
    return write_file(w, HEAD_BYTES + w->kvs.bytes - sizeof(uint64_t), path, err);
}

fr_status fr_gguf_writer_finish_memory(fr_gguf_writer *w, void **data, size_t *bytes,
                                       fr_error *err) {
    *data = NULL;
    *bytes = 0;
    fr_status st = check(w, err);
    if (st) return st;
    sink s = {.fd = -1, .err = err};
    if ((st = put_all(w, &s))) {
        fr_free(s.buffer.data);
        return st;
    }
    *data = s.buffer.data;
    *bytes = s.buffer.bytes;
    return FR_OK;
}
