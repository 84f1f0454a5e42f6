#include "base/siphash.h"
#include "base/random.h"
#include <pthread.h>
#include <string.h>

static uint64_t rotate(uint64_t x, int by) {
    return x << by | x >> (64 - by);
}

static void mix(uint64_t v[4]) {
    v[0] += v[1], v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0], v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1], v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2], v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

static void take(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    mix(v);
    v[0] ^= word;
}

// n <= 8 bytes as a number, little-endian.
static uint64_t word_of(const uint8_t *p, size_t n) {
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)p[i] << 8 * i;
    return word;
}

uint64_t fr_siphash13(const uint64_t key[2], const void *bytes, size_t n) {
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
                     key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};
    const uint8_t *p = bytes;
    const size_t whole = n / 8 * 8;
    for (size_t i = 0; i < whole; i += 8)
        take(v, word_of(p + i, 8));
    take(v, word_of(p + whole, n - whole) | (uint64_t)n << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        mix(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

// All tables share one key, so that hashes which different tables made can be compared.
static uint64_t secret[2];
static pthread_once_t drawn = PTHREAD_ONCE_INIT;

static void draw_secret(void) {
    for (int i = 0; i < 2; i++)
        secret[i] = fr_random();
}

uint64_t fr_secret_hash(const void *bytes, size_t n) {
    pthread_once(&drawn, draw_secret);
    return fr_siphash13(secret, bytes, n);
}
