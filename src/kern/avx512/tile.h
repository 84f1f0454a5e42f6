// tile.h — how rows are cut into register tiles, and results written (avx512 and amx).
#ifndef FR_KERN_AVX512_TILE_H
#define FR_KERN_AVX512_TILE_H
#include "kern/avx512/isa.h"
#include "kern/kern.h"

enum {
    FR_TILE = 8,     // rows of a register tile: 8 accumulators + 8 sums + weights < 32 registers
    FR_CHUNK = 64,   // rows that go through a panel together: their results stay in L1
    FR_AHEAD = 8192, // prefetch distance in bytes; must exceed a superblock of any type
};

// Width of the tile at row r of n: tiles as equal as can be, so that 9 rows cost 9/8 of 8.
FR_INLINE int fr_tile_width(int r, int n) {
    const int tiles = (n + FR_TILE - 1) / FR_TILE, base = n / tiles, wide = n % tiles;
    return r < wide * (base + 1) ? base + 1 : base;
}

// Asks for `bytes` of the weight stream, FR_AHEAD after p, into L2. It runs past the end of a panel
// into the next one on purpose; an address that is nobody's does no harm.
FR_INLINE void fr_stream_ahead(const uint8_t *p, const int bytes) {
    const uintptr_t from = (uintptr_t)p + FR_AHEAD;
    FR_UNROLL
    for (int i = 0; i < bytes; i += 64)
        _mm_prefetch((const char *)(from + (uintptr_t)i), _MM_HINT_T1);
}

// Lanes of panel p that are outputs of w.
FR_INLINE __mmask16 fr_panel_lanes(const fr_matrix *w, int p) {
    return fr_lanes(w->m - p * FR_PANEL);
}

#endif
