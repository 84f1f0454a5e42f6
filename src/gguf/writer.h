// writer.h — writes GGUF v3 files: packs, profiles, and tiny models in tests.
//
// Collect entries and tensors in any order, then finish. The first failure (memory, a bad key, a
// double name) is stored and reported by finish, so that the calls between need no checks:
//
//     fr_gguf_writer *w;
//     if ((st = fr_gguf_writer_open(&w, err))) return st;
//     fr_gguf_writer_str(w, "general.architecture", "llama");
//     fr_gguf_writer_tensor(w, "token_embd.weight", FR_TYPE_F32, 2, (int64_t[]){64, 100}, embd);
//     st = fr_gguf_writer_finish(w, path, err);
//     fr_gguf_writer_close(w);
#ifndef FR_GGUF_WRITER_H
#define FR_GGUF_WRITER_H
#include "gguf/gguf.h"

typedef struct fr_gguf_writer fr_gguf_writer;

fr_status fr_gguf_writer_open(fr_gguf_writer **out, fr_error *err);
void fr_gguf_writer_close(fr_gguf_writer *w); // NULL is fine

// One value. Keys: 1..1023 bytes. "general.alignment" given as a u32 (a power of two, 8 or more) is
// obeyed.
void fr_gguf_writer_u32(fr_gguf_writer *w, const char *key, uint32_t value);
void fr_gguf_writer_i32(fr_gguf_writer *w, const char *key, int32_t value);
void fr_gguf_writer_u64(fr_gguf_writer *w, const char *key, uint64_t value);
void fr_gguf_writer_f32(fr_gguf_writer *w, const char *key, float value);
void fr_gguf_writer_f64(fr_gguf_writer *w, const char *key, double value);
void fr_gguf_writer_bool(fr_gguf_writer *w, const char *key, bool value);
void fr_gguf_writer_str(fr_gguf_writer *w, const char *key, const char *value);
void fr_gguf_writer_bytes(fr_gguf_writer *w, const char *key, const void *data,
                          size_t bytes); // a str

// Arrays of `count` items (0 is fine).
void fr_gguf_writer_str_array(fr_gguf_writer *w, const char *key, const char *const *items,
                              size_t count);
void fr_gguf_writer_i32_array(fr_gguf_writer *w, const char *key, const int32_t *items,
                              size_t count);
void fr_gguf_writer_u32_array(fr_gguf_writer *w, const char *key, const uint32_t *items,
                              size_t count);
void fr_gguf_writer_f32_array(fr_gguf_writer *w, const char *key, const float *items, size_t count);
// Any scalar type but str, items packed as in the file.
void fr_gguf_writer_raw_array(fr_gguf_writer *w, const char *key, fr_gguf_type item,
                              const void *items, size_t count);

// An entry of an open file, as it stands there (a tokenizer's tables, for one).
void fr_gguf_writer_kv(fr_gguf_writer *w, const fr_gguf_kv *kv);

// A tensor: n_dims 1..4, ne[0] contiguous and a multiple of the type's block. `data` holds its
// fr_qtype_row_bytes(type, ne[0]) * ne[1] * ... bytes and is borrowed until finish; _copy takes a
// copy, and NULL for data that there was no memory for.
void fr_gguf_writer_tensor(fr_gguf_writer *w, const char *name, fr_type type, int n_dims,
                           const int64_t *ne, const void *data);
void fr_gguf_writer_tensor_copy(fr_gguf_writer *w, const char *name, fr_type type, int n_dims,
                                const int64_t *ne, const void *data);

// Writes the file whole or not at all: into a temporary file beside `path`, synced to disk, then
// renamed over it. FR_EARG for what was collected wrongly, FR_ENOMEM, FR_EIO (full disk, no
// permission; nothing is left over). May be called again, with another path.
fr_status fr_gguf_writer_finish(fr_gguf_writer *w, const char *path, fr_error *err);

// The same into memory: *data is 64-byte aligned and the caller's to fr_free.
fr_status fr_gguf_writer_finish_memory(fr_gguf_writer *w, void **data, size_t *bytes,
                                       fr_error *err);

// As fr_gguf_writer_finish, with a checksum of the file in it: a u64 under `key`, which is added
// here and which fr_gguf_check_sum checks. Once for each writer.
fr_status fr_gguf_writer_finish_summed(fr_gguf_writer *w, const char *key, const char *path,
                                       fr_error *err);

// f32 to q8_0, n a multiple of 32: per block d = max|x| / 127 rounded to f16 (nearest, saturated),
// then x / d rounded to nearest even and clamped to ±127, d = 0 giving zeros. Non-finite input is
// the caller's error (asserted).
void fr_gguf_quantize_q8_0(const float *src, void *dst, int64_t n);

// f32 to F32, Q8_0, Q6_K or Q4_K, n a multiple of the type's block. K-quants take, for each
// sub-block, the scale and minimum of least squared error among some. Finite input alone.
bool fr_gguf_quantizes(fr_type type);
void fr_gguf_quantize(fr_type type, const float *src, void *dst, int64_t n);

#endif
