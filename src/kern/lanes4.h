// lanes4.h — vectors of four lanes, for packing: dword i of an fr_u32x4 belongs to weight row i of
// four. 16 bytes are what every x86-64 and every 64-bit ARM has, so packing needs no instruction
// set of its own.
#ifndef FR_KERN_LANES4_H
#define FR_KERN_LANES4_H
#include <stdint.h>
#include <string.h>

typedef uint32_t fr_u32x4 __attribute__((vector_size(16)));
typedef uint64_t fr_u64x2 __attribute__((vector_size(16)));
typedef uint16_t fr_u16x8 __attribute__((vector_size(16)));
typedef uint8_t fr_u8x16 __attribute__((vector_size(16)));

#define FR_BYTES(b) (UINT32_C(0x01010101) * (b)) // the byte b in each byte of a dword

static inline fr_u32x4 fr_load4(const uint8_t *p) {
    fr_u32x4 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void fr_store4(uint8_t *p, fr_u32x4 v) {
    memcpy(p, &v, sizeof v);
}

static inline uint32_t fr_load1(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

// The first four halves of a vector between its last four: done twice, even halves come before odd
// ones. (As one permutation it would cost SSE2 many instructions.)
static inline fr_u16x8 fr_interleave_halves(fr_u16x8 h) {
    const fr_u16x8 last = __builtin_shufflevector(h, h, 4, 5, 6, 7, 4, 5, 6, 7);
    return __builtin_shufflevector(h, last, 0, 8, 1, 9, 2, 10, 3, 11);
}

// The low halves of four dwords to `low`, their high halves to `high`.
static inline void fr_store_halves4(uint8_t *low, uint8_t *high, fr_u32x4 v) {
    const fr_u64x2 split = (fr_u64x2)fr_interleave_halves(fr_interleave_halves((fr_u16x8)v));
    memcpy(low, &(uint64_t){split[0]}, 8);
    memcpy(high, &(uint64_t){split[1]}, 8);
}

// Dword v of four vectors becomes vector v: rows in, k-groups out.
static inline void fr_transpose4(fr_u32x4 v[4]) {
    const fr_u32x4 a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5);
    const fr_u32x4 b = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
    const fr_u32x4 c = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
    const fr_u32x4 d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
    v[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    v[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    v[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    v[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

// Exchanges the bits `mask` of *high's dwords with those that lie `shift` bits higher in *low's.
static inline void fr_swap_bits(fr_u32x4 *low, fr_u32x4 *high, int shift, uint32_t mask) {
    const fr_u32x4 t = ((*low >> shift) ^ *high) & mask;
    *high ^= t;
    *low ^= t << shift;
}

// Bit j of each byte of vector g <-> bit g of the same byte of vector j.
static inline void fr_transpose_bits8(fr_u32x4 v[8]) {
    for (int g = 0; g < 4; g++)
        fr_swap_bits(&v[g], &v[g + 4], 4, FR_BYTES(0x0f));
    for (int g = 0; g < 8; g += 4) {
        fr_swap_bits(&v[g], &v[g + 2], 2, FR_BYTES(0x33));
        fr_swap_bits(&v[g + 1], &v[g + 3], 2, FR_BYTES(0x33));
    }
    for (int g = 0; g < 8; g += 2)
        fr_swap_bits(&v[g], &v[g + 1], 1, FR_BYTES(0x55));
}

// Bits 2j, 2j+1 of each byte of vector g <-> bits 2g, 2g+1 of the same byte of vector j.
static inline void fr_transpose_bit_pairs4(fr_u32x4 v[4]) {
    fr_swap_bits(&v[0], &v[2], 4, FR_BYTES(0x0f));
    fr_swap_bits(&v[1], &v[3], 4, FR_BYTES(0x0f));
    fr_swap_bits(&v[0], &v[1], 2, FR_BYTES(0x33));
    fr_swap_bits(&v[2], &v[3], 2, FR_BYTES(0x33));
}

// Exchanges the bits `mask` of each dword with those `shift` bits higher.
static inline fr_u32x4 fr_exchange_bits(fr_u32x4 x, int shift, uint32_t mask) {
    const fr_u32x4 t = ((x >> shift) ^ x) & mask;
    return x ^ t ^ (t << shift);
}

// Bit 4g + b of each dword goes to bit 8b + g, where byte b has it at g: the five binary digits of
// a bit's number turn by two places, which four exchanges of two digits each do.
static inline fr_u32x4 fr_spread_bits(fr_u32x4 x) {
    x = fr_exchange_bits(x, 1, 0x22222222);     // digits 0 and 1
    x = fr_exchange_bits(x, 3, 0x0a0a0a0a);     // 0 and 2
    x = fr_exchange_bits(x, 6, 0x00cc00cc);     // 1 and 3
    return fr_exchange_bits(x, 12, 0x0000f0f0); // 2 and 4
}

// Byte j of vector i <-> byte i of vector j: four perfect shuffles.
static inline void fr_transpose_bytes16(fr_u8x16 v[16]) {
    for (int stage = 0; stage < 4; stage++) {
        fr_u8x16 next[16];
        for (int i = 0; i < 8; i++) {
            next[2 * i] = __builtin_shufflevector(v[i], v[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                                  5, 21, 6, 22, 7, 23);
            next[2 * i + 1] = __builtin_shufflevector(v[i], v[i + 8], 8, 24, 9, 25, 10, 26, 11, 27,
                                                      12, 28, 13, 29, 14, 30, 15, 31);
        }
        memcpy(v, next, sizeof next);
    }
}

#endif
