// attend.h — what the kinds of K and V share, each an attend_*.c.
#ifndef FR_KERN_AVX512_ATTEND_H
#define FR_KERN_AVX512_ATTEND_H
#include "kern/avx512/avx512.h"
#include "kern/avx512/isa.h"
#include "kern/query_block.h"

extern const fr_query_keys fr_keys_f16_avx512, fr_keys_q8_0_avx512;
extern const fr_query_values fr_values_f16_avx512, fr_values_q8_0_avx512;

// Step i of a tile prefetches its part of what is read next. A single row does not: it has too
// little work to hide that. With many vectors the next data would fill the first cache, so they go
// to the second one.
FR_INLINE void fr_query_ask(const int rows, const int vectors, const fr_query_block *w, int i) {
    const char *p = w->next + i * w->next_step;
    if (rows == 1) return;
    if (vectors > 4) {
        _mm_prefetch(p, _MM_HINT_T1);
        _mm_prefetch(p + 64, _MM_HINT_T1);
    } else {
        _mm_prefetch(p, _MM_HINT_T0);
        _mm_prefetch(p + 64, _MM_HINT_T0);
    }
}

// What 16 numbers are stored as.
typedef enum fr_query_form { FR_QUERY_F16, FR_QUERY_F32, FR_QUERY_F16_CUT } fr_query_form;

FR_INLINE __m512 fr_query_load(const fr_query_form form, const char *y, __mmask16 lanes) {
    return form == FR_QUERY_F32   ? _mm512_loadu_ps(y)
           : form == FR_QUERY_F16 ? fr_load_f16(y)
                                  : _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, y));
}

// acc[r][j] += x[r][i] * vector j of y at step i, i ascending: n steps of `step` bytes, vectors
// `apart` bytes from one another. Up to four vectors stay in registers while the factors pass; else
// the factors stay.
FR_INLINE void fr_query_products(__m512 (*acc)[8], const int rows, const int vectors,
                                 const fr_query_form form, const fr_query_block *w,
                                 const float *const *x, int n, const char *y, size_t step,
                                 size_t apart, __mmask16 lanes) {
    for (int i = 0; i < n; i++, y += step) {
        fr_query_ask(rows, vectors, w, i);
        __m512 kept[4], one;
        if (vectors <= 4) {
            FR_UNROLL
            for (int j = 0; j < vectors; j++)
                kept[j] = fr_query_load(form, y + (size_t)j * apart, lanes);
            FR_UNROLL
            for (int r = 0; r < rows; r++) {
                one = _mm512_set1_ps(x[r][i]);
                FR_PIN(one);
                FR_UNROLL
                for (int j = 0; j < vectors; j++)
                    acc[r][j] = _mm512_fmadd_ps(one, kept[j], acc[r][j]);
            }
            continue;
        }
        FR_UNROLL
        for (int r = 0; r < rows; r++) {
            kept[r] = _mm512_set1_ps(x[r][i]);
            FR_PIN(kept[r]);
        }
        FR_UNROLL
        for (int j = 0; j < vectors; j++) {
            one = fr_query_load(form, y + (size_t)j * apart, lanes);
            FR_UNROLL
            for (int r = 0; r < rows; r++)
                acc[r][j] = _mm512_fmadd_ps(kept[r], one, acc[r][j]);
        }
    }
}

// The outputs so far of some rows, and their weights from slot t on.
FR_INLINE void fr_query_begin(__m512 (*o)[8], const float **p, const int rows, const int parts,
                              const fr_query_block *w, int row, int t, int d) {
    const float *from = w->o + (size_t)row * w->width + d, *weights = fr_query_weights(w, row, t);
    FR_UNROLL
    for (int r = 0; r < rows; r++, from += w->width, weights += w->stride) {
        p[r] = weights;
        FR_UNROLL
        for (int j = 0; j < parts; j++)
            o[r][j] = _mm512_loadu_ps(from + 16 * j);
    }
}

FR_INLINE void fr_query_end(__m512 (*o)[8], const int rows, const int parts,
                            const fr_query_block *w, int row, int d) {
    float *to = w->o + (size_t)row * w->width + d;
    FR_UNROLL
    for (int r = 0; r < rows; r++, to += w->width) {
        FR_UNROLL
        for (int j = 0; j < parts; j++)
            _mm512_storeu_ps(to + 16 * j, o[r][j]);
    }
}

// Adds n values from slot t on: from y on, in steps of `step` bytes, vectors `apart` bytes from one
// another.
FR_INLINE void fr_query_sum(const int rows, const int parts, const fr_query_form form,
                            const fr_query_block *w, int row, int t, int n, int d, const void *y,
                            size_t step, size_t apart) {
    const float *p[FR_QUERY_TILE];
    __m512 o[FR_QUERY_TILE][8];
    fr_query_begin(o, p, rows, parts, w, row, t, d);
    fr_query_products(o, rows, parts, form, w, p, n, y, step, apart,
                      fr_lane_mask(w->job->head_dim - d));
    fr_query_end(o, rows, parts, w, row, d);
}

// The functions of constant size, from a file's own `name`, and their table.
#define FR_QUERY_SCORE(name, rows, blocks)                                                         \
    static void name##_##rows##_##blocks(const fr_query_block *w, int row, int t) {                \
        name(rows, blocks, w, row, t);                                                             \
    }
#define FR_QUERY_VALUE(name, rows, parts)                                                          \
    static void name##_##rows##_##parts(const fr_query_block *w, int row, int t, int n, int d) {   \
        name(rows, parts, w, row, t, n, d);                                                        \
    }
// clang-format off
#define FR_QUERY_SIZES(F, name) \
    F(name, 1, 1) F(name, 2, 1) F(name, 3, 1) F(name, 4, 1) F(name, 5, 1) F(name, 6, 1) \
    F(name, 1, 2) F(name, 2, 2) F(name, 3, 2) F(name, 4, 2) F(name, 5, 2) F(name, 6, 2) \
    F(name, 1, 4) F(name, 2, 4) F(name, 3, 4) F(name, 4, 4) F(name, 5, 4) F(name, 6, 4) \
    F(name, 1, 8) F(name, 2, 8) F(name, 3, 8)
#define FR_QUERY_TABLE(f) { \
    {f##_1_1, f##_1_2, f##_1_4, f##_1_8}, {f##_2_1, f##_2_2, f##_2_4, f##_2_8}, \
    {f##_3_1, f##_3_2, f##_3_4, f##_3_8}, \
    {f##_4_1, f##_4_2, f##_4_4}, {f##_5_1, f##_5_2, f##_5_4}, {f##_6_1, f##_6_2, f##_6_4}}
// clang-format on

#endif
