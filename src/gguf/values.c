// values.c — metadata by key: typed, range-checked, each failure a sentence.
#include "gguf/internal.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// clang-format off
static const struct { const char *name; uint8_t bytes; } types[] = {
    [FR_GGUF_U8]   = {"u8", 1},    [FR_GGUF_I8]    = {"i8", 1},
    [FR_GGUF_U16]  = {"u16", 2},   [FR_GGUF_I16]   = {"i16", 2},
    [FR_GGUF_U32]  = {"u32", 4},   [FR_GGUF_I32]   = {"i32", 4},
    [FR_GGUF_F32]  = {"f32", 4},   [FR_GGUF_BOOL]  = {"bool", 1},
    [FR_GGUF_STR]  = {"str", 0},   [FR_GGUF_ARRAY] = {"array", 0},
    [FR_GGUF_U64]  = {"u64", 8},   [FR_GGUF_I64]   = {"i64", 8},
    [FR_GGUF_F64]  = {"f64", 8},
};
// clang-format on
static const char *const class_names[] = {"integers", "floats", "strings", "bools"};

const char *fr_gguf_type_name(fr_gguf_type type) {
    return (unsigned)type < sizeof types / sizeof *types ? types[type].name : "?";
}

size_t fr_gguf_scalar_bytes(uint32_t type) {
    return type < sizeof types / sizeof *types ? types[type].bytes : 0;
}

bool fr_gguf_name_ok(const char *name, size_t bytes, size_t max) {
    if (bytes < 1 || bytes > max) return false;
    for (size_t i = 0; i < bytes; i++)
        if (name[i] < 0x20 || name[i] > 0x7e) return false;
    return true;
}

int fr_gguf_str_cmp(fr_gguf_str a, fr_gguf_str b) {
    const size_t n = a.bytes < b.bytes ? a.bytes : b.bytes;
    const int order = n ? memcmp(a.data, b.data, n) : 0;
    return order ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

bool fr_gguf_str_is(fr_gguf_str s, const char *text) {
    const size_t n = strlen(text);
    return s.bytes == n && !memcmp(s.data, text, n);
}

const fr_gguf_kv *fr_gguf_find(const fr_gguf *g, const char *key) {
    const fr_gguf_str wanted = {key, strlen(key)};
    size_t low = 0, high = g->n_kvs;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = fr_gguf_str_cmp(g->by_key[middle]->key, wanted);
        if (!order) return g->by_key[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool is_int(fr_gguf_type t) {
    return t <= FR_GGUF_I32 || t == FR_GGUF_U64 || t == FR_GGUF_I64;
}

static bool is_class(fr_gguf_type t, fr_gguf_class items) {
    switch (items) {
    case FR_GGUF_INTS:
        return is_int(t);
    case FR_GGUF_FLOATS:
        return t == FR_GGUF_F32 || t == FR_GGUF_F64;
    case FR_GGUF_STRS:
        return t == FR_GGUF_STR;
    case FR_GGUF_BOOLS:
        return t == FR_GGUF_BOOL;
    }
    return false;
}

// An integer of any type is its 64 bits and whether these are two's complement below zero.
typedef struct integer {
    uint64_t bits;
    bool negative;
} integer;

static integer load_int(const fr_gguf_kv *kv, uint64_t i) {
    const size_t size = fr_gguf_scalar_bytes(kv->item);
    const uint8_t *p = kv->data + i * size;
    uint64_t v = 0;
    for (size_t b = size; b-- > 0;)
        v = v << 8 | p[b];
    const bool is_signed = kv->item == FR_GGUF_I8 || kv->item == FR_GGUF_I16 ||
                           kv->item == FR_GGUF_I32 || kv->item == FR_GGUF_I64;
    const bool negative = is_signed && (v >> (8 * size - 1) & 1);
    if (negative && size < 8) v |= ~(uint64_t)0 << (8 * size);
    return (integer){v, negative};
}

int64_t fr_gguf_item_i64(const fr_gguf_kv *kv, uint64_t i) {
    assert(i < kv->count && is_int(kv->item));
    const integer v = load_int(kv, i);
    if (!v.negative && v.bits > INT64_MAX) return INT64_MAX;
    return (int64_t)v.bits;
}

uint64_t fr_gguf_item_u64(const fr_gguf_kv *kv, uint64_t i) {
    assert(i < kv->count && kv->item == FR_GGUF_U64);
    return fr_gguf_load_u64(kv->data + i * 8);
}

double fr_gguf_item_f64(const fr_gguf_kv *kv, uint64_t i) {
    assert(i < kv->count && is_class(kv->item, FR_GGUF_FLOATS));
    if (kv->item == FR_GGUF_F32) {
        const uint32_t bits = fr_gguf_load_u32(kv->data + i * 4);
        float x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    const uint64_t bits = fr_gguf_load_u64(kv->data + i * 8);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

bool fr_gguf_item_bool(const fr_gguf_kv *kv, uint64_t i) {
    assert(i < kv->count && kv->item == FR_GGUF_BOOL);
    return kv->data[i];
}

fr_gguf_str fr_gguf_item_str(const fr_gguf_kv *kv, uint64_t i) {
    assert(i < kv->count && kv->item == FR_GGUF_STR);
    const uint8_t *p = kv->data + (kv->at ? kv->at[i] : 0);
    return (fr_gguf_str){(const char *)p + 8, (size_t)fr_gguf_load_u64(p)};
}

size_t fr_gguf_kv_bytes(const fr_gguf_kv *kv) {
    if (kv->item != FR_GGUF_STR) return (size_t)kv->count * fr_gguf_scalar_bytes(kv->item);
    if (!kv->count) return 0;
    // Strings follow each other with their lengths: one stretch of the file.
    const fr_gguf_str last = fr_gguf_item_str(kv, kv->count - 1);
    return (size_t)((const uint8_t *)last.data + last.bytes - kv->data);
}

// "u32", "array of str": what was found, for messages.
typedef struct found_text {
    char s[32];
} found_text;
static found_text describe(const fr_gguf_kv *kv) {
    found_text t = {"nothing"};
    if (kv)
        snprintf(t.s, sizeof t.s, "%s%s", kv->type == FR_GGUF_ARRAY ? "an array of " : "",
                 fr_gguf_type_name(kv->item));
    return t;
}

static fr_status wrong(const fr_gguf *g, const char *key, const char *expected,
                       const fr_gguf_kv *kv, fr_error *err) {
    return fr_fail(err, FR_EDATA, "%s: %s: expected %s, found %s", g->path, key, expected,
                   describe(kv).s);
}

static fr_status get_int(const fr_gguf *g, const char *key, const char *expected, int64_t low,
                         uint64_t high, integer *value, fr_error *err) {
    const fr_gguf_kv *kv = fr_gguf_find(g, key);
    if (!kv || !is_int(kv->type)) return wrong(g, key, expected, kv, err);
    *value = load_int(kv, 0);
    if (value->negative ? (int64_t)value->bits >= low : value->bits <= high) return FR_OK;
    if (value->negative)
        return fr_fail(err, FR_EDATA, "%s: %s: expected %s, found %" PRId64, g->path, key, expected,
                       (int64_t)value->bits);
    return fr_fail(err, FR_EDATA, "%s: %s: expected %s, found %" PRIu64, g->path, key, expected,
                   value->bits);
}

fr_status fr_gguf_get_u32(const fr_gguf *g, const char *key, uint32_t *value, fr_error *err) {
    integer v = {0};
    const fr_status st = get_int(g, key, "a u32", 0, UINT32_MAX, &v, err);
    if (!st) *value = (uint32_t)v.bits;
    return st;
}

fr_status fr_gguf_get_i32(const fr_gguf *g, const char *key, int32_t *value, fr_error *err) {
    integer v = {0};
    const fr_status st = get_int(g, key, "an i32", INT32_MIN, INT32_MAX, &v, err);
    if (!st) *value = (int32_t)(int64_t)v.bits;
    return st;
}

fr_status fr_gguf_get_u64(const fr_gguf *g, const char *key, uint64_t *value, fr_error *err) {
    integer v = {0};
    const fr_status st = get_int(g, key, "a u64", 0, UINT64_MAX, &v, err);
    if (!st) *value = v.bits;
    return st;
}

fr_status fr_gguf_get_f32(const fr_gguf *g, const char *key, float *value, fr_error *err) {
    const fr_gguf_kv *kv = fr_gguf_find(g, key);
    if (!kv || !is_class(kv->type, FR_GGUF_FLOATS)) return wrong(g, key, "an f32", kv, err);
    const double x = fr_gguf_item_f64(kv, 0);
    if (!isfinite((float)x))
        return fr_fail(err, FR_EDATA, "%s: %s: expected a finite f32, found %g", g->path, key, x);
    *value = (float)x;
    return FR_OK;
}

fr_status fr_gguf_get_f64(const fr_gguf *g, const char *key, double *value, fr_error *err) {
    const fr_gguf_kv *kv = fr_gguf_find(g, key);
    if (!kv || !is_class(kv->type, FR_GGUF_FLOATS)) return wrong(g, key, "an f64", kv, err);
    *value = fr_gguf_item_f64(kv, 0);
    return FR_OK;
}

fr_status fr_gguf_get_bool(const fr_gguf *g, const char *key, bool *value, fr_error *err) {
    const fr_gguf_kv *kv = fr_gguf_find(g, key);
    if (!kv || kv->type != FR_GGUF_BOOL) return wrong(g, key, "a bool", kv, err);
    *value = fr_gguf_item_bool(kv, 0);
    return FR_OK;
}

fr_status fr_gguf_get_str(const fr_gguf *g, const char *key, fr_gguf_str *value, fr_error *err) {
    const fr_gguf_kv *kv = fr_gguf_find(g, key);
    if (!kv || kv->type != FR_GGUF_STR) return wrong(g, key, "a str", kv, err);
    *value = fr_gguf_item_str(kv, 0);
    return FR_OK;
}

fr_status fr_gguf_get_array(const fr_gguf *g, const char *key, fr_gguf_class items,
                            const fr_gguf_kv **array, fr_error *err) {
    const fr_gguf_kv *kv = fr_gguf_find(g, key);
    if (!kv || kv->type != FR_GGUF_ARRAY || !is_class(kv->item, items)) {
        char expected[32];
        snprintf(expected, sizeof expected, "an array of %s", class_names[items]);
        return wrong(g, key, expected, kv, err);
    }
    for (uint64_t i = 0; kv->item == FR_GGUF_U64 && i < kv->count; i++)
        if (load_int(kv, i).bits > INT64_MAX)
            return fr_fail(err, FR_EDATA,
                           "%s: %s: item %" PRIu64 ": expected an i64, found %" PRIu64, g->path,
                           key, i, load_int(kv, i).bits);
    *array = kv;
    return FR_OK;
}

fr_status fr_gguf_opt_u32(const fr_gguf *g, const char *key, uint32_t *value, fr_error *err) {
    return fr_gguf_find(g, key) ? fr_gguf_get_u32(g, key, value, err) : FR_OK;
}

fr_status fr_gguf_opt_i32(const fr_gguf *g, const char *key, int32_t *value, fr_error *err) {
    return fr_gguf_find(g, key) ? fr_gguf_get_i32(g, key, value, err) : FR_OK;
}

fr_status fr_gguf_opt_u64(const fr_gguf *g, const char *key, uint64_t *value, fr_error *err) {
    return fr_gguf_find(g, key) ? fr_gguf_get_u64(g, key, value, err) : FR_OK;
}

fr_status fr_gguf_opt_f32(const fr_gguf *g, const char *key, float *value, fr_error *err) {
    return fr_gguf_find(g, key) ? fr_gguf_get_f32(g, key, value, err) : FR_OK;
}

fr_status fr_gguf_opt_bool(const fr_gguf *g, const char *key, bool *value, fr_error *err) {
    return fr_gguf_find(g, key) ? fr_gguf_get_bool(g, key, value, err) : FR_OK;
}

fr_status fr_gguf_opt_str(const fr_gguf *g, const char *key, fr_gguf_str *value, fr_error *err) {
    return fr_gguf_find(g, key) ? fr_gguf_get_str(g, key, value, err) : FR_OK;
}

fr_status fr_gguf_opt_array(const fr_gguf *g, const char *key, fr_gguf_class items,
                            const fr_gguf_kv **array, fr_error *err) {
    return fr_gguf_find(g, key) ? fr_gguf_get_array(g, key, items, array, err) : FR_OK;
}
