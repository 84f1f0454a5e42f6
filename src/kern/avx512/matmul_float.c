// matmul_float.c — products with float weights, AVX-512.
//
// panel -> tile of up to 8 rows: the results stay in registers from the first k to the last.
#include "kern/avx512/avx512.h"
#include "kern/avx512/tile.h"

typedef void tile_fn(const uint8_t *panel, const fr_act *a, int r0, int ldy, float *y,
                     __mmask16 lanes, fr_stream *ahead);

FR_INLINE void store_tile(const int rows, const __m512 *sum, float *y, int ldy, __mmask16 lanes) {
    FR_UNROLL
    for (int c = 0; c < rows; c++) {
        _mm512_mask_storeu_ps(y, lanes, sum[c]);
        y += ldy;
    }
}

FR_INLINE int float_bytes(const fr_type type) {
    return type == FR_TYPE_F32 ? 64 : 32; // of 16 lanes
}

FR_INLINE __m512 float_weights(const fr_type type, const uint8_t *p) {
    if (type == FR_TYPE_F32) return _mm512_load_ps((const void *)p);
    if (type == FR_TYPE_F16) return fr_load_f16(p);
    const __m256i b = _mm256_load_si256((const void *)p);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(b), 16));
}

enum { RUN = 32 }; // k after which a scout goes ahead again

// sum += the weights at p times x[][k].
FR_INLINE void add_products(const fr_type type, const int rows, const uint8_t *p,
                            const float *const *x, int k, __m512 *sum) {
    const __m512 w = float_weights(type, p);
    FR_UNROLL
    for (int c = 0; c < rows; c++)
        sum[c] = _mm512_fmadd_ps(w, _mm512_set1_ps(x[c][k]), sum[c]);
}

FR_INLINE void float_tile(const fr_type type, const int rows, const uint8_t *panel, const fr_act *a,
                          int r0, int ldy, float *y, __mmask16 lanes, fr_stream *ahead) {
    const int step = float_bytes(type);
    fr_stream stream = *ahead;
    const bool asks = stream.step;
    const float *x[FR_TILE];
    __m512 sum[FR_TILE];
    FR_UNROLL
    for (int c = 0; c < rows; c++) {
        x[c] = a->x + (size_t)(r0 + c) * (size_t)a->ldx;
        sum[c] = _mm512_setzero_ps();
    }
    for (int k = 0, end; k < a->k; k = end) {
        end = a->k - k < RUN ? a->k : k + RUN;
        if (asks) {
            if (rows <= 4) fr_scout(&stream);
            for (; k + 2 <= end; k += 2, panel += 2 * step) {
                fr_ask(&stream);
                if (step == 64) fr_ask(&stream);
                add_products(type, rows, panel, x, k, sum);
                add_products(type, rows, panel + step, x, k + 1, sum);
            }
        }
        for (; k < end; k++, panel += step)
            add_products(type, rows, panel, x, k, sum);
    }
    ahead->at = stream.at;
    store_tile(rows, sum, y, ldy, lanes);
}

FR_INLINE void matmul(tile_fn *const *tiles, float *y, int ldy, const fr_act *a, const fr_matrix *w,
                      int p0, int p1) {
    for (int p = p0; p < p1; p++) {
        const uint8_t *panel = w->panels + (size_t)p * w->panel_bytes;
        const __mmask16 lanes = fr_panel_lanes(w, p);
        fr_stream stream = {panel + FR_AHEAD, 64};
        for (int r = 0, width; r < a->n; r += width) {
            width = fr_tile_width(r, a->n, FR_TILE);
            tiles[width - 1](panel, a, r, ldy, y + (size_t)r * (size_t)ldy + (size_t)p * FR_PANEL,
                             lanes, &stream);
            stream.step = 0; // the first tile has prefetched everything
        }
    }
}

// fr_matmul_<name>_avx512 and its tile functions.
#define TILE(name, type, width)                                                                    \
    static void name##_tile_##width(const uint8_t *panel, const fr_act *a, int r0, int ldy,        \
                                    float *y, __mmask16 lanes, fr_stream *ahead) {                 \
        float_tile(type, width, panel, a, r0, ldy, y, lanes, ahead);                               \
    }
// clang-format off
#define KERNEL(name, type)                                                                   \
    TILE(name, type, 1) TILE(name, type, 2) TILE(name, type, 3)                  \
    TILE(name, type, 4) TILE(name, type, 5) TILE(name, type, 6)                  \
    TILE(name, type, 7) TILE(name, type, 8)                                            \
    void fr_matmul_##name##_avx512(float *y, int ldy, const fr_act *a, const fr_matrix *w, int p0, \
                                   int p1) {                                                       \
        static tile_fn *const tiles[FR_TILE] = {                                                   \
            name##_tile_1, name##_tile_2, name##_tile_3, name##_tile_4,                            \
            name##_tile_5, name##_tile_6, name##_tile_7, name##_tile_8};                           \
        matmul(tiles, y, ldy, a, w, p0, p1);                                                       \
    }
// clang-format on

KERNEL(f32, FR_TYPE_F32)
KERNEL(f16, FR_TYPE_F16)
KERNEL(bf16, FR_TYPE_BF16)
