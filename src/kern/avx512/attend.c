// attend.c — attention of one KV head, in four phases that each run over the keys in order: scores,
// largest, weights and denominator, weighted sum of V. AVX-512.
//
// Bound by the FMA units; beside few rows, by the memory that K and V come from. All tiles of rows
// pass over some blocks of keys (some values) before the next ones are read.
#include "kern/avx512/attend.h"
#include "kern/avx512/lanes.h"
#include <math.h>

// ------------------------------------------------------------------ masks and weights
// -inf for every slot that the row does not see, up to the end of the last key block.
static void hide(const fr_query_block *w, const fr_view *view, float *p) {
    const __m512 nothing = _mm512_set1_ps(-INFINITY);
    const int committed = w->job->committed;
    const int unseen = (view->first < committed ? view->first : committed) - w->begin;
    for (int i = 0; i < unseen; i += 16)
        _mm512_mask_storeu_ps(p + i, fr_lane_mask(unseen - i), nothing);
    float *s = p + (committed - w->begin);
    for (int i = 0; i < w->end - committed; i += 16) {
        const __mmask16 seen = (__mmask16)(view->scratch[i / 64] >> (i % 64));
        _mm512_mask_storeu_ps(s + i, (__mmask16)~seen, nothing);
    }
    _mm512_storeu_ps(p + (w->end - w->begin), nothing);
}

static float largest(const float *p, int n) {
    __m512 a = _mm512_set1_ps(-INFINITY), b = a;
    int i = 0;
    for (; i + 16 < n; i += 32) { // the second operand stays where the first is NaN
        a = _mm512_max_ps(_mm512_loadu_ps(p + i), a);
        b = _mm512_max_ps(_mm512_loadu_ps(p + i + 16), b);
    }
    if (i < n) a = _mm512_max_ps(_mm512_loadu_ps(p + i), a);
    return fr_largest_lane(_mm512_max_ps(a, b));
}

// A score to its weight.
FR_INLINE __m512 weight_of(float *p, __m512 top) {
    const __m512 weight = fr_exp16(_mm512_sub_ps(_mm512_loadu_ps(p), top));
    _mm512_storeu_ps(p, weight);
    return weight;
}

// Scores to weights, exactly +0 where the row sees nothing; returns 1 / denominator.
static float weigh(const fr_query_block *w, int row, float *p) {
    const fr_view *view = w->job->view[row];
    const float *sink = w->job->sink;
    const int n = w->end - w->begin, in_line = w->in_line - w->begin;
    float most = largest(p, n);
    if (sink && sink[row] > most) most = sink[row];
    const __m512 top = _mm512_set1_ps(most);
    __m512 sum = _mm512_setzero_ps(); // lane = slot % 16 = position % 16
    int i = 0;
    for (; i + 16 <= in_line; i += 16)
        sum = _mm512_add_ps(sum, weight_of(p + i, top));
    for (; i < n; i += 16) {
        const __mmask16 lanes = fr_lane_mask(in_line > i ? in_line - i : 0);
        sum = _mm512_mask_add_ps(sum, lanes, sum, weight_of(p + i, top));
    }
    if (w->in_line < w->end) {
        _Alignas(64) float lanes[16];
        _mm512_store_ps(lanes, sum);
        fr_query_rest(w, view, p, lanes);
        sum = _mm512_load_ps(lanes);
    }
    const float all = fr_join_lanes(sum);
    return 1.0f / (sink ? all + fr_exp(sink[row] - most) : all);
}

// ---------------------------------------------------------------- the whole
static const fr_query_keys *const keys_of[FR_KV_FORMS] = {&fr_keys_f16_avx512,
                                                          &fr_keys_q8_0_avx512};
static const fr_query_values *const values_of[FR_KV_FORMS] = {&fr_values_f16_avx512,
                                                              &fr_values_q8_0_avx512};

void fr_attend_avx512(const fr_attend *job) {
    const fr_query_keys *keys = keys_of[job->k_form];
    const fr_query_values *values = values_of[job->v_form];
    fr_query_block w = fr_query_open(job);
    float inverse[FR_ATTEND_ROWS];
    fr_query_scores(&w, keys, fr_query_slot(job->v, job->v_form, job->head_dim, w.begin));
    for (int r = 0; r < job->n_q; r++) {
        float *p = fr_query_weights(&w, r, w.begin);
        if (job->cap) fr_softcap_avx512(p, w.end - w.begin, job->cap);
        hide(&w, job->view[r], p);
        inverse[r] = weigh(&w, r, p);
    }
    fr_query_sums(&w, values);
    for (int r = 0; r < job->n_q; r++) {
        const float *o = w.o + (size_t)r * w.width;
        for (int d = 0; d < job->head_dim; d += 16)
            _mm512_mask_storeu_ps(job->o[r] + d, fr_lane_mask(job->head_dim - d),
                                  _mm512_mul_ps(_mm512_load_ps(o + d), _mm512_set1_ps(inverse[r])));
    }
}
