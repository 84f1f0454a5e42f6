// gguf.h — reads GGUF files: models, packs, split models.
//
// Opening maps the file and checks everything before use: versions 2 and 3, little endian; every
// length, count, offset, type and extent against the bytes that are there. After that nothing here
// can read outside the file, and lookups take O(log n). The object owns the mapping and all tables;
// every pointer that it returns (keys, strings, tensors, tensor data) lives until fr_gguf_close. An
// open object is read-only and may be used by many threads.
//
// Memory used is a small multiple of the header's size. Tensor data is never copied.
#ifndef FR_GGUF_GGUF_H
#define FR_GGUF_GGUF_H
#include "base/status.h"
#include "kern/qtype.h"

typedef struct fr_gguf fr_gguf;

enum { FR_GGUF_MAX_DIMS = 4, FR_GGUF_MAX_NAME = 127, FR_GGUF_MAX_KEY = 1023 };

// Types of values; the numbers are those of the file format.
typedef enum fr_gguf_type {
    FR_GGUF_U8 = 0,
    FR_GGUF_I8 = 1,
    FR_GGUF_U16 = 2,
    FR_GGUF_I16 = 3,
    FR_GGUF_U32 = 4,
    FR_GGUF_I32 = 5,
    FR_GGUF_F32 = 6,
    FR_GGUF_BOOL = 7,
    FR_GGUF_STR = 8,
    FR_GGUF_ARRAY = 9,
    FR_GGUF_U64 = 10,
    FR_GGUF_I64 = 11,
    FR_GGUF_F64 = 12,
} fr_gguf_type;

// Families of types for the array getter: an int is any width, signed or not; a float is f32 or
// f64.
typedef enum fr_gguf_class {
    FR_GGUF_INTS,
    FR_GGUF_FLOATS,
    FR_GGUF_STRS,
    FR_GGUF_BOOLS
} fr_gguf_class;

// Bytes inside the file: not NUL-terminated, may hold NUL, need not be UTF-8.
typedef struct fr_gguf_str {
    const char *data; // never NULL
    size_t bytes;
} fr_gguf_str;

// One entry of the metadata, in file order. Read items with the fr_gguf_item_ functions; a single
// value is a list of one, so they serve both.
typedef struct fr_gguf_kv {
    fr_gguf_str key;     // no NUL inside
    fr_gguf_type type;   // FR_GGUF_ARRAY for arrays
    fr_gguf_type item;   // type of the items; equals `type` for a single value; never FR_GGUF_ARRAY
    uint64_t count;      // items; 1 for a single value
    const uint8_t *data; // the first item as it stands in the file (unaligned)
    const uint64_t *at;  // arrays of strings: offset of each string's length from `data`; else NULL
} fr_gguf_kv;

// One tensor. Dimensions as in the file: ne[0] is contiguous; unused ones are 1, none is 0, their
// product and `bytes` do not overflow int64_t, and ne[0] is a multiple of the type's block.
typedef struct fr_gguf_tensor {
    char name[FR_GGUF_MAX_NAME + 1];
    fr_type type;
    int n_dims; // 1..4
    int64_t ne[FR_GGUF_MAX_DIMS];
    const void
        *data; // aligned to general.alignment (8 or more; usually 32), all `bytes` inside the file
    size_t bytes;
    int file; // of a split model: 0..
} fr_gguf_tensor;

// Opens the file at `path`. The first file of a split model (NAME-00001-of-0000N.gguf) opens all of
// them: the metadata is that of the first, the tensors are those of all. FR_EIO: cannot be read, a
// sibling is missing. FR_EDATA: broken, cut off, or not the first of a split. FR_EUNSUP: not GGUF
// v2 or v3 little endian, or a tensor type that this engine cannot read. *out is NULL after an
// error.
fr_status fr_gguf_open(fr_gguf **out, const char *path, fr_error *err);

// The same from memory that stays the caller's and must outlive the object; `data` 8-byte aligned
// (else FR_EARG). `name` stands in messages. A split model cannot be opened this way (FR_EDATA).
fr_status fr_gguf_open_memory(fr_gguf **out, const void *data, size_t bytes, const char *name,
                              fr_error *err);
void fr_gguf_close(fr_gguf *g); // NULL is fine

const char *fr_gguf_path(const fr_gguf *g);
uint32_t fr_gguf_version(const fr_gguf *g);
uint64_t fr_gguf_file_bytes(const fr_gguf *g); // of all files of a split model
int fr_gguf_n_files(const fr_gguf *g);
const char *fr_gguf_type_name(fr_gguf_type type); // "u32", "str", ...; "?" when unknown

// Metadata, by number (0..n-1, asserted) and by key (NULL: absent).
size_t fr_gguf_n_kv(const fr_gguf *g);
const fr_gguf_kv *fr_gguf_kv_at(const fr_gguf *g, size_t i);
const fr_gguf_kv *fr_gguf_find(const fr_gguf *g, const char *key);

// One value by key. Integer getters take any integer type whose value fits, f32 takes f32 and f64
// whose value is finite as a float, f64 both as they are. FR_EDATA with key, expected and found
// when it is absent, of another type, or does not fit; *value is then untouched.
fr_status fr_gguf_get_u32(const fr_gguf *g, const char *key, uint32_t *value, fr_error *err);
fr_status fr_gguf_get_i32(const fr_gguf *g, const char *key, int32_t *value, fr_error *err);
fr_status fr_gguf_get_u64(const fr_gguf *g, const char *key, uint64_t *value, fr_error *err);
fr_status fr_gguf_get_f32(const fr_gguf *g, const char *key, float *value, fr_error *err);
fr_status fr_gguf_get_f64(const fr_gguf *g, const char *key, double *value, fr_error *err);
fr_status fr_gguf_get_bool(const fr_gguf *g, const char *key, bool *value, fr_error *err);
fr_status fr_gguf_get_str(const fr_gguf *g, const char *key, fr_gguf_str *value, fr_error *err);

// The same for keys that may be absent: *value then keeps its value (the default), and FR_OK is
// returned.
fr_status fr_gguf_opt_u32(const fr_gguf *g, const char *key, uint32_t *value, fr_error *err);
fr_status fr_gguf_opt_i32(const fr_gguf *g, const char *key, int32_t *value, fr_error *err);
fr_status fr_gguf_opt_u64(const fr_gguf *g, const char *key, uint64_t *value, fr_error *err);
fr_status fr_gguf_opt_f32(const fr_gguf *g, const char *key, float *value, fr_error *err);
fr_status fr_gguf_opt_bool(const fr_gguf *g, const char *key, bool *value, fr_error *err);
fr_status fr_gguf_opt_str(const fr_gguf *g, const char *key, fr_gguf_str *value, fr_error *err);

// An array by key, its items of the given class; FR_EDATA as above, and when an integer item
// exceeds int64_t. fr_gguf_opt_array leaves *array untouched when the key is absent (set it to NULL
// before).
fr_status fr_gguf_get_array(const fr_gguf *g, const char *key, fr_gguf_class items,
                            const fr_gguf_kv **array, fr_error *err);
fr_status fr_gguf_opt_array(const fr_gguf *g, const char *key, fr_gguf_class items,
                            const fr_gguf_kv **array, fr_error *err);

// Item i (0..count-1, asserted) of an entry whose items are of that class (asserted). O(1). An
// unsigned value above INT64_MAX, which fr_gguf_get_array never lets through, reads as INT64_MAX.
int64_t fr_gguf_item_i64(const fr_gguf_kv *kv, uint64_t i);
uint64_t fr_gguf_item_u64(const fr_gguf_kv *kv, uint64_t i); // an FR_GGUF_U64, whole
double fr_gguf_item_f64(const fr_gguf_kv *kv, uint64_t i);
bool fr_gguf_item_bool(const fr_gguf_kv *kv, uint64_t i);
fr_gguf_str fr_gguf_item_str(const fr_gguf_kv *kv, uint64_t i);

bool fr_gguf_str_is(fr_gguf_str s, const char *text); // equal bytes

// Tensors, by number in file order (asserted) and by name (NULL: absent).
size_t fr_gguf_n_tensors(const fr_gguf *g);
const fr_gguf_tensor *fr_gguf_tensor_at(const fr_gguf *g, size_t i);
const fr_gguf_tensor *fr_gguf_tensor_find(const fr_gguf *g, const char *name);

// Gives the memory of source pages back: those inside `bytes` bytes of a tensor's data from
// `offset` on (clamped to the tensor). The data can still be read (again from the file). Called
// while repacking, so that weights do not lie in memory twice.
void fr_gguf_release(const fr_gguf *g, const fr_gguf_tensor *t, size_t offset, size_t bytes);
void fr_gguf_release_all(const fr_gguf *g);                       // of all files, metadata too
void fr_gguf_prefetch(const fr_gguf *g, const fr_gguf_tensor *t); // will soon be read in order

// Checks every byte of a file of one part by the checksum that it holds under `key` (fr_hash_around
// of the whole file, which is read here). FR_EDATA: it differs, or there is none.
fr_status fr_gguf_check_sum(const fr_gguf *g, const char *key, fr_error *err);

// A name for this model's content: 32 hex digits and a NUL. A hash of all metadata, of the tensor
// table (names, types, dimensions) and of the first and last 64 KB of every tensor. Does not depend
// on offsets, padding or on whether the model is split. Reads at most 128 KB a tensor,
// the first time; then it is known. Any thread.
enum { FR_GGUF_FINGERPRINT = 33 };
void fr_gguf_fingerprint(const fr_gguf *g, char hex[FR_GGUF_FINGERPRINT]);

#endif
