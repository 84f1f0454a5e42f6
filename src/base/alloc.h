// alloc.h — heap memory and arenas by life (model, session, step).
//
// Everything the library owns is allocated when something is opened; a step allocates nothing.
// Sizes are computed before allocation with checked arithmetic, so a hostile count fails instead of
// wrapping.
#ifndef FR_BASE_ALLOC_H
#define FR_BASE_ALLOC_H
#include "base/status.h"

void *fr_alloc_zero(size_t bytes); // NULL when there is none; 64-byte aligned; fr_free
void *fr_alloc_array(size_t count, size_t size);       // zeroed; NULL on overflow too
void fr_free(void *p);                                 // NULL is fine
bool fr_mul_size(size_t a, size_t b, size_t *product); // false: overflow
bool fr_add_size(size_t a, size_t b, size_t *sum);

// Large memory directly from the kernel, zeroed; from 32 MB on with huge pages requested;
// fr_pages_free with the same size.
void *fr_pages_alloc(size_t bytes);
void fr_pages_free(void *p, size_t bytes);

// An arena allocates 64-byte aligned, zeroed pieces of one block and is freed as a whole.
typedef struct fr_arena {
    uint8_t *base;
    size_t size, used;
} fr_arena;
fr_status fr_arena_open(fr_arena *a, size_t size, const char *what, fr_error *err);
void *fr_arena_take(fr_arena *a,
                    size_t bytes); // asserts that it fits: the size was computed before
void fr_arena_close(fr_arena *a);
bool fr_arena_is_sound(const fr_arena *a); // used <= size, in whole 64 bytes; {0} is sound too
#define FR_ARENA_ROUND(bytes) (((size_t)(bytes) + 63) & ~(size_t)63) // what a take of `bytes` uses

#endif
