// matmul_k.c — products with the K types (superblocks of 256 k), AVX-512 VNNI.
//
// group of panels -> superblock -> tile of panels x rows: each panel is a stream of memory that is
// read once, in order, and the results of the group wait in L1. A tile keeps panels * rows integer
// sums of a sub-block and as many of half a superblock in registers; a broadcast activation serves
// all its panels.
//
// Above ~6 rows the bound is the multiplying ports. Of one superblock, panel and row Q4_K takes 64
// vpdpbusd, 8 fma for the scales, 4 vpdpwssd for the minima and 6 for the chain: 78 % of the peak
// of vpdpbusd alone. Q6_K takes 64 + 16 + 4: 76 %. Unpacking runs on other ports.
#include "kern/avx512/avx512.h"
#include "kern/avx512/tile.h"
#include "kern/avx512/unpack.h"

// One panel at one superblock.
typedef struct k_panel {
    const uint8_t *block, *d; // the superblock; its d where the type has none inside
    __m512 sc[8];             // Q4_K Q5_K: scales of the sub-blocks, as add_scaled wants them
    __m512i mins[8];          // types with dmin: i16 pairs, sub-block 2i low, 2i+1 high
} k_panel;

// Rows of a tile inside one superblock.
typedef struct k_rows {
    const int8_t *q;      // [rows][256]
    const float *d;       // [rows][2]
    const int16_t *sums;  // [rows][8] of 32 or [rows][16] of 16; types with dmin
    const int32_t *start; // -offset * sums; the other types
    float *y;             // [panels][FR_CHUNK][16]
    fr_k_table table;     // types with a table
    __mmask16 begun;      // 0 at the first superblock: y counts as zero
    fr_stream stream;     // its points: k_lines, of tiles that prefetch
} k_rows;

typedef void k_tile_fn(const k_panel *panel, k_rows *r);

// ------------------------------------------------------------------ what a tile reads
// Q5_K's f32 sums would have to be kept by 64 k: a third set of them, for which registers lack.
FR_INLINE fr_k_scaling scaling_of(const fr_type type) {
    return type == FR_TYPE_Q5_K ? FR_K_INT32 : fr_k_scaling_of(type);
}

// The codes of k-group g; Q4_K's high nibbles are left where they are, 16 times too large.
FR_INLINE __m512i tile_codes(const fr_type type, const uint8_t *lo, const uint8_t *hi, const int g,
                             __m512i table) {
    if (type == FR_TYPE_Q4_K && g >= 8)
        return _mm512_andnot_si512(_mm512_set1_epi8(15), fr_vec(lo + 64 * (g % 8)));
    return fr_k_codes(type, lo, hi, g, table);
}

// The scale of sub-block j, as add_scaled wants it.
FR_INLINE __m512i tile_scale(const fr_type type, const k_panel *panel, int j) {
    if (type == FR_TYPE_Q2_K)
        return _mm512_and_si512(_mm512_cvtepu8_epi32(fr_vec16(panel->block + 64 + 16 * j)),
                                _mm512_set1_epi32(15));
    if (fr_k_has_dmin(type)) return _mm512_castps_si512(panel->sc[j]);
    const __m512i sc = _mm512_cvtepi8_epi32(fr_vec16(panel->block + 16 * j));
    return type == FR_TYPE_Q3_K ? _mm512_and_si512(sc, _mm512_set1_epi32(0xffff)) : sc;
}

// is + acc * sc
FR_INLINE __m512i add_scaled(const fr_type type, __m512i is, __m512i acc, __m512i sc) {
    switch (scaling_of(type)) {
    case FR_K_INT16:
        return _mm512_dpwssd_epi32(is, acc, sc);
    case FR_K_FLOAT:
        return _mm512_castps_si512(_mm512_fmadd_ps(_mm512_cvtepi32_ps(acc), _mm512_castsi512_ps(sc),
                                                   _mm512_castsi512_ps(is)));
    case FR_K_INT32:
        break;
    }
    return _mm512_add_epi32(is, _mm512_mullo_epi32(acc, sc));
}

// ------------------------------------------------------------------ tiles
// Lines of 64 k of so many panels: the points of their 16 k-groups.
FR_INLINE int k_lines(const fr_type type, const int panels) {
    return fr_lines(panels * fr_k_layout_of(type).bytes / 4);
}

// The sums of one half of a superblock go into y.
FR_INLINE void k_chain(const fr_type type, const int panels, const int rows, const k_panel *panel,
                       const __m512i *is, const k_rows *r, int half) {
    const int n_sums = 256 / fr_k_sub(type), mins = 64 / fr_k_sub(type);
    FR_UNROLL
    for (int p = 0; p < panels; p++) {
        fr_k_scales s;
        s.d = fr_k_d(type, panel[p].d, &r->table);
        if (fr_k_has_dmin(type)) {
            s.dmin = fr_load_f16(panel[p].block + 32);
            if (type == FR_TYPE_Q4_K) s.d = _mm512_mul_ps(s.d, _mm512_set1_ps(0x1p-4f));
        }
        FR_UNROLL
        for (int c = 0; c < rows; c++) {
            const __m512i sum = is[p * rows + c];
            const __m512 f =
                scaling_of(type) == FR_K_FLOAT ? _mm512_castsi512_ps(sum) : _mm512_cvtepi32_ps(sum);
            __m512i ms = _mm512_setzero_si512();
            if (fr_k_has_dmin(type))
                ms = fr_k_min_sum(type, panel[p].mins + half * mins,
                                  r->sums + n_sums * c + half * n_sums / 2);
            float *y = r->y + 16 * (FR_CHUNK * p + c);
            FR_HIDE(y);
            const __m512 so_far = _mm512_maskz_loadu_ps(half ? 0xffff : r->begun, y);
            fr_store(y, fr_k_chain(type, &s, f, ms, _mm512_set1_ps(r->d[2 * c + half]), so_far),
                     panels > 1);
        }
    }
}

// One superblock of `panels` panels times `rows` rows.
FR_INLINE void k_tile(const fr_type type, const int panels, const int rows, const bool asks,
                      const k_panel *panel, k_rows *r) {
    const fr_k_layout at = fr_k_layout_of(type);
    const int sub = fr_k_sub(type), groups = sub / 4, n_sums = 256 / sub, cells = panels * rows;
    // Sub-blocks side by side: few cells alone are too few chains for the latency of vpdpbusd.
    const int span = cells <= 4 ? 2 : 1;
    const int8_t *q = r->q;
    const int32_t *start = r->start;
    const __m512i table = fr_k_has_table(type) ? r->table.u8 : _mm512_setzero_si512();
    fr_stream stream = r->stream;
    int step = 0, j0 = 0, two = 2;
    FR_HIDE(two);
    for (int half = 0; half < two; half++) {
        __m512i is[FR_MOST_CELLS];
        FR_UNROLL
        for (int c = 0; c < cells; c++)
            is[c] = _mm512_setzero_si512();
        for (int pair = 0; pair < two; pair++) { // 64 k
            if (asks) fr_scout(&stream);
            FR_UNROLL
            for (int j = 0; j < 64 / sub; j += span) {
                __m512i acc[FR_MOST_CELLS];
                FR_UNROLL
                for (int c = 0; c < span * cells; c++)
                    acc[c] = fr_k_has_dmin(type)
                                 ? _mm512_setzero_si512()
                                 : fr_dword(start + n_sums * (c % rows) + j + c / cells);
                FR_UNROLL
                for (int i = 0; i < span * groups; i++) {
                    const int side = i % span, g = (j + side) * groups + i / span;
                    if (asks) fr_ask_at(&stream, k_lines(type, panels), j * groups + i, 16);
                    if (asks) FR_HIDE(stream.at); // or gcc keeps vectors of Q2_K on the stack
                    if (asks && span > 1) FR_HIDE(q);
                    __m512i w[FR_MOST_PANELS];
                    FR_UNROLL
                    for (int p = 0; p < panels; p++) {
                        // Hidden: the compiler would keep vectors of several groups in registers.
                        const uint8_t *block = panel[p].block + step * at.lo_step;
                        FR_HIDE(block);
                        w[p] =
                            tile_codes(type, block + at.lo,
                                       block + at.hi + step * (at.hi_step - at.lo_step), g, table);
                        FR_PIN(w[p]);
                    }
                    FR_UNROLL
                    for (int c = 0; c < rows; c++) {
                        __m512i x = fr_dword(q + 256 * c + 4 * g);
                        if (panels > 1) FR_PIN(x);
                        FR_UNROLL
                        for (int p = 0; p < panels; p++)
                            fr_add_products(&acc[side * cells + p * rows + c], w[p], x);
                    }
                }
                FR_UNROLL
                for (int c = 0; c < span * cells; c++) {
                    const __m512i sc =
                        tile_scale(type, &panel[c % cells / rows], j0 + j + c / cells);
                    is[c % cells] = add_scaled(type, is[c % cells], acc[c], sc);
                    FR_PIN(is[c % cells]);
                }
            }
            step++, j0 += 64 / sub, q += 64, start += 64 / sub;
        }
        k_chain(type, panels, rows, panel, is, r, half);
    }
    r->stream.at = stream.at;
}

// ------------------------------------------------------------------ a group of panels
// Scales and minima of the types that have them packed.
FR_INLINE void unpack_scales(const fr_type type, k_panel *panel, const int late) {
    if (!fr_k_has_dmin(type)) return;
    fr_k_scales s;
    fr_k_scales_of(type, &s, NULL, panel->block, 0, NULL);
    FR_UNROLL
    for (int i = 0; i < 128 / fr_k_sub(type); i++)
        fr_store((float *)&panel->mins[i], _mm512_castsi512_ps(s.mins[i]), late);
    if (type == FR_TYPE_Q2_K) return;
    FR_UNROLL
    for (int j = 0; j < 8; j++) { // Q4_K: the even ones 16 times too large, as the odd codes are
        if (type == FR_TYPE_Q4_K && j % 2 == 0) s.sc[j] = _mm512_slli_epi32(s.sc[j], 4);
        const __m512 sc = _mm512_castsi512_ps(s.sc[j]);
        fr_store((float *)&panel->sc[j], type == FR_TYPE_Q4_K ? _mm512_cvtepi32_ps(s.sc[j]) : sc,
                 late);
    }
}

// -offset * sum of each sub-block of n rows. The offsets are powers of two.
FR_INLINE void find_starts(const fr_type type, int32_t *start, const int16_t *sums, int n) {
    const int shift = __builtin_ctz((unsigned)fr_k_offset(type));
    for (int i = 0; i < n * 256 / fr_k_sub(type); i += 8) {
        const __m256i s = _mm256_cvtepi16_epi32(_mm_loadu_si128((const void *)(sums + i)));
        _mm256_store_si256((void *)(start + i),
                           _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(s, shift)));
    }
}

// Rows [r0, r0 + n) of a times `panels` panels from w on, into y[panels][FR_CHUNK][16].
FR_INLINE void k_group(const fr_type type, const int panels, k_tile_fn *const *tiles,
                       k_tile_fn *const *quiet, const fr_matrix *w, const uint8_t *from,
                       const fr_act *a, int r0, int n, float *y) {
    const int n_blocks = a->k / 256, n_sums = 256 / fr_k_sub(type),
              bytes = fr_k_layout_of(type).bytes;
    const int16_t *sums = fr_k_sub(type) == 32 ? a->s32 : a->s16;
    const fr_rows_cut cut = fr_cut_rows(n);
    const size_t header = fr_k_header(type, n_blocks);
    _Alignas(64) int32_t start[FR_CHUNK * 16];
    k_panel panel[FR_MOST_PANELS];
    const size_t group = (size_t)panels * w->panel_bytes;
    const uint8_t *ahead = from + fr_ahead_of(panels, group);
    const int asking = r0 ? 0 : cut.asking; // once for all rows
    const int points = n_blocks * asking * 4 * k_lines(type, panels);
    k_rows r = {.stream = asking ? fr_stream_over(ahead, group, points) : (fr_stream){ahead, 0},
                .table = fr_k_table_of(type, w->type)};
    for (int b = 0; b < n_blocks; b++) {
        const size_t at = header + (size_t)b * (size_t)bytes;
        for (int p = 0; p < panels; p++) {
            const uint8_t *begin = from + (size_t)p * w->panel_bytes;
            panel[p].block = begin + at;
            panel[p].d = fr_k_has_dmin(type) ? begin + at : begin + (size_t)b * 32;
            unpack_scales(type, &panel[p], panels > 1);
        }
        const size_t row = (size_t)b * (size_t)a->n + (size_t)r0;
        if (!fr_k_has_dmin(type)) find_starts(type, start, sums + row * (size_t)n_sums, n);
        r.q = a->q + row * 256;
        r.d = a->d + row * 2;
        r.sums = sums + row * (size_t)n_sums;
        r.start = start;
        r.y = y;
        r.begun = (__mmask16)(b ? 0xffff : 0);
        for (int t = 0; t < cut.tiles; t++) {
            const int width = cut.size + (t < cut.wide);
            const int nth = width - 1;
            (t < asking ? tiles[nth] : quiet[nth])(panel, &r);
            r.q += 256 * width, r.d += 2 * width, r.sums += n_sums * width;
            r.start += n_sums * width, r.y += 16 * width;
        }
    }
}

typedef struct k_tiles { // by rows - 1
    k_tile_fn *one[FR_MOST_ROWS], *two[FR_MOST_ROWS], *quiet[FR_MOST_ROWS];
} k_tiles;

FR_INLINE void k_matmul(const fr_type type, const k_tiles *tiles, float *y, int ldy,
                        const fr_act *a, const fr_matrix *w, int p0, int p1) {
    _Alignas(64) float out[FR_MOST_PANELS * FR_CHUNK * FR_PANEL];
    for (int p = p0, panels; p < p1; p += panels) {
        const uint8_t *from = w->panels + (size_t)p * w->panel_bytes;
        panels = fr_panels_at_once(a->n, p1 - p);
        for (int r0 = 0; r0 < a->n; r0 += FR_CHUNK) {
            const int n = a->n - r0 < FR_CHUNK ? a->n - r0 : FR_CHUNK;
            if (panels == 2)
                k_group(type, 2, tiles->two, tiles->quiet, w, from, a, r0, n, out);
            else
                k_group(type, 1, tiles->one, tiles->one, w, from, a, r0, n, out);
            for (int j = 0; j < panels; j++)
                fr_panel_out(y + (size_t)r0 * (size_t)ldy, ldy, w, p + j, out + 16 * FR_CHUNK * j,
                             n);
        }
    }
}

// fr_matmul_<name>_avx512 and its tile functions: one panel, two, and two without asking.
#define TILE_FN(name, type, kind, panels, rows)                                                    \
    static void name##_##kind##_tile_##rows(const k_panel *panel, k_rows *r) {                     \
        k_tile(type, panels, rows, kind != QUIET, panel, r);                                       \
    }
// clang-format off
#define KERNEL(name, type)                                                                         \
    FR_TILES(name, type, ONE, 1) FR_TILES(name, type, TWO, 2)                                      \
    FR_TILES(name, type, QUIET, 2)                                                                 \
    void fr_matmul_##name##_avx512(float *y, int ldy, const fr_act *a, const fr_matrix *w, int p0, \
                                   int p1) {                                                       \
        static const k_tiles tiles = {                                                             \
            FR_TILES_OF(name, ONE), FR_TILES_OF(name, TWO), FR_TILES_OF(name, QUIET)};             \
        k_matmul(type, &tiles, y, ldy, a, w, p0, p1);                                              \
    }
// clang-format on

KERNEL(q2_k, FR_TYPE_Q2_K)
KERNEL(q3_k, FR_TYPE_Q3_K)
KERNEL(q4_k, FR_TYPE_Q4_K)
KERNEL(q5_k, FR_TYPE_Q5_K)
KERNEL(q6_k, FR_TYPE_Q6_K)
KERNEL(iq4_xs, FR_TYPE_IQ4_XS)
KERNEL(iq2_s, FR_TYPE_IQ2_S)
