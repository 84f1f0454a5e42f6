// matmul_k.c — products with the K types (superblocks of 256 k), AVX-512 VNNI.
//
// panel -> superblock -> tile of up to 8 rows: the weights stream once, in order, and the results
// of the panel wait in L1. Above ~6 rows the bound is vpdpbusd with vpmulld beside it (two ports);
// below, memory.
#include "kern/avx512/avx512.h"
#include "kern/avx512/tile.h"
#include "kern/avx512/unpack.h"

// Rows of a tile inside one superblock.
typedef struct k_rows {
    const int8_t *q;     // [rows][256]
    const float *d;      // [rows][2]
    const int16_t *sums; // [rows][8] of 32 or [rows][16] of 16
    float *y;            // [rows][16]
} k_rows;

typedef void k_tile_fn(const uint8_t *block, const fr_k_scales *s, k_rows r, bool first);

// One superblock times `rows` rows; `first`: this tile is the one that asks for memory ahead.
FR_INLINE void k_tile(const fr_type type, const int rows, const uint8_t *block,
                      const fr_k_scales *s, k_rows r, bool first) {
    const fr_k_layout at = fr_k_layout_of(type);
    const int sub = fr_k_sub(type), groups = sub / 4, n_sums = 256 / sub, mins = 64 / sub;
    const uint8_t *lo = block + at.lo, *hi = block + at.hi, *ahead = block;
    const int8_t *q = r.q;
    const __m512i *sc = s->sc;
    int two = 2;
    FR_HIDE(two);
    for (int half = 0; half < two; half++) {
        __m512i is[FR_TILE];
        FR_UNROLL
        for (int c = 0; c < rows; c++)
            is[c] = _mm512_setzero_si512();
        for (int pair = 0; pair < two; pair++) { // 64 k
            if (first) fr_stream_ahead(ahead, at.bytes / 4);
            ahead += at.bytes / 4;
            FR_UNROLL
            for (int j = 0; j < 64 / sub; j++) {
                __m512i acc[FR_TILE];
                FR_UNROLL
                for (int c = 0; c < rows; c++)
                    acc[c] = _mm512_setzero_si512();
                FR_UNROLL
                for (int g = j * groups; g < (j + 1) * groups; g++) {
                    const __m512i w = fr_k_codes(type, lo, hi, g);
                    FR_UNROLL
                    for (int c = 0; c < rows; c++) {
                        acc[c] = _mm512_dpbusd_epi32(acc[c], w, fr_dword(q + 256 * c + 4 * g));
                        FR_PIN(acc[c]);
                    }
                }
                FR_UNROLL
                for (int c = 0; c < rows; c++) {
                    is[c] = _mm512_add_epi32(is[c], _mm512_mullo_epi32(acc[c], sc[j]));
                    FR_PIN(is[c]);
                }
            }
            lo += at.lo_step, hi += at.hi_step, q += 64, sc += 64 / sub;
        }
        FR_UNROLL
        for (int c = 0; c < rows; c++) {
            const __m512i ms =
                fr_k_min_sum(type, s->mins + half * mins, r.sums + n_sums * c + half * n_sums / 2);
            float *y = r.y + 16 * c;
            FR_HIDE(y);
            _mm512_store_ps(y, fr_k_chain(type, s, is[c], ms, _mm512_set1_ps(r.d[2 * c + half]),
                                          _mm512_load_ps(y)));
        }
    }
}

// Rows [r0, r0 + n) of a times one panel, into y[n][16].
FR_INLINE void k_panel(const fr_type type, k_tile_fn *const *tiles, const uint8_t *panel,
                       const fr_act *a, int r0, int n, float *y) {
    const int n_blocks = a->k / 256, n_sums = 256 / fr_k_sub(type),
              bytes = fr_k_layout_of(type).bytes;
    const int16_t *sums = fr_k_sub(type) == 32 ? a->s32 : a->s16;
    const uint8_t *block = panel + fr_k_header(type, n_blocks);
    for (int i = 0; i < n; i++)
        _mm512_store_ps(y + 16 * i, _mm512_setzero_ps());
    for (int b = 0; b < n_blocks; b++, block += bytes) {
        fr_k_scales s;
        fr_k_scales_of(type, &s, panel, block, b);
        const size_t row = (size_t)b * (size_t)a->n + (size_t)r0;
        for (int i = 0, width; i < n; i += width) {
            width = fr_tile_width(i, n);
            const size_t at = row + (size_t)i;
            const k_rows r = {a->q + at * 256, a->d + at * 2, sums + at * (size_t)n_sums,
                              y + 16 * i};
            tiles[width - 1](block, &s, r, i == 0 && r0 == 0);
        }
    }
}

FR_INLINE void k_matmul(const fr_type type, k_tile_fn *const *tiles, float *y, int ldy,
                        const fr_act *a, const fr_matrix *w, int p0, int p1) {
    _Alignas(64) float out[FR_CHUNK * FR_PANEL];
    for (int p = p0; p < p1; p++) {
        const __mmask16 lanes = fr_panel_lanes(w, p);
        for (int r0 = 0; r0 < a->n; r0 += FR_CHUNK) {
            const int n = a->n - r0 < FR_CHUNK ? a->n - r0 : FR_CHUNK;
            k_panel(type, tiles, w->panels + (size_t)p * w->panel_bytes, a, r0, n, out);
            for (int i = 0; i < n; i++)
                _mm512_mask_storeu_ps(y + (size_t)(r0 + i) * (size_t)ldy + (size_t)p * FR_PANEL,
                                      lanes, _mm512_load_ps(out + 16 * i));
        }
    }
}

// fr_matmul_<name>_avx512 and its tile functions.
#define TILE(name, type, width)                                                                    \
    static void name##_tile_##width(const uint8_t *block, const fr_k_scales *s, k_rows r,          \
                                    bool first) {                                                  \
        k_tile(type, width, block, s, r, first);                                                   \
    }
// clang-format off
#define KERNEL(name, type)                                                                         \
    TILE(name, type, 1) TILE(name, type, 2) TILE(name, type, 3) TILE(name, type, 4)                \
    TILE(name, type, 5) TILE(name, type, 6) TILE(name, type, 7) TILE(name, type, 8)                \
    void fr_matmul_##name##_avx512(float *y, int ldy, const fr_act *a, const fr_matrix *w, int p0, \
                                   int p1) {                                                       \
        static k_tile_fn *const tiles[FR_TILE] = {                                                 \
            name##_tile_1, name##_tile_2, name##_tile_3, name##_tile_4,                            \
            name##_tile_5, name##_tile_6, name##_tile_7, name##_tile_8};                           \
        k_matmul(type, tiles, y, ldy, a, w, p0, p1);                                               \
    }
// clang-format on

KERNEL(q2_k, FR_TYPE_Q2_K)
KERNEL(q3_k, FR_TYPE_Q3_K)
KERNEL(q4_k, FR_TYPE_Q4_K)
KERNEL(q5_k, FR_TYPE_Q5_K)
KERNEL(q6_k, FR_TYPE_Q6_K)
KERNEL(iq4_xs, FR_TYPE_IQ4_XS)
