// scales.h — the scales of a superblock of the K types, as the tiles for AVX-VNNI want them.
#ifndef FR_KERN_AVXVNNI_SCALES_H
#define FR_KERN_AVXVNNI_SCALES_H
#include "kern/avxvnni/tile.h"

// Of one superblock, two halves of 8 lanes each.
typedef struct scales {
    __m256i sc[16][2];  // of each sub-block: dwords (scale, 0) for FR_K_INT16, f32, or int32
    __m256i mins[8][2]; // int16 pairs of min codes: sub-block 2i low, 2i+1 high
    __m256 d[2], m[2];
} scales;

// One scale byte (Q2_K: and min) for each sub-block and lane: Q2_K Q3_K Q6_K IQ4_XS IQ2_S.
FR_INLINE void byte_scales(const fr_type t, scales *s, const uint8_t *bytes) {
    const __m256i low4 = _mm256_set1_epi32(15), low16 = _mm256_set1_epi32(0xffff);
    for (int i = 0; i < 256 / fr_k_sub(t); i++)
        for (int h = 0; h < 2; h++) {
            const __m128i v = _mm_loadl_epi64((const __m128i *)(bytes + 16 * i + 8 * h));
            if (t == FR_TYPE_Q2_K) {
                const __m256i wide = _mm256_cvtepu8_epi32(v), min = _mm256_srli_epi32(wide, 4);
                s->sc[i][h] = _mm256_and_si256(wide, low4);
                s->mins[i / 2][h] =
                    i % 2 ? _mm256_or_si256(s->mins[i / 2][h], _mm256_slli_epi32(min, 16)) : min;
            } else {
                const __m256i wide = _mm256_cvtepi8_epi32(v);
                s->sc[i][h] =
                    fr_k_scaling_of(t) == FR_K_INT16 ? _mm256_and_si256(wide, low16) : wide;
            }
        }
}

// Byte j of each dword as f32; Q4_K: those of even sub-blocks 16 times as large.
FR_INLINE __m256i scale_float(const fr_type t, __m256i bytes, int j) {
    const __m256i byte = _mm256_and_si256(_mm256_srli_epi32(bytes, 8 * j), _mm256_set1_epi32(0xff));
    const bool larger = t == FR_TYPE_Q4_K && j % 2 == 0;
    return _mm256_castps_si256(_mm256_cvtepi32_ps(larger ? _mm256_slli_epi32(byte, 4) : byte));
}

// Six-bit scales and mins of Q4_K and Q5_K: 12 bytes a lane in three vectors.
FR_INLINE void packed_scales(const fr_type t, scales *s, const uint8_t *vec) {
    const __m256i pairs[2] = {_mm256_set_epi32(0x800d800c, 0x80098008, 0x80058004, 0x80018000,
                                               0x800d800c, 0x80098008, 0x80058004, 0x80018000),
                              _mm256_set_epi32(0x800f800e, 0x800b800a, 0x80078006, 0x80038002,
                                               0x800f800e, 0x800b800a, 0x80078006, 0x80038002)};
    for (int h = 0; h < 2; h++) {
        __m256i sc[2], mn[2];
        six_bits(vec, h, sc, mn);
        FR_UNROLL
        for (int j = 0; j < 8; j++)
            s->sc[j][h] = scale_float(t, sc[j / 4], j % 4);
        FR_UNROLL
        for (int i = 0; i < 4; i++)
            s->mins[i][h] = _mm256_shuffle_epi8(mn[i / 2], pairs[i % 2]);
    }
}

// Scales of a superblock; d: its f16 scales where they stand in the panel's header; of: the matrix'
// type.
FR_INLINE void unpack_scales(const fr_type t, const fr_qtype *of, scales *s, const uint8_t *d,
                             const uint8_t *block) {
    const bool dmin = fr_k_has_dmin(t);
    for (int h = 0; h < 2; h++) {
        s->d[h] = load_half((dmin ? block : d) + 16 * h);
        if (t == FR_TYPE_Q4_K) s->d[h] = _mm256_mul_ps(s->d[h], _mm256_set1_ps(0x1p-4f));
        if (fr_k_has_table(t))
            s->d[h] = _mm256_mul_ps(s->d[h], _mm256_set1_ps(fr_scale_part(of->scale)));
        if (dmin) s->m[h] = load_half(block + 32 + 16 * h);
    }
    if (t == FR_TYPE_Q4_K || t == FR_TYPE_Q5_K)
        packed_scales(t, s, block + 64);
    else
        byte_scales(t, s, dmin ? block + 64 : block);
}

#endif
