// checksum.c — files that say their own checksum.
#include "base/save.h"
#include "gguf/hash.h"
#include "gguf/internal.h"
#include "gguf/writer.h"
#include <inttypes.h>
#include <string.h>

static uint64_t sum_around(const fr_gguf *g, const fr_gguf_kv *hole) {
    return fr_hash_around(g->data, g->bytes, (size_t)(hole->data - g->data));
}

fr_status fr_gguf_check_sum(const fr_gguf *g, const char *key, fr_error *err) {
    const fr_gguf_kv *hole = fr_gguf_find(g, key);
    if (!hole || hole->type != FR_GGUF_U64)
        return fr_fail(err, FR_EDATA, "%s: expected a u64, found %s", key,
                       hole ? fr_gguf_type_name(hole->type) : "none");
    const uint64_t said = fr_gguf_load_u64(hole->data), is = sum_around(g, hole);
    if (said == is) return FR_OK;
    return fr_fail(err, FR_EDATA, "%s: damaged: expected %016" PRIx64 ", found %016" PRIx64, key,
                   said, is);
}

static fr_status put_sum(void *data, size_t bytes, const char *key, const char *path,
                         fr_error *err) {
    fr_gguf *g;
    const fr_status st = fr_gguf_open_memory(&g, data, bytes, path, err);
    if (st) return st;
    const fr_gguf_kv *hole = fr_gguf_find(g, key);
    const size_t at = (size_t)(hole->data - g->data);
    const uint64_t sum = sum_around(g, hole);
    memcpy((uint8_t *)data + at, &sum, sizeof sum);
    fr_gguf_close(g);
    return FR_OK;
}

fr_status fr_gguf_writer_finish_summed(fr_gguf_writer *w, const char *key, const char *path,
                                       fr_error *err) {
    void *data;
    size_t bytes;
    fr_gguf_writer_u64(w, key, 0);
    fr_status st = fr_gguf_writer_finish_memory(w, &data, &bytes, err);
    if (st) return st;
    st = put_sum(data, bytes, key, path, err);
    if (!st) st = fr_save(path, data, bytes, err);
    fr_free(data);
    return st;
}
