// unpack_k256.h — superblocks of 256 for AVX2: where their parts lie, codes and scales unpacked.
#ifndef FR_KERN_AVX2_UNPACK_K256_H
#define FR_KERN_AVX2_UNPACK_K256_H
#include "kern/avx2/tile.h"

// ---------------------------------------------------------------- types
FR_INLINE bool has_min(fr_type t) {
    return t == FR_TYPE_Q2_K || t == FR_TYPE_Q4_K || t == FR_TYPE_Q5_K;
}

FR_INLINE int subs_of(fr_type t) { // sub-blocks of a superblock
    return 256 / fr_k_sub(t);
}

FR_INLINE bool has_pairs(fr_type t) { // the nibbles of a byte belong to parts 2i and 2i+1
    return t == FR_TYPE_Q4_K || t == FR_TYPE_Q5_K;
}

FR_INLINE int part_bytes_of(fr_type t) { // without the bits that lie elsewhere
    return t == FR_TYPE_Q6_K ? 384 : t == FR_TYPE_Q2_K || t == FR_TYPE_Q3_K ? 128 : 256;
}

FR_INLINE bool has_starts(fr_type t) { // sums that start below zero, see prepare_starts
    return t == FR_TYPE_Q6_K || t == FR_TYPE_Q3_K;
}

FR_INLINE int offset_of(fr_type t) { // the number to subtract from the codes, types with starts
    return t == FR_TYPE_Q6_K ? 32 : 4;
}

FR_INLINE int block_bytes_of(fr_type t) {
    return fr_k_layout_of(t).bytes;
}

FR_INLINE int lines_of(fr_type t) { // of 32 k
    return fr_lines(block_bytes_of(t) / 8);
}

FR_INLINE int codes_at(fr_type t) { // where codes begin in a block
    return fr_k_layout_of(t).lo;
}

FR_INLINE int bits_at(fr_type t) { // where the bits above them begin: 64 bytes a part
    return t == FR_TYPE_Q5_K ? 256 : 1280;
}

// Codes of k-group g of a part, or of the next one (odd, types with pairs only). `codes` and `bits`
// point at the part and at the wanted half. table: of the types that have one.
FR_INLINE __m256i codes_of(fr_type t, const int8_t *table, const uint8_t *codes,
                           const uint8_t *bits, int odd, int g) {
    switch (t) {
    case FR_TYPE_Q2_K:
        return bit_pairs(load(codes + 64 * (g / 4)), g % 4);
    case FR_TYPE_Q3_K:
        return _mm256_or_si256(bit_pairs(load(codes + 64 * (g / 4)), g % 4),
                               bit_to(load(bits), g, 2));
    case FR_TYPE_Q4_K: {
        const __m256i v = load(codes + 64 * g);
        return odd ? high_nibble(v) : low_nibble(v);
    }
    case FR_TYPE_Q5_K: {
        const __m256i v = load(codes + 64 * g);
        return _mm256_or_si256(odd ? high_nibble(v) : low_nibble(v),
                               bit_to(load(bits + 64 * odd), g, 4));
    }
    case FR_TYPE_Q6_K:
        return q6_codes(codes + 192 * (g / 4), g % 4);
    case FR_TYPE_IQ4_XS:
    case FR_TYPE_IQ2_S: {
        const __m256i v = load(codes + 64 * (g % 4));
        return values_of(table, 0, g < 4 ? low_nibble(v) : high_nibble(v));
    }
    case FR_TYPES_BUT_K:
        break;
    }
    assert(!"a K type");
    return _mm256_setzero_si256();
}

// ---------------------------------------------------------------- scales
// Scales of one superblock, 16 lanes each.
typedef struct scales {
    __m256i sc[16][2];  // of sub-block j, twice in each dword: for vpmaddwd with int16 sums
    __m256i pair[8][2]; // min codes of sub-blocks 2i and 2i+1
    __m256 d[2], m[2];
    __m256i correction[2]
                      [2]; // tables, unpacked: of the products of 128 k, scaled; see store_masked
} scales;

FR_INLINE __m256i widen_scale(fr_type t, const uint8_t *p, bool min) { // 8 bytes to 8 dwords
    const __m128i v = _mm_loadl_epi64((const __m128i *)p);
    if (t != FR_TYPE_Q2_K) return _mm256_cvtepi8_epi32(v);
    const __m256i wide = _mm256_cvtepu8_epi32(v);
    return min ? _mm256_srli_epi32(wide, 4) : _mm256_and_si256(wide, _mm256_set1_epi32(15));
}

// One scale byte each for sub-block and lane: Q2_K Q3_K Q6_K IQ4_XS IQ2_S.
FR_INLINE void byte_scales(fr_type t, scales *s, const uint8_t *bytes) {
    const __m256i twice = _mm256_set1_epi32(0x01000100);
    const __m256i in_lane = _mm256_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c, 0, 0x04040404,
                                              0x08080808, 0x0c0c0c0c);
    const __m256i both = _mm256_add_epi8(twice, in_lane);
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < subs_of(t) / 2; i++) {
            const uint8_t *a = bytes + 32 * i + 8 * h, *b = a + 16;
            s->sc[2 * i][h] = _mm256_shuffle_epi8(widen_scale(t, a, false), both);
            s->sc[2 * i + 1][h] = _mm256_shuffle_epi8(widen_scale(t, b, false), both);
            if (has_min(t))
                s->pair[i][h] = _mm256_blend_epi16(
                    widen_scale(t, a, true), _mm256_slli_epi32(widen_scale(t, b, true), 16), 0xaa);
        }
}

// Six-bit scales and mins of Q4_K and Q5_K: 12 bytes a lane in three vectors.
FR_INLINE void packed_scales(scales *s, const uint8_t *vec) {
    const __m256i lane = _mm256_setr_epi32(0, 0x00040004, 0x00080008, 0x000c000c, 0, 0x00040004,
                                           0x00080008, 0x000c000c);
    for (int h = 0; h < 2; h++) {
        __m256i sc[2], mn[2];
        six_bits(vec, h, sc, mn);
        FR_UNROLL
        for (int j = 0; j < 4; j++) { // byte j of each dword, zero-extended, twice
            const __m256i pick = _mm256_add_epi8(
                _mm256_set1_epi32((int)(0x80008000u | (unsigned)(j | j << 16))), lane);
            s->sc[j][h] = _mm256_shuffle_epi8(sc[0], pick);
            s->sc[4 + j][h] = _mm256_shuffle_epi8(sc[1], pick);
        }
        FR_UNROLL
        for (int i = 0; i < 2; i++) { // bytes 2i and 2i+1
            const unsigned at = (unsigned)(2 * i | (2 * i + 1) << 16);
            const __m256i pick = _mm256_add_epi8(_mm256_set1_epi32((int)(0x80008000u | at)), lane);
            s->pair[i][h] = _mm256_shuffle_epi8(mn[0], pick);
            s->pair[2 + i][h] = _mm256_shuffle_epi8(mn[1], pick);
        }
    }
}

// of: the matrix' type.
FR_INLINE void unpack_scales(fr_type t, const fr_qtype *of, scales *s, const uint8_t *header,
                             const uint8_t *block) {
    const uint8_t *d = has_min(t) ? block : header;
    for (int h = 0; h < 2; h++) {
        s->d[h] = load_half(d + 16 * h);
        if (fr_k_has_table(t))
            s->d[h] = _mm256_mul_ps(s->d[h], _mm256_set1_ps(fr_scale_part(of->scale)));
        if (has_min(t)) s->m[h] = load_half(d + 32 + 16 * h);
    }
    if (t == FR_TYPE_Q4_K || t == FR_TYPE_Q5_K)
        packed_scales(s, block + 64);
    else
        byte_scales(t, s, t == FR_TYPE_Q2_K ? block + 64 : block);
}

#endif
