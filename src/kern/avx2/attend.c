// Attention of one KV head, in four phases that each run over the keys in order: scores, largest,
// weights and denominator, weighted sum of V.
//
// Bound by the FMA units. A block of keys (a chunk of values) becomes floats once for all rows of
// the call and stays in the first or second cache while tiles of up to six rows pass over it:
// twelve independent chains each. Both products are the same loop: y lies in pairs of vectors,
// [pair][step][16].
#include "kern/avx2/attend.h"
#include "kern/math.h"

// ---------------------------------------------------------------- products
// acc[r][j] += x[r][i] * vector j of y, i ascending. Sixteen registers hold twelve sums and either
// two vectors and one x, or three x and one vector: that decides which loop is outside.
FR_INLINE void add_products(__m256 (*acc)[8], const float *const *x, int i, const float *y,
                            size_t pair_step, const int rows, const int vectors) {
    if (rows > 3) {
        const __m256 y0 = _mm256_load_ps(y), y1 = _mm256_load_ps(y + 8);
        FR_UNROLL for (int r = 0; r < rows; r++) {
            const __m256 xr = _mm256_broadcast_ss(x[r] + i);
            acc[r][0] = _mm256_fmadd_ps(xr, y0, acc[r][0]);
            acc[r][1] = _mm256_fmadd_ps(xr, y1, acc[r][1]);
        }
        return;
    }
    FR_UNROLL for (int j = 0; j < vectors; j++) {
        const __m256 yj = _mm256_load_ps(y + (size_t)(j / 2) * pair_step + j % 2 * 8);
        FR_UNROLL for (int r = 0; r < rows; r++) acc[r][j] =
            _mm256_fmadd_ps(_mm256_broadcast_ss(x[r] + i), yj, acc[r][j]);
    }
}

// Scores of the rows from r0 on and the keys from slot t on that lie in w->y.
FR_INLINE void score_tile(const fr_band *w, int r0, int t, const int rows, const int vectors) {
    const int head_dim = w->job->head_dim;
    const float *q[FR_BAND_TILE];
    __m256 s[FR_BAND_TILE][8];
    FR_UNROLL for (int r = 0; r < rows; r++) {
        q[r] = w->job->q[r0 + r];
        FR_UNROLL for (int j = 0; j < vectors; j++) s[r][j] = _mm256_setzero_ps();
    }
    const int step = w->ahead_step * vectors / 2;
    for (int d = 0; d < head_dim; d++) {
        _mm_prefetch(w->ahead + d * step, _MM_HINT_T0);
        add_products(s, q, d, w->y + 16 * d, 16 * (size_t)head_dim, rows, vectors);
    }
    const __m256 scale = _mm256_set1_ps(w->job->scale);
    FR_UNROLL for (int r = 0; r < rows; r++) FR_UNROLL for (int j = 0; j < vectors; j++)
        _mm256_storeu_ps(fr_band_weights(w, r0 + r, t) + 8 * j, _mm256_mul_ps(s[r][j], scale));
}

// Adds `n` values from slot t on, which lie in w->y, to the columns from c on of the rows from r0.
FR_INLINE void sum_tile(const fr_band *w, int r0, int t, int n, int c, const int rows,
                        const int vectors) {
    const float *p[FR_BAND_TILE];
    float *out[FR_BAND_TILE];
    __m256 o[FR_BAND_TILE][8];
    FR_UNROLL for (int r = 0; r < rows; r++) {
        p[r] = fr_band_weights(w, r0 + r, t);
        out[r] = w->o + (size_t)(r0 + r) * w->width + c;
        FR_UNROLL for (int j = 0; j < vectors; j++) o[r][j] = _mm256_load_ps(out[r] + 8 * j);
    }
    const float *y = w->y + (size_t)c * (size_t)n;
    const char *next = w->ahead + (size_t)(c / 16 * n * w->ahead_step);
    const int step = w->ahead_step * vectors / 2;
    for (int i = 0; i < n; i++) {
        _mm_prefetch(next + i * step, _MM_HINT_T0);
        add_products(o, p, i, y + 16 * i, 16 * (size_t)n, rows, vectors);
    }
    FR_UNROLL for (int r = 0; r < rows; r++) FR_UNROLL for (int j = 0; j < vectors; j++)
        _mm256_store_ps(out[r] + 8 * j, o[r][j]);
}

// Few rows take two blocks of keys, or more columns, at once, so that there are chains enough.
FR_INLINE void score_rows(const fr_band *w, int r0, int t, int blocks, const int rows) {
    if (rows <= 3 && blocks == 2)
        score_tile(w, r0, t, rows, 4);
    else
        for (int b = 0; b < blocks; b++) {
            fr_band one = *w;
            one.y += (size_t)b * FR_KEY_BLOCK * (size_t)w->job->head_dim;
            score_tile(&one, r0, t + b * FR_KEY_BLOCK, rows, 2);
        }
}

FR_INLINE void sum_rows(const fr_band *w, int r0, int t, int n, const int rows) {
    const int vectors = rows > 3 ? 2 : rows == 1 ? 8 : 4;
    int c = 0;
    for (; c + 8 * vectors <= (int)w->width; c += 8 * vectors)
        sum_tile(w, r0, t, n, c, rows, vectors);
    for (; c < (int)w->width; c += 16)
        sum_tile(w, r0, t, n, c, rows, 2);
}

#define ROWS(rows)                                                                                 \
    static void score##rows(const fr_band *w, int r0, int t, int blocks) {                         \
        score_rows(w, r0, t, blocks, rows);                                                        \
    }                                                                                              \
    static void sum##rows(const fr_band *w, int r0, int t, int n) {                                \
        sum_rows(w, r0, t, n, rows);                                                               \
    }
ROWS(1)
ROWS(2)
ROWS(3)
ROWS(4)
ROWS(5)
ROWS(6)

void fr_band_score_floats(const fr_band *w, int t, int blocks) {
    static void (*const score[])(const fr_band *, int, int, int) = {score1, score2, score3,
                                                                    score4, score5, score6};
    for (int r = 0, n; r < w->job->n_q; r += n) {
        n = fr_band_tile(w, r);
        score[n - 1](w, r, t, blocks);
    }
}

void fr_band_sum_floats(const fr_band *w, int t, int n) {
    static void (*const sum[])(const fr_band *, int, int, int) = {sum1, sum2, sum3,
                                                                  sum4, sum5, sum6};
    for (int r = 0, rows; r < w->job->n_q; r += rows) {
        rows = fr_band_tile(w, r);
        sum[rows - 1](w, r, t, n);
    }
}

// ---------------------------------------------------------------- masks and weights
static void fill(float *p, int from, int to, float value) {
    for (int i = from; i < to; i++)
        p[i] = value;
}

// -inf for every slot that the row does not see, up to the end of the last key block.
static void hide(const fr_band *w, const fr_view *view, float *p) {
    const int committed = w->job->committed, begin = w->begin;
    const int padded = (w->end - begin + 15) & ~15;
    fill(p, 0, (view->first < committed ? view->first : committed) - begin, -__builtin_inff());
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256 nothing = _mm256_set1_ps(-__builtin_inff());
    float *s = p + committed - begin;
    for (int i = 0; i < w->end - committed; i += 8) { // may reach 7 beyond the end: p has room
        const int bits = (int)(view->scratch[i / 64] >> (i % 64) & 0xff);
        const __m256i own = _mm256_and_si256(_mm256_set1_epi32(bits), bit);
        const __m256 seen = _mm256_castsi256_ps(_mm256_cmpeq_epi32(own, bit));
        _mm256_storeu_ps(s + i, _mm256_blendv_ps(nothing, _mm256_loadu_ps(s + i), seen));
    }
    fill(p, w->end - begin, padded, -__builtin_inff());
}

static float largest(const float *p, int n) {
    __m256 a = _mm256_set1_ps(-__builtin_inff()), b = a;
    for (int i = 0; i < n; i += 16) {
        a = _mm256_max_ps(_mm256_loadu_ps(p + i), a);
        b = _mm256_max_ps(_mm256_loadu_ps(p + i + 8), b);
    }
    a = _mm256_max_ps(a, b);
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

// Scores to weights; returns the denominator. A committed slot is its own position, so a whole
// block of them adds lane by lane; the others follow one by one. What is hidden adds +0.
static float weigh(const fr_band *w, const fr_view *view, float *p) {
    const int n = w->end - w->begin, committed = w->job->committed - w->begin;
    const __m256 max = _mm256_set1_ps(largest(p, (n + 15) & ~15));
    __m256 low = _mm256_setzero_ps(), high = low;
    int i = 0;
    for (; i < n; i += 16) {
        const __m256 p0 = fr_exp8(_mm256_sub_ps(_mm256_loadu_ps(p + i), max));
        const __m256 p1 = fr_exp8(_mm256_sub_ps(_mm256_loadu_ps(p + i + 8), max));
        _mm256_storeu_ps(p + i, p0);
        _mm256_storeu_ps(p + i + 8, p1);
        if (i + 16 > committed) continue;
        low = _mm256_add_ps(low, p0);
        high = _mm256_add_ps(high, p1);
    }
    float lane[16];
    _mm256_storeu_ps(lane, low);
    _mm256_storeu_ps(lane + 8, high);
    const int rest = committed & ~15, last = committed < n ? committed : n;
    for (i = rest; i < last; i++)
        lane[i % 16] += p[i];
    for (i = committed; i < n; i++) {
        const int s = i - committed;
        if (view->scratch[s / 64] >> (s % 64) & 1) lane[w->job->pos[s] % 16] += p[i];
    }
    return fr_join16(_mm256_loadu_ps(lane), _mm256_loadu_ps(lane + 8));
}

// ---------------------------------------------------------------- the whole
// One past the last scratch slot that the row sees.
static int scratch_end(const fr_attend *job, const fr_view *view) {
    for (int i = (job->scratch - 1) / 64; i >= 0 && job->scratch; i--) {
        const int here = job->scratch - 64 * i; // bits of this word that name a slot
        const uint64_t valid = here >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << here) - 1;
        const uint64_t bits = view->scratch[i] & valid;
        if (bits) return 64 * i + 64 - __builtin_clzll(bits);
    }
    return 0;
}

static fr_band open_band(const fr_attend *job) {
    fr_band w = {.job = job, .begin = job->committed};
    int scratch = 0;
    for (int r = 0; r < job->n_q; r++) {
        const int end = scratch_end(job, job->view[r]);
        if (job->view[r]->first < w.begin) w.begin = job->view[r]->first;
        if (end > scratch) scratch = end;
    }
    w.begin &= ~(FR_KEY_BLOCK - 1);
    w.end = job->committed + scratch;
    w.width = ((size_t)job->head_dim + 15) & ~(size_t)15;
    w.chunk = FR_BAND_SHARED / (int)w.width > 16 ? FR_BAND_SHARED / (int)w.width : 16;
    w.stride = (((size_t)(job->committed + job->scratch) + 15) & ~(size_t)15) + 32;
    // Aligned pieces one after another, each a multiple of 64 bytes (fr_attend_work_floats).
    w.y = (float *)(((uintptr_t)job->work + 63) & ~(uintptr_t)63);
    w.o = w.y + (w.chunk * w.width > 32 * w.width ? w.chunk * w.width : 32 * w.width);
    w.query = w.o + FR_ATTEND_ROWS * w.width;
    w.p = w.query + FR_ATTEND_ROWS * w.width;
    return w;
}

void fr_attend_band(const fr_attend *job, const fr_band_reader *reader) {
    fr_band w = open_band(job);
    float denominator[FR_ATTEND_ROWS];
    if (reader->prepare) reader->prepare(&w);
    reader->scores(&w);
    for (int r = 0; r < job->n_q; r++) {
        float *p = fr_band_weights(&w, r, w.begin);
        hide(&w, job->view[r], p);
        denominator[r] = weigh(&w, job->view[r], p);
    }
    memset(w.o, 0, (size_t)job->n_q * w.width * sizeof *w.o);
    for (int t = w.begin; t < w.end; t += w.chunk) {
        const int n = w.end - t < w.chunk ? w.end - t : w.chunk;
        reader->values(&w, t, n);
        fr_band_sum_floats(&w, t, n);
    }
    for (int r = 0; r < job->n_q; r++) {
        float *o = w.o + (size_t)r * w.width;
        fr_scale_avx2(o, 1.0f / denominator[r], job->head_dim);
        memcpy(job->o[r], o, (size_t)job->head_dim * sizeof *o);
    }
}
