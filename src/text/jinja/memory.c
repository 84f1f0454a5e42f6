// memory.c — blocks that are allocated piece by piece and freed together.
#include "text/jinja/value.h"
#include <stdlib.h>

enum { BLOCK = MEMORY_BLOCK, ALIGN = 16 };

struct block {
    struct block *next;
    size_t size, used;
    _Alignas(ALIGN) unsigned char bytes[];
};

static size_t rounded(size_t bytes) {
    return (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

// A block for a single piece is listed after the block that is being filled, if that has free
// bytes.
static struct block *add_block(memory *m, size_t bytes) {
    const size_t size = bytes > BLOCK / 4 ? bytes : BLOCK;
    if (size > m->limit || size > m->limit - m->used) {
        m->full = true;
        return NULL;
    }
    struct block *b = malloc(sizeof *b + size);
    if (!b) return NULL;
    *b = (struct block){.size = size};
    m->used += size;
    if (m->blocks && size != BLOCK && m->blocks->size - m->blocks->used > BLOCK / 8) {
        b->next = m->blocks->next;
        m->blocks->next = b;
    } else {
        b->next = m->blocks;
        m->blocks = b;
    }
    return b;
}

static void *take(memory *m, size_t bytes) {
    if (bytes > m->limit) {
        m->full = true;
        return NULL;
    }
    const size_t need = rounded(bytes ? bytes : 1);
    struct block *b = m->blocks;
    if (!b || b->size - b->used < need) b = add_block(m, need);
    if (!b) return NULL;
    void *p = b->bytes + b->used;
    b->used += need;
    return p;
}

void *fr_jinja_take(memory *m, size_t bytes) {
    void *p = take(m, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

void *fr_jinja_grow(memory *m, void *old, size_t old_bytes, size_t bytes) {
    struct block *b = m->blocks;
    const size_t had = rounded(old_bytes ? old_bytes : 1);
    if (bytes <= m->limit && old && b && (unsigned char *)old + had == b->bytes + b->used &&
        rounded(bytes) - had <= b->size - b->used) { // the last piece: it grows where it is
        b->used += rounded(bytes) - had;
        return old;
    }
    void *p = take(m, bytes);
    if (p && old_bytes) memcpy(p, old, old_bytes);
    return p;
}

void fr_jinja_memory_close(memory *m) {
    while (m->blocks) {
        struct block *next = m->blocks->next;
        free(m->blocks);
        m->blocks = next;
    }
    m->used = 0;
}
