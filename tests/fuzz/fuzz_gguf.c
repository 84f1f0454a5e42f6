// fuzz_gguf.c — any bytes as a GGUF file.
#include "../support/gguf_touch.h"
#include "base/alloc.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    // malloc, exactly: a read past the end is seen, and the alignment is 8 at least.
    void *copy = malloc(size ? size : 1);
    fr_gguf *g = NULL;
    fr_error err = {0};
    if (!copy) return 0;
    memcpy(copy, data, size);
    const fr_status st = fr_gguf_open_memory(&g, copy, size, "input", &err);
    if (st ? g || !err.text[0] || err.code != st : !g) abort();
    if (!st) {
        volatile uint64_t sum = touch_all(g);
        (void)sum;
    }
    fr_gguf_close(g);
    free(copy);
    return 0;
}
