// dequant.c — the layouts of all blocks, in plain C. An element's place in its block is called i.
#include "kern/dequant.h"
#include "kern/half.h"
#include "kern/iq.h"
#include <assert.h>

const int8_t fr_iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};

const int8_t fr_mxfp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Code 8 * minus + level, see iq.h.
#define SIGNED(a, b, c, d, e, f, g, h)                                                             \
    { a, b, c, d, e, f, g, h, -(a), -(b), -(c), -(d), -(e), -(f), -(g), -(h) }
const int8_t fr_iq2_values[16] = SIGNED(8, 25, 43, 0, 0, 0, 0, 0);
const int8_t fr_iq3_xxs_values[16] = SIGNED(4, 12, 20, 28, 36, 44, 52, 62);
const int8_t fr_iq3_s_values[16] = SIGNED(1, 3, 5, 7, 9, 11, 13, 15);

static uint16_t load_u16(const uint8_t *p) {
    return (uint16_t)(p[0] | p[1] << 8);
}

static float load_f16(const uint8_t *p) {
    return fr_f16_to_f32(load_u16(p));
}

static uint32_t load_u32(const uint8_t *p) {
    return (uint32_t)load_u16(p) | (uint32_t)load_u16(p + 2) << 16;
}

// 32 elements in 16 bytes: the low nibbles are elements 0..15, the high ones 16..31.
static int nibble(const uint8_t *q, int i) {
    return i < 16 ? q[i] & 15 : q[i - 16] >> 4;
}

static void block_f32(const uint8_t *b, float *y) {
    y[0] = fr_f32_from_bits(load_u32(b));
}

static void block_f16(const uint8_t *b, float *y) {
    y[0] = load_f16(b);
}

static void block_bf16(const uint8_t *b, float *y) {
    y[0] = fr_bf16_to_f32(load_u16(b));
}

// d f16 · 16 bytes of nibbles
static void block_q4_0(const uint8_t *b, float *y) {
    const float d = load_f16(b);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)(nibble(b + 2, i) - 8);
}

// d f16 · m f16 · 16 bytes of nibbles
static void block_q4_1(const uint8_t *b, float *y) {
    const float d = load_f16(b), m = load_f16(b + 2);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)nibble(b + 4, i) + m;
}

// d f16 · 32 fifth bits · 16 bytes of nibbles
static void block_q5_0(const uint8_t *b, float *y) {
    const float d = load_f16(b);
    const uint32_t fifth = load_u32(b + 2);
    for (int i = 0; i < 32; i++) {
        const int q = nibble(b + 6, i) | (int)(fifth >> i & 1) << 4;
        y[i] = d * (float)(q - 16);
    }
}

// d f16 · m f16 · 32 fifth bits · 16 bytes of nibbles
static void block_q5_1(const uint8_t *b, float *y) {
    const float d = load_f16(b), m = load_f16(b + 2);
    const uint32_t fifth = load_u32(b + 4);
    for (int i = 0; i < 32; i++) {
        const int q = nibble(b + 8, i) | (int)(fifth >> i & 1) << 4;
        y[i] = d * (float)q + m;
    }
}

// d f16 · 32 signed bytes
static void block_q8_0(const uint8_t *b, float *y) {
    const float d = load_f16(b);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)(int8_t)b[2 + i];
}

// d f16 · 16 bytes of nibbles, each a table index
static void block_iq4_nl(const uint8_t *b, float *y) {
    const float d = load_f16(b);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)fr_iq4_values[nibble(b + 2, i)];
}

// exponent of d · 16 bytes of nibbles, each a table index
static void block_mxfp4(const uint8_t *b, float *y) {
    const float d = fr_bf16_to_f32(fr_bf16_of_e8m0(b[0]));
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)fr_mxfp4_values[nibble(b + 1, i)];
}

// exponent of d · 16 bytes of table indices, two elements a byte in their order: so Ollama wrote
// gpt-oss (Hugging Face's order) before it took over type 39
static void block_mxfp4_ollama(const uint8_t *b, float *y) {
    const float d = fr_bf16_to_f32(fr_bf16_of_e8m0(b[0]));
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)fr_mxfp4_values[b[1 + i / 2] >> i % 2 * 4 & 15];
}

// Two bits of element i of a 256-block: 128 elements share 32 bytes, 32 elements a bit pair.
static int bit_pair(const uint8_t *q, int i) {
    return q[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
}

// Four bits of element i of a 256-block: 64 elements share 32 bytes, the first 32 in the low
// nibbles.
static int k_nibble(const uint8_t *q, int i) {
    return q[i / 64 * 32 + i % 32] >> i % 64 / 32 * 4 & 15;
}

// 16 scales (low nibble) with minima (high) · 64 bytes of bit pairs · d f16 · dmin f16
static void block_q2_k(const uint8_t *b, float *y) {
    const float d = load_f16(b + 80), dmin = load_f16(b + 82);
    for (int i = 0; i < 256; i++) {
        const uint8_t sub = b[i / 16];
        y[i] = d * (float)(sub & 15) * (float)bit_pair(b + 16, i) - dmin * (float)(sub >> 4);
    }
}

// 256 third bits · 64 bytes of bit pairs · 16 six-bit scales · d f16
static void block_q3_k(const uint8_t *b, float *y) {
    const uint8_t *scales = b + 96;
    const float d = load_f16(b + 108);
    for (int i = 0; i < 256; i++) {
        const int sub = i / 16;
        const int low = sub < 8 ? scales[sub] & 15 : scales[sub - 8] >> 4;
        const int scale = low | (scales[8 + sub % 4] >> sub / 4 * 2 & 3) << 4;
        const int q = bit_pair(b + 32, i) | (b[i % 32] >> i / 32 & 1) << 2;
        y[i] = d * (float)(scale - 32) * (float)(q - 4);
    }
}

// The 6-bit scale and minimum of sub-block `sub` (0..7) out of 12 bytes: the first four of each lie
// whole in the low six bits of bytes 0..7, the last four have nibbles in bytes 8..11 and their top
// bits above the first four.
static void k_scale(const uint8_t *p, int sub, int *scale, int *minimum) {
    if (sub < 4) {
        *scale = p[sub] & 63;
        *minimum = p[sub + 4] & 63;
        return;
    }
    *scale = (p[sub + 4] & 15) | p[sub - 4] >> 6 << 4;
    *minimum = p[sub + 4] >> 4 | p[sub] >> 6 << 4;
}

// d f16 · dmin f16 · 8 scales and minima in 12 bytes · 128 bytes of nibbles
static void block_q4_k(const uint8_t *b, float *y) {
    const float d = load_f16(b), dmin = load_f16(b + 2);
    for (int i = 0; i < 256; i++) {
        int scale, minimum;
        k_scale(b + 4, i / 32, &scale, &minimum);
        y[i] = d * (float)scale * (float)k_nibble(b + 16, i) - dmin * (float)minimum;
    }
}

// d f16 · dmin f16 · 8 scales and minima in 12 bytes · 256 fifth bits · 128 bytes of nibbles
static void block_q5_k(const uint8_t *b, float *y) {
    const float d = load_f16(b), dmin = load_f16(b + 2);
    for (int i = 0; i < 256; i++) {
        int scale, minimum;
        k_scale(b + 4, i / 32, &scale, &minimum);
        const int q = k_nibble(b + 48, i) | (b[16 + i % 32] >> i / 32 & 1) << 4;
        y[i] = d * (float)scale * (float)q - dmin * (float)minimum;
    }
}

// 128 bytes of nibbles (64 for each 128 elements: low nibbles first) · 64 bytes of bit pairs · 16
// scales · d f16
static void block_q6_k(const uint8_t *b, float *y) {
    const float d = load_f16(b + 208);
    for (int i = 0; i < 256; i++) {
        const int low = b[i / 128 * 64 + i % 64] >> i % 128 / 64 * 4 & 15;
        const int q = low | bit_pair(b + 128, i) << 4;
        y[i] = d * (float)(int8_t)b[192 + i / 16] * (float)(q - 32);
    }
}

// d f16 · 8 top bit pairs and 8 low nibbles of the scales · 8 times 16 bytes of nibbles, each a
// table index
static void block_iq4_xs(const uint8_t *b, float *y) {
    const float d = load_f16(b);
    const uint16_t top = load_u16(b + 2);
    for (int i = 0; i < 256; i++) {
        const int sub = i / 32;
        const int scale = (b[4 + sub / 2] >> sub % 2 * 4 & 15) | (top >> sub * 2 & 3) << 4;
        const int8_t value = fr_iq4_values[nibble(b + 8 + sub * 16, i % 32)];
        y[i] = d * (float)(scale - 32) * (float)value;
    }
}

// d f16 · what iq.c reads
static void block_iq(fr_type type, fr_iq_read_fn *read, const uint8_t *b, float *y) {
    const fr_qtype *t = fr_qtype_of((uint32_t)type);
    const float d = load_f16(b) * fr_scale_part(t->scale);
    fr_iq_block block;
    read(&block, b);
    for (int i = 0; i < 256; i++)
        y[i] = d * (float)block.scale[i / t->sub] *
               (float)t->table[nibble(block.nibbles[i / 32], i % 32)];
}

#define IQ(NAME, name)                                                                             \
    static void block_##name(const uint8_t *b, float *y) {                                         \
        block_iq(FR_TYPE_##NAME, fr_##name##_read, b, y);                                          \
    }
// clang-format off
IQ(IQ2_XXS, iq2_xxs)
IQ(IQ2_XS, iq2_xs)
IQ(IQ2_S, iq2_s)
IQ(IQ3_XXS, iq3_xxs)
IQ(IQ3_S, iq3_s)
// clang-format on

typedef void block_fn(const uint8_t *b, float *y);

#define ROW(id, NAME, name, ...) [FR_TYPE_##NAME] = block_##name,
static block_fn *const blocks[FR_TYPE_LIMIT] = {FR_TYPES(ROW, ROW, ROW, ROW, ROW)};

void fr_dequant_row(fr_type type, const void *restrict src, float *restrict dst, int64_t n) {
    const fr_qtype *q = fr_qtype_of((uint32_t)type);
    assert(q && n >= 0 && n % q->block == 0);
    const uint8_t *b = src;
    for (; n > 0; n -= q->block, b += q->bytes, dst += q->block)
        blocks[type](b, dst);
}
