// checksum.c — files that hold their own checksum.
#include "gguf/hash.h"
#include "gguf/internal.h"
#include <inttypes.h>

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
