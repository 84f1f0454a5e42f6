// Attention of one KV head, in four phases that each run over the keys in order: scores, largest,
// weights and denominator, weighted sum of V.
//
// Bound by the FMA units; beside few rows, by the memory that K and V come from. Tiles of up to six
// rows, twelve independent chains each, pass over some blocks of keys (some values) before the next
// ones are read. f16 becomes floats in the tile, on units that cannot multiply.
#include "kern/avx2/attend.h"

// ---------------------------------------------------------------- masks and weights
static void fill(float *p, int from, int to, float value) {
    for (int i = from; i < to; i++)
        p[i] = value;
}

// -inf for every slot that the row does not see, up to the end of the last key block.
static void hide(const fr_query_block *w, const fr_view *view, float *p) {
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
    return fr_largest_lane(_mm256_max_ps(a, b));
}

// A score to its weight.
FR_INLINE __m256 weight_of(float *p, __m256 max) {
    const __m256 weight = fr_exp8(_mm256_sub_ps(_mm256_loadu_ps(p), max));
    _mm256_storeu_ps(p, weight);
    return weight;
}

// Scores to weights; returns 1 / denominator. A slot in line is its own position, so a whole block
// of them adds lane by lane; the others follow one by one. Hidden slots add +0.
static float weigh(const fr_query_block *w, int row, float *p) {
    const fr_view *view = w->job->view[row];
    const float *sink = w->job->sink;
    const int n = w->end - w->begin, in_line = w->in_line - w->begin;
    float top = largest(p, (n + 15) & ~15);
    if (sink && sink[row] > top) top = sink[row];
    const __m256 max = _mm256_set1_ps(top);
    __m256 low = _mm256_setzero_ps(), high = low;
    int i = 0;
    for (; i + 16 <= in_line; i += 16) {
        low = _mm256_add_ps(low, weight_of(p + i, max));
        high = _mm256_add_ps(high, weight_of(p + i + 8, max));
    }
    float lane[16];
    _mm256_storeu_ps(lane, low);
    _mm256_storeu_ps(lane + 8, high);
    const int rest = i;
    for (; i < n; i += 8)
        weight_of(p + i, max);
    for (i = rest; i < in_line; i++)
        lane[i % 16] += p[i];
    fr_query_rest(w, view, p, lane);
    const float sum = fr_join16(_mm256_loadu_ps(lane), _mm256_loadu_ps(lane + 8));
    return 1.0f / (sink ? sum + fr_exp(sink[row] - top) : sum);
}

// ---------------------------------------------------------------- the whole
static const fr_query_keys *const keys_of[FR_KV_FORMS] = {&fr_keys_f16_avx2, &fr_keys_q8_0_avx2};
static const fr_query_values *const values_of[FR_KV_FORMS] = {&fr_values_f16_avx2,
                                                              &fr_values_q8_0_avx2};

void fr_attend_avx2(const fr_attend *job) {
    const fr_query_keys *keys = keys_of[job->k_form];
    const fr_query_values *values = values_of[job->v_form];
    fr_query_block w = fr_query_open(job);
    float inverse[FR_ATTEND_ROWS];
    fr_query_scores(&w, keys, fr_query_slot(job->v, job->v_form, job->head_dim, w.begin));
    for (int r = 0; r < job->n_q; r++) {
        float *p = fr_query_weights(&w, r, w.begin);
        if (job->cap) fr_softcap_avx2(p, (w.end - w.begin + 15) & ~15, job->cap);
        hide(&w, job->view[r], p);
        inverse[r] = weigh(&w, r, p);
    }
    fr_query_sums(&w, values);
    for (int r = 0; r < job->n_q; r++) {
        float *o = w.o + (size_t)r * w.width;
        fr_scale_avx2(o, inverse[r], job->head_dim);
        memcpy(job->o[r], o, (size_t)job->head_dim * sizeof *o);
    }
}
