// matmul_b32.c — products with the types of 32 k a block, AVX-512 VNNI.
//
// panels -> tile of panels x rows -> blocks: panels are small enough (6 to 100 KB each) to stay in
// L1 or L2 while the tiles go through them, and the results stay in registers from the first k to
// the last. Of one block, panel and row the multiplying ports take 8 vpdpbusd, 1 multiplication and
// 1 fma (2 with minima): 80 % (73 %) of the peak of vpdpbusd alone.
#include "kern/avx512/avx512.h"
#include "kern/avx512/tile.h"
#include "kern/avx512/unpack.h"

// What a tile multiplies: `stride` bytes between its panels, `ldy` floats between its rows of y.
typedef struct b32_job {
    const uint8_t *panel;
    size_t stride;
    const fr_act *a;
    float *y;
    int r0, ldy;
    __mmask16 lanes;  // of the last panel
    fr_stream stream; // points: b32_lines, of tiles that prefetch
} b32_job;

enum { GROUPS = 8 }; // of 4 k in a block

typedef void b32_tile_fn(b32_job *job);

// Lines of a block of so many panels, scales and all: the points of its k-groups.
FR_INLINE int b32_lines(const fr_type type, const int panels) {
    const fr_b32_layout at = fr_b32_layout_of(type);
    return fr_lines(panels * (at.bytes + (at.header ? 32 : 0)));
}

// -offset * s of `rows` rows: what the sums over code - offset begin with.
FR_INLINE void b32_starts(const fr_type type, const int rows, int32_t *start, const int32_t *s) {
    const int shift = __builtin_ctz((unsigned)fr_b32_layout_of(type).offset);
    const __m512 some = _mm512_maskz_loadu_ps(fr_lane_mask(rows), (const float *)(const void *)s);
    const __m256i sums = _mm512_castsi512_si256(_mm512_castps_si512(some));
    _mm256_store_si256((void *)start,
                       _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(sums, shift)));
}

// The integer sums `acc` of a block of each panel go into the results. d_w: its scales; those of
// the next panel are `stride` bytes after, as the blocks are. d and ds: of the rows.
FR_INLINE void b32_finish(const fr_type type, const int panels, const int rows, size_t stride,
                          const uint8_t *d_w, const uint8_t *block, const float *d, const float *ds,
                          const __m512i *acc, __m512 *sum) {
    const bool mins = fr_b32_layout_of(type).mins;
    __m512 dw[FR_MOST_PANELS], mw[FR_MOST_PANELS];
    FR_UNROLL
    for (int p = 0; p < panels; p++) {
        const size_t far = (size_t)p * stride;
        dw[p] = fr_b32_scales(type, d_w + far);
        if (mins) mw[p] = fr_load_f16(block + 32 + far);
    }
    FR_UNROLL
    for (int c = 0; c < rows; c++) {
        FR_UNROLL
        for (int p = 0; p < panels; p++) {
            __m512 *y = &sum[p * rows + c];
            const __m512 dd = _mm512_mul_ps(dw[p], _mm512_set1_ps(d[c]));
            *y = _mm512_fmadd_ps(dd, _mm512_cvtepi32_ps(acc[p * rows + c]), *y);
            if (mins) *y = _mm512_fmadd_ps(mw[p], _mm512_set1_ps(ds[c]), *y);
            FR_PIN(*y);
        }
    }
}

FR_INLINE void b32_tile(const fr_type type, const int panels, const int rows, const bool asks,
                        b32_job *job) {
    const fr_b32_layout at = fr_b32_layout_of(type);
    const int cells = panels * rows, n_blocks = job->a->k / 32, n = job->a->n;
    const uint8_t *scales = job->panel;
    fr_stream stream = job->stream;
    const uint8_t *block = at.header ? scales + fr_scales_bytes(n_blocks) : scales;
    const int8_t *q = job->a->q + 32 * (size_t)job->r0;
    const float *d = job->a->d + job->r0, *ds = job->a->ds + job->r0;
    const int32_t *s = job->a->s + job->r0;
    __m512 sum[FR_MOST_CELLS];
    FR_UNROLL
    for (int c = 0; c < cells; c++)
        sum[c] = _mm512_setzero_ps();
    for (int b = 0; b < n_blocks; b++) {
        if (asks && b % 2 == 0) fr_scout(&stream);
        _Alignas(32) int32_t start[8];
        if (at.offset) b32_starts(type, rows, start, s);
        __m512i acc[FR_MOST_CELLS];
        FR_UNROLL
        for (int c = 0; c < cells; c++)
            acc[c] = at.offset ? _mm512_set1_epi32(start[c % rows]) : _mm512_setzero_si512();
        FR_UNROLL
        for (int g = 0; g < GROUPS; g++) {
            if (asks) fr_ask_at(&stream, b32_lines(type, panels), g, GROUPS);
            __m512i w[FR_MOST_PANELS];
            FR_UNROLL
            for (int p = 0; p < panels; p++) {
                // Hidden from the compiler, which would keep vectors with several groups in
                // registers.
                const uint8_t *from = block + (size_t)p * job->stride;
                FR_HIDE(from);
                w[p] = fr_b32_codes(type, from, g);
                FR_PIN(w[p]);
            }
            FR_UNROLL
            for (int c = 0; c < rows; c++) {
                __m512i x = fr_dword(q + 32 * c + 4 * g);
                if (panels > 1) FR_PIN(x);
                FR_UNROLL
                for (int p = 0; p < panels; p++)
                    fr_add_products(&acc[p * rows + c], w[p], x);
            }
        }
        b32_finish(type, panels, rows, job->stride, at.header ? scales : block, block, d, ds, acc,
                   sum);
        block += at.bytes, scales += 32;
        q += 32 * n, d += n, ds += n, s += n;
    }
    job->stream.at = stream.at;
    FR_UNROLL
    for (int c = 0; c < cells; c++)
        _mm512_mask_storeu_ps(job->y + (size_t)(c % rows) * (size_t)job->ldy +
                                  FR_PANEL * (c / rows),
                              c / rows == panels - 1 ? job->lanes : 0xffff, sum[c]);
}

// All rows of a times panels [p, p + panels) of w.
FR_INLINE void b32_group(const fr_type type, const int panels, b32_tile_fn *const *tiles,
                         b32_tile_fn *const *quiet, float *y, int ldy, const fr_act *a,
                         const fr_matrix *w, int p) {
    const fr_rows_cut cut = fr_cut_rows(a->n);
    const uint8_t *from = w->panels + (size_t)p * w->panel_bytes;
    const size_t bytes = (size_t)panels * w->panel_bytes;
    b32_job job = {.panel = from,
                   .stride = w->panel_bytes,
                   .a = a,
                   .y = y + (size_t)p * FR_PANEL,
                   .ldy = ldy,
                   .lanes = fr_panel_lanes(w, p + panels - 1)};
    job.stream = fr_stream_over(from + fr_ahead_of(panels, bytes), bytes,
                                a->k / 32 * cut.asking * b32_lines(type, panels));
    for (int t = 0; t < cut.tiles; t++) {
        const int width = cut.size + (t < cut.wide);
        const int nth = width - 1;
        (t < cut.asking ? tiles[nth] : quiet[nth])(&job);
        job.r0 += width;
        job.y += (size_t)width * (size_t)ldy;
    }
}

typedef struct b32_tiles { // by rows - 1
    b32_tile_fn *one[FR_MOST_ROWS], *two[FR_MOST_ROWS], *quiet[FR_MOST_ROWS];
} b32_tiles;

FR_INLINE void b32_matmul(const fr_type type, const b32_tiles *tiles, float *y, int ldy,
                          const fr_act *a, const fr_matrix *w, int p0, int p1) {
    for (int p = p0, panels; p < p1; p += panels) {
        panels = fr_panels_at_once(a->n, p1 - p);
        if (panels == 2)
            b32_group(type, 2, tiles->two, tiles->quiet, y, ldy, a, w, p);
        else
            b32_group(type, 1, tiles->one, tiles->one, y, ldy, a, w, p);
    }
}

// fr_matmul_<name>_avx512 and its tile functions: one panel, two, and two without asking.
#define TILE_FN(name, type, kind, panels, rows)                                                    \
    static void name##_##kind##_tile_##rows(b32_job *job) {                                        \
        b32_tile(type, panels, rows, kind != QUIET, job);                                          \
    }
// clang-format off
#define KERNEL(name, type)                                                                         \
    FR_TILES(name, type, ONE, 1) FR_TILES(name, type, TWO, 2)                                      \
    FR_TILES(name, type, QUIET, 2)                                                                 \
    void fr_matmul_##name##_avx512(float *y, int ldy, const fr_act *a, const fr_matrix *w, int p0, \
                                   int p1) {                                                       \
        static const b32_tiles tiles = {                                                           \
            FR_TILES_OF(name, ONE), FR_TILES_OF(name, TWO), FR_TILES_OF(name, QUIET)};             \
        b32_matmul(type, &tiles, y, ldy, a, w, p0, p1);                                            \
    }
// clang-format on

KERNEL(q4_0, FR_TYPE_Q4_0)
KERNEL(q4_1, FR_TYPE_Q4_1)
KERNEL(q5_0, FR_TYPE_Q5_0)
KERNEL(q5_1, FR_TYPE_Q5_1)
KERNEL(q8_0, FR_TYPE_Q8_0)
KERNEL(iq4_nl, FR_TYPE_IQ4_NL)
KERNEL(mxfp4, FR_TYPE_MXFP4)
