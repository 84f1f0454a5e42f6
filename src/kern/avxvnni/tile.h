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

// A tile unpacks its codes and prefetches all lines; one of two tiles prefetches half of them, and
// tiles after the first of more prefetch none. Or the codes are in L1, if its columns are too many
// to unpack for each tile.
enum { ASKING, SHARING, QUIET, UNPACKED, VNNI_KINDS };

// Of the first tile of n columns, and of the tile at column c.
FR_INLINE int first_kind(int n, int direct_columns) {
    return n > direct_columns ? UNPACKED : n > WIDTH && n <= 2 * WIDTH ? SHARING : ASKING;
}
FR_INLINE int kind_at(int c, int first) {
    return c && first == ASKING ? QUIET : first;
}

// Points for `bytes` bytes: of a tile, of the code that unpacks codes into L1, and of all tiles for
// n columns whose first tile is of this kind. No line is left out, and few are prefetched twice.
FR_INLINE int points_of(const int kind, const int bytes) {
    if (kind == QUIET) return 0;
    return kind == ASKING ? fr_lines(bytes) : fr_lines(bytes / (kind == SHARING ? 2 : 4));
}
FR_INLINE int unpacking_points(const int bytes) {
    return fr_lines(bytes / 2);
}
FR_INLINE int all_points(const int kind, const int bytes, int n) {
    const int tiles = kind == ASKING ? 1 : (n + WIDTH - 1) / WIDTH;
    return tiles * points_of(kind, bytes) + (kind == UNPACKED ? unpacking_points(bytes) : 0);
}

// One type's kernel from a file's own `tile`, `columns_of`, `job` and `tile_fn`: a function for every
// kind and width. Tiles of one column have no others beside them.
#define FR_VNNI_TILE(name, type, kind, columns)                                                    \
    static void vnni_##name##_##kind##_tile_##columns(const job *j) {                              \
        tile(type, kind, columns, j);                                                              \
    }
#define FR_VNNI_TILES(name, kind)                                                                  \
    {                                                                                              \
        NULL, vnni_##name##_##kind##_tile_2, vnni_##name##_##kind##_tile_3,                        \
            vnni_##name##_##kind##_tile_4                                                          \
    }
#define FR_VNNI_KERNEL(name, type, ...)                                                            \
    FR_VNNI_TILE(name, type, ASKING, 1)                                                            \
    FR_VNNI_TILE(name, type, ASKING, 2)                                                            \
    FR_VNNI_TILE(name, type, ASKING, 3)                                                            \
    FR_VNNI_TILE(name, type, ASKING, 4)                                                            \
    FR_VNNI_TILE(name, type, SHARING, 2)                                                           \
    FR_VNNI_TILE(name, type, SHARING, 3)                                                           \
    FR_VNNI_TILE(name, type, SHARING, 4)                                                           \
    FR_VNNI_TILE(name, type, QUIET, 2)                                                             \
    FR_VNNI_TILE(name, type, QUIET, 3)                                                             \
    FR_VNNI_TILE(name, type, QUIET, 4)                                                             \
    void fr_matmul_##name##_avxvnni(float *y, int ldy, const fr_act *a, const fr_matrix *w,        \
                                    int p0, int p1) {                                              \
        static tile_fn *const tiles[VNNI_KINDS][WIDTH] = {                                         \
            {vnni_##name##_ASKING_tile_1, vnni_##name##_ASKING_tile_2,                             \
             vnni_##name##_ASKING_tile_3, vnni_##name##_ASKING_tile_4},                            \
            FR_VNNI_TILES(name, SHARING),                                                          \
            FR_VNNI_TILES(name, QUIET),                                                            \
            __VA_ARGS__};                                                                          \
        for (int c = 0; c < a->n; c += COLUMNS)                                                    \
            columns_of(type, tiles, y, ldy, a, w, p0, p1, c,                                       \
                       a->n - c < COLUMNS ? a->n - c : COLUMNS);                                   \
    }
#define FR_VNNI_MATMUL_DIRECT(name, type) FR_VNNI_KERNEL(name, type, {NULL})
#define FR_VNNI_MATMUL(name, type)                                                                 \
    FR_VNNI_TILE(name, type, UNPACKED, 2)                                                          \
    FR_VNNI_TILE(name, type, UNPACKED, 3)                                                          \
    FR_VNNI_TILE(name, type, UNPACKED, 4)                                                          \
    FR_VNNI_KERNEL(name, type, FR_VNNI_TILES(name, UNPACKED))

#endif
