// tile.h — the shapes of AMX tiles.
//
// A = rows of activations, 64 bytes of k each (as the quantiser lays them out); B = k-groups of a
// panel (as the packer interleaves them); C = rows by 16 outputs, their integer sums.
// Tiles 0 to 3 are C, 4 and 5 A, 6 and 7 B.
#ifndef FR_KERN_AMX_TILE_H
#define FR_KERN_AMX_TILE_H
#include "kern/avx512/isa.h"
#include "kern/avx512/tile.h"

enum {
    FR_AMX_TILE = 16, // rows of a tile at most
    FR_SPAN = 32,     // rows of two tiles: while they are multiplied, those before are finished
};

// Rows that are multiplied together: one tile, or two, the second of which begins at row `second`
// and, of fewer than 32 rows, repeats some of the first (whose last rows are then not read).
typedef struct fr_span {
    int n, tiles, second;
} fr_span;

// The span at row r of n. Of more than 16 rows none has fewer than 16.
FR_INLINE fr_span fr_next_span(int r, int n) {
    const int left = n - r;
    const bool all = left <= FR_SPAN, cut = !all && left < FR_SPAN + FR_AMX_TILE;
    const int rows = all ? left : cut ? left - FR_AMX_TILE : FR_SPAN;
    const bool two = rows > FR_AMX_TILE;
    return (fr_span){rows, two ? 2 : 1, two ? rows - FR_AMX_TILE : FR_AMX_TILE};
}

// Prefetches the places of one panel's results, which have left the caches since the last product:
// at block b of n_blocks those of its share of the n rows.
FR_INLINE void fr_ask_for_results(const float *y, int ldy, int n, int b, int n_blocks) {
    for (int r = n * b / n_blocks; r < n * (b + 1) / n_blocks; r++)
        _mm_prefetch((const char *)(y + (size_t)r * (size_t)ldy), _MM_HINT_T0);
}

// Loads and stores of tiles are invisible to the compiler: use this before loads of memory that it
// wrote, and after stores to memory that it reads.
#define FR_TILES_READ()   __asm__ volatile("" ::: "memory")
#define FR_TILES_STORED() __asm__ volatile("" ::: "memory")

// What LDTILECFG reads: bytes of a row and rows, by tile.
typedef struct fr_tile_config {
    uint8_t palette, start_row, zero[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} fr_tile_config;

// Tiles for n rows, and `groups` k-groups (16 or 8) in a product.
FR_INLINE void fr_tiles_open(int n, const int groups) {
    _Alignas(64) fr_tile_config c = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        c.row_bytes[i] = (uint16_t)(i == 4 || i == 5 ? 4 * groups : 64);
        c.rows[i] = (uint8_t)(i >= 6 ? groups : n < FR_AMX_TILE ? n : FR_AMX_TILE);
    }
    __asm__ volatile("" ::"r"(&c) : "memory");
    _tile_loadconfig(&c);
}

#endif
