// tile.h — shared by the product kernels for AVX2.
//
// A panel's 16 lanes are two ymm ("halves"). A tile is one panel times up to 6 input rows
// ("columns"): per k-group one vpmaddubsw and one vpaddw for each half and column, so up to 12
// accumulators of int16 stay in registers. They hold as many groups as cannot overflow (a *run*: 8
// for 4-bit codes, 4 for 5-bit and 6-bit), then vpmaddwd widens to int32. Codes of 8 bits (Q8_0,
// IQ4) go one group at a time, for few columns as vpmaddubsw of |w| with x carrying w's sign, for
// more of |w| with x ^ (w < 0), see mul_masked.
//
// What bounds it (Zen 3 and 4): products of all kinds issue on two of four vector pipes, additions
// on any of the four, but those that wait for a product take half of what they save from the two:
// vpmaddubsw and vpaddw from registers give 3.2 operations a cycle, not 4, in whatever order.
#ifndef FR_KERN_AVX2_TILE_H
#define FR_KERN_AVX2_TILE_H
#include "kern/avx2/avx2.h"
#include "kern/layout.h"
#include "kern/repack.h"
#include "kern/tile.h"
#include <assert.h>
#include <immintrin.h>

// Where a tile has its codes from.
enum {
    DIRECT, // packed, unpacked on the way
    FLAT,   // unpacked, from L1
    KEEP,   // as DIRECT, and stored for the FLAT tiles of the other columns
    KINDS
};

enum {
    TILE = 6,     // most columns of a tile: 12 sums and 4 registers to work with
    COLUMNS = 64, // columns that share one walk over a panel
    AHEAD = 8192, // bytes that the prefetch runs ahead, past the panel's end on purpose
};

// ---------------------------------------------------------------- small steps
FR_INLINE __m256i load(const void *p) {
    return _mm256_load_si256((const __m256i *)p);
}

// A dword of memory in every lane: one load, no shuffle.
FR_INLINE __m256i broadcast(const void *p) {
    return _mm256_castps_si256(_mm256_broadcast_ss((const float *)p));
}

FR_INLINE __m256 load_half(const void *p) {
    return _mm256_cvtph_ps(_mm_load_si128((const __m128i *)p));
}

FR_INLINE __m256i low_nibble(__m256i v) {
    return _mm256_and_si256(v, _mm256_set1_epi8(15));
}

FR_INLINE __m256i high_nibble(__m256i v) {
    return low_nibble(_mm256_srli_epi16(v, 4));
}

// Bit g of every byte, moved to bit `to`.
FR_INLINE __m256i bit_to(__m256i v, int g, int to) {
    const __m256i moved = g < to   ? _mm256_slli_epi16(v, to - g)
                          : g > to ? _mm256_srli_epi16(v, g - to)
                                   : v;
    return _mm256_and_si256(moved, _mm256_set1_epi8((char)(1 << to)));
}

// The scales of 8 lanes of a block of 32, as f32.
FR_INLINE __m256 load_scales(fr_type t, const void *p) {
    if (!fr_b32_bf16(t)) return load_half(p);
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_load_si128((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

// values[nibble] + offset
FR_INLINE __m256i values_of(const int8_t *values, int offset, __m256i nibbles) {
    const __m128i v = _mm_loadu_si128((const __m128i *)values);
    return _mm256_shuffle_epi8(
        _mm256_broadcastsi128_si256(_mm_add_epi8(v, _mm_set1_epi8((char)offset))), nibbles);
}

// Scales (sc[0]: sub-blocks 0-3, sc[1]: 4-7) and mins of half h, a byte each, from the 12 packed
// bytes of a lane of Q4_K and Q5_K: three vectors.
FR_INLINE void six_bits(const uint8_t *vec, int h, __m256i sc[2], __m256i mn[2]) {
    const __m256i low6 = _mm256_set1_epi8(63), low4 = _mm256_set1_epi8(15),
                  mid2 = _mm256_set1_epi8(48);
    const __m256i u0 = load(vec + 32 * h), u1 = load(vec + 64 + 32 * h),
                  u2 = load(vec + 128 + 32 * h);
    const __m256i top0 = _mm256_and_si256(_mm256_srli_epi16(u0, 2), mid2);
    const __m256i top1 = _mm256_and_si256(_mm256_srli_epi16(u1, 2), mid2);
    sc[0] = _mm256_and_si256(u0, low6);
    sc[1] = _mm256_or_si256(_mm256_and_si256(u2, low4), top0);
    mn[0] = _mm256_and_si256(u1, low6);
    mn[1] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(u2, 4), low4), top1);
}

// Six bits of k-group g of 16 k: three vectors hold four codes of each byte.
FR_INLINE __m256i q6_codes(const uint8_t *abc, int g) {
    const __m256i low6 = _mm256_set1_epi8(63);
    if (g < 3) return _mm256_and_si256(load(abc + 64 * g), low6);
    __m256i t = _mm256_srli_epi16(_mm256_andnot_si256(low6, load(abc)), 2);
    t = _mm256_srli_epi16(_mm256_or_si256(t, _mm256_andnot_si256(low6, load(abc + 64))), 2);
    return _mm256_srli_epi16(_mm256_or_si256(t, _mm256_andnot_si256(low6, load(abc + 128))), 2);
}

// Bits 2i and 2i + 1 of every byte.
FR_INLINE __m256i bit_pairs(__m256i v, int i) {
    return _mm256_and_si256(i ? _mm256_srli_epi16(v, 2 * i) : v, _mm256_set1_epi8(3));
}

// ---------------------------------------------------------------- prefetching
// k-group g of 8 that lie in so many lines: the code that unpacks them prefetches as many. Tiles of
// unpacked codes do not: loads bound them, and they have enough products to hide the memory.
FR_INLINE void ask_at(fr_stream *stream, int kind, int lines, int g) {
    if (kind != FLAT) fr_ask_at(stream, lines, g, 8);
}

// ---------------------------------------------------------------- types
FR_INLINE bool is_wide(fr_type t) { // codes are signed bytes
    return t == FR_TYPE_Q8_0 || t == FR_TYPE_IQ4_NL || fr_k_has_table(t);
}

FR_INLINE int
run_of(fr_type t) { // groups that an int16 sum can hold: 2 * run * largest code * 127 < 32768
    switch (t) {
    case FR_TYPE_Q4_0:
    case FR_TYPE_Q4_1:
    case FR_TYPE_Q4_K:
        return 8;
    case FR_TYPE_Q8_0:
    case FR_TYPE_IQ4_NL:
    case FR_TYPE_IQ4_XS:
    case FR_TYPE_IQ2_S:
        return 1;
    case FR_TYPE_Q5_0: // five bits
    case FR_TYPE_Q5_1:
    case FR_TYPE_MXFP4: // 4..28
    case FR_TYPE_Q5_K:
    case FR_TYPE_Q2_K: // sub-blocks of 16 k
    case FR_TYPE_Q3_K:
    case FR_TYPE_Q6_K: // see matmul_k256.c
        return 4;
    case FR_TYPES_BUT_B32_AND_K:
        break;
    }
    assert(!"a quantized type");
    return 0;
}

// Up to this many columns every tile unpacks the codes for itself. With more, the first tile
// unpacks them and stores them for the others, as the units for products then have more to do than
// those for stores. Codes of 8 bits are stored before the first tile. Measured, see
// docs/speed-log.md.
FR_INLINE int direct_max(fr_type t) {
    switch (t) {
    case FR_TYPE_Q8_0:
        return 5;
    case FR_TYPE_IQ4_NL:
        return 4;
    case FR_TYPE_IQ4_XS:
    case FR_TYPE_IQ2_S:
        return 3;
    case FR_TYPE_Q4_0:
    case FR_TYPE_Q4_1:
    case FR_TYPE_Q5_0:
    case FR_TYPE_Q5_1:
    case FR_TYPE_MXFP4:
    case FR_TYPE_Q2_K:
    case FR_TYPE_Q3_K:
    case FR_TYPE_Q4_K:
    case FR_TYPE_Q5_K:
    case FR_TYPE_Q6_K:
        return TILE;
    case FR_TYPES_BUT_B32_AND_K:
        break;
    }
    assert(!"a quantized type");
    return 0;
}

// Most columns of a tile whose codes lie unpacked.
FR_INLINE int flat_max(fr_type t) {
    return is_wide(t) ? 5 : TILE;
}

// Bytes of 32 k unpacked.
FR_INLINE int flat_bytes_of(fr_type t) {
    return is_wide(t) ? 1024 : 512;
}

// Stores the codes of both halves of a k-group.
FR_INLINE void keep_codes(uint8_t *to, __m256i w0, __m256i w1) {
    _mm256_store_si256((__m256i *)to, w0);
    _mm256_store_si256((__m256i *)(to + 32), w1);
}

// One k-group: acc[c][h] (+)= codes * x. `x`: the group's four bytes of column 0; columns are
// `stride` bytes apart.
FR_INLINE void mul_group(__m256i acc[TILE][2], bool wide, bool first, int columns, __m256i w0,
                         __m256i w1, const int8_t *x, int stride) {
    __m256i u0 = w0, u1 = w1;
    if (wide) u0 = _mm256_abs_epi8(w0), u1 = _mm256_abs_epi8(w1);
    FR_UNROLL
    for (int c = 0; c < columns; c++) {
        const __m256i b = broadcast(x + c * stride);
        const __m256i t0 = _mm256_maddubs_epi16(u0, wide ? _mm256_sign_epi8(b, w0) : b);
        const __m256i t1 = _mm256_maddubs_epi16(u1, wide ? _mm256_sign_epi8(b, w1) : b);
        acc[c][0] = first ? t0 : _mm256_add_epi16(acc[c][0], t0);
        acc[c][1] = first ? t1 : _mm256_add_epi16(acc[c][1], t1);
        FR_PIN(acc[c][0]);
        FR_PIN(acc[c][1]);
    }
}

// ---------------------------------------------------------------- codes of 8 bits, unpacked
// |w| and the mask w < 0, 64 bytes after, of one half of a k-group. |w| * (x ^ mask) is w * x,
// less |w| where w < 0. That |w| is the correction, the same for every x; its int16 pairs are added
// to *correction. Two such products are -32768 at least.
FR_INLINE void store_masked(uint8_t *flat, __m256i w, __m256i *correction) {
    const __m256i u = _mm256_abs_epi8(w), mask = _mm256_cmpgt_epi8(_mm256_setzero_si256(), w);
    _mm256_store_si256((__m256i *)flat, u);
    _mm256_store_si256((__m256i *)(flat + 64), mask);
    const __m256i below = _mm256_maddubs_epi16(_mm256_and_si256(u, mask), _mm256_set1_epi8(1));
    *correction = _mm256_add_epi16(*correction, below);
}

// One k-group of such codes: sum[c][h] += codes * x * sc[h], less the correction.
FR_INLINE void mul_masked(__m256i sum[TILE][2], int columns, const uint8_t *flat,
                          const __m256i sc[2], const int8_t *x, int stride) {
    const __m256i u0 = load(flat), u1 = load(flat + 32), mask0 = load(flat + 64),
                  mask1 = load(flat + 96);
    FR_UNROLL
    for (int c = 0; c < columns; c++) {
        const __m256i b = broadcast(x + c * stride);
        const __m256i t0 = _mm256_maddubs_epi16(u0, _mm256_xor_si256(b, mask0));
        const __m256i t1 = _mm256_maddubs_epi16(u1, _mm256_xor_si256(b, mask1));
        sum[c][0] = _mm256_add_epi32(sum[c][0], _mm256_madd_epi16(t0, sc[0]));
        sum[c][1] = _mm256_add_epi32(sum[c][1], _mm256_madd_epi16(t1, sc[1]));
        FR_PIN(sum[c][0]);
        FR_PIN(sum[c][1]);
    }
}

// y[c][16] of a panel, c < n, to the caller's rows; the last panel may have fewer than 16 outputs.
void fr_avx2_store_panel(float *y, int ldy, const float *tile, int n, int outputs);

// One type's kernel from a file's own `tile`, `columns_of`, `job` and `tile_fn`: a function for
// every kind and width. With more columns than TILE there are no tiles of one or two.
#define FR_TILE_FN(name, type, kind, columns)                                                      \
    static void tile_##name##_##kind##_##columns(const job *j) {                                   \
        tile(type, kind, columns, j);                                                              \
    }
#define FR_KERNEL(name, type, flat_6, keep)                                                        \
    FR_TILE_FN(name, type, DIRECT, 1)                                                              \
    FR_TILE_FN(name, type, DIRECT, 2)                                                              \
    FR_TILE_FN(name, type, DIRECT, 3)                                                              \
    FR_TILE_FN(name, type, DIRECT, 4)                                                              \
    FR_TILE_FN(name, type, DIRECT, 5)                                                              \
    FR_TILE_FN(name, type, DIRECT, 6)                                                              \
    FR_TILE_FN(name, type, FLAT, 3)                                                                \
    FR_TILE_FN(name, type, FLAT, 4)                                                                \
    FR_TILE_FN(name, type, FLAT, 5)                                                                \
    void fr_matmul_##name##_avx2(float *y, int ldy, const fr_act *a, const fr_matrix *w, int p0,   \
                                 int p1) {                                                         \
        static tile_fn *const tiles[KINDS][TILE] = {                                               \
            [DIRECT] = {tile_##name##_DIRECT_1, tile_##name##_DIRECT_2, tile_##name##_DIRECT_3,    \
                        tile_##name##_DIRECT_4, tile_##name##_DIRECT_5, tile_##name##_DIRECT_6},   \
            [FLAT] = {NULL, NULL, tile_##name##_FLAT_3, tile_##name##_FLAT_4,                      \
                      tile_##name##_FLAT_5, flat_6},                                               \
            [KEEP] = keep};                                                                        \
        for (int c = 0; c < a->n; c += COLUMNS)                                                    \
            columns_of(type, tiles, y, ldy, a, w, p0, p1, c,                                       \
                       a->n - c < COLUMNS ? a->n - c : COLUMNS);                                   \
    }
#define FR_NO_KEEP                                                                                 \
    { NULL }
#define FR_KEEP(name)                                                                              \
    {                                                                                              \
        NULL, NULL, tile_##name##_KEEP_3, tile_##name##_KEEP_4, tile_##name##_KEEP_5,              \
            tile_##name##_KEEP_6                                                                   \
    }
#define FR_MATMUL_WIDE(name, type) FR_KERNEL(name, type, NULL, FR_NO_KEEP)
#define FR_MATMUL(name, type)                                                                      \
    FR_TILE_FN(name, type, FLAT, 6)                                                                \
    FR_TILE_FN(name, type, KEEP, 3)                                                                \
    FR_TILE_FN(name, type, KEEP, 4)                                                                \
    FR_TILE_FN(name, type, KEEP, 5)                                                                \
    FR_TILE_FN(name, type, KEEP, 6)                                                                \
    FR_KERNEL(name, type, tile_##name##_FLAT_6, FR_KEEP(name))

#endif
