// fuzz_gguf.c — any bytes as a GGUF file.
#include "../support/gguf_touch.h"
#include <stdlib.h>

// No byte of the file belongs to two tensors. The first of many are enough: a file of a few
// kilobytes has no more.
static void check_apart(const fr_gguf *g) {
    const size_t n = fr_gguf_n_tensors(g) < 64 ? fr_gguf_n_tensors(g) : 64;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            const fr_gguf_tensor *a = fr_gguf_tensor_at(g, i), *b = fr_gguf_tensor_at(g, k);
            const uint8_t *x = a->data, *y = b->data;
            if (x < y ? (size_t)(y - x) < a->bytes : (size_t)(x - y) < b->bytes) abort();
        }
}

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
        check_apart(g);
    }
    fr_gguf_close(g);
    free(copy);
    return 0;
}
