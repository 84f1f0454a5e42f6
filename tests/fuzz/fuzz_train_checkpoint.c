// fuzz_train_checkpoint.c — any bytes as the checkpoint of a training.
//
// The checksum would turn nearly all inputs away, so it is also put right behind what there is.
#include "gguf/hash.h"
#include "train/checkpoint.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t touch(const void *data, size_t bytes) {
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes; i++)
        sum += ((const uint8_t *)data)[i];
    return sum;
}

static void try_to_take(const uint8_t *data, size_t size) {
    fr_checkpoint c;
    fr_error err = {0};
    if (fr_checkpoint_take(&c, data, size, "input", &err)) {
        if (!err.text[0]) abort();
        return;
    }
    volatile uint64_t sum = touch(c.identity, c.identity_bytes) + touch(c.state, c.state_bytes) +
                            touch(c.curve, c.curve_bytes);
    for (int i = 0; i < c.n_blocks; i++)
        sum += touch(c.block[i], c.n_floats * sizeof(float));
    if (fr_checkpoint_bytes(&c) != size) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size + sizeof(uint64_t));
    if (!copy) return 0;
    if (size) memcpy(copy, data, size);
    try_to_take(copy, size);
    fr_hash h;
    fr_hash_open(&h, 0);
    fr_hash_add(&h, copy, size);
    const uint64_t sum = fr_hash_value(&h);
    memcpy(copy + size, &sum, sizeof sum);
    try_to_take(copy, size + sizeof sum);
    free(copy);
    return 0;
}
