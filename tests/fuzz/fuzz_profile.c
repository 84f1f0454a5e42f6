// fuzz_profile.c — any bytes as a profile, and the same with the checksum that they should say.
#include "gguf/hash.h"
#include "tune/profile.h"
#include <stdlib.h>
#include <string.h>

static void put_sum(uint8_t *file, size_t size, const fr_gguf *g) {
    const fr_gguf_kv *kv = fr_gguf_find(g, "profile.checksum");
    if (!kv || kv->type != FR_GGUF_U64) return;
    const size_t hole = (size_t)(kv->data - file);
    const uint64_t sum = fr_hash_around(file, size, hole);
    memcpy(file + hole, &sum, sizeof sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const fr_profile_key key = {.model = "0123456789abcdef0123456789abcdef",
                                       .cpu = "A Processor",
                                       .isa = "avx2",
                                       .threads = 2};
    uint8_t *copy = malloc(size ? size : 1);
    fr_profile *p = malloc(sizeof *p);
    fr_gguf *g = NULL;
    fr_error err = {0};
    if (copy && p) {
        if (size) memcpy(copy, data, size);
        if (!fr_gguf_open_memory(&g, copy, size, "input", &err)) {
            if (fr_profile_take(p, &key, g, &err)) put_sum(copy, size, g);
            const fr_status st = fr_profile_take(p, &key, g, &err);
            if (st && !err.text[0]) abort();
            if (!st && p->cost.n > 0 && !(fr_cost_pass(&p->cost, 1000, 1000, 1 << 20) >= 0))
                abort();
            if (!st) fr_profile_best(p);
            // What is taken for a key is loaded without one, too.
            if (fr_profile_load(p, g, &err) && !st) abort();
        }
    }
    fr_gguf_close(g);
    free(p);
    free(copy);
    return 0;
}
