// K and V as f16: both become floats, whose conversion the rows of a call share.
#include "kern/avx2/attend.h"

FR_INLINE void store16(float *y, const uint16_t *x) {
    _mm256_store_ps(y, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)x)));
    _mm256_store_ps(y + 8, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + 8))));
}

static void scores(fr_band *w) {
    const int head_dim = w->job->head_dim;
    w->ahead_step = 32;
    for (int t = w->begin, blocks; t < w->end; t += blocks * FR_KEY_BLOCK) {
        blocks = w->job->n_q <= 3 && t + FR_KEY_BLOCK < w->end ? 2 : 1;
        const uint16_t *k = (const uint16_t *)w->job->k + (size_t)t * (size_t)head_dim;
        for (int i = 0; i < blocks * head_dim; i++)
            store16(w->y + 16 * i, k + 16 * i);
        w->ahead = (const char *)(k + blocks * FR_KEY_BLOCK * head_dim);
        fr_band_score_floats(w, t, blocks);
    }
}

static void values(fr_band *w, int t, int n) {
    const int head_dim = w->job->head_dim;
    const uint16_t *v = (const uint16_t *)w->job->v + (size_t)t * (size_t)head_dim;
    for (int i = 0; i < n; i++, v += head_dim) {
        int c = 0;
        for (; c + 16 <= head_dim; c += 16)
            store16(w->y + (size_t)c * (size_t)n + 16 * i, v + c);
        if (c == head_dim) continue;
        uint16_t rest[16] = {0};
        memcpy(rest, v + c, (size_t)(head_dim - c) * sizeof *v);
        store16(w->y + (size_t)c * (size_t)n + 16 * i, rest);
    }
    w->ahead = (const char *)v;
    w->ahead_step = 32;
}

void fr_attend_f16_avx2(const fr_attend *job) {
    fr_attend_band(job, &(fr_band_reader){.scores = scores, .values = values});
}
