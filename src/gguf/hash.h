// hash.h — XXH64, fed in pieces: a fast hash that names content. It does not resist an attacker.
//
// Written from the public specification of the xxHash family (XXH64 section).
#ifndef FR_GGUF_HASH_H
#define FR_GGUF_HASH_H
#include <stddef.h>
#include <stdint.h>

typedef struct fr_hash {
    uint64_t seed, lanes[4], total;
    uint8_t pending[32]; // the last total % 32 bytes
} fr_hash;

void fr_hash_open(fr_hash *h, uint64_t seed);
void fr_hash_add(fr_hash *h, const void *data, size_t bytes);
uint64_t fr_hash_value(const fr_hash *h); // of everything added; more may follow

// The checksum of a file that holds it: of all bytes with seed 0, the 8 bytes at `hole`, where it
// is kept, counting as zeros. hole + 8 <= bytes.
uint64_t fr_hash_around(const void *data, size_t bytes, size_t hole);

#endif
