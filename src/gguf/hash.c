// hash.c — XXH64.
#include "gguf/hash.h"
#include "gguf/internal.h"
#include <string.h>

#define PRIME_1 0x9E3779B185EBCA87u
#define PRIME_2 0xC2B2AE3D27D4EB4Fu
#define PRIME_3 0x165667B19E3779F9u
#define PRIME_4 0x85EBCA77C2B2AE63u
#define PRIME_5 0x27D4EB2F165667C5u

static uint64_t rotate(uint64_t x, int by) {
    return x << by | x >> (64 - by);
}

static uint64_t mix(uint64_t lane, uint64_t input) {
    return rotate(lane + input * PRIME_2, 31) * PRIME_1;
}

void fr_hash_open(fr_hash *h, uint64_t seed) {
    *h = (fr_hash){.seed = seed};
    h->lanes[0] = seed + PRIME_1 + PRIME_2;
    h->lanes[1] = seed + PRIME_2;
    h->lanes[2] = seed;
    h->lanes[3] = seed - PRIME_1;
}

static void add_stripe(fr_hash *h, const uint8_t *p) {
    for (int i = 0; i < 4; i++)
        h->lanes[i] = mix(h->lanes[i], fr_gguf_load_u64(p + 8 * i));
}

void fr_hash_add(fr_hash *h, const void *data, size_t bytes) {
    const uint8_t *p = data;
    const size_t held = h->total % 32;
    if (!bytes) return;
    h->total += bytes;
    if (held) {
        const size_t n = bytes < 32 - held ? bytes : 32 - held;
        memcpy(h->pending + held, p, n);
        if (held + n < 32) return;
        add_stripe(h, h->pending);
        p += n;
        bytes -= n;
    }
    for (; bytes >= 32; p += 32, bytes -= 32)
        add_stripe(h, p);
    if (bytes) memcpy(h->pending, p, bytes);
}

// The lanes joined, or what stands for them when no stripe was full.
static uint64_t join(const fr_hash *h) {
    if (h->total < 32) return h->seed + PRIME_5;
    uint64_t x = rotate(h->lanes[0], 1) + rotate(h->lanes[1], 7) + rotate(h->lanes[2], 12) +
                 rotate(h->lanes[3], 18);
    for (int i = 0; i < 4; i++)
        x = (x ^ mix(0, h->lanes[i])) * PRIME_1 + PRIME_4;
    return x;
}

uint64_t fr_hash_value(const fr_hash *h) {
    uint64_t x = join(h) + h->total;
    const uint8_t *p = h->pending, *end = p + h->total % 32;
    for (; end - p >= 8; p += 8)
        x = rotate(x ^ mix(0, fr_gguf_load_u64(p)), 27) * PRIME_1 + PRIME_4;
    if (end - p >= 4) {
        x = rotate(x ^ fr_gguf_load_u32(p) * PRIME_1, 23) * PRIME_2 + PRIME_3;
        p += 4;
    }
    for (; p < end; p++)
        x = rotate(x ^ *p * PRIME_5, 11) * PRIME_1;
    x = (x ^ x >> 33) * PRIME_2;
    x = (x ^ x >> 29) * PRIME_3;
    return x ^ x >> 32;
}

uint64_t fr_hash_around(const void *data, size_t bytes, size_t hole) {
    const uint64_t zero = 0;
    const uint8_t *p = data;
    fr_hash h;
    fr_hash_open(&h, 0);
    fr_hash_add(&h, p, hole);
    fr_hash_add(&h, &zero, sizeof zero);
    fr_hash_add(&h, p + hole + sizeof zero, bytes - hole - sizeof zero);
    return fr_hash_value(&h);
}
