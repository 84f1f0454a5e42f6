// gguf_touch.h — reads everything that an open GGUF file offers, so that sanitizers see a reach too
// far.
#ifndef FR_TESTS_SUPPORT_GGUF_TOUCH_H
#define FR_TESTS_SUPPORT_GGUF_TOUCH_H
#include "gguf/gguf.h"
#include <string.h>

static inline uint64_t touch_kv(const fr_gguf_kv *kv) {
    uint64_t sum = kv->key.bytes + (uint64_t)(unsigned char)kv->key.data[0];
    for (uint64_t i = 0; i < kv->count; i++) {
        if (kv->item == FR_GGUF_STR) {
            const fr_gguf_str s = fr_gguf_item_str(kv, i);
            for (size_t k = 0; k < s.bytes; k++)
                sum += (unsigned char)s.data[k];
        } else if (kv->item == FR_GGUF_F32 || kv->item == FR_GGUF_F64) {
            sum += fr_gguf_item_f64(kv, i) > 0;
        } else if (kv->item == FR_GGUF_BOOL) {
            sum += fr_gguf_item_bool(kv, i);
        } else {
            sum += (uint64_t)fr_gguf_item_i64(kv, i);
        }
    }
    return sum;
}

static inline uint64_t touch_getters(const fr_gguf *g, const fr_gguf_kv *kv) {
    char key[FR_GGUF_MAX_KEY + 1] = {0};
    uint32_t u32 = 0;
    int32_t i32 = 0;
    uint64_t u64 = 0;
    float f32 = 0;
    bool b = false;
    fr_gguf_str s;
    fr_error err;
    const fr_gguf_kv *array;
    memcpy(key, kv->key.data, kv->key.bytes);
    uint64_t sum = fr_gguf_find(g, key) == kv;
    sum += fr_gguf_get_u32(g, key, &u32, &err) + (uint64_t)fr_gguf_get_i32(g, key, &i32, &err);
    sum += fr_gguf_get_u64(g, key, &u64, &err) + (uint64_t)fr_gguf_get_f32(g, key, &f32, &err);
    sum += fr_gguf_get_bool(g, key, &b, &err) + (uint64_t)fr_gguf_get_str(g, key, &s, &err);
    for (int c = FR_GGUF_INTS; c <= FR_GGUF_BOOLS; c++)
        sum += fr_gguf_get_array(g, key, (fr_gguf_class)c, &array, &err);
    return sum;
}

static inline uint64_t touch_all(const fr_gguf *g) {
    uint64_t sum = 0;
    char hex[FR_GGUF_FINGERPRINT];
    for (size_t i = 0; i < fr_gguf_n_kv(g); i++)
        sum += touch_kv(fr_gguf_kv_at(g, i)) + touch_getters(g, fr_gguf_kv_at(g, i));
    for (size_t i = 0; i < fr_gguf_n_tensors(g); i++) {
        const fr_gguf_tensor *t = fr_gguf_tensor_at(g, i);
        const uint8_t *data = t->data;
        sum += fr_gguf_tensor_find(g, t->name) == t;
        sum += data[0] + (uint64_t)data[t->bytes - 1];
        fr_gguf_prefetch(g, t);
        fr_gguf_release(g, t, 0, t->bytes);
    }
    fr_gguf_fingerprint(g, hex);
    return sum + (uint64_t)hex[0];
}

#endif
