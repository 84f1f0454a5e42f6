// repack.c — GGUF rows to panels.
//
// A block of 16 rows at a time, four rows in a vector register: four loads of 16 bytes, a transpose
// of dwords, four stores into lines of the panel. Most types are no more than that; what spreads
// the bits of a code over several places is moved there four lanes at once (lanes4.h).
#include "kern/repack.h"
#include "kern/half.h"
#include "kern/iq.h"
#include "kern/lanes4.h"
#include <assert.h>
#include <stdbool.h>

// ---------------------------------------------------------------- sizes
size_t fr_panel_block_bytes(fr_type type) {
    return (size_t)fr_qtype_of((uint32_t)type)->panel;
}

static size_t round64(size_t bytes) {
    return (bytes + 63) & ~(size_t)63;
}

size_t fr_panel_header_bytes(fr_type type, int k) {
    const fr_qtype *t = fr_qtype_of((uint32_t)type);
    return round64((size_t)(k / t->block) * (size_t)t->head);
}

size_t fr_repack_panel_bytes(fr_type type, int k) {
    const fr_qtype *t = fr_qtype_of((uint32_t)type);
    if (!t || k <= 0 || k % t->block) return 0;
    return fr_panel_header_bytes(type, k) +
           round64((size_t)(k / t->block) * fr_panel_block_bytes(type));
}

// ---------------------------------------------------------------- one block of 16 rows
// src: where each of the 16 rows has this block. head: the block's scales in the panel's header (types
// that have one); dst: its place after the header.
typedef void pack_block_fn(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]);

// The f16 at `offset` of every row.
static inline void put_halves(uint8_t *dst, const uint8_t *const src[FR_PANEL], size_t offset) {
    for (int lane = 0; lane < FR_PANEL; lane++)
        memcpy(dst + 2 * lane, src[lane] + offset, 2);
}

// The dword at `offset` of four rows.
static inline fr_u32x4 gather4(const uint8_t *const src[4], size_t offset) {
    return (fr_u32x4){fr_load1(src[0] + offset), fr_load1(src[1] + offset),
                      fr_load1(src[2] + offset), fr_load1(src[3] + offset)};
}

// Two f16 of every row, side by side at `offset`: first all the first ones, then the second ones.
static inline void put_half_pairs(uint8_t *dst, const uint8_t *const src[FR_PANEL], size_t offset) {
    for (int i = 0; i < FR_PANEL; i += 4) {
        fr_store_halves4(dst + 2 * i, dst + 32 + 2 * i, gather4(src + i, offset));
    }
}

// 16 bytes at `offset` of four rows: four vectors of their dwords.
static inline void load_rows4(fr_u32x4 v[4], const uint8_t *const src[4], size_t offset) {
    for (int i = 0; i < 4; i++)
        v[i] = fr_load4(src[i] + offset);
    fr_transpose4(v);
}

// 4 * quads dwords of every row from `offset` on become consecutive vectors, their bits `flip`
// inverted.
static inline void put_dwords(uint8_t *dst, const uint8_t *const src[FR_PANEL], size_t offset,
                              int quads, uint32_t flip) {
    for (int q = 0; q < quads; q++)
        for (int i = 0; i < FR_PANEL; i += 4) {
            fr_u32x4 v[4];
            load_rows4(v, src + i, offset + 16 * (size_t)q);
            for (int d = 0; d < 4; d++)
                fr_store4(dst + 256 * q + 64 * d + 4 * i, v[d] ^ flip);
        }
}

// The fifth bits of 32 codes, bit i of the dword at `offset` for code i.
static inline void put_fifth(uint8_t *dst, const uint8_t *const src[FR_PANEL], size_t offset) {
    for (int i = 0; i < FR_PANEL; i += 4)
        fr_store4(dst + 4 * i, fr_spread_bits(gather4(src + i, offset)));
}

// Bit j of the 32 bytes at `offset` belongs to code i of sub-block j: eight vectors, one for each.
static inline void put_bit_planes(uint8_t *dst, const uint8_t *const src[FR_PANEL], size_t offset) {
    for (int i = 0; i < FR_PANEL; i += 4) {
        fr_u32x4 v[8];
        load_rows4(v, src + i, offset);
        load_rows4(v + 4, src + i, offset + 16);
        fr_transpose_bits8(v);
        for (int j = 0; j < 8; j++)
            fr_store4(dst + 64 * j + 4 * i, v[j]);
    }
}

// 256 codes of 2 bits from the 64 bytes at `offset`, which hold four codes 32 apart each.
static inline void put_bit_pairs(uint8_t *dst, const uint8_t *const src[FR_PANEL], size_t offset) {
    for (int half = 0; half < 2; half++)
        for (int s = 0; s < 2; s++)
            for (int i = 0; i < FR_PANEL; i += 4) {
                fr_u32x4 v[4];
                load_rows4(v, src + i, offset + (size_t)(32 * half + 16 * s));
                fr_transpose_bit_pairs4(v);
                for (int field = 0; field < 4; field++)
                    fr_store4(dst + 64 * (8 * half + 2 * field + s) + 4 * i, v[field]);
            }
}

// 16 bytes of every row, one a sub-block: [sub-block][row].
static inline void put_scales(uint8_t *dst, fr_u8x16 rows[FR_PANEL]) {
    fr_transpose_bytes16(rows);
    memcpy(dst, rows, 16 * sizeof *rows);
}

static void pack_q4_0(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    put_halves(head, src, 0);
    put_dwords(dst, src, 2, 1, 0);
}

static void pack_q4_1(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    (void)head;
    put_half_pairs(dst, src, 0);
    put_dwords(dst + 64, src, 4, 1, 0);
}

static void pack_q5_0(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    put_halves(head, src, 0);
    put_fifth(dst, src, 2);
    put_dwords(dst + 64, src, 6, 1, 0);
}

static void pack_q5_1(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    (void)head;
    put_half_pairs(dst, src, 0);
    put_fifth(dst + 64, src, 4);
    put_dwords(dst + 128, src, 8, 1, 0);
}

static void pack_q8_0(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    put_halves(head, src, 0);
    put_dwords(dst, src, 2, 2, FR_BYTES(0x80));
}

// The scales of MXFP4, from the first byte of every row. Zeros often have the least exponent, and
// subnormal scales are slow to multiply with: 0 is as right for them.
static inline void put_exponents(uint8_t *head, const uint8_t *const src[FR_PANEL]) {
    for (int lane = 0; lane < FR_PANEL; lane++) {
        const uint8_t e = src[lane][0];
        const fr_u32x4 codes = fr_load4(src[lane] + 1) & FR_BYTES(0x77); // codes 0 and 8 are 0
        const bool zeros = e < 255 && !(codes[0] | codes[1] | codes[2] | codes[3]);
        memcpy(head + 2 * lane, &(uint16_t){zeros ? 0 : fr_bf16_of_e8m0(e)}, 2);
    }
}

static void pack_mxfp4(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    put_exponents(head, src);
    put_dwords(dst, src, 1, 1, 0);
}

// Element i in nibble i % 2 of byte i / 2: a byte gets elements i and 16 + i.
static void pack_mxfp4_ollama(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    uint8_t nibbles[FR_PANEL][16];
    const uint8_t *at[FR_PANEL];
    put_exponents(head, src);
    for (int lane = 0; lane < FR_PANEL; lane++) {
        const uint8_t *low = src[lane] + 1, *high = low + 8;
        for (int i = 0; i < 8; i++) {
            nibbles[lane][2 * i] = (uint8_t)((low[i] & 15) | high[i] << 4);
            nibbles[lane][2 * i + 1] = (uint8_t)(low[i] >> 4 | (high[i] & 0xf0));
        }
        at[lane] = nibbles[lane];
    }
    put_dwords(dst, at, 0, 1, 0);
}

static void pack_q2_k(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    (void)head;
    fr_u8x16 scales[FR_PANEL];
    for (int lane = 0; lane < FR_PANEL; lane++)
        memcpy(&scales[lane], src[lane], 16);
    put_half_pairs(dst, src, 80);
    put_scales(dst + 64, scales);
    put_bit_pairs(dst + 320, src, 16);
}

static void pack_q3_k(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    fr_u8x16 scales[FR_PANEL];
    for (int lane = 0; lane < FR_PANEL; lane++) { // low nibbles in 8 bytes, bits 4-5 in 4 more
        uint32_t s[3];
        memcpy(s, src[lane] + 96, sizeof s);
        const fr_u32x4 low = {s[0], s[1], s[0] >> 4, s[1] >> 4};
        const fr_u32x4 high = {s[2], s[2] >> 2, s[2] >> 4, s[2] >> 6};
        const fr_u32x4 both = (low & FR_BYTES(0x0f)) | (high & FR_BYTES(0x03)) << 4;
        scales[lane] = (fr_u8x16)both - 32;
    }
    put_halves(head, src, 108);
    put_scales(dst, scales);
    put_bit_pairs(dst + 256, src, 32);
    put_bit_planes(dst + 256 + 16 * 64, src, 0);
}

// d, dmin and 12 bytes of packed scales.
static inline void put_k4_scales(uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    put_half_pairs(dst, src, 0);
    for (int i = 0; i < FR_PANEL; i += 4) {
        fr_u32x4 v[4];
        load_rows4(v, src + i, 0);
        for (int d = 1; d < 4; d++)
            fr_store4(dst + 64 * d + 4 * i, v[d]);
    }
}

static void pack_q4_k(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    (void)head;
    put_k4_scales(dst, src);
    put_dwords(dst + 256, src, 16, 8, 0);
}

static void pack_q5_k(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    (void)head;
    put_k4_scales(dst, src);
    put_bit_planes(dst + 256, src, 16);
    put_dwords(dst + 256 + 512, src, 48, 8, 0);
}

// Sub-block of 16 codes, one a byte: the fourth group's codes go into the top bits of the others.
static inline void put_codes6(uint8_t *dst, const fr_u32x4 code[4]) {
    for (int v = 0; v < 3; v++)
        fr_store4(dst + 64 * v, code[v] | (code[3] << (6 - 2 * v) & FR_BYTES(0xc0)));
}

static void pack_q6_k(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    fr_u8x16 scales[FR_PANEL];
    for (int lane = 0; lane < FR_PANEL; lane++)
        memcpy(&scales[lane], src[lane] + 192, 16);
    put_halves(head, src, 208);
    put_scales(dst, scales);
    for (int part = 0; part < 4; part++) { // 16 bytes of a half: four sub-blocks, 32 codes apart
        const int half = part / 2, s = part % 2;
        for (int i = 0; i < FR_PANEL; i += 4) {
            fr_u32x4 a[4], b[4], high[4], code[4][4];
            load_rows4(a, src + i, (size_t)(64 * half + 16 * s));
            load_rows4(b, src + i, (size_t)(64 * half + 32 + 16 * s));
            load_rows4(high, src + i, (size_t)(128 + 32 * half + 16 * s));
            for (int g = 0; g < 4; g++) {
                code[0][g] = (a[g] & FR_BYTES(0x0f)) | (high[g] << 4 & FR_BYTES(0x30));
                code[1][g] = (b[g] & FR_BYTES(0x0f)) | (high[g] << 2 & FR_BYTES(0x30));
                code[2][g] = (a[g] >> 4 & FR_BYTES(0x0f)) | (high[g] & FR_BYTES(0x30));
                code[3][g] = (b[g] >> 4 & FR_BYTES(0x0f)) | (high[g] >> 2 & FR_BYTES(0x30));
            }
            for (int f = 0; f < 4; f++)
                put_codes6(dst + 256 + 192 * (8 * half + 2 * f + s) + 4 * i, code[f]);
        }
    }
}

static void pack_iq4_xs(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    put_halves(head, src, 0);
    for (int lane = 0; lane < FR_PANEL; lane++) {
        const uint8_t *s = src[lane];
        const int high = s[2] | s[3] << 8;
        for (int j = 0; j < 8; j++) {
            const int low = s[4 + j / 2] >> (4 * (j % 2)) & 15;
            dst[16 * j + lane] = (uint8_t)((low | (high >> (2 * j) & 3) << 4) - 32);
        }
    }
    put_dwords(dst + 128, src, 8, 8, 0);
}

// I-quants of 2 and 3 bits: scales of `subs` sub-blocks, then the vectors of IQ4_XS.
static inline void pack_iq(fr_iq_read_fn *read, int subs, uint8_t *head, uint8_t *dst,
                           const uint8_t *const src[FR_PANEL]) {
    fr_iq_block block[FR_PANEL];
    const uint8_t *nibbles[FR_PANEL];
    put_halves(head, src, 0);
    for (int lane = 0; lane < FR_PANEL; lane++) {
        read(&block[lane], src[lane]);
        nibbles[lane] = block[lane].nibbles[0];
        for (int j = 0; j < subs; j++)
            dst[16 * j + lane] = block[lane].scale[j];
    }
    put_dwords(dst + 16 * subs, nibbles, 0, 8, 0);
}

#define PACK_IQ(name, subs)                                                                        \
    static void pack_##name(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {     \
        pack_iq(fr_##name##_read, subs, head, dst, src);                                           \
    }
// clang-format off
PACK_IQ(iq2_xxs, 8)
PACK_IQ(iq2_xs, 16)
PACK_IQ(iq2_s, 16)
PACK_IQ(iq3_xxs, 8)
PACK_IQ(iq3_s, 8)
// clang-format on

static void pack_f32(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    (void)head;
    for (int i = 0; i < FR_PANEL; i += 4)
        fr_store4(dst + 4 * i, gather4(src + i, 0));
}

static void pack_f32_x8(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    (void)head;
    put_dwords(dst, src, 0, 2, 0);
}

static void pack_f16(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    (void)head;
    put_halves(dst, src, 0);
}

static void pack_f16_x8(uint8_t *head, uint8_t *dst, const uint8_t *const src[FR_PANEL]) {
    (void)head;
    for (int i = 0; i < FR_PANEL; i += 4) {
        fr_u32x4 v[4];
        load_rows4(v, src + i, 0);
        for (int pair = 0; pair < 4; pair++) {
            uint8_t *out = dst + 64 * pair + 2 * i;
            fr_store_halves4(out, out + 32, v[pair]);
        }
    }
}

// ---------------------------------------------------------------- panels
// Values of one call of the packing function: a block, or of float types eight where k allows.
static int unit_of(const fr_qtype *t, int k) {
    return t->block == 1 && k % 8 == 0 ? 8 : t->block;
}

// Types whose blocks go to the same places.
#define pack_iq4_nl  pack_q4_0
#define pack_bf16    pack_f16
#define pack_bf16_x8 pack_f16_x8

static pack_block_fn *block_fn(fr_type type, bool by_eight) {
#define FLOAT(id, NAME, name, ...)  [FR_TYPE_##NAME] = {pack_##name, pack_##name##_x8},
#define BLOCKS(id, NAME, name, ...) [FR_TYPE_##NAME] = {pack_##name, NULL},
    static pack_block_fn *const pack[FR_TYPE_LIMIT][2] = {
        FR_TYPES(FLOAT, BLOCKS, BLOCKS, BLOCKS, BLOCKS)};
    return pack[type][by_eight];
}

void fr_repack_panel(fr_type type, uint8_t *dst, const uint8_t *rows, int n_rows, int k) {
    static const uint8_t zeros[256]; // stands for the blocks of rows that are not there
    const fr_qtype *t = fr_qtype_of((uint32_t)type);
    const size_t row_bytes = (size_t)fr_qtype_row_bytes(type, k);
    const int unit = unit_of(t, k), n_units = k / unit;
    const size_t head_step = (size_t)t->head;
    const size_t dst_step = fr_panel_block_bytes(type) * (size_t)(unit / t->block);
    const size_t src_step = (size_t)t->bytes * (size_t)(unit / t->block);
    pack_block_fn *const pack = block_fn(type, unit != t->block);
    uint8_t *head = dst, *const end = dst + fr_repack_panel_bytes(type, k);
    dst += fr_panel_header_bytes(type, k);
    const uint8_t *const first = dst, *src[FR_PANEL];
    assert(n_rows > 0 && n_rows <= FR_PANEL && src_step <= sizeof zeros);
    for (int lane = 0; lane < FR_PANEL; lane++)
        src[lane] = lane < n_rows ? rows + (size_t)lane * row_bytes : zeros;
    // 16 rows read side by side are more streams than the hardware prefetches. The next panel's
    // rows follow in memory: they are prefetched in order, past the end of the matrix too.
    const uint8_t *ahead = rows + FR_PANEL * row_bytes;
    for (int u = 0; u < n_units; u++, head += head_step, dst += dst_step) {
        for (const uint8_t *to = ahead + FR_PANEL * src_step; ahead < to; ahead += 64)
            __builtin_prefetch(ahead, 0, 2);
        pack(head, dst, src);
        for (int lane = 0; lane < n_rows; lane++)
            src[lane] += src_step;
    }
    if (head_step) memset(head, 0, (size_t)(first - head)); // both are rounded up to 64 bytes
    memset(dst, 0, (size_t)(end - dst));
}

void fr_repack_panels(fr_type type, uint8_t *dst, const uint8_t *src, int m, int k, int p0,
                      int p1) {
    const size_t panel_bytes = fr_repack_panel_bytes(type, k);
    const size_t source_bytes = FR_PANEL * (size_t)fr_qtype_row_bytes(type, k);
    assert(panel_bytes);
    for (int p = p0; p < p1; p++) {
        const int rows = m - p * FR_PANEL < FR_PANEL ? m - p * FR_PANEL : FR_PANEL;
        fr_repack_panel(type, dst + (size_t)p * panel_bytes, src + (size_t)p * source_bytes, rows,
                        k);
    }
}
