// K and V as f16, made floats in the tile: beside six rows that costs nothing.
#include "kern/avx512/attend.h"

FR_INLINE void score(const int rows, const int blocks, const fr_query_block *w, int row, int t) {
    const int head_dim = w->job->head_dim;
    const uint16_t *k = (const uint16_t *)w->job->k + (size_t)t * (size_t)head_dim;
    const float *q[FR_QUERY_TILE];
    __m512 s[FR_QUERY_TILE][8];
    FR_UNROLL
    for (int r = 0; r < rows; r++) {
        q[r] = w->job->q[row + r];
        FR_UNROLL
        for (int b = 0; b < blocks; b++)
            s[r][b] = _mm512_setzero_ps();
    }
    fr_query_products(s, rows, blocks, FR_QUERY_F16, w, q, head_dim, (const char *)k,
                      2 * FR_KV_BLOCK, (size_t)(2 * FR_KV_BLOCK * head_dim), 0);
    const __m512 scale = _mm512_set1_ps(w->job->scale);
    FR_UNROLL
    for (int r = 0; r < rows; r++) {
        float *p = fr_query_weights(w, row + r, t);
        FR_UNROLL
        for (int b = 0; b < blocks; b++)
            _mm512_storeu_ps(p + 16 * b, _mm512_mul_ps(s[r][b], scale));
    }
}

FR_INLINE void value(const int rows, const int parts, const fr_query_block *w, int row, int t,
                     int n, int d) {
    const size_t head_dim = (size_t)w->job->head_dim;
    const uint16_t *v = (const uint16_t *)w->job->v + (size_t)t * head_dim + (size_t)d;
    fr_query_sum(rows, parts, parts == 1 ? FR_QUERY_F16_CUT : FR_QUERY_F16, w, row, t, n, d, v,
                 2 * head_dim, 32);
}

FR_QUERY_SIZES(FR_QUERY_SCORE, score)
FR_QUERY_SIZES(FR_QUERY_VALUE, value)

const fr_query_keys fr_keys_f16_avx512 = {.form = FR_FORM_F16, .score = FR_QUERY_TABLE(score)};
const fr_query_values fr_values_f16_avx512 = {.form = FR_FORM_F16, .value = FR_QUERY_TABLE(value)};
