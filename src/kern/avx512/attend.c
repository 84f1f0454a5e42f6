// attend.c — attention of one KV head by tiles of up to 8 query rows, AVX-512.
//
// Scores: lanes are keys. Output: lanes are d, one chain over keys each.
#include "kern/avx512/attend.h"
#include "kern/avx512/lanes.h"
#include "kern/avx512/tile.h"
#include <math.h>

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
static float weigh(const fr_attend_tile *t, int r) {
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

// ------------------------------------------------------------------ the whole
// The slots that some row of the tile sees lie in [start, end).
static void find_range(fr_attend_tile *t) {
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

static void attend_tile(fr_attend_tile *t, const fr_attend_reader *read) {
    const int i = t->rows - 1, head_dim = t->job->head_dim;
    int slot = t->start;
    if (read->prepare) read->prepare(t);
    for (const int many = 16 * read->scores[i].blocks; slot + many <= t->end; slot += many)
        read->scores[i].many(t, slot);
    for (; slot < t->end; slot += 16)
        read->scores[i].one(t, slot);
    float inverse[FR_ATTEND_TILE];
    for (int r = 0; r < t->rows; r++)
        inverse[r] = weigh(t, r);
    for (int d = 0, parts; d < head_dim; d += 16 * parts) {
        int size = 3;
        while (size && (!read->values[i][size] || head_dim - d < 16 << size))
            size--;
        parts = 1 << size;
        read->values[i][size](t, d, fr_lanes(head_dim - d), inverse);
    }
}

void fr_attend_tiles(const fr_attend *job, const fr_attend_reader *read) {
    const size_t stride = ((size_t)(job->committed + job->scratch) + 15) / 16 * 16;
    for (int row = 0; row < job->n_q;) {
        fr_attend_tile t = {.job = job,
                            .row0 = row,
                            .rows = fr_tile_width(row, job->n_q),
                            .stride = stride,
                            .p = job->work,
                            .query = job->work + FR_ATTEND_TILE * stride};
        find_range(&t);
        attend_tile(&t, read);
        row += t.rows;
    }
}
