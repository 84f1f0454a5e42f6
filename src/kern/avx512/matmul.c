// matmul.c — products with the types of 32 k a block, and with float weights, AVX-512 VNNI.
//
// panel -> tile of up to 8 rows -> blocks: a panel is small enough (6 to 100 KB) to stay in L1 or
// L2 while the tiles go through it, and the results stay in registers from the first k to the last.
#include "kern/avx512/avx512.h"
#include "kern/avx512/tile.h"
#include "kern/avx512/unpack.h"

typedef void tile_fn(const uint8_t *panel, const fr_act *a, int r0, int ldy, float *y,
                     __mmask16 lanes);

FR_INLINE void store_tile(const int rows, const __m512 *sum, float *y, int ldy, __mmask16 lanes) {
    FR_UNROLL
    for (int c = 0; c < rows; c++) {
        _mm512_mask_storeu_ps(y, lanes, sum[c]);
        y += ldy;
    }
}

// ------------------------------------------------------------------ blocks of 32
// The u8 codes of k-group g (0..7) of a block.
FR_INLINE __m512i b32_codes(const fr_type type, const uint8_t *block, const int g) {
    const fr_b32_layout at = fr_b32_layout_of(type);
    if (type == FR_TYPE_Q8_0) return fr_vec(block + 64 * g);
    const __m512i nibbles = fr_nibbles(block + at.lo + 64 * (g % 4), g / 4);
    if (type == FR_TYPE_Q5_0 || type == FR_TYPE_Q5_1)
        return fr_or_and(nibbles, fr_shift(fr_vec(block + at.hi), g - 4), _mm512_set1_epi8(16));
    return type == FR_TYPE_IQ4_NL ? _mm512_shuffle_epi8(fr_iq4_u8(), nibbles) : nibbles;
}

FR_INLINE void b32_tile(const fr_type type, const int rows, const uint8_t *panel, const fr_act *a,
                        int r0, int ldy, float *y, __mmask16 lanes) {
    const fr_b32_layout at = fr_b32_layout_of(type);
    const size_t n = (size_t)a->n;
    const int n_blocks = a->k / 32;
    // (-offset, 0): a pair product with the sum of the codes, whose low half is all of it.
    const __m512i offset = _mm512_set1_epi32(-at.offset & 0xffff);
    const uint8_t *scales = panel;
    const uint8_t *block = at.header ? panel + fr_scales_bytes(n_blocks) : panel;
    const int8_t *q = a->q + 32 * (size_t)r0;
    const float *d = a->d + r0, *ds = a->ds + r0;
    const int32_t *s = a->s + r0;
    __m512 sum[FR_TILE];
    FR_UNROLL
    for (int c = 0; c < rows; c++)
        sum[c] = _mm512_setzero_ps();
    for (int b = 0; b < n_blocks; b++) {
        __m512i acc[FR_TILE];
        if (r0 == 0) fr_stream_ahead(block, at.bytes);
        FR_UNROLL
        for (int c = 0; c < rows; c++)
            acc[c] = _mm512_setzero_si512();
        FR_UNROLL
        for (int g = 0; g < 8; g++) {
            const __m512i w = b32_codes(type, block, g);
            FR_UNROLL
            for (int c = 0; c < rows; c++) {
                acc[c] = _mm512_dpbusd_epi32(acc[c], w, fr_dword(q + 32 * c + 4 * g));
                FR_PIN(acc[c]);
            }
        }
        const __m512 dw = fr_load_f16(at.header ? scales : block);
        const __m512 mw = fr_load_f16(at.mins ? block + 32 : panel);
        FR_UNROLL
        for (int c = 0; c < rows; c++) {
            if (at.offset) acc[c] = _mm512_dpwssd_epi32(acc[c], offset, fr_dword(s + c));
            const __m512 dd = _mm512_mul_ps(dw, _mm512_set1_ps(d[c]));
            sum[c] = _mm512_fmadd_ps(dd, _mm512_cvtepi32_ps(acc[c]), sum[c]);
            if (at.mins) sum[c] = _mm512_fmadd_ps(mw, _mm512_set1_ps(ds[c]), sum[c]);
            FR_PIN(sum[c]);
        }
        block += at.bytes, scales += 32;
        q += 32 * n, d += n, ds += n, s += n;
    }
    store_tile(rows, sum, y, ldy, lanes);
}

// ------------------------------------------------------------------ float weights
FR_INLINE int float_bytes(const fr_type type) {
    return type == FR_TYPE_F32 ? 64 : 32; // of 16 lanes
}

FR_INLINE __m512 float_weights(const fr_type type, const uint8_t *p) {
    if (type == FR_TYPE_F32) return _mm512_load_ps((const void *)p);
    if (type == FR_TYPE_F16) return fr_load_f16(p);
    const __m256i b = _mm256_load_si256((const void *)p);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(b), 16));
}

FR_INLINE void float_tile(const fr_type type, const int rows, const uint8_t *panel, const fr_act *a,
                          int r0, int ldy, float *y, __mmask16 lanes) {
    const int step = float_bytes(type);
    const float *x[FR_TILE];
    __m512 sum[FR_TILE];
    FR_UNROLL
    for (int c = 0; c < rows; c++) {
        x[c] = a->x + (size_t)(r0 + c) * (size_t)a->ldx;
        sum[c] = _mm512_setzero_ps();
    }
    for (int k = 0; k < a->k; k++, panel += step) {
        if (r0 == 0 && (k & 3) == 0) fr_stream_ahead(panel, 4 * step);
        const __m512 w = float_weights(type, panel);
        FR_UNROLL
        for (int c = 0; c < rows; c++)
            sum[c] = _mm512_fmadd_ps(w, _mm512_set1_ps(x[c][k]), sum[c]);
    }
    store_tile(rows, sum, y, ldy, lanes);
}

// ------------------------------------------------------------------ drivers
FR_INLINE void matmul(tile_fn *const *tiles, float *y, int ldy, const fr_act *a, const fr_matrix *w,
                      int p0, int p1) {
    for (int p = p0; p < p1; p++) {
        const uint8_t *panel = w->panels + (size_t)p * w->panel_bytes;
        const __mmask16 lanes = fr_panel_lanes(w, p);
        for (int r = 0, width; r < a->n; r += width) {
            width = fr_tile_width(r, a->n);
            tiles[width - 1](panel, a, r, ldy, y + (size_t)r * (size_t)ldy + (size_t)p * FR_PANEL,
                             lanes);
        }
    }
}

// fr_matmul_<name>_avx512 and its tile functions.
#define TILE(kind, name, type, width)                                                              \
    static void name##_tile_##width(const uint8_t *panel, const fr_act *a, int r0, int ldy,        \
                                    float *y, __mmask16 lanes) {                                   \
        kind##_tile(type, width, panel, a, r0, ldy, y, lanes);                                     \
    }
// clang-format off
#define KERNEL(kind, name, type)                                                                   \
    TILE(kind, name, type, 1) TILE(kind, name, type, 2) TILE(kind, name, type, 3)                  \
    TILE(kind, name, type, 4) TILE(kind, name, type, 5) TILE(kind, name, type, 6)                  \
    TILE(kind, name, type, 7) TILE(kind, name, type, 8)                                            \
    void fr_matmul_##name##_avx512(float *y, int ldy, const fr_act *a, const fr_matrix *w, int p0, \
                                   int p1) {                                                       \
        static tile_fn *const tiles[FR_TILE] = {                                                   \
            name##_tile_1, name##_tile_2, name##_tile_3, name##_tile_4,                            \
            name##_tile_5, name##_tile_6, name##_tile_7, name##_tile_8};                           \
        matmul(tiles, y, ldy, a, w, p0, p1);                                                       \
    }
// clang-format on

KERNEL(b32, q4_0, FR_TYPE_Q4_0)
KERNEL(b32, q4_1, FR_TYPE_Q4_1)
KERNEL(b32, q5_0, FR_TYPE_Q5_0)
KERNEL(b32, q5_1, FR_TYPE_Q5_1)
KERNEL(b32, q8_0, FR_TYPE_Q8_0)
KERNEL(b32, iq4_nl, FR_TYPE_IQ4_NL)
KERNEL(float, f32, FR_TYPE_F32)
KERNEL(float, f16, FR_TYPE_F16)
KERNEL(float, bf16, FR_TYPE_BF16)
