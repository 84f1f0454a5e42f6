// writer_internal.h — what writer.c and writer_file.c share.
#ifndef FR_GGUF_WRITER_INTERNAL_H
#define FR_GGUF_WRITER_INTERNAL_H
#include "gguf/internal.h"
#include "gguf/writer.h"
#include "kern/half.h"
#include <inttypes.h>

typedef struct fr_gguf_buffer {
    uint8_t *data;
    size_t bytes, cap;
} fr_gguf_buffer;

// False: no memory; the buffer is as before.
bool fr_gguf_buffer_add(fr_gguf_buffer *b, const void *data, size_t bytes);

typedef struct writer_tensor {
    char name[FR_GGUF_MAX_NAME + 1];
    fr_type type;
    int n_dims;
    int64_t ne[FR_GGUF_MAX_DIMS];
    size_t bytes;
    const void *data; // borrowed, or `copy`
    void *copy;
} writer_tensor;

struct fr_gguf_writer {
    fr_error failed; // the first failure; nothing is collected after it
    uint64_t alignment;
    fr_gguf_buffer kvs; // as they will stand in the file
    char **keys;        // owned; to find double ones
    size_t n_keys, cap_keys;
    writer_tensor *tensors;
    size_t n_tensors, cap_tensors;
};

#endif
