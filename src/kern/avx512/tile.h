// tile.h — how rows are cut into register tiles, and results written (avx512 and amx).
#ifndef FR_KERN_AVX512_TILE_H
#define FR_KERN_AVX512_TILE_H
#include "kern/avx512/isa.h"
#include "kern/kern.h"

enum {
    FR_TILE = 8,     // rows of a tile of matmul_float.c: as many chains as hide the latency of fma
    FR_CHUNK = 64,   // rows that go through a panel together: their results stay in L1
    FR_AHEAD = 8192, // prefetch distance in bytes; must exceed a superblock of any type
};

// ------------------------------------------------------------------ tiles of panels x rows
enum {
    FR_MOST_PANELS = 2,
    FR_MOST_ROWS = 6,
    FR_MOST_CELLS = 12, // panels * rows: 12 integer sums and 12 results leave 8 registers
};

// Panels that tiles of n rows take at once, of `left`. With so few rows that memory decides, one
// stream is read faster than two.
FR_INLINE int fr_panels_at_once(int n, int left) {
    return n > 3 && left > 1 ? 2 : 1;
}

// n rows as tiles: `wide` of size + 1 rows, the others of `size`.
typedef struct fr_rows_cut {
    int tiles, size, wide;
    int asking; // of two panels: number of first tiles that prefetch. Of three and more only
                // the first does: the others have enough products to hide the memory
} fr_rows_cut;

FR_INLINE fr_rows_cut fr_cut_rows(int n) {
    const int tiles = (n + FR_MOST_ROWS - 1) / FR_MOST_ROWS;
    return (fr_rows_cut){tiles, n / tiles, n % tiles, tiles <= 2 ? tiles : 1};
}

// Kinds of tiles: of one panel, of two, and of two that do not prefetch. FR_TILES makes those of a
// file's own TILE_FN by rows, FR_TILES_OF lists them.
enum { ONE, TWO, QUIET };
// clang-format off
#define FR_TILES(name, type, kind, panels)                                                         \
    TILE_FN(name, type, kind, panels, 1) TILE_FN(name, type, kind, panels, 2)                      \
    TILE_FN(name, type, kind, panels, 3) TILE_FN(name, type, kind, panels, 4)                      \
    TILE_FN(name, type, kind, panels, 5) TILE_FN(name, type, kind, panels, 6)
#define FR_TILES_OF(name, kind)                                                                    \
    {name##_##kind##_tile_1, name##_##kind##_tile_2, name##_##kind##_tile_3,                       \
     name##_##kind##_tile_4, name##_##kind##_tile_5, name##_##kind##_tile_6}
// clang-format on

// How far ahead to prefetch while a group of panels of `bytes` is multiplied. A single panel is one
// stream. Several are read side by side, so the whole next group is fetched before it begins, in
// the order of memory, which the hardware prefetcher follows too.
FR_INLINE size_t fr_ahead_of(int panels, size_t bytes) {
    return panels == 1 ? FR_AHEAD : bytes;
}

// ------------------------------------------------------------------ results
// Lanes of panel p that are outputs of w.
FR_INLINE __mmask16 fr_panel_lanes(const fr_matrix *w, int p) {
    return fr_lane_mask(w->m - p * FR_PANEL);
}

// The results of n rows and panel p, from[n][16], to their places in y.
FR_INLINE void fr_panel_out(float *y, int ldy, const fr_matrix *w, int p, const float *from,
                            int n) {
    const __mmask16 lanes = fr_panel_lanes(w, p);
    y += (size_t)p * FR_PANEL;
    if (lanes == 0xffff) {
        for (int i = 0; i < n; i++, y += ldy) {
            _mm256_storeu_ps(y, _mm256_load_ps(from + 16 * i));
            _mm256_storeu_ps(y + 8, _mm256_load_ps(from + 16 * i + 8));
        }
        return;
    }
    for (int i = 0; i < n; i++, y += ldy)
        _mm512_mask_storeu_ps(y, lanes, _mm512_load_ps(from + 16 * i));
}

#endif
