// K and V as f16, made floats in the tile.
#include "kern/avx2/attend.h"

FR_INLINE void score(const int rows, const int blocks, const fr_query_block *w, int row, int t) {
    const int head_dim = w->job->head_dim;
    const uint16_t *k = (const uint16_t *)w->job->k + (size_t)t * (size_t)head_dim;
    const float *q[FR_QUERY_TILE];
    __m256 s[FR_QUERY_TILE][8];
    FR_UNROLL for (int r = 0; r < rows; r++) {
        q[r] = w->job->q[row + r];
        FR_UNROLL for (int j = 0; j < 2 * blocks; j++) s[r][j] = _mm256_setzero_ps();
    }
    fr_query_products(s, rows, blocks, FR_QUERY_F16, w, q, head_dim, (const char *)k,
                      2 * FR_KV_BLOCK, (size_t)(2 * FR_KV_BLOCK * head_dim), 0);
    const __m256 scale = _mm256_set1_ps(w->job->scale);
    FR_UNROLL for (int r = 0; r < rows; r++) {
        float *p = fr_query_weights(w, row + r, t);
        FR_UNROLL for (int j = 0; j < 2 * blocks; j++)
            _mm256_storeu_ps(p + 8 * j, _mm256_mul_ps(s[r][j], scale));
    }
}

FR_INLINE void value(const int rows, const int pairs, const fr_query_block *w, int row, int t,
                     int n, int d) {
    const int head_dim = w->job->head_dim, left = head_dim - d;
    const size_t step = 2 * (size_t)head_dim;
    const char *v = (const char *)w->job->v + (size_t)t * step + 2 * (size_t)d;
    if (pairs == 1 && left < 16)
        fr_query_sum(rows, pairs, FR_QUERY_F16_CUT, w, row, t, n, d, v, step, 32, left);
    else
        fr_query_sum(rows, pairs, FR_QUERY_F16, w, row, t, n, d, v, step, 32, left);
}

FR_QUERY_SIZES(FR_QUERY_SCORE, score)
FR_QUERY_SIZES(FR_QUERY_VALUE, value)

const fr_query_keys fr_keys_f16_avx2 = {.form = FR_FORM_F16, .score = FR_QUERY_TABLE(score)};
const fr_query_values fr_values_f16_avx2 = {.form = FR_FORM_F16, .value = FR_QUERY_TABLE(value)};
