// tile.h — what the product kernels for AVX-VNNI share.
//
// A panel's 16 lanes are two ymm ("halves"). A tile is one panel times up to WIDTH input rows
// ("columns"): per k-group one vpdpbusd for each half and column. Eight int32 accumulators leave
// room to unpack codes in the other eight registers; ten or twelve would share the unpacking
// further, but not the scaling, and spill. Codes are the u8 operand; where they carry an offset the
// accumulator starts at -offset * (sum of x) instead of at 0.
#ifndef FR_KERN_AVXVNNI_TILE_H
#define FR_KERN_AVXVNNI_TILE_H
#include "kern/avx2/tile.h"
#include "kern/avxvnni/avxvnni.h"
#include "kern/layout.h"
#ifdef FR_EMULATE // tests/kern/emulate
#include "emulate_vnni.h"
#endif

enum { WIDTH = 4 }; // columns of a tile

// Sums of four products u8 * s8, of two s16 * s16, added to the dwords of acc.
FR_INLINE __m256i dot_bytes(__m256i acc, __m256i codes, __m256i x) {
    return _mm256_dpbusd_avx_epi32(acc, codes, x);
}
FR_INLINE __m256i dot_pairs(__m256i acc, __m256i a, __m256i b) {
    return _mm256_dpwssd_avx_epi32(acc, a, b);
}

// One k-group: acc[c][h] += codes * x. `x`: the group's four bytes of column 0; columns are
// `stride` bytes apart.
FR_INLINE void dot_group(__m256i acc[WIDTH][2], int columns, __m256i w0, __m256i w1,
                         const int8_t *x, int stride) {
    FR_UNROLL
    for (int c = 0; c < columns; c++) {
        const __m256i b = broadcast(x + c * stride);
        acc[c][0] = dot_bytes(acc[c][0], w0, b);
        acc[c][1] = dot_bytes(acc[c][1], w1, b);
        FR_PIN(acc[c][0]);
        FR_PIN(acc[c][1]);
    }
}

// IQ4 values as u8, value + 128.
FR_INLINE __m256i iq4_u8(__m256i nibbles) {
    return _mm256_xor_si256(iq4_values(nibbles), _mm256_set1_epi8((char)0x80));
}

// One type's kernel from a file's own `tile`, `columns_of`, `job` and `tile_fn`: a function for
// every width, with the codes unpacked on the way (0) or before, from L1 (1; not _DIRECT).
#define FR_VNNI_TILE(name, type, flat, columns)                                                    \
    static void vnni_##name##_##flat##_tile_##columns(const job *j) {                              \
        tile(type, flat, columns, j);                                                              \
    }
#define FR_VNNI_KERNEL(name, type, ...)                                                            \
    FR_VNNI_TILE(name, type, 0, 1)                                                                 \
    FR_VNNI_TILE(name, type, 0, 2)                                                                 \
    FR_VNNI_TILE(name, type, 0, 3)                                                                 \
    FR_VNNI_TILE(name, type, 0, 4)                                                                 \
    void fr_matmul_##name##_avxvnni(float *y, int ldy, const fr_act *a, const fr_matrix *w,        \
                                    int p0, int p1) {                                              \
        static tile_fn *const tiles[2][WIDTH] = {{vnni_##name##_0_tile_1, vnni_##name##_0_tile_2,  \
                                                  vnni_##name##_0_tile_3, vnni_##name##_0_tile_4}, \
                                                 __VA_ARGS__};                                     \
        for (int c = 0; c < a->n; c += COLUMNS)                                                    \
            columns_of(type, tiles, y, ldy, a, w, p0, p1, c,                                       \
                       a->n - c < COLUMNS ? a->n - c : COLUMNS);                                   \
    }
#define FR_VNNI_MATMUL_DIRECT(name, type) FR_VNNI_KERNEL(name, type, {NULL})
#define FR_VNNI_MATMUL(name, type)                                                                 \
    FR_VNNI_TILE(name, type, 1, 2)                                                                 \
    FR_VNNI_TILE(name, type, 1, 3)                                                                 \
    FR_VNNI_TILE(name, type, 1, 4)                                                                 \
    FR_VNNI_KERNEL(name, type,                                                                     \
                   {NULL, vnni_##name##_1_tile_2, vnni_##name##_1_tile_3, vnni_##name##_1_tile_4})

#endif
