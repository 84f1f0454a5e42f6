// writer.c — collects entries and tensors; writer_file.c writes them.
#include "gguf/writer_internal.h"
#include <assert.h>
#include <string.h>

fr_status fr_gguf_writer_open(fr_gguf_writer **out, fr_error *err) {
    *out = fr_alloc_zero(sizeof **out);
    if (!*out) return fr_fail(err, FR_ENOMEM, "GGUF writer: no memory");
    (*out)->alignment = 32;
    return FR_OK;
}

void fr_gguf_writer_close(fr_gguf_writer *w) {
    if (!w) return;
    for (size_t i = 0; i < w->n_tensors; i++)
        fr_free(w->tensors[i].copy);
    for (size_t i = 0; i < w->n_keys; i++)
        fr_free(w->keys[i]);
    fr_free(w->tensors);
    fr_free(w->keys);
    fr_free(w->kvs.data);
    fr_free(w);
}

#define REMEMBER(w, ...) ((w)->failed.code ? (void)0 : (void)fr_fail(&(w)->failed, __VA_ARGS__))

static void append(fr_gguf_writer *w, const void *data, size_t bytes) {
    if (w->failed.code || !bytes) return;
    if (!fr_gguf_buffer_add(&w->kvs, data, bytes))
        REMEMBER(w, FR_ENOMEM, "GGUF writer: no memory for the metadata");
}

static void append_u32(fr_gguf_writer *w, uint32_t v) {
    append(w, (uint8_t[4]){(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)},
           4);
}

static void append_u64(fr_gguf_writer *w, uint64_t v) {
    append_u32(w, (uint32_t)v);
    append_u32(w, (uint32_t)(v >> 32));
}

static void append_str(fr_gguf_writer *w, const void *data, size_t bytes) {
    append_u64(w, bytes);
    append(w, data, bytes);
}

static void append_key(fr_gguf_writer *w, fr_gguf_str key) {
    if (w->failed.code) return;
    if (!fr_gguf_name_ok(key.data, key.bytes, FR_GGUF_MAX_KEY)) {
        REMEMBER(w, FR_EARG,
                 "GGUF writer: key \"%.*s\": expected 1 to %d printable ASCII characters",
                 (int)(key.bytes < 80 ? key.bytes : 80), key.data, FR_GGUF_MAX_KEY);
        return;
    }
    char *copy = NULL;
    if (!fr_gguf_grow((void **)&w->keys, w->n_keys, &w->cap_keys, sizeof *w->keys) ||
        !(copy = fr_alloc_zero(key.bytes + 1))) {
        REMEMBER(w, FR_ENOMEM, "GGUF writer: no memory for the metadata");
        return;
    }
    memcpy(copy, key.data, key.bytes);
    w->keys[w->n_keys++] = copy;
    append_str(w, key.data, key.bytes);
}

static void begin(fr_gguf_writer *w, const char *key, fr_gguf_type type) {
    if (type != FR_GGUF_U32 && !strcmp(key, "general.alignment"))
        REMEMBER(w, FR_EARG, "general.alignment: expected a u32, found %s",
                 fr_gguf_type_name(type));
    append_key(w, (fr_gguf_str){key, strlen(key)});
    append_u32(w, (uint32_t)type);
}

static void begin_array(fr_gguf_writer *w, const char *key, fr_gguf_type item, size_t count) {
    begin(w, key, FR_GGUF_ARRAY);
    append_u32(w, (uint32_t)item);
    append_u64(w, count);
}

// A value of 1, 2, 4 or 8 bytes, given as its bits.
static void scalar(fr_gguf_writer *w, const char *key, fr_gguf_type type, uint64_t bits) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(bits >> 8 * i);
    begin(w, key, type);
    append(w, bytes, fr_gguf_scalar_bytes(type));
}

void fr_gguf_writer_u32(fr_gguf_writer *w, const char *key, uint32_t value) {
    if (!strcmp(key, "general.alignment")) {
        if (value < 8 || (value & (value - 1))) {
            REMEMBER(w, FR_EARG,
                     "general.alignment: expected a power of two, 8 or more, found %" PRIu32,
                     value);
            return;
        }
        w->alignment = value;
    }
    scalar(w, key, FR_GGUF_U32, value);
}

void fr_gguf_writer_i32(fr_gguf_writer *w, const char *key, int32_t value) {
    scalar(w, key, FR_GGUF_I32, (uint64_t)value);
}

void fr_gguf_writer_u64(fr_gguf_writer *w, const char *key, uint64_t value) {
    scalar(w, key, FR_GGUF_U64, value);
}

void fr_gguf_writer_f32(fr_gguf_writer *w, const char *key, float value) {
    scalar(w, key, FR_GGUF_F32, fr_f32_bits(value));
}

void fr_gguf_writer_f64(fr_gguf_writer *w, const char *key, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    scalar(w, key, FR_GGUF_F64, bits);
}

void fr_gguf_writer_bool(fr_gguf_writer *w, const char *key, bool value) {
    scalar(w, key, FR_GGUF_BOOL, value);
}

void fr_gguf_writer_str(fr_gguf_writer *w, const char *key, const char *value) {
    fr_gguf_writer_bytes(w, key, value, strlen(value));
}

void fr_gguf_writer_bytes(fr_gguf_writer *w, const char *key, const void *data, size_t bytes) {
    begin(w, key, FR_GGUF_STR);
    append_str(w, data, bytes);
}

void fr_gguf_writer_str_array(fr_gguf_writer *w, const char *key, const char *const *items,
                              size_t count) {
    begin_array(w, key, FR_GGUF_STR, count);
    for (size_t i = 0; i < count; i++)
        append_str(w, items[i], strlen(items[i]));
}

// Files are little endian and so is every machine that this engine runs on; see the assertion in
// writer_file.c.
void fr_gguf_writer_raw_array(fr_gguf_writer *w, const char *key, fr_gguf_type item,
                              const void *items, size_t count) {
    const size_t size = fr_gguf_scalar_bytes(item);
    assert(size);
    begin_array(w, key, item, count);
    append(w, items, count * size);
}

void fr_gguf_writer_i32_array(fr_gguf_writer *w, const char *key, const int32_t *items,
                              size_t count) {
    fr_gguf_writer_raw_array(w, key, FR_GGUF_I32, items, count);
}

void fr_gguf_writer_u32_array(fr_gguf_writer *w, const char *key, const uint32_t *items,
                              size_t count) {
    fr_gguf_writer_raw_array(w, key, FR_GGUF_U32, items, count);
}

void fr_gguf_writer_f32_array(fr_gguf_writer *w, const char *key, const float *items,
                              size_t count) {
    fr_gguf_writer_raw_array(w, key, FR_GGUF_F32, items, count);
}

void fr_gguf_writer_kv(fr_gguf_writer *w, const fr_gguf_kv *kv) {
    append_key(w, kv->key);
    append_u32(w, (uint32_t)kv->type);
    if (kv->type == FR_GGUF_ARRAY) {
        append_u32(w, (uint32_t)kv->item);
        append_u64(w, kv->count);
    }
    append(w, kv->data, fr_gguf_kv_bytes(kv));
    if (fr_gguf_str_is(kv->key, "general.alignment"))
        w->alignment = (uint64_t)fr_gguf_item_i64(kv, 0);
}

static writer_tensor *add_tensor(fr_gguf_writer *w, const char *name, fr_type type, int n_dims,
                                 const int64_t *ne) {
    const fr_qtype *q = fr_qtype_of((uint32_t)type);
    size_t bytes;
    if (w->failed.code) return NULL;
    if (!fr_gguf_name_ok(name, strlen(name), FR_GGUF_MAX_NAME)) {
        REMEMBER(w, FR_EARG,
                 "tensor \"%.80s\": expected a name of 1 to %d printable ASCII characters", name,
                 FR_GGUF_MAX_NAME);
        return NULL;
    }
    if (!q || n_dims < 1 || n_dims > FR_GGUF_MAX_DIMS ||
        !fr_gguf_tensor_bytes(q, n_dims, ne, &bytes)) {
        REMEMBER(
            w, FR_EARG,
            "%s: expected a known type, 1 to 4 dimensions of at least 1, the first a multiple of "
            "the type's block (type %d, %d dimensions)",
            name, (int)type, n_dims);
        return NULL;
    }
    if (!fr_gguf_grow((void **)&w->tensors, w->n_tensors, &w->cap_tensors, sizeof *w->tensors)) {
        REMEMBER(w, FR_ENOMEM, "GGUF writer: no memory for the tensor table");
        return NULL;
    }
    writer_tensor *t = &w->tensors[w->n_tensors++];
    strcpy(t->name, name);
    t->type = type;
    t->n_dims = n_dims;
    memcpy(t->ne, ne, (size_t)n_dims * sizeof *ne);
    t->bytes = bytes;
    return t;
}

void fr_gguf_writer_tensor(fr_gguf_writer *w, const char *name, fr_type type, int n_dims,
                           const int64_t *ne, const void *data) {
    writer_tensor *t = add_tensor(w, name, type, n_dims, ne);
    if (t) t->data = data;
}

void fr_gguf_writer_tensor_copy(fr_gguf_writer *w, const char *name, fr_type type, int n_dims,
                                const int64_t *ne, const void *data) {
    writer_tensor *t = add_tensor(w, name, type, n_dims, ne);
    if (!t) return;
    t->copy = data ? fr_alloc_zero(t->bytes) : NULL;
    if (!t->copy) {
        REMEMBER(w, FR_ENOMEM, "%s: no memory for %zu bytes", name, t->bytes);
        return;
    }
    memcpy(t->copy, data, t->bytes);
    t->data = t->copy;
}
