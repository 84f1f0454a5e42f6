// internal.h — shared by the files of src/gguf; no other file includes it.
#ifndef FR_GGUF_INTERNAL_H
#define FR_GGUF_INTERNAL_H
#include "base/alloc.h"
#include "base/map.h"
#include "gguf/gguf.h"
#include <pthread.h>

typedef struct fr_gguf_print { // the fingerprint, computed at its first use
    pthread_mutex_t lock;
    char hex[FR_GGUF_FINGERPRINT]; // "": not computed yet
} fr_gguf_print;

// Invariant once open: every offset and length in kvs and tensors was checked against the bytes of
// its file; by_key and by_name are sorted permutations without equal neighbours.
struct fr_gguf {
    char *path;
    fr_map map; // {0} when the bytes are the caller's
    const uint8_t *data;
    size_t bytes;
    uint32_t version;
    uint64_t alignment;

    fr_gguf_kv *kvs;
    size_t n_kvs, cap_kvs;
    const fr_gguf_kv **by_key;

    fr_gguf_tensor *tensors; // of all parts
    size_t n_tensors, cap_tensors;
    const fr_gguf_tensor **by_name;

    fr_gguf **parts; // the other files of a split model: parts[i] is file i + 1
    int n_parts;
    fr_gguf_print *print;
};

// Reads header, metadata and tensor table of g->data[0..bytes) into g.  [parse.c]
fr_status fr_gguf_parse(fr_gguf *g, fr_error *err);

// (Re)builds the table of fr_gguf_tensor_find. FR_EDATA when a name stands twice.  [parse.c]
fr_status fr_gguf_index_tensors(fr_gguf *g, fr_error *err);

// Makes room for one more element of `size` bytes in a growing table. False: no memory.  [parse.c]
bool fr_gguf_grow(void **table, size_t n, size_t *cap, size_t size);

// Bytes of one value of a scalar type that is not a string; 0 for the others.  [values.c]
size_t fr_gguf_scalar_bytes(uint32_t type);

// Whether keys and tensor names may hold this: 1..max bytes of printable ASCII, so that messages
// and JSON can show it as it is.  [values.c]
bool fr_gguf_name_ok(const char *name, size_t bytes, size_t max);

// Ordering of byte strings, shorter first among equals.  [values.c]
int fr_gguf_str_cmp(fr_gguf_str a, fr_gguf_str b);

// Bytes that an entry's items take in the file, the lengths of strings included.  [values.c]
size_t fr_gguf_kv_bytes(const fr_gguf_kv *kv);

// Checks type and dimensions and gives the bytes of such a tensor. False: something overflows, a
// dimension is not positive, or ne[0] is not whole blocks.  [parse.c]
bool fr_gguf_tensor_bytes(const fr_qtype *type, int n_dims, const int64_t *ne, size_t *bytes);

// Integers as files store them, wherever they lie.
static inline uint32_t fr_gguf_load_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint64_t fr_gguf_load_u64(const uint8_t *p) {
    return fr_gguf_load_u32(p) | (uint64_t)fr_gguf_load_u32(p + 4) << 32;
}

#endif
