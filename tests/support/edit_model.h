// edit_model.h — a tiny model with other metadata and more tensors, as other programs write them.
//
//     fr_edited x;
//     fr_edit_open(&x, &options, (fr_edit[]){fr_edit_u32("llama.block_count", 2), {0}}, &err);
#ifndef FR_TESTS_SUPPORT_EDIT_MODEL_H
#define FR_TESTS_SUPPORT_EDIT_MODEL_H
#include "model/model.h"
#include "support/tiny_model.h"

// One change. A key replaces the one that the model has, or is new. A tensor of 64 zeros in f32 comes
// at the end. {0} ends a list.
typedef struct fr_edit {
    const char *key, *tensor;
    bool none; // the key is left out
    fr_gguf_type type;
    bool array;
    const void *items; // of an array
    size_t count;      // of an array
    union {
        uint64_t u;
        int32_t i;
        float f;
        const char *s;
    } value;
} fr_edit;

static inline fr_edit fr_edit_none(const char *key) {
    return (fr_edit){.key = key, .none = true};
}
static inline fr_edit fr_edit_tensor(const char *name) {
    return (fr_edit){.tensor = name};
}
static inline fr_edit fr_edit_u32(const char *key, uint32_t v) {
    return (fr_edit){.key = key, .type = FR_GGUF_U32, .value.u = v};
}
static inline fr_edit fr_edit_u64(const char *key, uint64_t v) {
    return (fr_edit){.key = key, .type = FR_GGUF_U64, .value.u = v};
}
static inline fr_edit fr_edit_i32(const char *key, int32_t v) {
    return (fr_edit){.key = key, .type = FR_GGUF_I32, .value.i = v};
}
static inline fr_edit fr_edit_f32(const char *key, float v) {
    return (fr_edit){.key = key, .type = FR_GGUF_F32, .value.f = v};
}
static inline fr_edit fr_edit_bool(const char *key, bool v) {
    return (fr_edit){.key = key, .type = FR_GGUF_BOOL, .value.u = v};
}
static inline fr_edit fr_edit_str(const char *key, const char *v) {
    return (fr_edit){.key = key, .type = FR_GGUF_STR, .value.s = v};
}
static inline fr_edit fr_edit_array(const char *key, fr_gguf_type item, const void *items,
                                    size_t n) {
    return (fr_edit){.key = key, .type = item, .array = true, .items = items, .count = n};
}
static inline fr_edit fr_edit_strs(const char *key, const char *const *items, size_t n) {
    return fr_edit_array(key, FR_GGUF_STR, items, n);
}
static inline fr_edit fr_edit_bools(const char *key, const uint8_t *items, size_t n) {
    return fr_edit_array(key, FR_GGUF_BOOL, items, n);
}
static inline fr_edit fr_edit_u8s(const char *key, const uint8_t *items, size_t n) {
    return fr_edit_array(key, FR_GGUF_U8, items, n);
}
static inline fr_edit fr_edit_u32s(const char *key, const uint32_t *items, size_t n) {
    return fr_edit_array(key, FR_GGUF_U32, items, n);
}
static inline fr_edit fr_edit_i32s(const char *key, const int32_t *items, size_t n) {
    return fr_edit_array(key, FR_GGUF_I32, items, n);
}

// The edited model in memory.
typedef struct fr_edited {
    void *data;
    size_t bytes;
    fr_gguf *file;
} fr_edited;

fr_status fr_edit_open(fr_edited *x, const fr_tiny_options *o, const fr_edit *edits, fr_error *err);
void fr_edit_close(fr_edited *x);
// The same into a file.
fr_status fr_edit_write(const char *path, const fr_tiny_options *o, const fr_edit *edits,
                        fr_error *err);

#endif
