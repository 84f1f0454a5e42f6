// fingerprint.c — a name for a model's content that is quick to compute.
#include "gguf/hash.h"
#include "gguf/internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLE = 64 * 1024 };

typedef struct fingerprint { // two hashes of the same bytes, by different seeds
    fr_hash a, b;
} fingerprint;

static void add(fingerprint *f, const void *data, size_t bytes) {
    fr_hash_add(&f->a, data, bytes);
    fr_hash_add(&f->b, data, bytes);
}

static void add_u64(fingerprint *f, uint64_t v) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(v >> 8 * i);
    add(f, bytes, sizeof bytes);
}

static void add_str(fingerprint *f, fr_gguf_str s) {
    add_u64(f, s.bytes); // without the length, "ab" "c" and "a" "bc" were one
    add(f, s.data, s.bytes);
}

static void add_kv(fingerprint *f, const fr_gguf_kv *kv) {
    add_str(f, kv->key);
    add_u64(f, (uint64_t)kv->type << 32 | (uint64_t)kv->item);
    add_u64(f, kv->count);
    add(f, kv->data, fr_gguf_kv_bytes(kv));
}

static void add_tensor(fingerprint *f, const fr_gguf_tensor *t) {
    const uint8_t *data = t->data;
    const size_t first = t->bytes < SAMPLE ? t->bytes : SAMPLE;
    const size_t rest = t->bytes - first; // what the first sample covers is not read twice
    const size_t last = rest < SAMPLE ? rest : SAMPLE;
    add(f, data, first);
    add(f, data + t->bytes - last, last);
}

static void compute(const fr_gguf *g, char hex[FR_GGUF_FINGERPRINT]) {
    fingerprint f;
    fr_hash_open(&f.a, 0);
    fr_hash_open(&f.b, 0x666f726572756e31u);
    for (size_t i = 0; i < g->n_kvs; i++) {
        const fr_gguf_kv *kv = &g->kvs[i];
        // These say how the model was cut into files, which is not part of its content.
        if (kv->key.bytes >= 6 && !memcmp(kv->key.data, "split.", 6)) continue;
        add_kv(&f, kv);
    }
    add_u64(&f, g->n_tensors);
    for (size_t i = 0; i < g->n_tensors; i++) {
        const fr_gguf_tensor *t = &g->tensors[i];
        add_str(&f, (fr_gguf_str){t->name, strlen(t->name)});
        add_u64(&f, (uint64_t)t->type << 32 | (uint64_t)t->n_dims);
        for (int k = 0; k < FR_GGUF_MAX_DIMS; k++)
            add_u64(&f, (uint64_t)t->ne[k]);
    }
    for (size_t i = 0; i < g->n_tensors; i++)
        add_tensor(&f, &g->tensors[i]);
    snprintf(hex, FR_GGUF_FINGERPRINT, "%016" PRIx64 "%016" PRIx64, fr_hash_value(&f.a),
             fr_hash_value(&f.b));
}

void fr_gguf_fingerprint(const fr_gguf *g, char hex[FR_GGUF_FINGERPRINT]) {
    fr_gguf_print *print = g->print;
    pthread_mutex_lock(&print->lock);
    if (!*print->hex) compute(g, print->hex);
    memcpy(hex, print->hex, FR_GGUF_FINGERPRINT);
    pthread_mutex_unlock(&print->lock);
}
