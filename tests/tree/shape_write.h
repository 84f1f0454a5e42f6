// shape_write.h — a shape as the text that fr_shape_read reads.
#ifndef FR_TESTS_TREE_SHAPE_WRITE_H
#define FR_TESTS_TREE_SHAPE_WRITE_H
#include "tree/shape.h"
#include <stdio.h>

static inline int path_of(const fr_shape *s, int node, uint8_t rank[FR_TREE_MAX_DEPTH]) {
    const int depth = s->node[node].depth;
    for (int k = depth; k > 0; k--, node = s->node[node].parent)
        rank[k - 1] = s->node[node].rank;
    return depth;
}

// Writes at most `size` bytes, the ending NUL included; returns how many the whole text has.
static inline size_t write_shape(const fr_shape *s, char *out, size_t size) {
    uint8_t rank[FR_TREE_MAX_DEPTH];
    size_t n = 0;
    if (size) *out = 0;
    for (int i = 1; i < s->n; i++) {
        const int depth = path_of(s, i, rank);
        for (int k = 0; k < depth; k++) {
            const size_t used = n < size ? n : size;
            n += (size_t)snprintf(size ? out + used : NULL, size - used, "%d%c", rank[k],
                                  k + 1 < depth ? '.' : '\n');
        }
    }
    return n;
}

#endif
