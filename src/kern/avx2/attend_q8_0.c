// K and V as int8 with a scale for 32: scores from integers, V becomes floats.
//
// Keys are lanes: eight dwords of four codes each. vpmaddubsw takes |k| and q with k's sign; one of
// its sums is all that int16 holds (2 * 127 * 127), so every group is widened at once: four
// operations for 32 products, half of what f32 takes on two FMA units.
#include "kern/avx2/attend.h"

typedef struct query { // of one row, in its place of w->query: 1.5 bytes a value at most
    float *d;
    int8_t *code;
} query;

static query query_of(const fr_query_block *w, int row) {
    float *d = w->query + (size_t)row * w->width;
    return (query){d, (int8_t *)(d + 3 * (w->job->head_dim / 32))};
}

static void prepare(const fr_query_block *w) {
    const int head_dim = w->job->head_dim, blocks = head_dim / 32;
    for (int r = 0; r < w->job->n_q; r++) {
        const query q = query_of(w, r);
        const fr_act act = {.kind = FR_ACT_Q32,
                            .n = 1,
                            .k = head_dim,
                            .q = q.code,
                            .d = q.d,
                            .ds = q.d + blocks,
                            .s = (int32_t *)(void *)(q.d + 2 * blocks)};
        fr_quantize_avx2(&act, w->job->q[r], head_dim, 0, blocks);
    }
}

// Scores of the rows from r0 on and eight keys; k: their codes, d: their scales, next: memory to
// prefetch meanwhile.
FR_INLINE void score_eight(const fr_query_block *w, int r0, int t, const int8_t *k,
                           const uint16_t *d, const char *next, const int rows) {
    query q[FR_QUERY_TILE];
    __m256 s[FR_QUERY_TILE];
    FR_UNROLL for (int r = 0; r < rows; r++) {
        q[r] = query_of(w, r0 + r);
        s[r] = _mm256_setzero_ps();
    }
    for (int b = 0; b < w->job->head_dim / 32; b++, d += FR_KV_BLOCK) {
        __m256i sum[FR_QUERY_TILE];
        FR_UNROLL for (int r = 0; r < rows; r++) sum[r] = _mm256_setzero_si256();
        FR_UNROLL for (int g = 0; g < 8; g++, k += 4 * FR_KV_BLOCK) {
            if (rows > 1) _mm_prefetch(next, _MM_HINT_T0);
            next += 2 * w->next_step;
            const __m256i key = _mm256_loadu_si256((const __m256i *)(const void *)k);
            const __m256i size = _mm256_abs_epi8(key);
            FR_UNROLL for (int r = 0; r < rows; r++) {
                const __m256i x = _mm256_castps_si256(
                    _mm256_broadcast_ss((const float *)(const void *)(q[r].code + 32 * b + 4 * g)));
                const __m256i two = _mm256_maddubs_epi16(size, _mm256_sign_epi8(x, key));
                sum[r] = _mm256_add_epi32(sum[r], _mm256_madd_epi16(two, _mm256_set1_epi16(1)));
                FR_PIN(sum[r]); // else gcc multiplies ahead and spills
            }
        }
        const __m256 dk = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)d));
        FR_UNROLL for (int r = 0; r < rows; r++) s[r] = _mm256_fmadd_ps(
            _mm256_mul_ps(_mm256_broadcast_ss(q[r].d + b), dk), _mm256_cvtepi32_ps(sum[r]), s[r]);
    }
    const __m256 scale = _mm256_set1_ps(w->job->scale);
    FR_UNROLL for (int r = 0; r < rows; r++)
        _mm256_storeu_ps(fr_query_weights(w, r0 + r, t), _mm256_mul_ps(s[r], scale));
}

FR_INLINE void score(const int rows, const fr_query_block *w, int row, int t) {
    const int head_dim = w->job->head_dim;
    const int8_t *k = (const int8_t *)fr_query_slot(w->job->k, FR_FORM_Q8_0, head_dim, t);
    const uint16_t *d = (const uint16_t *)(const void *)(k + FR_KV_BLOCK * head_dim);
    score_eight(w, row, t, k, d, w->next, rows);
    score_eight(w, row, t + 8, k + 32, d + 8, w->next + w->next_step * head_dim / 2, rows);
}

// ---------------------------------------------------------------- values
// 16 codes times the scale of their group.
FR_INLINE void load_pair(__m256 *x, const int8_t *code, const uint16_t *scale) {
    const __m256 d = _mm256_cvtph_ps(_mm_set1_epi16((short)*scale));
    FR_UNROLL for (int j = 0; j < 2; j++) {
        const __m128i c = _mm_loadl_epi64((const __m128i *)(const void *)(code + 8 * j));
        x[j] = _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(c)));
    }
}

static const int8_t *values_at(const fr_query_block *w, int t) {
    return (const int8_t *)fr_query_slot(w->job->v, FR_FORM_Q8_0, w->job->head_dim, t);
}

// A single tile converts the keys that it reads to floats; several tiles share the floats.
FR_INLINE void value(const int rows, const int pairs, const fr_query_block *w, int row, int t,
                     int n, int d) {
    const int head_dim = w->job->head_dim;
    const float *p[FR_QUERY_TILE];
    const char *next = w->next;
    __m256 o[FR_QUERY_TILE][8];
    fr_query_begin(o, p, rows, pairs, w, row, t, d);
    for (int i = 0; i < n;) {
        const int8_t *v = values_at(w, t + i), *code = v + d;
        const uint16_t *scale = (const uint16_t *)(const void *)(v + FR_KV_BLOCK * head_dim);
        for (const int end = n - i < FR_KV_BLOCK ? n : i + FR_KV_BLOCK; i < end; i++) {
            _mm_prefetch(next, _MM_HINT_T0);
            FR_UNROLL for (int j = 0; j < pairs; j++) {
                __m256 x[2];
                load_pair(x, code + 16 * j, scale + (d + 16 * j) / 32);
                FR_UNROLL for (int r = 0; r < rows; r++) {
                    const __m256 weight = _mm256_broadcast_ss(p[r] + i);
                    o[r][2 * j] = _mm256_fmadd_ps(weight, x[0], o[r][2 * j]);
                    o[r][2 * j + 1] = _mm256_fmadd_ps(weight, x[1], o[r][2 * j + 1]);
                }
            }
            code += head_dim;
            scale += head_dim / 32;
            next += w->next_step;
        }
    }
    fr_query_end(o, rows, pairs, w, row, d);
}

static void convert(const fr_query_block *w, int t, int n) {
    const int head_dim = w->job->head_dim;
    for (int i = t; i < t + n; i++) {
        const int8_t *v = values_at(w, i), *code = v + i % FR_KV_BLOCK * head_dim;
        const uint16_t *scale = (const uint16_t *)(const void *)(v + FR_KV_BLOCK * head_dim) +
                                i % FR_KV_BLOCK * (head_dim / 32);
        float *y = w->y + 16 * (i - t);
        for (int d = 0; d < head_dim; d += 16, y += w->y_vector) {
            __m256 x[2];
            load_pair(x, code + d, scale + d / 32);
            _mm256_store_ps(y, x[0]);
            _mm256_store_ps(y + 8, x[1]);
        }
    }
}

FR_INLINE void shared(const int rows, const int pairs, const fr_query_block *w, int row, int t,
                      int n, int d) {
    fr_query_sum(rows, pairs, FR_QUERY_F32, w, row, t, n, d, w->y + (size_t)(d / 16) * w->y_vector,
                 64, w->y_vector * sizeof(float), 0);
}

#define SCORE(rows)                                                                                \
    static void score##rows(const fr_query_block *w, int row, int t) {                             \
        score(rows, w, row, t);                                                                    \
    }
SCORE(1)
SCORE(2)
SCORE(3)
SCORE(4)
SCORE(5)
SCORE(6)
FR_QUERY_SIZES(FR_QUERY_VALUE, value)
FR_QUERY_SIZES(FR_QUERY_VALUE, shared)

const fr_query_keys fr_keys_q8_0_avx2 = {
    .form = FR_FORM_Q8_0,
    .prepare = prepare,
    .score = {{score1}, {score2}, {score3}, {score4}, {score5}, {score6}}};
const fr_query_values fr_values_q8_0_avx2 = {.form = FR_FORM_Q8_0,
                                             .value = FR_QUERY_TABLE(value),
                                             .convert = convert,
                                             .shared = FR_QUERY_TABLE(shared)};
