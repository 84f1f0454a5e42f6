#include "model/config_reader.h"
#include <assert.h>
#include <stdio.h>

const char *fr_config_key(fr_config_reader *r, const char *suffix) {
    assert(r->n_read < FR_CONFIG_KEYS);
    r->read[r->n_read++] = suffix;
    snprintf(r->key, sizeof r->key, "%s.%s", r->arch, suffix);
    return r->key;
}

// The whole key of the name that the file has; of the first where it has both or neither.
static const char *find_key(fr_config_reader *r, fr_config_name name) {
    const bool other = name.other && fr_gguf_find(r->g, fr_config_key(r, name.other));
    if (fr_gguf_find(r->g, fr_config_key(r, name.suffix)) || !other) return r->key;
    return fr_config_key(r, name.other);
}

static void check_int(fr_config_reader *r, const char *key, uint32_t v, int low, int high,
                      int *value) {
    if (v < (uint32_t)low || v > (uint32_t)high)
        r->status = fr_fail(r->err, FR_EDATA, "%s: expected %d..%d, found %u", key, low, high, v);
    else
        *value = (int)v;
}

void fr_config_int(fr_config_reader *r, fr_config_name name, int low, int high, int *value) {
    if (r->status) return;
    uint32_t v = (uint32_t)*value;
    const char *key = find_key(r, name);
    r->status = name.required ? fr_gguf_get_u32(r->g, key, &v, r->err)
                              : fr_gguf_opt_u32(r->g, key, &v, r->err);
    if (!r->status) check_int(r, key, v, low, high, value);
}

void fr_config_float(fr_config_reader *r, fr_config_name name, float low, float high,
                     float *value) {
    if (r->status) return;
    float v = *value;
    const char *key = find_key(r, name);
    r->status = name.required ? fr_gguf_get_f32(r->g, key, &v, r->err)
                              : fr_gguf_opt_f32(r->g, key, &v, r->err);
    if (r->status) return;
    if (!(v >= low && v <= high))
        r->status = fr_fail(r->err, FR_EDATA, "%s: expected %g..%g, found %g", key, low, high, v);
    else
        *value = v;
}

void fr_config_layers_int(fr_config_reader *r, fr_config_name name, int low, int high, int *value) {
    if (r->status) return;
    const char *key = find_key(r, name);
    const fr_gguf_kv *kv = fr_gguf_find(r->g, key);
    if (!kv || kv->type != FR_GGUF_ARRAY) {
        fr_config_int(r, name, low, high, value);
        return;
    }
    if ((r->status = fr_gguf_get_array(r->g, key, FR_GGUF_INTS, &kv, r->err))) return;
    if (kv->count != (uint64_t)r->n_blocks) {
        r->status = fr_fail(r->err, FR_EDATA, "%s: expected %d numbers, one a layer, found %llu",
                            key, r->n_blocks, (unsigned long long)kv->count);
        return;
    }
    const int64_t first = fr_gguf_item_i64(kv, 0);
    for (int i = 1; i < r->n_blocks && !r->status; i++)
        if (fr_gguf_item_i64(kv, (uint64_t)i) != first)
            r->status = fr_fail(r->err, FR_EUNSUP,
                                "%s: expected %lld in every layer, found %lld in layer %d", key,
                                (long long)first, (long long)fr_gguf_item_i64(kv, (uint64_t)i), i);
    if (r->status) return;
    if (first < low || first > high)
        r->status = fr_fail(r->err, FR_EDATA, "%s: expected %d..%d, found %lld", key, low, high,
                            (long long)first);
    else
        *value = (int)first;
}
