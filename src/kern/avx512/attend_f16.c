// K and V as f16. A block of keys is converted once for all rows of the tile. Bound by the two FMA
// ports from 8 accumulators on; with fewer rows, more key blocks (or more of d) fill the tile.
#include "kern/avx512/attend.h"

// Scores of `rows` rows and `blocks` blocks of 16 keys from `slot` on.
FR_INLINE void score(const int rows, const int blocks, const fr_attend_tile *t, int slot) {
    const int head_dim = t->job->head_dim;
    const size_t block = (size_t)head_dim * FR_KEY_BLOCK; // halves of a key block
    const uint16_t *k = (const uint16_t *)t->job->k + (size_t)slot * (size_t)head_dim;
    const float *q[FR_ATTEND_TILE];
    __m512 s[16];
    FR_UNROLL
    for (int r = 0; r < rows; r++)
        q[r] = t->job->q[t->row0 + r];
    FR_UNROLL
    for (int i = 0; i < rows * blocks; i++)
        s[i] = _mm512_setzero_ps();
    for (int d = 0; d < head_dim; d++, k += FR_KEY_BLOCK) {
        FR_UNROLL
        for (int b = 0; b < blocks; b++) {
            const __m512 key = fr_load_f16(k + (size_t)b * block);
            FR_UNROLL
            for (int r = 0; r < rows; r++)
                s[b * rows + r] = _mm512_fmadd_ps(_mm512_set1_ps(q[r][d]), key, s[b * rows + r]);
        }
    }
    const __m512 scale = _mm512_set1_ps(t->job->scale);
    FR_UNROLL
    for (int r = 0; r < rows; r++) {
        FR_UNROLL
        for (int b = 0; b < blocks; b++)
            _mm512_storeu_ps(t->p + (size_t)r * t->stride + slot + 16 * b,
                             _mm512_mul_ps(s[b * rows + r], scale));
    }
}

// `parts` vectors of the output from d on; `lanes` cuts the last one where parts is 1.
FR_INLINE void value(const int rows, const int parts, const fr_attend_tile *t, int d,
                     __mmask16 lanes, const float *inverse) {
    const size_t head_dim = (size_t)t->job->head_dim;
    const uint16_t *v = (const uint16_t *)t->job->v + (size_t)t->start * head_dim + (size_t)d;
    const float *p = t->p + t->start;
    __m512 o[16];
    FR_UNROLL
    for (int i = 0; i < rows * parts; i++)
        o[i] = _mm512_setzero_ps();
    for (int slot = t->start; slot < t->end; slot++, v += head_dim, p++) {
        __m512 x[8];
        FR_UNROLL
        for (int i = 0; i < parts; i++)
            x[i] = parts == 1 ? _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, v))
                              : fr_load_f16(v + 16 * i);
        FR_UNROLL
        for (int r = 0; r < rows; r++) {
            const __m512 weight = _mm512_set1_ps(p[(size_t)r * t->stride]);
            FR_UNROLL
            for (int i = 0; i < parts; i++)
                o[r * parts + i] = _mm512_fmadd_ps(weight, x[i], o[r * parts + i]);
        }
    }
    FR_UNROLL
    for (int r = 0; r < rows; r++) {
        float *out = t->job->o[t->row0 + r] + d;
        const __m512 factor = _mm512_set1_ps(inverse[r]);
        FR_UNROLL
        for (int i = 0; i < parts; i++)
            _mm512_mask_storeu_ps(out + 16 * i, lanes, _mm512_mul_ps(o[r * parts + i], factor));
    }
}

FR_ATTEND_FUNCTIONS

void fr_attend_f16_avx512(const fr_attend *job) {
    static const fr_attend_reader read = {.scores = FR_ATTEND_SCORES, .values = FR_ATTEND_VALUES};
    fr_attend_tiles(job, &read);
}
