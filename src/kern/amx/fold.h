// fold.h — K types for tiles: codes times scales, as planes of bytes.
//
// A tile product sums 64 k, but a sub-block's scale changes every 16 or 32 k. So the scale is
// folded into the weights: v = code * sc, or (code - offset) * sc, is 2^shift * hi + lo with hi
// and lo bytes (no hi where v fits a byte), and
//   is = sum v*x = 2^shift * (sum hi*x) + (sum lo*x), exactly.
//
//   Q4_K Q5_K      lo = code * (sc mod 2^shift), hi = code * (sc >> shift): both fit u8, so one
//                  16-bit product serves two codes side by side, none carrying into the other
//   Q2_K           code * sc fits u8
//   Q3_K           (4 - code) * sc fits int8, which (code - 4) * sc does not: 128
//   Q6_K IQ4_XS IQ2_S  v has 13 bits: lo and hi are its bytes
#ifndef FR_KERN_AMX_FOLD_H
#define FR_KERN_AMX_FOLD_H
#include "kern/amx/tile.h"
#include "kern/avx512/unpack.h"

// A superblock of a panel: [64 k][lo, hi][k-group][lane]
typedef struct fr_folded {
    _Alignas(64) uint8_t b[4][2][16][64];
} fr_folded;

// Bits between the planes; 0: there is one.
FR_INLINE int fr_fold_shift(const fr_type type) {
    switch (type) {
    case FR_TYPE_Q4_K:
        return 4;
    case FR_TYPE_Q5_K:
        return 3;
    case FR_TYPE_Q2_K:
    case FR_TYPE_Q3_K:
        return 0;
    case FR_TYPE_Q6_K:
    case FR_TYPE_IQ4_XS:
    case FR_TYPE_IQ2_S:
        return 8;
    case FR_TYPES_BUT_K:
        break;
    }
    assert(!"a K type");
    return 0;
}

// Q4_K Q5_K Q2_K; w: codes, f: their scale in every i16.
FR_INLINE void fr_fold_unsigned(const fr_type type, uint8_t *lo, uint8_t *hi, __m512i w,
                                __m512i f) {
    const int shift = fr_fold_shift(type);
    if (!shift) {
        _mm512_store_si512(lo, _mm512_mullo_epi16(w, f));
        return;
    }
    const __m512i low = _mm512_set1_epi16((short)((1 << shift) - 1));
    _mm512_store_si512(lo, _mm512_mullo_epi16(w, _mm512_and_si512(f, low)));
    _mm512_store_si512(hi, _mm512_mullo_epi16(w, _mm512_srli_epi16(f, (unsigned)shift)));
}

// Q3_K. The lower product may borrow from the upper one: 128 more, and less, prevents it.
FR_INLINE void fr_fold_q3(uint8_t *lo, __m512i w, __m512i f) {
    const __m512i four = _mm512_set1_epi16(0x0404), bias = _mm512_set1_epi16(0x80);
    const __m512i v = _mm512_mullo_epi16(_mm512_sub_epi16(four, w), f);
    _mm512_store_si512(lo, _mm512_xor_si512(_mm512_add_epi16(v, bias), bias));
}

// Q6_K IQ4_XS IQ2_S.
FR_INLINE void fr_fold_bytes(const fr_type type, uint8_t *lo, uint8_t *hi, __m512i w, __m512i f) {
    const __m512i low_byte = _mm512_set1_epi16(0xff);
    const __m512i even = _mm512_and_si512(f, low_byte), odd = _mm512_slli_epi16(f, 8);
    const __m512i offset = _mm512_mullo_epi16(f, _mm512_set1_epi16((short)fr_k_offset(type)));
    const __m512i e = _mm512_sub_epi16(_mm512_maddubs_epi16(w, even), offset);
    const __m512i o = _mm512_sub_epi16(_mm512_maddubs_epi16(w, odd), offset);
    _mm512_store_si512(lo, fr_select(low_byte, e, _mm512_slli_epi16(o, 8)));
    _mm512_store_si512(hi, fr_select(low_byte, _mm512_srli_epi16(e, 8), o));
}

// 64 k of a superblock; the points are k-groups.
FR_INLINE void fr_fold_pair(const fr_type type, fr_folded *f, const uint8_t *block,
                            const fr_k_scales *s, __m512i table, int pair, fr_stream *stream) {
    const fr_k_layout at = fr_k_layout_of(type);
    const uint8_t *lo = block + at.lo + pair * at.lo_step, *hi = block + at.hi + pair * at.hi_step;
    const int subs = 64 / fr_k_sub(type), groups = 16 / subs;
    FR_UNROLL
    for (int j = 0; j < subs; j++) {
        const __m512i sc = s->sc[pair * subs + j], factor = fr_pairs(sc, sc);
        FR_UNROLL
        for (int g = j * groups; g < (j + 1) * groups; g++) {
            fr_ask(stream);
            const __m512i w = fr_k_codes(type, lo, hi, g, table);
            uint8_t *l = f->b[pair][0][g], *h = f->b[pair][1][g];
            if (type == FR_TYPE_Q3_K)
                fr_fold_q3(l, w, factor);
            else if (fr_fold_shift(type) == 8)
                fr_fold_bytes(type, l, h, w, factor);
            else
                fr_fold_unsigned(type, l, h, w, factor);
        }
    }
}

FR_INLINE void fr_fold(const fr_type type, fr_folded *f, const uint8_t *block, const fr_k_scales *s,
                       __m512i table, fr_stream *stream) {
    for (int pair = 0; pair < 4; pair++)
        fr_fold_pair(type, f, block, s, table, pair, stream);
    FR_TILES_READ();
}

#endif
