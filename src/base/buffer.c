#include "base/buffer.h"
#include "base/alloc.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool fr_list_reserve(void **data, size_t *cap, size_t n, size_t more, size_t size) {
    enum { LEAST = 32 };
    size_t need, bytes, wanted = *cap <= SIZE_MAX / 2 ? 2 * *cap : *cap;
    if (!fr_add_size(n, more, &need)) return false;
    if (need <= *cap) return true;
    wanted = wanted < LEAST ? LEAST : wanted;
    wanted = wanted < need ? need : wanted;
    if (!fr_mul_size(wanted, size, &bytes) || bytes > PTRDIFF_MAX) return false;
    void *grown = realloc(*data, bytes);
    if (!grown) return false;
    *data = grown;
    *cap = wanted;
    return true;
}

fr_status fr_buffer_reserve(fr_buffer *b, size_t more, fr_error *err) {
    void *data = b->data;
    size_t with_nul;
    if (!fr_add_size(more, 1, &with_nul) || !fr_list_reserve(&data, &b->cap, b->n, with_nul, 1))
        return fr_fail(err, FR_ENOMEM, "text: no memory for %zu more bytes behind %zu", more, b->n);
    b->data = data;
    b->data[b->n] = 0;
    assert(fr_buffer_is_sound(b));
    return FR_OK;
}

fr_status fr_buffer_add(fr_buffer *b, const void *bytes, size_t n, fr_error *err) {
    const fr_status st = fr_buffer_reserve(b, n, err);
    if (st) return st;
    if (n) memcpy(b->data + b->n, bytes, n);
    b->n += n;
    b->data[b->n] = 0;
    assert(fr_buffer_is_sound(b));
    return FR_OK;
}

bool fr_buffer_is_sound(const fr_buffer *b) {
    return b->data ? b->n < b->cap : !b->n && !b->cap;
}

void fr_buffer_free(fr_buffer *b) {
    fr_free(b->data);
    *b = (fr_buffer){0};
}
