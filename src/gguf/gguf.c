// gguf.c — opening and closing, split models, tensors by name.
#include "gguf/gguf.h"
#include "gguf/internal.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PARTS = 99999, SUFFIX = sizeof "-00001-of-00001.gguf" - 1 };

static fr_gguf_print *open_print(void) {
    fr_gguf_print *print = fr_alloc_zero(sizeof *print);
    if (print) pthread_mutex_init(&print->lock, NULL);
    return print;
}

static fr_status open_object(fr_gguf **out, const char *path, fr_error *err) {
    *out = NULL;
    const size_t n = strlen(path) + 1;
    fr_gguf *g = fr_alloc_zero(sizeof *g);
    if (!g || !(g->path = fr_alloc_zero(n)) || !(g->print = open_print())) {
        fr_gguf_close(g);
        return fr_fail(err, FR_ENOMEM, "%s: no memory to open it", path);
    }
    memcpy(g->path, path, n);
    *out = g;
    return FR_OK;
}

static void close_print(fr_gguf_print *print) {
    if (print) pthread_mutex_destroy(&print->lock);
    fr_free(print);
}

// Maps and parses one file, without its siblings.
static fr_status open_file(fr_gguf **out, const char *path, fr_error *err) {
    fr_gguf *g;
    fr_status st = open_object(&g, path, err);
    if (st) return st;
    if ((st = fr_map_open(&g->map, path, err))) goto fail;
    g->data = g->map.data;
    g->bytes = g->map.bytes;
    if ((st = fr_gguf_parse(g, err))) goto fail;
    *out = g;
    return FR_OK;
fail:
    fr_gguf_close(g);
    return st;
}

void fr_gguf_close(fr_gguf *g) {
    if (!g) return;
    for (int i = 0; i < g->n_parts; i++)
        fr_gguf_close(g->parts[i]);
    fr_free(g->parts);
    for (size_t i = 0; i < g->n_kvs; i++)
        fr_free((void *)g->kvs[i].at);
    fr_free(g->kvs);
    fr_free(g->by_key);
    fr_free(g->tensors);
    fr_free(g->by_name);
    close_print(g->print);
    fr_map_close(&g->map);
    fr_free(g->path);
    fr_free(g);
}

// Writes the name's tail for part `number` (from 1) over the one that `path` ends in.
static void rename_part(char *path, uint32_t number, uint32_t count) {
    char tail[64];
    snprintf(tail, sizeof tail, "-%05" PRIu32 "-of-%05" PRIu32 ".gguf", number, count);
    memcpy(path + strlen(path) - SUFFIX, tail, SUFFIX);
}

// Whether the path ends as that of part `number` of `count` must.
static bool is_part_path(const char *path, uint32_t number, uint32_t count) {
    char tail[64];
    snprintf(tail, sizeof tail, "-%05" PRIu32 "-of-%05" PRIu32 ".gguf", number, count);
    const size_t n = strlen(path);
    return n > SUFFIX && !strcmp(path + n - SUFFIX, tail);
}

static fr_status append_tensors(fr_gguf *g, const fr_gguf *part, int file, fr_error *err) {
    for (size_t i = 0; i < part->n_tensors; i++) {
        if (!fr_gguf_grow((void **)&g->tensors, g->n_tensors, &g->cap_tensors, sizeof *g->tensors))
            return fr_fail(err, FR_ENOMEM, "%s: no memory for its tensor table", g->path);
        g->tensors[g->n_tensors] = part->tensors[i];
        g->tensors[g->n_tensors++].file = file;
    }
    return FR_OK;
}

// Opens part number `number` (from 2) beside g, whose path `path` is a scratch copy of.
static fr_status open_part(fr_gguf *g, char *path, uint32_t number, uint32_t count, fr_error *err) {
    fr_error why = {0};
    uint32_t found_no = 0, found_count = 0;
    fr_gguf *part;
    rename_part(path, number, count);
    fr_status st = open_file(&part, path, &why);
    if (st)
        return fr_fail(err, st, "part %" PRIu32 " of %" PRIu32 " of this split model: %s", number,
                       count, why.text);
    g->parts[g->n_parts++] = part;
    if ((st = fr_gguf_get_u32(part, "split.no", &found_no, err))) return st;
    if ((st = fr_gguf_get_u32(part, "split.count", &found_count, err))) return st;
    if (found_no != number - 1 || found_count != count)
        return fr_fail(err, FR_EDATA,
                       "%s: expected part %" PRIu32 " of %" PRIu32 ", found part %" PRIu64
                       " of %" PRIu32,
                       path, number, count, (uint64_t)found_no + 1, found_count);
    return append_tensors(g, part, g->n_parts, err);
}

static fr_status open_parts(fr_gguf *g, uint32_t count, fr_error *err) {
    const size_t n = strlen(g->path) + 1;
    char *path = fr_alloc_zero(n);
    g->parts = fr_alloc_array(count - 1, sizeof(fr_gguf *));
    fr_status st = FR_OK;
    if (!path || !g->parts)
        st = fr_fail(err, FR_ENOMEM, "%s: no memory to open it", g->path);
    else
        memcpy(path, g->path, n);
    for (uint32_t number = 2; !st && number <= count; number++)
        st = open_part(g, path, number, count, err);
    fr_free(path);
    return st ? st : fr_gguf_index_tensors(g, err);
}

// A file that is one of several: opens its siblings too, or fails with the name of the file to
// open.
static fr_status open_split(fr_gguf *g, bool named, fr_error *err) {
    uint32_t count = 1, number = 0;
    int32_t n_tensors = -1;
    fr_status st;
    if ((st = fr_gguf_opt_u32(g, "split.count", &count, err)) || count <= 1) return st;
    if ((st = fr_gguf_get_u32(g, "split.no", &number, err))) return st;
    if ((st = fr_gguf_opt_i32(g, "split.tensors.count", &n_tensors, err))) return st;
    if (count > MAX_PARTS || number >= count)
        return fr_fail(err, FR_EDATA,
                       "%s: split.no, split.count: expected a part of at most %d, found %" PRIu32
                       " of %" PRIu32,
                       g->path, MAX_PARTS, number, count);
    if (!named)
        return fr_fail(err, FR_EDATA, "%s: is a part of a split model, which needs a path",
                       g->path);
    if (!is_part_path(g->path, number + 1, count))
        return fr_fail(err, FR_EDATA,
                       "%s: is part %" PRIu32 " of %" PRIu32
                       " of a split model, so its name must end in -%05" PRIu32 "-of-%05" PRIu32
                       ".gguf",
                       g->path, number + 1, count, number + 1, count);
    if (number) {
        rename_part(g->path, 1, count);
        return fr_fail(err, FR_EDATA,
                       "part %" PRIu32 " of %" PRIu32 " of a split model: open %s instead",
                       number + 1, count, g->path);
    }
    if ((st = open_parts(g, count, err))) return st;
    if (n_tensors >= 0 && (size_t)n_tensors != g->n_tensors)
        return fr_fail(err, FR_EDATA,
                       "%s: split.tensors.count: expected %zu tensors, found %" PRId32, g->path,
                       g->n_tensors, n_tensors);
    return FR_OK;
}

fr_status fr_gguf_open(fr_gguf **out, const char *path, fr_error *err) {
    *out = NULL;
    fr_gguf *g;
    fr_status st = open_file(&g, path, err);
    if (st) return st;
    if ((st = open_split(g, true, err))) {
        fr_gguf_close(g);
        return st;
    }
    *out = g;
    return FR_OK;
}

fr_status fr_gguf_open_memory(fr_gguf **out, const void *data, size_t bytes, const char *name,
                              fr_error *err) {
    *out = NULL;
    if ((uintptr_t)data % 8)
        return fr_fail(err, FR_EARG, "%s: is not 8-byte aligned in memory", name);
    fr_gguf *g;
    fr_status st = open_object(&g, name, err);
    if (st) return st;
    g->data = data;
    g->bytes = bytes;
    if ((st = fr_gguf_parse(g, err)) || (st = open_split(g, false, err))) {
        fr_gguf_close(g);
        return st;
    }
    *out = g;
    return FR_OK;
}

const char *fr_gguf_path(const fr_gguf *g) {
    return g->path;
}

uint32_t fr_gguf_version(const fr_gguf *g) {
    return g->version;
}

uint64_t fr_gguf_file_bytes(const fr_gguf *g) {
    uint64_t bytes = g->bytes;
    for (int i = 0; i < g->n_parts; i++)
        bytes += g->parts[i]->bytes;
    return bytes;
}

int fr_gguf_n_files(const fr_gguf *g) {
    return 1 + g->n_parts;
}

size_t fr_gguf_n_kv(const fr_gguf *g) {
    return g->n_kvs;
}

const fr_gguf_kv *fr_gguf_kv_at(const fr_gguf *g, size_t i) {
    assert(i < g->n_kvs);
    return &g->kvs[i];
}

size_t fr_gguf_n_tensors(const fr_gguf *g) {
    return g->n_tensors;
}

const fr_gguf_tensor *fr_gguf_tensor_at(const fr_gguf *g, size_t i) {
    assert(i < g->n_tensors);
    return &g->tensors[i];
}

const fr_gguf_tensor *fr_gguf_tensor_find(const fr_gguf *g, const char *name) {
    size_t low = 0, high = g->n_tensors;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(g->by_name[middle]->name, name);
        if (!order) return g->by_name[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

// The file of a tensor, or NULL when its bytes are the caller's memory.
static const fr_map *map_of(const fr_gguf *g, const fr_gguf_tensor *t, size_t *offset) {
    const fr_map *m = t->file ? &g->parts[t->file - 1]->map : &g->map;
    if (!m->data) return NULL;
    *offset = (size_t)((const uint8_t *)t->data - m->data);
    return m;
}

void fr_gguf_release(const fr_gguf *g, const fr_gguf_tensor *t, size_t offset, size_t bytes) {
    size_t at;
    const fr_map *m = map_of(g, t, &at);
    if (!m || offset >= t->bytes) return;
    fr_map_release(m, at + offset, bytes < t->bytes - offset ? bytes : t->bytes - offset);
}

void fr_gguf_release_all(const fr_gguf *g) {
    if (g->map.data) fr_map_release(&g->map, 0, g->map.bytes);
    for (int i = 0; i < g->n_parts; i++)
        fr_gguf_release_all(g->parts[i]);
}

void fr_gguf_prefetch(const fr_gguf *g, const fr_gguf_tensor *t) {
    size_t offset;
    const fr_map *m = map_of(g, t, &offset);
    if (m) fr_map_prefetch(m, offset, t->bytes);
}
