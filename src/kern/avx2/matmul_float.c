// matmul_float.c — products with F32, F16 and BF16 weights: one fma chain per output, k ascending.
//
// A chain waits four cycles for each fma, so a tile holds eight or more: one panel (two ymm) times
// 4 to 6 input rows, two panels times 2, or four panels times 1.
#include "kern/avx2/tile.h"

void fr_avx2_store_panel(float *y, int ldy, const float *tile, int n, int outputs) {
    for (int r = 0; r < n; r++, y += ldy, tile += 16) {
        if (outputs >= 16) {
            _mm256_storeu_ps(y, _mm256_load_ps(tile));
            _mm256_storeu_ps(y + 8, _mm256_load_ps(tile + 8));
        } else {
            for (int i = 0; i < outputs; i++)
                y[i] = tile[i];
        }
    }
}

FR_INLINE __m256 weights_of(fr_type t, const uint8_t *element, int h) {
    if (t == FR_TYPE_F32) return _mm256_load_ps((const float *)element + 8 * h);
    if (t == FR_TYPE_F16) return load_half(element + 16 * h);
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_load_si128((const __m128i *)(element + 16 * h)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

// `panels` panels from `panel` on, `columns` input rows from x on, into out[panel][column][16].
FR_INLINE void tile(fr_type t, int panels, int columns, const uint8_t *panel, size_t panel_bytes,
                    const float *x, int ldx, int k, float out[TILE][TILE][16], fr_stream *ahead) {
    const int step = t == FR_TYPE_F32 ? 64 : 32;
    __m256 acc[TILE][2]; // [panel or column]
    const int chains = panels * columns;
    fr_stream stream = *ahead;
    FR_UNROLL
    for (int i = 0; i < chains; i++)
        acc[i][0] = acc[i][1] = _mm256_setzero_ps();
    for (int i = 0; i < k; i++) {
        if (panels == 1) fr_ask(&stream); // several are streams that the hardware follows
        FR_UNROLL
        for (int p = 0; p < panels; p++) {
            const uint8_t *element = panel + (size_t)p * panel_bytes + (size_t)i * (size_t)step;
            const __m256 w0 = weights_of(t, element, 0), w1 = weights_of(t, element, 1);
            FR_UNROLL
            for (int c = 0; c < columns; c++) {
                const __m256 b = _mm256_broadcast_ss(x + (size_t)c * (size_t)ldx + (size_t)i);
                acc[p * columns + c][0] = _mm256_fmadd_ps(w0, b, acc[p * columns + c][0]);
                acc[p * columns + c][1] = _mm256_fmadd_ps(w1, b, acc[p * columns + c][1]);
            }
        }
    }
    ahead->at = stream.at;
    FR_UNROLL
    for (int i = 0; i < chains; i++) {
        _mm256_store_ps(out[i / columns][i % columns], acc[i][0]);
        _mm256_store_ps(out[i / columns][i % columns] + 8, acc[i][1]);
    }
}

FR_INLINE void matmul(fr_type t, float *y, int ldy, const fr_act *a, const fr_matrix *w, int p0,
                      int p1) {
    const int n_tiles = (a->n + TILE - 1) / TILE;
    _Alignas(64) float out[TILE][TILE][16];
    for (int p = p0, step; p < p1; p += step) {
        const uint8_t *panel = w->panels + (size_t)p * w->panel_bytes;
        step = a->n == 1 && p1 - p >= 4 ? 4 : a->n == 2 && p1 - p >= 2 ? 2 : 1;
        fr_stream stream = fr_stream_over(panel + AHEAD, w->panel_bytes, w->k * n_tiles);
        for (int i = 0, c = 0; i < n_tiles; i++) {
            const int next = a->n * (i + 1) / n_tiles, columns = next - c;
            const float *x = a->x + (size_t)c * (size_t)a->ldx;
            if (step == 4)
                tile(t, 4, 1, panel, w->panel_bytes, x, a->ldx, w->k, out, &stream);
            else if (step == 2)
                tile(t, 2, 2, panel, w->panel_bytes, x, a->ldx, w->k, out, &stream);
            else if (columns == 6)
                tile(t, 1, 6, panel, w->panel_bytes, x, a->ldx, w->k, out, &stream);
            else if (columns == 5)
                tile(t, 1, 5, panel, w->panel_bytes, x, a->ldx, w->k, out, &stream);
            else if (columns == 4)
                tile(t, 1, 4, panel, w->panel_bytes, x, a->ldx, w->k, out, &stream);
            else if (columns == 3)
                tile(t, 1, 3, panel, w->panel_bytes, x, a->ldx, w->k, out, &stream);
            else if (columns == 2)
                tile(t, 1, 2, panel, w->panel_bytes, x, a->ldx, w->k, out, &stream);
            else
                tile(t, 1, 1, panel, w->panel_bytes, x, a->ldx, w->k, out, &stream);
            for (int j = 0; j < step; j++)
                fr_avx2_store_panel(y + (size_t)c * (size_t)ldy + 16 * (size_t)(p + j), ldy,
                                    out[j][0], columns, w->m - 16 * (p + j));
            c = next;
        }
    }
}

#define MATMUL(name, type)                                                                         \
    void fr_matmul_##name##_avx2(float *y, int ldy, const fr_act *a, const fr_matrix *w, int p0,   \
                                 int p1) {                                                         \
        matmul(type, y, ldy, a, w, p0, p1);                                                        \
    }
// clang-format off
MATMUL(f32, FR_TYPE_F32)
MATMUL(f16, FR_TYPE_F16)
MATMUL(bf16, FR_TYPE_BF16)
// clang-format on
