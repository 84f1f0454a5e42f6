// fuzz_train_shard.c — any bytes as a shard of captured states.
//
// Shards are read from folders, so the bytes go to a file first: once as they are, and once with
// the length and the checksum put right, which would turn nearly all inputs away.
#include "gguf/hash.h"
#include "train/data/shard.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES_AT = 104, CHECKSUM_AT = 112, HEADER = 120 }; // of the header (shard.c)

static uint64_t touch(const void *data, size_t bytes) {
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes; i++)
        sum += ((const uint8_t *)data)[i];
    return sum;
}

static uint64_t touch_sample(const fr_shard_format *f, const fr_sample *s) {
    const size_t n = (size_t)s->n, dists = n - (size_t)s->dist_first, d = (size_t)f->d;
    const size_t top = (size_t)f->top;
    uint64_t sum = touch(s->ids, (n + 1) * 4) + touch(s->flags, n) + touch(s->final, n * d * 2) +
                   touch(s->dist_id, dists * top * 4) + touch(s->dist_lp, dists * top * 2);
    if (f->n_taps) sum += touch(s->tap, (size_t)f->n_taps * n * d * 2);
    for (size_t i = 0; i <= n; i++)
        if (s->ids[i] < 0 || s->ids[i] >= f->n_vocab) abort();
    return sum;
}

static void try_to_read(const char *dir, const char *path, const uint8_t *data, size_t size) {
    fr_shards *s;
    fr_error err = {0};
    FILE *f = fopen(path, "wb");
    if (!f) return;
    if (size) fwrite(data, 1, size, f);
    fclose(f);
    if (fr_shards_open(&s, dir, NULL, NULL, NULL, &err)) {
        if (!err.text[0]) abort();
        return;
    }
    volatile uint64_t sum = 0;
    for (int i = 0; i < fr_shards_count(s); i++) {
        fr_sample sample;
        fr_shards_sample(s, i, &sample);
        sum += touch_sample(fr_shards_format(s), &sample);
    }
    fr_shards_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char dir[] = "/tmp/fuzz-shard-XXXXXX", path[64];
    uint8_t *copy = malloc(size + 1);
    if (!copy || !mkdtemp(dir)) {
        perror("a folder for the shard");
        abort();
    }
    snprintf(path, sizeof path, "%s/shard-000000.frs", dir);
    try_to_read(dir, path, data, size);
    if (size >= HEADER) {
        const uint64_t bytes = size;
        memcpy(copy, data, size);
        memcpy(copy + BYTES_AT, &bytes, sizeof bytes);
        const uint64_t sum = fr_hash_around(copy, size, CHECKSUM_AT);
        memcpy(copy + CHECKSUM_AT, &sum, sizeof sum);
        try_to_read(dir, path, copy, size);
    }
    unlink(path);
    rmdir(dir);
    free(copy);
    return 0;
}
