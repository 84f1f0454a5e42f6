// Attention of one KV head, up to TILE query rows together, in four phases that each run over the
// keys in order: scores, largest, weights and denominator, weighted sum of V.
//
// Bound by the FMA units (80 to 87 % of their peak from three rows on): a tile of six rows has 12
// independent chains and converts each K and V value once for all rows. Fewer rows take more key
// blocks (columns of V) at once instead, so that there are always eight chains or more to hide the
// latency of an FMA; one row alone is bound by the conversions.
#include "kern/avx2/avx2.h"
#include "kern/avx2/lanes.h"
#include "kern/math.h"

enum {
    TILE = 6,              // query rows together
    CHUNK_VALUES = 8 << 10 // V values that stay in the first-level cache while the columns pass
};

typedef struct tile {
    const fr_attend *job;
    int n; // rows, 1..TILE
    const float *q[TILE];
    float *o[TILE];
    const fr_view *view[TILE];
    int begin, end; // slots that any row may see; begin is the start of a key block
    int stride;     // of p
    float *p;       // scores, then weights, by row and slot - begin
} tile;

// Eight K or V values at a time.
FR_INLINE __m256 load_half8(const uint16_t *x) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)x));
}

// acc[r][j] += x[r][i] * vector j of y, the vectors lying in pairs. Sixteen registers hold twelve
// sums and either two vectors and one x, or three x and one vector: that decides which loop is
// outside.
FR_INLINE void add_products(__m256 (*acc)[8], const float *const *x, int i, const uint16_t *y,
                            size_t pair_step, const int rows, const int vectors) {
    if (rows > 3) {
        const __m256 y0 = load_half8(y), y1 = vectors > 1 ? load_half8(y + 8) : y0;
        FR_UNROLL for (int r = 0; r < rows; r++) {
            const __m256 xr = _mm256_broadcast_ss(x[r] + i);
            acc[r][0] = _mm256_fmadd_ps(xr, y0, acc[r][0]);
            if (vectors > 1) acc[r][1] = _mm256_fmadd_ps(xr, y1, acc[r][1]);
        }
        return;
    }
    FR_UNROLL for (int j = 0; j < vectors; j++) {
        const __m256 yj = load_half8(y + (size_t)(j / 2) * pair_step + j % 2 * 8);
        FR_UNROLL for (int r = 0; r < rows; r++) acc[r][j] =
            _mm256_fmadd_ps(_mm256_broadcast_ss(x[r] + i), yj, acc[r][j]);
    }
}

// ---------------------------------------------------------------- scores
// `rows` rows times `blocks` key blocks from slot t: one chain over d for each (row, key).
FR_INLINE void score_blocks(const tile *w, int t, const int rows, const int blocks) {
    const int head_dim = w->job->head_dim;
    const size_t block_step = (size_t)head_dim * FR_KEY_BLOCK;
    const uint16_t *k = w->job->k + (size_t)t * (size_t)head_dim;
    const float *q[TILE];
    __m256 s[TILE][8];
    FR_UNROLL for (int r = 0; r < rows; r++) {
        q[r] = w->q[r];
        FR_UNROLL for (int j = 0; j < 2 * blocks; j++) s[r][j] = _mm256_setzero_ps();
    }
    for (int d = 0; d < head_dim; d++, k += FR_KEY_BLOCK)
        add_products(s, q, d, k, block_step, rows, 2 * blocks);
    const __m256 scale = _mm256_set1_ps(w->job->scale);
    FR_UNROLL for (int r = 0; r < rows; r++) FR_UNROLL for (int j = 0; j < 2 * blocks; j++)
        _mm256_storeu_ps(w->p + r * w->stride + (t - w->begin) + 8 * j,
                         _mm256_mul_ps(s[r][j], scale));
}

FR_INLINE void score_rows(const tile *w, const int rows, const int blocks) {
    int t = w->begin;
    for (; t + blocks * FR_KEY_BLOCK <= w->end; t += blocks * FR_KEY_BLOCK)
        score_blocks(w, t, rows, blocks);
    for (; t < w->end; t += FR_KEY_BLOCK)
        score_blocks(w, t, rows, 1);
}

static void score1(const tile *w) {
    score_rows(w, 1, 4);
}
static void score2(const tile *w) {
    score_rows(w, 2, 2);
}
static void score3(const tile *w) {
    score_rows(w, 3, 2);
}
static void score4(const tile *w) {
    score_rows(w, 4, 1);
}
static void score5(const tile *w) {
    score_rows(w, 5, 1);
}
static void score6(const tile *w) {
    score_rows(w, 6, 1);
}

// ---------------------------------------------------------------- masks and weights
static void fill(float *p, int from, int to, float value) {
    for (int i = from; i < to; i++)
        p[i] = value;
}

// -inf for every slot that the row does not see, up to the end of the last key block.
static void hide(const tile *w, const fr_view *view, float *p) {
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
static float weigh(const tile *w, const fr_view *view, float *p) {
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

// ---------------------------------------------------------------- weighted sum of V
// Columns [c, c + 8*columns) of `rows` outputs, keys [from, to) ascending: one chain each.
FR_INLINE void sum_columns(const tile *w, int from, int to, int c, const int rows,
                           const int columns) {
    const int head_dim = w->job->head_dim;
    const uint16_t *v = w->job->v + (size_t)from * (size_t)head_dim + c;
    const float *p[TILE];
    __m256 o[TILE][8];
    FR_UNROLL for (int r = 0; r < rows; r++) {
        p[r] = w->p + r * w->stride + (from - w->begin);
        FR_UNROLL for (int j = 0; j < columns; j++) o[r][j] = _mm256_loadu_ps(w->o[r] + c + 8 * j);
    }
    for (int i = 0; i < to - from; i++, v += head_dim)
        add_products(o, p, i, v, 16, rows, columns);
    FR_UNROLL for (int r = 0; r < rows; r++) FR_UNROLL for (int j = 0; j < columns; j++)
        _mm256_storeu_ps(w->o[r] + c + 8 * j, o[r][j]);
}

// The last columns of a head whose size is no multiple of eight.
static void sum_rest(const tile *w, int from, int to, int c) {
    const int head_dim = w->job->head_dim;
    for (int r = 0; r < w->n; r++)
        for (int d = c; d < head_dim; d++)
            for (int t = from; t < to; t++) {
                const float value = fr_f16_to_f32(w->job->v[(size_t)t * (size_t)head_dim + d]);
                const float weight = w->p[r * w->stride + t - w->begin];
                w->o[r][d] = __builtin_fmaf(weight, value, w->o[r][d]);
            }
}

FR_INLINE void sum_rows(const tile *w, const int rows, const int columns) {
    const int head_dim = w->job->head_dim;
    const int chunk = head_dim < CHUNK_VALUES / 16 ? CHUNK_VALUES / head_dim : 16;
    for (int from = w->begin; from < w->end; from += chunk) {
        const int to = from + chunk < w->end ? from + chunk : w->end;
        int c = 0;
        for (; c + 8 * columns <= head_dim; c += 8 * columns)
            sum_columns(w, from, to, c, rows, columns);
        if (columns > 2)
            for (; c + 16 <= head_dim; c += 16)
                sum_columns(w, from, to, c, rows, 2);
        for (; c + 8 <= head_dim; c += 8)
            sum_columns(w, from, to, c, rows, 1);
        if (c < head_dim) sum_rest(w, from, to, c);
    }
}

static void sum1(const tile *w) {
    sum_rows(w, 1, 8);
}
static void sum2(const tile *w) {
    sum_rows(w, 2, 4);
}
static void sum3(const tile *w) {
    sum_rows(w, 3, 4);
}
static void sum4(const tile *w) {
    sum_rows(w, 4, 2);
}
static void sum5(const tile *w) {
    sum_rows(w, 5, 2);
}
static void sum6(const tile *w) {
    sum_rows(w, 6, 2);
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

static void open_tile(tile *w, const fr_attend *job, int row, int n) {
    w->job = job;
    w->n = n;
    w->p = job->work;
    w->stride = ((job->committed + job->scratch + 15) & ~15) + 16;
    w->begin = job->committed;
    int scratch = 0;
    for (int r = 0; r < n; r++) {
        const fr_view *view = w->view[r] = job->view[row + r];
        w->q[r] = job->q[row + r];
        w->o[r] = job->o[row + r];
        const int end = scratch_end(job, view);
        if (view->first < w->begin) w->begin = view->first;
        if (end > scratch) scratch = end;
    }
    w->begin &= ~(FR_KEY_BLOCK - 1);
    w->end = job->committed + scratch;
}

static void attend_tile(const tile *w) {
    typedef void phase(const tile *);
    static phase *const score[] = {score1, score2, score3, score4, score5, score6};
    static phase *const sum[] = {sum1, sum2, sum3, sum4, sum5, sum6};
    const int head_dim = w->job->head_dim;
    float denominator[TILE];
    score[w->n - 1](w);
    for (int r = 0; r < w->n; r++) {
        hide(w, w->view[r], w->p + r * w->stride);
        denominator[r] = weigh(w, w->view[r], w->p + r * w->stride);
        memset(w->o[r], 0, (size_t)head_dim * sizeof(float));
    }
    sum[w->n - 1](w);
    for (int r = 0; r < w->n; r++)
        fr_scale_avx2(w->o[r], 1.0f / denominator[r], head_dim);
}

void fr_attend_avx2(const fr_attend *job) {
    const int tiles = (job->n_q + TILE - 1) / TILE;
    for (int i = 0, row = 0; i < tiles; i++) { // of balanced size
        tile w;
        const int n = (job->n_q - row + tiles - i - 1) / (tiles - i);
        open_tile(&w, job, row, n);
        attend_tile(&w);
        row += n;
    }
}
