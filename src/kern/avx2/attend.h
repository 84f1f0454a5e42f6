// attend.h — what the kinds of K and V share, each an attend_*.c.
#ifndef FR_KERN_AVX2_ATTEND_H
#define FR_KERN_AVX2_ATTEND_H
#include "kern/avx2/avx2.h"
#include "kern/avx2/lanes.h"
#include "kern/query_block.h"

extern const fr_query_keys fr_keys_f16_avx2, fr_keys_q8_0_avx2;
extern const fr_query_values fr_values_f16_avx2, fr_values_q8_0_avx2;

// ---------------------------------------------------------------- products
// What a vector is stored as. CUT: only the first `left` numbers of the pair are there.
typedef enum fr_query_form { FR_QUERY_F32, FR_QUERY_F16, FR_QUERY_F16_CUT } fr_query_form;

FR_INLINE __m256 fr_query_load(const fr_query_form form, const char *y, int left) {
    if (form == FR_QUERY_F32) return _mm256_loadu_ps((const float *)(const void *)y);
    uint16_t cut[8] = {0};
    if (form == FR_QUERY_F16_CUT && left > 0) memcpy(cut, y, 2 * (size_t)(left < 8 ? left : 8));
    if (form == FR_QUERY_F16_CUT) y = (const char *)cut;
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)y));
}

// acc[r][j] += x[r][i] * vector j of y at step i, i ascending: n steps of `step` bytes, pairs of
// vectors `apart` bytes from one another. Sixteen registers hold twelve sums and either two vectors
// and one x, or three x and one vector: that decides which loop is outside.
FR_INLINE void fr_query_products(__m256 (*acc)[8], const int rows, const int pairs,
                                 const fr_query_form form, const fr_query_block *w,
                                 const float *const *x, int n, const char *y, size_t step,
                                 size_t apart, int left) {
    const size_t second = form == FR_QUERY_F32 ? 32 : 16; // vector of a pair
    const char *next = w->next;
    for (int i = 0; i < n; i++, y += step, next += w->next_step) {
        if (rows > 1) _mm_prefetch(next, _MM_HINT_T0); // one row has nothing that hides it
        if (rows > 3) {
            const __m256 y0 = fr_query_load(form, y, left);
            const __m256 y1 = fr_query_load(form, y + second, left - 8);
            FR_UNROLL for (int r = 0; r < rows; r++) {
                const __m256 xr = _mm256_broadcast_ss(x[r] + i);
                acc[r][0] = _mm256_fmadd_ps(xr, y0, acc[r][0]);
                acc[r][1] = _mm256_fmadd_ps(xr, y1, acc[r][1]);
            }
            continue;
        }
        __m256 xr[3];
        FR_UNROLL for (int r = 0; r < rows; r++) xr[r] = _mm256_broadcast_ss(x[r] + i);
        FR_UNROLL for (int j = 0; j < 2 * pairs; j++) {
            const __m256 yj =
                fr_query_load(form, y + (size_t)(j / 2) * apart + (j % 2) * second, left - 8 * j);
            FR_UNROLL for (int r = 0; r < rows; r++) acc[r][j] =
                _mm256_fmadd_ps(xr[r], yj, acc[r][j]);
        }
    }
}

// The outputs so far of some rows, and their weights from slot t on.
FR_INLINE void fr_query_begin(__m256 (*o)[8], const float **p, const int rows, const int pairs,
                              const fr_query_block *w, int row, int t, int d) {
    const float *from = w->o + (size_t)row * w->width + d, *weights = fr_query_weights(w, row, t);
    FR_UNROLL for (int r = 0; r < rows; r++, from += w->width, weights += w->stride) {
        p[r] = weights;
        FR_UNROLL for (int j = 0; j < 2 * pairs; j++) o[r][j] = _mm256_load_ps(from + 8 * j);
    }
}

FR_INLINE void fr_query_end(__m256 (*o)[8], const int rows, const int pairs,
                            const fr_query_block *w, int row, int d) {
    float *to = w->o + (size_t)row * w->width + d;
    FR_UNROLL for (int r = 0; r < rows; r++, to += w->width) {
        FR_UNROLL for (int j = 0; j < 2 * pairs; j++) _mm256_store_ps(to + 8 * j, o[r][j]);
    }
}

FR_INLINE void fr_query_sum(const int rows, const int pairs, const fr_query_form form,
                            const fr_query_block *w, int row, int t, int n, int d, const void *y,
                            size_t step, size_t apart, int left) {
    const float *p[FR_QUERY_TILE];
    __m256 o[FR_QUERY_TILE][8];
    fr_query_begin(o, p, rows, pairs, w, row, t, d);
    fr_query_products(o, rows, pairs, form, w, p, n, y, step, apart, left);
    fr_query_end(o, rows, pairs, w, row, d);
}

// ---------------------------------------------------------------- functions of constant size
// From a file's own `name`, and their table.
#define FR_QUERY_SCORE(name, rows, blocks)                                                         \
    static void name##_##rows##_##blocks(const fr_query_block *w, int row, int t) {                \
        name(rows, blocks, w, row, t);                                                             \
    }
#define FR_QUERY_VALUE(name, rows, pairs)                                                          \
    static void name##_##rows##_##pairs(const fr_query_block *w, int row, int t, int n, int d) {   \
        name(rows, pairs, w, row, t, n, d);                                                        \
    }
// clang-format off
#define FR_QUERY_SIZES(F, name) \
    F(name, 1, 1) F(name, 2, 1) F(name, 3, 1) F(name, 4, 1) F(name, 5, 1) F(name, 6, 1) \
    F(name, 1, 2) F(name, 2, 2) F(name, 3, 2) F(name, 1, 4)
#define FR_QUERY_TABLE(name) { \
    {name##_1_1, name##_1_2, name##_1_4}, {name##_2_1, name##_2_2}, {name##_3_1, name##_3_2}, \
    {name##_4_1}, {name##_5_1}, {name##_6_1}}
// clang-format on

#endif
