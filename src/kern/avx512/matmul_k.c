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
    const int8_t *q;      // [rows][256]
    const float *d;       // [rows][2]
    const int16_t *sums;  // [rows][8] of 32 or [rows][16] of 16; types with dmin
    const int32_t *start; // -offset * sums; the other types
    float *y;             // [rows][16]
} k_rows;

typedef void k_tile_fn(const uint8_t *block, const fr_k_scales *s, k_rows r, bool first);

// The codes of k-group g; Q4_K's high nibbles are left where they are, 16 times too large.
FR_INLINE __m512i tile_codes(const fr_type type, const uint8_t *lo, const uint8_t *hi,
                             const int g) {
    if (type == FR_TYPE_Q4_K && g >= 8)
        return _mm512_andnot_si512(_mm512_set1_epi8(15), fr_vec(lo + 64 * (g % 8)));
    return fr_k_codes(type, lo, hi, g);
}

// Scales as add_scaled wants them. Q4_K: the even sub-blocks' 16 times too large as well, d 16
// times smaller; all exact.
FR_INLINE void tile_scales(const fr_type type, fr_k_scales *s) {
    FR_UNROLL
    for (int j = 0; j < 256 / fr_k_sub(type); j++) {
        if (fr_k_scaling_of(type) == FR_K_INT16)
            s->sc[j] = _mm512_and_si512(s->sc[j], _mm512_set1_epi32(0xffff));
        if (type == FR_TYPE_Q4_K && j % 2 == 0) s->sc[j] = _mm512_slli_epi32(s->sc[j], 4);
        if (fr_k_scaling_of(type) == FR_K_FLOAT)
            s->sc[j] = _mm512_castps_si512(_mm512_cvtepi32_ps(s->sc[j]));
    }
    if (type == FR_TYPE_Q4_K) s->d = _mm512_mul_ps(s->d, _mm512_set1_ps(0x1p-4f));
}

// is + acc * sc
FR_INLINE __m512i add_scaled(const fr_type type, __m512i is, __m512i acc, __m512i sc) {
    switch (fr_k_scaling_of(type)) {
    case FR_K_INT16:
        return _mm512_dpwssd_epi32(is, acc, sc);
    case FR_K_FLOAT:
        return _mm512_castps_si512(_mm512_fmadd_ps(_mm512_cvtepi32_ps(acc), _mm512_castsi512_ps(sc),
                                                   _mm512_castsi512_ps(is)));
    default:
        return _mm512_add_epi32(is, _mm512_mullo_epi32(acc, sc));
    }
}

// One superblock times `rows` rows; `first`: this tile is the one that asks for memory ahead.
FR_INLINE void k_tile(const fr_type type, const int rows, const uint8_t *block,
                      const fr_k_scales *s, k_rows r, bool first) {
    const fr_k_layout at = fr_k_layout_of(type);
    const int sub = fr_k_sub(type), groups = sub / 4, n_sums = 256 / sub, mins = 64 / sub;
    // Sub-blocks side by side: few rows alone are too few chains for the latency of vpdpbusd.
    const int span = rows <= 4 ? 2 : 1;
    const uint8_t *lo = block + at.lo, *hi = block + at.hi, *ahead = block;
    const int8_t *q = r.q;
    const int32_t *start = r.start;
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
            __m512i part[FR_TILE]; // Q5_K: of these 64 k; else all so far
            FR_UNROLL
            for (int c = 0; c < rows; c++)
                part[c] = type == FR_TYPE_Q5_K ? _mm512_setzero_si512() : is[c];
            FR_UNROLL
            for (int j = 0; j < 64 / sub; j += span) {
                __m512i acc[FR_TILE];
                FR_UNROLL
                for (int c = 0; c < span * rows; c++)
                    acc[c] = fr_k_has_dmin(type)
                                 ? _mm512_setzero_si512()
                                 : fr_dword(start + n_sums * (c % rows) + j + c / rows);
                FR_UNROLL
                for (int i = 0; i < span * groups; i++) {
                    const int side = i % span, g = (j + side) * groups + i / span;
                    const __m512i w = tile_codes(type, lo, hi, g);
                    FR_UNROLL
                    for (int c = 0; c < rows; c++) {
                        __m512i *sum = &acc[side * rows + c];
                        *sum = _mm512_dpbusd_epi32(*sum, w, fr_dword(q + 256 * c + 4 * g));
                        FR_PIN(*sum);
                    }
                }
                FR_UNROLL
                for (int c = 0; c < span * rows; c++) {
                    part[c % rows] = add_scaled(type, part[c % rows], acc[c], sc[j + c / rows]);
                    FR_PIN(part[c % rows]);
                }
            }
            FR_UNROLL
            for (int c = 0; c < rows; c++)
                is[c] = type == FR_TYPE_Q5_K
                            ? _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(is[c]),
                                                                _mm512_castsi512_ps(part[c])))
                            : part[c];
            lo += at.lo_step, hi += at.hi_step, q += 64, sc += 64 / sub, start += 64 / sub;
        }
        FR_UNROLL
        for (int c = 0; c < rows; c++) {
            const __m512 sum = fr_k_scaling_of(type) == FR_K_FLOAT ? _mm512_castsi512_ps(is[c])
                                                                   : _mm512_cvtepi32_ps(is[c]);
            __m512i ms = _mm512_setzero_si512();
            if (fr_k_has_dmin(type))
                ms = fr_k_min_sum(type, s->mins + half * mins,
                                  r.sums + n_sums * c + half * n_sums / 2);
            float *y = r.y + 16 * c;
            FR_HIDE(y);
            _mm512_store_ps(y, fr_k_chain(type, s, sum, ms, _mm512_set1_ps(r.d[2 * c + half]),
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
    int32_t start[FR_CHUNK * 16];
    for (int i = 0; i < n; i++)
        _mm512_store_ps(y + 16 * i, _mm512_setzero_ps());
    for (int b = 0; b < n_blocks; b++, block += bytes) {
        fr_k_scales s;
        fr_k_scales_of(type, &s, panel, block, b);
        tile_scales(type, &s);
        const size_t row = (size_t)b * (size_t)a->n + (size_t)r0;
        if (!fr_k_has_dmin(type))
            for (int i = 0; i < n * n_sums; i++)
                start[i] = -fr_k_offset(type) * sums[row * (size_t)n_sums + (size_t)i];
        for (int i = 0, width; i < n; i += width) {
            width = fr_tile_width(i, n);
            const size_t at = row + (size_t)i;
            const k_rows r = {a->q + at * 256, a->d + at * 2, sums + at * (size_t)n_sums,
                              start + n_sums * i, y + 16 * i};
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
