// attend.c — attention of up to 8 query rows over one KV head, AVX-512.
//
// Scores: lanes are keys, one chain over d each; a block of keys is converted once for all rows of
// the tile. Output: lanes are d, one chain over keys each. Both are bound by the two FMA ports from
// 8 accumulators on; with fewer rows, more key blocks (or more of d) fill the tile.
#include "kern/avx512/avx512.h"
#include "kern/avx512/lanes.h"
#include "kern/avx512/tile.h"
#include <math.h>

// One tile of query rows: p points to rows of `stride` weights, slots [start, end) count.
typedef struct tile {
    const fr_attend *job;
    int row0, rows;
    int start, end; // start: a multiple of 16
    size_t stride;
    float *p;
} tile;

// ------------------------------------------------------------------ scores
typedef void score_fn(const tile *t, int slot);

// Scores of `rows` rows and `blocks` blocks of 16 keys from `slot` on.
FR_INLINE void score(const int rows, const int blocks, const tile *t, int slot) {
    const int head_dim = t->job->head_dim;
    const size_t block = (size_t)head_dim * FR_KEY_BLOCK; // halves of a key block
    const uint16_t *k = t->job->k + (size_t)slot * (size_t)head_dim;
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

// ------------------------------------------------------------------ weights
// Which of the slots base..base+15 a row sees: bit i = slot base + i.
static __mmask16 visible(const fr_view *view, int committed, int base) {
    const int low = view->first > base ? view->first - base : 0;
    const int high = committed - base < 16 ? committed - base : 16;
    uint32_t bits = 0;
    if (high > low) bits = (1u << high) - (1u << low);
    const int i = base - committed; // of the first slot among the scratch slots
    if (i <= -16) return (__mmask16)bits;
    if (i < 0) return (__mmask16)(bits | (uint32_t)(view->scratch[0] << -i));
    uint64_t word = view->scratch[i / 64] >> (i % 64);
    if (i % 64 > 48 && i / 64 + 1 < FR_MAX_SCRATCH / 64)
        word |= view->scratch[i / 64 + 1] << (64 - i % 64);
    return (__mmask16)(bits | (uint32_t)word);
}

FR_INLINE float largest(__m512 m) {
    const __m256 h = _mm256_max_ps(_mm512_castps512_ps256(m), _mm512_extractf32x8_ps(m, 1));
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}

// Row r's scores become weights, exactly +0 where it sees nothing; returns 1 / denominator.
static float weigh(const tile *t, int r) {
    const fr_attend *job = t->job;
    const fr_view *view = job->view[t->row0 + r];
    float *p = t->p + (size_t)r * t->stride;
    __m512 m = _mm512_set1_ps(-INFINITY);
    for (int slot = t->start; slot < t->end; slot += 16)
        m = _mm512_mask_max_ps(m, visible(view, job->committed, slot), _mm512_loadu_ps(p + slot),
                               m);
    const __m512 top = _mm512_set1_ps(largest(m));
    __m512 sum = _mm512_setzero_ps(); // lane = slot % 16 = position % 16, committed slots only
    for (int slot = t->start; slot < t->end; slot += 16) {
        const __m512 e = fr_exp16(_mm512_sub_ps(_mm512_loadu_ps(p + slot), top));
        const __m512 weight = _mm512_maskz_mov_ps(visible(view, job->committed, slot), e);
        _mm512_storeu_ps(p + slot, weight);
        const int left = job->committed - slot;
        if (left > 0) sum = _mm512_add_ps(sum, _mm512_maskz_mov_ps(fr_lanes(left), weight));
    }
    _Alignas(64) float lanes[16];
    _mm512_store_ps(lanes, sum);
    for (int word = 0; word < FR_MAX_SCRATCH / 64; word++)
        for (uint64_t bits = view->scratch[word]; bits; bits &= bits - 1) {
            const int i = 64 * word + __builtin_ctzll(bits);
            lanes[job->pos[i] % 16] += p[job->committed + i];
        }
    return 1.0f / fr_join_lanes(_mm512_load_ps(lanes));
}

// ------------------------------------------------------------------ output
typedef void value_fn(const tile *t, int d, __mmask16 lanes, const float *inverse);

// `parts` vectors of the output from d on; `lanes` cuts the last one where parts is 1.
FR_INLINE void value(const int rows, const int parts, const tile *t, int d, __mmask16 lanes,
                     const float *inverse) {
    const size_t head_dim = (size_t)t->job->head_dim;
    const uint16_t *v = t->job->v + (size_t)t->start * head_dim + (size_t)d;
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

// ------------------------------------------------------------------ tiles of constant size
#define SCORE(rows, blocks)                                                                        \
    static void score_##rows##_##blocks(const tile *t, int slot) {                                 \
        score(rows, blocks, t, slot);                                                              \
    }
#define VALUE(rows, parts)                                                                         \
    static void value_##rows##_##parts(const tile *t, int d, __mmask16 lanes,                      \
                                       const float *inverse) {                                     \
        value(rows, parts, t, d, lanes, inverse);                                                  \
    }
// clang-format off
SCORE(1, 1) SCORE(2, 1) SCORE(3, 1) SCORE(4, 1) SCORE(5, 1) SCORE(6, 1) SCORE(7, 1) SCORE(8, 1)
SCORE(1, 8) SCORE(2, 4) SCORE(3, 4) SCORE(4, 2) SCORE(5, 2) SCORE(6, 2) SCORE(7, 2) SCORE(8, 2)
VALUE(1, 1) VALUE(2, 1) VALUE(3, 1) VALUE(4, 1) VALUE(5, 1) VALUE(6, 1) VALUE(7, 1) VALUE(8, 1)
VALUE(1, 2) VALUE(2, 2) VALUE(3, 2) VALUE(4, 2) VALUE(5, 2) VALUE(6, 2) VALUE(7, 2) VALUE(8, 2)
VALUE(1, 4) VALUE(2, 4) VALUE(3, 4) VALUE(4, 4)
VALUE(1, 8) VALUE(2, 8)

static const struct { // by rows - 1: one block of keys, and as many as fill the registers
    score_fn *one, *many;
    int blocks;
} scores[FR_ATTEND_TILE] = {
    {score_1_1, score_1_8, 8}, {score_2_1, score_2_4, 4}, {score_3_1, score_3_4, 4}, {score_4_1, score_4_2, 2},
    {score_5_1, score_5_2, 2}, {score_6_1, score_6_2, 2}, {score_7_1, score_7_2, 2}, {score_8_1, score_8_2, 2},
};
static value_fn *const values[FR_ATTEND_TILE][4] = { // by rows - 1 and log2 of the parts
    {value_1_1, value_1_2, value_1_4, value_1_8}, {value_2_1, value_2_2, value_2_4, value_2_8},
    {value_3_1, value_3_2, value_3_4, NULL},      {value_4_1, value_4_2, value_4_4, NULL},
    {value_5_1, value_5_2, NULL, NULL},           {value_6_1, value_6_2, NULL, NULL},
    {value_7_1, value_7_2, NULL, NULL},           {value_8_1, value_8_2, NULL, NULL},
};
// clang-format on

// The slots that some row of the tile sees lie in [start, end).
static void find_range(tile *t) {
    const fr_attend *job = t->job;
    uint64_t seen[FR_MAX_SCRATCH / 64] = {0};
    int first = job->committed, end = 0;
    for (int r = t->row0; r < t->row0 + t->rows; r++) {
        if (job->view[r]->first < first) first = job->view[r]->first;
        for (int i = 0; i < FR_MAX_SCRATCH / 64; i++)
            seen[i] |= job->view[r]->scratch[i];
    }
    for (int i = 0; i < FR_MAX_SCRATCH / 64; i++)
        if (seen[i]) end = 64 * i + 64 - __builtin_clzll(seen[i]);
    t->start = first / 16 * 16;
    t->end = job->committed + end;
}

void fr_attend_avx512(const fr_attend *job) {
    const size_t stride = ((size_t)(job->committed + job->scratch) + 15) / 16 * 16;
    for (int row = 0, width; row < job->n_q; row += width) {
        width = fr_tile_width(row, job->n_q);
        tile t = {.job = job, .row0 = row, .rows = width, .stride = stride, .p = job->work};
        find_range(&t);
        int slot = t.start;
        for (const int many = 16 * scores[width - 1].blocks; slot + many <= t.end; slot += many)
            scores[width - 1].many(&t, slot);
        for (; slot < t.end; slot += 16)
            scores[width - 1].one(&t, slot);
        float inverse[FR_ATTEND_TILE];
        for (int r = 0; r < width; r++)
            inverse[r] = weigh(&t, r);
        for (int d = 0, parts; d < job->head_dim; d += 16 * parts) {
            const int left = job->head_dim - d;
            int size = 3;
            while (size && (!values[width - 1][size] || left < 16 << size))
                size--;
            parts = 1 << size;
            values[width - 1][size](&t, d, fr_lanes(left), inverse);
        }
    }
}
