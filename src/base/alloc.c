#include "base/alloc.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

bool fr_mul_size(size_t a, size_t b, size_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}

bool fr_add_size(size_t a, size_t b, size_t *sum) {
    return !__builtin_add_overflow(a, b, sum);
}

void *fr_alloc_zero(size_t bytes) {
    if (bytes > PTRDIFF_MAX - 64) return NULL;
    size_t rounded = FR_ARENA_ROUND(bytes ? bytes : 1);
    void *p = aligned_alloc(64, rounded);
    if (p) memset(p, 0, rounded);
    return p;
}

void *fr_alloc_array(size_t count, size_t size) {
    size_t bytes;
    return fr_mul_size(count, size, &bytes) ? fr_alloc_zero(bytes) : NULL;
}

void fr_free(void *p) {
    free(p);
}

// Huge pages make large memory faster to read. Small workspaces do without them: a pass may touch
// only the first rows, and the rest of a huge page would be wasted.
enum { HUGE_FROM = 32 << 20 };

void *fr_pages_alloc(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    if (bytes >= HUGE_FROM) madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

void fr_pages_free(void *p, size_t bytes) {
    if (p) munmap(p, bytes);
}

fr_status fr_arena_open(fr_arena *a, size_t size, const char *what, fr_error *err) {
    *a = (fr_arena){0};
    if (!(a->base = fr_pages_alloc(size ? size : 1)))
        return fr_fail(err, FR_ENOMEM, "%s: cannot get %zu bytes of memory", what, size);
    a->size = size ? size : 1;
    return FR_OK;
}

void *fr_arena_take(fr_arena *a, size_t bytes) {
    size_t rounded = FR_ARENA_ROUND(bytes);
    assert(rounded <= a->size - a->used);
    void *p = a->base + a->used;
    a->used += rounded;
    assert(fr_arena_is_sound(a));
    return p;
}

bool fr_arena_is_sound(const fr_arena *a) {
    return (a->base != NULL) == (a->size > 0) && a->used <= a->size && a->used % 64 == 0;
}

void fr_arena_close(fr_arena *a) {
    fr_pages_free(a->base, a->size);
    *a = (fr_arena){0};
}
