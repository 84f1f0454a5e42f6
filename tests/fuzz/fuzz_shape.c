// fuzz_shape.c — any bytes as the text of a shape.
#include "tree/shape_write.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// What was read is written with every path named, and reads back as the same shape.
static void write_and_read(const fr_shape *s) {
    static char text[1 << 15];
    fr_shape again;
    const size_t n = write_shape(s, text, sizeof text);
    if (n >= sizeof text || fr_shape_read(&again, text, n, NULL) || again.n != s->n) abort();
    for (int i = 0; i < s->n; i++)
        if (again.node[i].parent != s->node[i].parent || again.node[i].rank != s->node[i].rank)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *copy = malloc(size ? size : 1); // exactly: a read past the end is seen
    if (!copy) return 0;
    if (size) memcpy(copy, data, size);
    fr_shape s;
    fr_error err = {0};
    const fr_status st = fr_shape_read(&s, copy, size, &err);
    if (st ? !err.text[0] || err.code != st : s.n < 2 || !fr_shape_is_sound(&s)) abort();
    if (!st) write_and_read(&s);
    free(copy);
    return 0;
}
