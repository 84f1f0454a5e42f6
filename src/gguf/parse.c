// parse.c — from the bytes of one file to checked tables.
#include "gguf/internal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// The least bytes that an entry can take; they bound the counts that a header may claim.
enum { MIN_KV = 8 + 1 + 4 + 1, MIN_TENSOR = 8 + 1 + 4 + 8 + 4 + 8, MIN_STR = 8 };

typedef struct cursor { // at <= end always
    fr_gguf *g;
    fr_error *err;
    size_t at, end;
} cursor;

static size_t left(const cursor *c) {
    return c->end - c->at;
}

// Moves over n bytes and gives their start.
static fr_status take(cursor *c, uint64_t n, const char *what, const uint8_t **p) {
    *p = NULL;
    if (n > left(c))
        return fr_fail(c->err, FR_EDATA,
                       "%s: cut off: %s at byte %zu needs %" PRIu64 " bytes, %zu remain",
                       c->g->path, what, c->at, n, left(c));
    *p = c->g->data + c->at;
    c->at += (size_t)n;
    return FR_OK;
}

static fr_status take_u32(cursor *c, const char *what, uint32_t *value) {
    const uint8_t *p;
    const fr_status st = take(c, 4, what, &p);
    if (!st) *value = fr_gguf_load_u32(p);
    return st;
}

static fr_status take_u64(cursor *c, const char *what, uint64_t *value) {
    const uint8_t *p;
    const fr_status st = take(c, 8, what, &p);
    if (!st) *value = fr_gguf_load_u64(p);
    return st;
}

static fr_status take_str(cursor *c, const char *what, fr_gguf_str *s) {
    uint64_t n;
    const uint8_t *p;
    fr_status st;
    if ((st = take_u64(c, what, &n)) || (st = take(c, n, what, &p))) return st;
    *s = (fr_gguf_str){(const char *)p, (size_t)n};
    return FR_OK;
}

static fr_status take_name(cursor *c, const char *what, size_t max, fr_gguf_str *s) {
    const size_t start = c->at;
    const fr_status st = take_str(c, what, s);
    if (st) return st;
    if (fr_gguf_name_ok(s->data, s->bytes, max)) return FR_OK;
    return fr_fail(
        c->err, FR_EDATA,
        "%s: %s at byte %zu: expected 1 to %zu printable ASCII characters, found %zu bytes",
        c->g->path, what, start, max, s->bytes);
}

bool fr_gguf_grow(void **table, size_t n, size_t *cap, size_t size) {
    if (n < *cap) return true;
    const size_t more = *cap ? *cap : 16;
    size_t wanted;
    if (!fr_add_size(*cap, more, &wanted)) return false;
    void *bigger = fr_alloc_array(wanted, size);
    if (!bigger) return false;
    if (n) memcpy(bigger, *table, n * size);
    fr_free(*table);
    *table = bigger;
    *cap = wanted;
    return true;
}

static fr_status no_memory(const cursor *c, const char *what) {
    return fr_fail(c->err, FR_ENOMEM, "%s: no memory for its %s", c->g->path, what);
}

static fr_status bad_entry(const cursor *c, const fr_gguf_kv *kv, const char *why, uint64_t found) {
    return fr_fail(c->err, FR_EDATA, "%s: %.*s: %s, found %" PRIu64, c->g->path, (int)kv->key.bytes,
                   kv->key.data, why, found);
}

// The strings of an array, and where each begins.
static fr_status parse_strings(cursor *c, fr_gguf_kv *kv) {
    kv->data = c->g->data + c->at;
    if (kv->type != FR_GGUF_ARRAY) {
        fr_gguf_str s;
        return take_str(c, "a string", &s);
    }
    if (!kv->count) return FR_OK;
    if (kv->count > left(c) / MIN_STR)
        return bad_entry(c, kv, "expected no more strings than the file has room for", kv->count);
    uint64_t *at = fr_alloc_array((size_t)kv->count, sizeof *at);
    if (!at) return no_memory(c, "strings");
    kv->at = at;
    const size_t start = c->at;
    for (uint64_t i = 0; i < kv->count; i++) {
        fr_gguf_str s;
        at[i] = c->at - start;
        const fr_status st = take_str(c, "a string of an array", &s);
        if (st) return st;
    }
    return FR_OK;
}

static fr_status parse_scalars(cursor *c, fr_gguf_kv *kv) {
    const size_t size = fr_gguf_scalar_bytes(kv->item);
    if (kv->count > left(c) / size)
        return bad_entry(c, kv, "expected no more items than the file has room for", kv->count);
    const fr_status st = take(c, kv->count * size, "a value", &kv->data);
    if (st || kv->item != FR_GGUF_BOOL) return st;
    for (uint64_t i = 0; i < kv->count; i++)
        if (kv->data[i] > 1) return bad_entry(c, kv, "expected a bool, 0 or 1", kv->data[i]);
    return FR_OK;
}

static fr_status parse_kv(cursor *c, fr_gguf_kv *kv) {
    uint32_t type;
    fr_status st;
    if ((st = take_name(c, "a key", FR_GGUF_MAX_KEY, &kv->key))) return st;
    if ((st = take_u32(c, "a value's type", &type))) return st;
    if (type > FR_GGUF_F64) return bad_entry(c, kv, "expected a value type 0 to 12", type);
    kv->type = kv->item = (fr_gguf_type)type;
    kv->count = 1;
    if (type == FR_GGUF_ARRAY) {
        if ((st = take_u32(c, "an array's item type", &type))) return st;
        if ((st = take_u64(c, "an array's length", &kv->count))) return st;
        if (type == FR_GGUF_ARRAY || type > FR_GGUF_F64)
            return bad_entry(
                c, kv, "expected an array of scalars or strings, item type 0 to 12 but 9", type);
        kv->item = (fr_gguf_type)type;
    }
    return kv->item == FR_GGUF_STR ? parse_strings(c, kv) : parse_scalars(c, kv);
}

static int compare_keys(const void *a, const void *b) {
    const fr_gguf_kv *const *x = a, *const *y = b;
    return fr_gguf_str_cmp((*x)->key, (*y)->key);
}

static fr_status index_keys(cursor *c) {
    fr_gguf *g = c->g;
    if (!g->n_kvs) return FR_OK;
    g->by_key = fr_alloc_array(g->n_kvs, sizeof *g->by_key);
    if (!g->by_key) return no_memory(c, "metadata");
    for (size_t i = 0; i < g->n_kvs; i++)
        g->by_key[i] = &g->kvs[i];
    qsort(g->by_key, g->n_kvs, sizeof *g->by_key, compare_keys);
    for (size_t i = 1; i < g->n_kvs; i++)
        if (!compare_keys(&g->by_key[i - 1], &g->by_key[i]))
            return fr_fail(c->err, FR_EDATA, "%s: the key %.*s stands twice", g->path,
                           (int)g->by_key[i]->key.bytes, g->by_key[i]->key.data);
    return FR_OK;
}

static fr_status parse_kvs(cursor *c, uint64_t count) {
    fr_gguf *g = c->g;
    if (count > left(c) / MIN_KV)
        return fr_fail(c->err, FR_EDATA,
                       "%s: header: %" PRIu64
                       " metadata entries do not fit the %zu bytes that follow",
                       g->path, count, left(c));
    for (uint64_t i = 0; i < count; i++) {
        if (!fr_gguf_grow((void **)&g->kvs, g->n_kvs, &g->cap_kvs, sizeof *g->kvs))
            return no_memory(c, "metadata");
        // Counted first: close then also frees what a half-read entry owns.
        const fr_status st = parse_kv(c, &g->kvs[g->n_kvs++]);
        if (st) return st;
    }
    return index_keys(c);
}

static fr_status parse_alignment(cursor *c) {
    uint32_t alignment = 32;
    const fr_status st = fr_gguf_opt_u32(c->g, "general.alignment", &alignment, c->err);
    if (st) return st;
    if (alignment < 8 || (alignment & (alignment - 1)))
        return fr_fail(c->err, FR_EDATA,
                       "%s: general.alignment: expected a power of two, 8 or more, found %" PRIu32,
                       c->g->path, alignment);
    c->g->alignment = alignment;
    return FR_OK;
}

bool fr_gguf_tensor_bytes(const fr_qtype *type, int n_dims, const int64_t *ne, size_t *bytes) {
    int64_t n = 1;
    for (int i = 0; i < n_dims; i++)
        if (ne[i] <= 0 || __builtin_mul_overflow(n, ne[i], &n)) return false;
    int64_t total;
    if (ne[0] % type->block || __builtin_mul_overflow(n / type->block, type->bytes, &total))
        return false;
    if ((uint64_t)total > SIZE_MAX) return false;
    *bytes = (size_t)total;
    return true;
}

// The type with this id; NULL if the engine cannot read it. Type 4 is MXFP4 only where Ollama wrote
// it, in files of gpt-oss, which it calls gptoss.
static const fr_qtype *readable_type(const fr_gguf *g, uint32_t id) {
    fr_gguf_str arch = {"", 0};
    fr_error ignored;
    if (id == FR_TYPE_MXFP4_OLLAMA &&
        (fr_gguf_opt_str(g, "general.architecture", &arch, &ignored) ||
         !(fr_gguf_str_is(arch, "gpt-oss") || fr_gguf_str_is(arch, "gptoss"))))
        return NULL;
    return fr_qtype_of(id);
}

static fr_status cannot_read(const cursor *c, const fr_gguf_tensor *t, uint32_t type) {
    return fr_fail(c->err, FR_EUNSUP, "%s: %s: tensor type %" PRIu32 " (%s) cannot be read",
                   c->g->path, t->name, type,
                   type == FR_TYPE_MXFP4_OLLAMA ? "q4_2" : fr_qtype_name(type));
}

// One entry of the tensor table; *offset is from the start of the data section, not yet checked.
static fr_status parse_tensor(cursor *c, fr_gguf_tensor *t, uint64_t *offset) {
    fr_gguf_str name;
    uint32_t n_dims, type;
    fr_status st;
    if ((st = take_name(c, "a tensor's name", FR_GGUF_MAX_NAME, &name))) return st;
    memcpy(t->name, name.data, name.bytes);
    if ((st = take_u32(c, "a tensor's dimensions", &n_dims))) return st;
    if (n_dims < 1 || n_dims > FR_GGUF_MAX_DIMS)
        return fr_fail(c->err, FR_EDATA, "%s: %s: expected 1 to 4 dimensions, found %" PRIu32,
                       c->g->path, t->name, n_dims);
    t->n_dims = (int)n_dims;
    for (int i = 0; i < FR_GGUF_MAX_DIMS; i++) {
        uint64_t n = 1;
        if (i < t->n_dims && (st = take_u64(c, "a tensor's dimensions", &n))) return st;
        t->ne[i] = n > INT64_MAX ? -1 : (int64_t)n; // refused below, as 0 is
    }
    if ((st = take_u32(c, "a tensor's type", &type))) return st;
    if ((st = take_u64(c, "a tensor's offset", offset))) return st;
    const fr_qtype *q = readable_type(c->g, type);
    if (!q) return cannot_read(c, t, type);
    t->type = q->type;
    if (!fr_gguf_tensor_bytes(q, t->n_dims, t->ne, &t->bytes))
        return fr_fail(
            c->err, FR_EDATA,
            "%s: %s: expected dimensions of at least 1, the first a multiple of %d (%s), and "
            "a size that fits; found [%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "]",
            c->g->path, t->name, q->block, q->name, t->ne[0], t->ne[1], t->ne[2], t->ne[3]);
    return FR_OK;
}

// Offsets become pointers when the table's end, and with it the data's start, is known. Until then
// the offset waits in t->data.
static fr_status place_tensors(cursor *c) {
    fr_gguf *g = c->g;
    if (!g->n_tensors) return FR_OK;
    const uint64_t mask = g->alignment - 1;
    const uint64_t start = (c->at + mask) & ~mask; // both below 2^63: no wrap
    const uint64_t room = start < g->bytes ? g->bytes - start : 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        fr_gguf_tensor *t = &g->tensors[i];
        const uint64_t offset = (uint64_t)(uintptr_t)t->data;
        if (offset & mask)
            return fr_fail(c->err, FR_EDATA,
                           "%s: %s: expected an offset that is a multiple of %" PRIu64
                           ", found %" PRIu64,
                           g->path, t->name, g->alignment, offset);
        if (offset > room || t->bytes > room - offset)
            return fr_fail(c->err, FR_EDATA,
                           "%s: cut off: %s needs %zu bytes at %" PRIu64 ", the file has %zu bytes",
                           g->path, t->name, t->bytes, start + offset, g->bytes);
        t->data = g->data + start + offset;
    }
    return FR_OK;
}

static int compare_places(const void *a, const void *b) {
    const fr_gguf_tensor *const *x = a, *const *y = b;
    const uintptr_t i = (uintptr_t)(*x)->data, j = (uintptr_t)(*y)->data;
    return (i > j) - (i < j);
}

// A tensor of type 4 whose data goes up to `end` is MXFP4 only if its size says so.
static fr_status check_size(cursor *c, const fr_gguf_tensor *t, const uint8_t *end) {
    const size_t found = (size_t)(end - (const uint8_t *)t->data);
    return t->type == FR_TYPE_MXFP4_OLLAMA && found - t->bytes >= c->g->alignment
               ? cannot_read(c, t, t->type)
               : FR_OK;
}

// No byte may belong to two tensors. A damaged offset that points into another tensor's data would
// not show otherwise, as the shapes of both are still right.
static fr_status check_overlaps(cursor *c) {
    const fr_gguf *g = c->g;
    const fr_gguf_tensor **by_place = fr_alloc_array(g->n_tensors, sizeof *by_place);
    if (!by_place) return no_memory(c, "tensor table");
    for (size_t i = 0; i < g->n_tensors; i++)
        by_place[i] = &g->tensors[i];
    qsort(by_place, g->n_tensors, sizeof *by_place, compare_places);
    fr_status st = FR_OK;
    for (size_t i = 1; i < g->n_tensors && !st; i++) {
        const fr_gguf_tensor *a = by_place[i - 1], *b = by_place[i];
        const size_t end = (size_t)((const uint8_t *)a->data - g->data) + a->bytes;
        const size_t begin = (size_t)((const uint8_t *)b->data - g->data);
        if (begin < end)
            st = fr_fail(c->err, FR_EDATA,
                         "%s: %s and %s overlap: the first has bytes %zu to %zu of the file, so "
                         "the second was expected at %zu or later, found at %zu",
                         g->path, a->name, b->name, end - a->bytes, end - 1, end, begin);
        else
            st = check_size(c, a, b->data);
    }
    if (!st) st = check_size(c, by_place[g->n_tensors - 1], g->data + g->bytes);
    fr_free(by_place);
    return st;
}

static fr_status parse_tensors(cursor *c, uint64_t count) {
    fr_gguf *g = c->g;
    if (count > left(c) / MIN_TENSOR)
        return fr_fail(c->err, FR_EDATA,
                       "%s: header: %" PRIu64 " tensors do not fit the %zu bytes that follow",
                       g->path, count, left(c));
    for (uint64_t i = 0; i < count; i++) {
        if (!fr_gguf_grow((void **)&g->tensors, g->n_tensors, &g->cap_tensors, sizeof *g->tensors))
            return no_memory(c, "tensor table");
        fr_gguf_tensor *t = &g->tensors[g->n_tensors++];
        uint64_t offset;
        const fr_status st = parse_tensor(c, t, &offset);
        if (st) return st;
        if (offset > g->bytes)
            return fr_fail(c->err, FR_EDATA,
                           "%s: cut off: %s begins at %" PRIu64
                           " of the data, the file has %zu bytes",
                           g->path, t->name, offset, g->bytes);
        t->data = (const void *)(uintptr_t)offset;
    }
    return place_tensors(c);
}

static int compare_names(const void *a, const void *b) {
    const fr_gguf_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

fr_status fr_gguf_index_tensors(fr_gguf *g, fr_error *err) {
    fr_free(g->by_name);
    g->by_name = NULL;
    if (!g->n_tensors) return FR_OK;
    g->by_name = fr_alloc_array(g->n_tensors, sizeof *g->by_name);
    if (!g->by_name) return fr_fail(err, FR_ENOMEM, "%s: no memory for its tensor table", g->path);
    for (size_t i = 0; i < g->n_tensors; i++)
        g->by_name[i] = &g->tensors[i];
    qsort(g->by_name, g->n_tensors, sizeof *g->by_name, compare_names);
    for (size_t i = 1; i < g->n_tensors; i++)
        if (!compare_names(&g->by_name[i - 1], &g->by_name[i]))
            return fr_fail(err, FR_EDATA, "%s: the tensor %s stands twice", g->path,
                           g->by_name[i]->name);
    return FR_OK;
}

static fr_status parse_version(cursor *c) {
    fr_gguf *g = c->g;
    const uint8_t *magic;
    fr_status st;
    if (g->bytes < 4 || memcmp(g->data, "GGUF", 4))
        return fr_fail(c->err, FR_EUNSUP, "%s: is not a GGUF file: it does not begin with GGUF",
                       g->path);
    if ((st = take(c, 4, "the header", &magic))) return st;
    if ((st = take_u32(c, "the version", &g->version))) return st;
    if (g->version == 2 || g->version == 3) return FR_OK;
    if (!(g->version & 0xffffu) && g->version)
        return fr_fail(c->err, FR_EUNSUP,
                       "%s: is a big-endian GGUF file; only little-endian ones can be read",
                       g->path);
    return fr_fail(c->err, FR_EUNSUP, "%s: expected GGUF version 2 or 3, found %" PRIu32, g->path,
                   g->version);
}

fr_status fr_gguf_parse(fr_gguf *g, fr_error *err) {
    cursor c = {.g = g, .err = err, .at = 0, .end = g->bytes};
    uint64_t n_tensors, n_kvs;
    fr_status st;
    if ((st = parse_version(&c))) return st;
    if ((st = take_u64(&c, "the number of tensors", &n_tensors))) return st;
    if ((st = take_u64(&c, "the number of metadata entries", &n_kvs))) return st;
    if ((st = parse_kvs(&c, n_kvs)) || (st = parse_alignment(&c))) return st;
    if ((st = parse_tensors(&c, n_tensors))) return st;
    if ((st = fr_gguf_index_tensors(g, err)) || !n_tensors) return st;
    return check_overlaps(&c);
}
