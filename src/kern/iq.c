// iq.c — blocks of the I-quants of 2 and 3 bits, read.
//
// Eight values are an index into a grid (two of 3 bits) and eight signs. Where a file has seven of
// them, the number of minus signs is even. A code is 8 * minus + level.
#include "kern/iq.h"
#include <string.h>

static uint32_t load_u16(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t load_u32(const uint8_t *p) {
    return load_u16(p) | load_u16(p + 2) << 16;
}

// Eight levels of 2 bits, one a byte.
static uint64_t levels2(uint32_t entry) {
    uint64_t x = entry;
    x = (x | x << 24) & 0x000000ff000000ff;
    x = (x | x << 12) & 0x000f000f000f000f;
    return (x | x << 6) & 0x0303030303030303;
}

// Four levels of 3 bits, one a byte.
static uint64_t levels3(uint32_t entry) {
    uint32_t x = entry;
    x = (x | x << 10) & 0x003f003f;
    return (x | x << 5) & 0x07070707;
}

// Bit i of eight, as bit 3 of byte i.
static uint64_t minus_signs(uint32_t bits) {
    uint64_t x = bits;
    x = (x | x << 28) & 0x0000000f0000000f;
    x = (x | x << 14) & 0x0003000300030003;
    return ((x | x << 7) & 0x0101010101010101) << 3;
}

static uint32_t eighth_sign(uint32_t seven) {
    return seven | (uint32_t)__builtin_parity(seven) << 7;
}

// 32 codes, eight in each of four numbers.
static void put_nibbles(uint8_t to[16], const uint64_t code[4]) {
    const uint64_t both[2] = {code[0] | code[2] << 4, code[1] | code[3] << 4};
    memcpy(to, both, sizeof both);
}

static uint8_t odd(uint32_t s) { // the scale that four bits stand for
    return (uint8_t)(2 * (s & 15) + 1);
}

static void put_scales(fr_iq_block *to, const uint8_t *bytes, int n) { // two in a byte
    for (int i = 0; i < n; i++)
        to->scale[i] = odd(bytes[i / 2] >> i % 2 * 4);
}

// d · 8 times (4 indices, four times 7 signs and 4 bits of scale)
void fr_iq2_xxs_read(fr_iq_block *to, const uint8_t *block) {
    const uint8_t *at = block + 2;
    for (int part = 0; part < 8; part++, at += 8) {
        const uint32_t rest = load_u32(at + 4);
        uint64_t code[4];
        for (int i = 0; i < 4; i++)
            code[i] =
                levels2(fr_iq2_xxs_grid[at[i]]) | minus_signs(eighth_sign(rest >> 7 * i & 127));
        put_nibbles(to->nibbles[part], code);
        to->scale[part] = odd(rest >> 28);
    }
}

// d · 32 times (9 bits of index, 7 signs) · 16 scales in 8 bytes
void fr_iq2_xs_read(fr_iq_block *to, const uint8_t *block) {
    const uint8_t *at = block + 2;
    for (int part = 0; part < 8; part++, at += 8) {
        uint64_t code[4];
        for (int i = 0; i < 4; i++) {
            const uint32_t q = load_u16(at + 2 * i);
            code[i] = levels2(fr_iq2_xs_grid[q & 511]) | minus_signs(eighth_sign(q >> 9));
        }
        put_nibbles(to->nibbles[part], code);
    }
    put_scales(to, at, 16);
}

// d · low bytes of 32 indices · 32 bytes of signs · 2 bits more of each index · 16 scales in 8 bytes
void fr_iq2_s_read(fr_iq_block *to, const uint8_t *block) {
    const uint8_t *low = block + 2, *signs = low + 32, *high = signs + 32;
    for (int part = 0; part < 8; part++) {
        uint64_t code[4];
        for (int i = 0; i < 4; i++) {
            const int index = low[4 * part + i] | (high[part] >> 2 * i & 3) << 8;
            code[i] = levels2(fr_iq2_s_grid[index]) | minus_signs(signs[4 * part + i]);
        }
        put_nibbles(to->nibbles[part], code);
    }
    put_scales(to, high + 8, 16);
}

// d · 64 indices · 8 times (four times 7 signs and 4 bits of scale)
void fr_iq3_xxs_read(fr_iq_block *to, const uint8_t *block) {
    const uint8_t *at = block + 2;
    for (int part = 0; part < 8; part++, at += 8) {
        const uint32_t rest = load_u32(block + 66 + 4 * part);
        uint64_t code[4];
        for (int i = 0; i < 4; i++)
            code[i] = (levels3(fr_iq3_xxs_grid[at[2 * i]]) | levels3(fr_iq3_xxs_grid[at[2 * i + 1]])
                                                                 << 32) |
                      minus_signs(eighth_sign(rest >> 7 * i & 127));
        put_nibbles(to->nibbles[part], code);
        to->scale[part] = odd(rest >> 28);
    }
}

// d · low bytes of 64 indices · a bit more of each · 32 bytes of signs · 8 scales in 4 bytes
void fr_iq3_s_read(fr_iq_block *to, const uint8_t *block) {
    const uint8_t *low = block + 2, *high = low + 64, *signs = high + 8;
    for (int part = 0; part < 8; part++, low += 8) {
        uint64_t code[4];
        for (int i = 0; i < 4; i++) {
            const int a = low[2 * i] | (high[part] >> 2 * i & 1) << 8,
                      b = low[2 * i + 1] | (high[part] >> (2 * i + 1) & 1) << 8;
            code[i] = (levels3(fr_iq3_s_grid[a]) | levels3(fr_iq3_s_grid[b]) << 32) |
                      minus_signs(signs[4 * part + i]);
        }
        put_nibbles(to->nibbles[part], code);
    }
    put_scales(to, block + 106, 8);
}
