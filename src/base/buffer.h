// buffer.h — bytes that grow.
//
// {0} is empty; fr_buffer_free returns a buffer to that. A call that fails leaves the buffer as it
// was.
#ifndef FR_BASE_BUFFER_H
#define FR_BASE_BUFFER_H
#include "base/status.h"

typedef struct fr_buffer {
    char *data; // NULL until something was added; then a NUL, not counted, stands after the bytes
    size_t n, cap;
} fr_buffer;

fr_status fr_buffer_add(fr_buffer *b, const void *bytes, size_t n, fr_error *err); // FR_ENOMEM
// Reserves memory for `more` bytes and the NUL, for callers that write to data + n themselves.
// FR_ENOMEM.
fr_status fr_buffer_reserve(fr_buffer *b, size_t more, fr_error *err);
void fr_buffer_free(fr_buffer *b);
bool fr_buffer_is_sound(const fr_buffer *b); // where there is data there is room for the NUL

// The same for a list of any items: makes room for `more` after the n of `size` bytes each that
// *data, of *cap items, holds (free with fr_free). False: no memory, and nothing has changed.
bool fr_list_reserve(void **data, size_t *cap, size_t n, size_t more, size_t size);

#endif
