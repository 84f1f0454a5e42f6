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

static query query_of(const fr_band *w, int row) {
    float *d = w->query + (size_t)row * w->width;
    return (query){d, (int8_t *)(d + 3 * (w->job->head_dim / 32))};
}

static void prepare(const fr_band *w) {
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

// Scores of the rows from r0 on and eight keys; k: their codes, d: their scales.
FR_INLINE void score_eight(const fr_band *w, int r0, int t, const int8_t *k, const uint16_t *d,
                           const int rows) {
    query q[FR_BAND_TILE];
    __m256 s[FR_BAND_TILE];
    FR_UNROLL for (int r = 0; r < rows; r++) {
        q[r] = query_of(w, r0 + r);
        s[r] = _mm256_setzero_ps();
    }
    for (int b = 0; b < w->job->head_dim / 32; b++, d += FR_KEY_BLOCK) {
        __m256i sum[FR_BAND_TILE];
        FR_UNROLL for (int r = 0; r < rows; r++) sum[r] = _mm256_setzero_si256();
        FR_UNROLL for (int g = 0; g < 8; g++, k += 4 * FR_KEY_BLOCK) {
            const __m256i key = _mm256_loadu_si256((const __m256i *)(const void *)k);
            const __m256i size = _mm256_abs_epi8(key);
            FR_UNROLL for (int r = 0; r < rows; r++) {
                const __m256i x = _mm256_castps_si256(
                    _mm256_broadcast_ss((const float *)(const void *)(q[r].code + 32 * b + 4 * g)));
                const __m256i two = _mm256_maddubs_epi16(size, _mm256_sign_epi8(x, key));
                sum[r] = _mm256_add_epi32(sum[r], _mm256_madd_epi16(two, _mm256_set1_epi16(1)));
                __asm__ volatile("" : "+x"(sum[r])); // else gcc multiplies ahead and spills
            }
        }
        const __m256 dk = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)d));
        FR_UNROLL for (int r = 0; r < rows; r++) s[r] = _mm256_fmadd_ps(
            _mm256_mul_ps(_mm256_broadcast_ss(q[r].d + b), dk), _mm256_cvtepi32_ps(sum[r]), s[r]);
    }
    const __m256 scale = _mm256_set1_ps(w->job->scale);
    FR_UNROLL for (int r = 0; r < rows; r++)
        _mm256_storeu_ps(fr_band_weights(w, r0 + r, t), _mm256_mul_ps(s[r], scale));
}

FR_INLINE void score_block(const fr_band *w, int r0, int t, const int rows) {
    const int head_dim = w->job->head_dim;
    const int8_t *k = (const int8_t *)w->job->k +
                      (size_t)(t / FR_KEY_BLOCK) * fr_kv_block_bytes(FR_KV_Q8_0, head_dim);
    const uint16_t *d = (const uint16_t *)(const void *)(k + FR_KEY_BLOCK * head_dim);
    score_eight(w, r0, t, k, d, rows);
    score_eight(w, r0, t + 8, k + 32, d + 8, rows);
}

#define ROWS(rows)                                                                                 \
    static void score##rows(const fr_band *w, int r0, int t) {                                     \
        score_block(w, r0, t, rows);                                                               \
    }
ROWS(1)
ROWS(2)
ROWS(3)
ROWS(4)
ROWS(5)
ROWS(6)

static void scores(fr_band *w) {
    static void (*const score[])(const fr_band *, int, int) = {score1, score2, score3,
                                                               score4, score5, score6};
    for (int t = w->begin; t < w->end; t += FR_KEY_BLOCK)
        for (int r = 0, n; r < w->job->n_q; r += n) {
            n = fr_band_tile(w, r);
            score[n - 1](w, r, t);
        }
}

FR_INLINE void store8(float *y, const int8_t *code, __m256 d) {
    const __m256i c = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)code));
    _mm256_store_ps(y, _mm256_mul_ps(d, _mm256_cvtepi32_ps(c)));
}

static void values(fr_band *w, int t, int n) {
    const int head_dim = w->job->head_dim, scales = head_dim / 32;
    const size_t block_bytes = fr_kv_block_bytes(FR_KV_Q8_0, head_dim);
    for (int i = 0; i < n; i++) {
        const int lane = (t + i) % FR_KEY_BLOCK;
        const int8_t *block =
            (const int8_t *)w->job->v + (size_t)((t + i) / FR_KEY_BLOCK) * block_bytes;
        const int8_t *v = block + lane * head_dim;
        const uint16_t *d =
            (const uint16_t *)(const void *)(block + FR_KEY_BLOCK * head_dim) + lane * scales;
        float *y = w->y + 16 * i;
        for (int b = 0; b < scales; b++, v += 32, y += (size_t)(32 * n)) {
            const __m256 scale = _mm256_cvtph_ps(_mm_set1_epi16((short)d[b]));
            store8(y, v, scale);
            store8(y + 8, v + 8, scale);
            store8(y + 16 * n, v + 16, scale);
            store8(y + 16 * n + 8, v + 24, scale);
        }
    }
    w->ahead = (const char *)w->job->v + (size_t)((t + n) / FR_KEY_BLOCK) * block_bytes;
    w->ahead_step = 17;
}

void fr_attend_q8_0_avx2(const fr_attend *job) {
    fr_attend_band(job, &(fr_band_reader){.prepare = prepare, .scores = scores, .values = values});
}
