// unpack.h — what quantised types look like to a tile kernel (avx512 and amx).
//
// A block of 32 k is 8 k-groups of u8 codes (fr_b32_codes).
// A superblock is 256 k of 16 rows: four pairs of 64 k, 16 k-groups each. Every K type becomes
//   is = sum_j sc_j * (sum of u8 code * x)      ms = sum_j m_j * (sum of x)      over sub-blocks j,
// with sub-blocks of 32 or 16 k. Types with dmin keep ms apart; for the others (Q6_K, Q3_K, IQ4_XS,
// IQ2_S) is has to be over code - offset, as docs/numerics.md asks.
#ifndef FR_KERN_AVX512_UNPACK_H
#define FR_KERN_AVX512_UNPACK_H
#include "kern/avx512/isa.h"
#include "kern/layout.h"
#include "kern/repack.h"
#include <assert.h>

typedef struct fr_k_scales { // of one superblock of a panel; lane = row
    __m512i sc[16];          // i32, one a sub-block (8 or 16 in use)
    __m512i mins[8];         // i16 pairs: sub-block 2i low, 2i+1 high
    __m512 d, dmin;          // dmin only where fr_k_has_dmin
} fr_k_scales;

typedef struct fr_k_table { // of a matrix whose kernel's type has a table
    __m512i u8;             // value + 128
    __m512 part;            // of the f16 scale that counts
} fr_k_table;

FR_INLINE __m512i fr_vec(const uint8_t *p) {
    return _mm512_load_si512((const void *)p);
}

// 16 values as u8, value + offset, in each 16-byte lane: for vpshufb.
FR_INLINE __m512i fr_table_u8(const int8_t *values, const int offset) {
    const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)values);
    return _mm512_broadcast_i32x4(_mm_add_epi8(v, _mm_set1_epi8((char)offset)));
}

FR_INLINE fr_k_table fr_k_table_of(const fr_type type, fr_type of_matrix) {
    if (!fr_k_has_table(type)) return (fr_k_table){_mm512_setzero_si512(), _mm512_setzero_ps()};
    const fr_qtype *q = fr_qtype_of((uint32_t)of_matrix);
    return (fr_k_table){fr_table_u8(q->table, 128), _mm512_set1_ps(fr_scale_part(q->scale))};
}

// The f16 scales at p of a superblock of a type without dmin.
FR_INLINE __m512 fr_k_d(const fr_type type, const uint8_t *p, const fr_k_table *table) {
    const __m512 d = fr_load_f16(p);
    return fr_k_has_table(type) ? _mm512_mul_ps(d, table->part) : d;
}

// a | (b & c)
FR_INLINE __m512i fr_or_and(__m512i a, __m512i b, __m512i c) {
    return _mm512_ternarylogic_epi32(a, b, c, 0xf8);
}

// mask ? a : b, bit by bit
FR_INLINE __m512i fr_select(__m512i mask, __m512i a, __m512i b) {
    return _mm512_ternarylogic_epi32(mask, a, b, 0xca);
}

// Low (high = 0) or high nibbles of a vector.
FR_INLINE __m512i fr_nibbles(const uint8_t *p, const int high) {
    const __m512i v = fr_vec(p);
    return _mm512_and_si512(high ? _mm512_srli_epi16(v, 4) : v, _mm512_set1_epi8(15));
}

// v shifted by `right` bits (left where negative), within 16 bits.
FR_INLINE __m512i fr_shift(__m512i v, const int right) {
    return right > 0 ? _mm512_srli_epi16(v, right < 0 ? 0 : right)
                     : _mm512_slli_epi16(v, right > 0 ? 0 : -right);
}

FR_INLINE __m512i fr_q6_codes(const uint8_t *p, const int g) {
    if (g < 3) return _mm512_and_si512(fr_vec(p + 64 * g), _mm512_set1_epi8(63));
    const __m512i a = _mm512_srli_epi16(fr_vec(p), 6), b = _mm512_srli_epi16(fr_vec(p + 64), 4);
    const __m512i c = _mm512_srli_epi16(fr_vec(p + 128), 2);
    const __m512i ab = fr_select(_mm512_set1_epi8(3), a, b);
    return _mm512_and_si512(fr_select(_mm512_set1_epi8(15), ab, c), _mm512_set1_epi8(63));
}

// The u8 codes of k-group g (0..15) of 64 k, whose vectors begin at lo and hi.
FR_INLINE __m512i fr_k_codes(const fr_type type, const uint8_t *lo, const uint8_t *hi, const int g,
                             __m512i table) {
    switch (type) {
    case FR_TYPE_Q2_K:
        return _mm512_and_si512(fr_shift(fr_vec(lo + 64 * (g / 4)), 2 * (g % 4)),
                                _mm512_set1_epi8(3));
    case FR_TYPE_Q3_K: {
        const __m512i low =
            _mm512_and_si512(fr_shift(fr_vec(lo + 64 * (g / 4)), 2 * (g % 4)), _mm512_set1_epi8(3));
        return fr_or_and(low, fr_shift(fr_vec(hi + 64 * (g / 8)), g % 8 - 2), _mm512_set1_epi8(4));
    }
    case FR_TYPE_Q4_K:
        return fr_nibbles(lo + 64 * (g % 8), g / 8);
    case FR_TYPE_Q5_K:
        return fr_or_and(fr_nibbles(lo + 64 * (g % 8), g / 8),
                         fr_shift(fr_vec(hi + 64 * (g / 8)), g % 8 - 4), _mm512_set1_epi8(16));
    case FR_TYPE_Q6_K:
        return fr_q6_codes(lo + 192 * (g / 4), g % 4);
    case FR_TYPE_IQ4_XS:
    case FR_TYPE_IQ2_S:
        return _mm512_shuffle_epi8(table, fr_nibbles(lo + 256 * (g / 8) + 64 * (g % 4), g % 8 / 4));
    case FR_TYPES_BUT_K:
        break;
    }
    assert(!"a K type");
    return _mm512_setzero_si512();
}

// The u8 codes of k-group g (0..7) of a block of 32.
FR_INLINE __m512i fr_b32_codes(const fr_type type, const uint8_t *block, const int g) {
    const fr_b32_layout at = fr_b32_layout_of(type);
    if (type == FR_TYPE_Q8_0) return fr_vec(block + 64 * g);
    const __m512i nibbles = fr_nibbles(block + at.lo + 64 * (g % 4), g / 4);
    if (type == FR_TYPE_Q5_0 || type == FR_TYPE_Q5_1)
        return fr_or_and(nibbles, fr_shift(fr_vec(block + at.hi), g - 4), _mm512_set1_epi8(16));
    const int8_t *table = fr_b32_table(type);
    return table ? _mm512_shuffle_epi8(fr_table_u8(table, at.offset), nibbles) : nibbles;
}

// The scales of a block of 32, 16 lanes.
FR_INLINE __m512 fr_b32_scales(const fr_type type, const uint8_t *p) {
    if (!fr_b32_bf16(type)) return fr_load_f16(p);
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

// Even and odd i32 vectors, each within 16 bits, as i16 pairs.
FR_INLINE __m512i fr_pairs(__m512i even, __m512i odd) {
    return _mm512_mask_blend_epi16(0xaaaaaaaau, even, _mm512_slli_epi32(odd, 16));
}

FR_INLINE __m128i fr_vec16(const uint8_t *p) {
    return _mm_load_si128((const __m128i *)(const void *)p);
}

// Six-bit scales and mins of Q4_K and Q5_K; u: the vectors U0 U1 U2.
FR_INLINE void fr_k_scales_packed(fr_k_scales *s, const uint8_t *u) {
    const __m512i u0 = fr_vec(u), u1 = fr_vec(u + 64), u2 = fr_vec(u + 128);
    const __m512i m3f = _mm512_set1_epi8(0x3f), m0f = _mm512_set1_epi8(0x0f),
                  m30 = _mm512_set1_epi8(0x30);
    const __m512i sc[2] = {_mm512_and_si512(u0, m3f),
                           fr_or_and(_mm512_and_si512(u2, m0f), _mm512_srli_epi16(u0, 2), m30)};
    const __m512i mn[2] = {
        _mm512_and_si512(u1, m3f),
        fr_or_and(_mm512_and_si512(_mm512_srli_epi16(u2, 4), m0f), _mm512_srli_epi16(u1, 2), m30)};
    const __m512i byte = _mm512_set1_epi32(0xff);
    const __m512i low = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1));
    const __m512i high = _mm512_broadcast_i32x4(
        _mm_setr_epi8(2, -1, 3, -1, 6, -1, 7, -1, 10, -1, 11, -1, 14, -1, 15, -1));
    for (int h = 0; h < 2; h++) {
        s->sc[4 * h] = _mm512_and_si512(sc[h], byte);
        s->sc[4 * h + 1] = _mm512_and_si512(_mm512_srli_epi32(sc[h], 8), byte);
        s->sc[4 * h + 2] = _mm512_and_si512(_mm512_srli_epi32(sc[h], 16), byte);
        s->sc[4 * h + 3] = _mm512_srli_epi32(sc[h], 24);
        s->mins[2 * h] = _mm512_shuffle_epi8(mn[h], low);
        s->mins[2 * h + 1] = _mm512_shuffle_epi8(mn[h], high);
    }
}

// Signed scales (n of them, [n][16]) of the types without dmin.
FR_INLINE void fr_k_scales_signed(fr_k_scales *s, const uint8_t *p, const int n) {
    FR_UNROLL
    for (int j = 0; j < n; j++)
        s->sc[j] = _mm512_cvtepi8_epi32(fr_vec16(p + 16 * j));
}

FR_INLINE void fr_k_scales_q2(fr_k_scales *s, const uint8_t *p) {
    const __m512i low = _mm512_set1_epi32(15);
    FR_UNROLL
    for (int j = 0; j < 16; j += 2) {
        const __m512i a = _mm512_cvtepu8_epi32(fr_vec16(p + 16 * j));
        const __m512i b = _mm512_cvtepu8_epi32(fr_vec16(p + 16 * j + 16));
        s->sc[j] = _mm512_and_si512(a, low);
        s->sc[j + 1] = _mm512_and_si512(b, low);
        s->mins[j / 2] = fr_pairs(_mm512_srli_epi32(a, 4), _mm512_srli_epi32(b, 4));
    }
}

// Scales of superblock b; panel: its header (or first superblock, where there is none).
FR_INLINE void fr_k_scales_of(const fr_type type, fr_k_scales *s, const uint8_t *panel,
                              const uint8_t *block, int b, const fr_k_table *table) {
    if (fr_k_has_dmin(type)) {
        s->d = fr_load_f16(block);
        s->dmin = fr_load_f16(block + 32);
        if (type == FR_TYPE_Q2_K)
            fr_k_scales_q2(s, block + 64);
        else
            fr_k_scales_packed(s, block + 64);
        return;
    }
    s->d = fr_k_d(type, panel + (size_t)b * 32, table);
    fr_k_scales_signed(s, block, 256 / fr_k_sub(type));
}

// What follows the sums of 128 k: y = fma(u, dx, y), where u = d*is - dmin*ms or d*is (`is` then
// over code - offset).
FR_INLINE __m512 fr_k_chain(const fr_type type, const fr_k_scales *s, __m512 is, __m512i ms,
                            __m512 dx, __m512 y) {
    __m512 u;
    if (fr_k_has_dmin(type))
        u = _mm512_fmsub_ps(s->d, is, _mm512_mul_ps(s->dmin, _mm512_cvtepi32_ps(ms)));
    else
        u = _mm512_mul_ps(s->d, is);
    return _mm512_fmadd_ps(u, dx, y);
}

// ms of one half of a superblock: sums = its s16 (16 bytes) or s32 (8 bytes) of one row.
FR_INLINE __m512i fr_k_min_sum(const fr_type type, const __m512i *mins, const int16_t *sums) {
    __m512i ms = _mm512_setzero_si512();
    FR_UNROLL
    for (int i = 0; i < 64 / fr_k_sub(type); i++)
        ms = _mm512_dpwssd_epi32(ms, mins[i], fr_dword(sums + 2 * i));
    return ms;
}

#endif
