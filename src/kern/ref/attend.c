// The definition of attention: one query row after another, each told from its first visible key to
// its last. At least one key is visible to every row.
#include "kern/math.h"
#include "kern/ref/ref.h"

static bool visible(const fr_attend *job, const fr_view *view, int slot) {
    const int i = slot - job->committed;
    return i < 0 ? slot >= view->first : view->scratch[i / 64] >> (i % 64) & 1;
}

static float score(const fr_attend *job, const float *q, int slot) {
    const uint16_t *k =
        job->k + (size_t)(slot / FR_KEY_BLOCK) * FR_KEY_BLOCK * (size_t)job->head_dim;
    float s = 0;
    for (int d = 0; d < job->head_dim; d++)
        s = __builtin_fmaf(q[d], fr_f16_to_f32(k[d * FR_KEY_BLOCK + slot % FR_KEY_BLOCK]), s);
    return s * job->scale;
}

static void attend_row(const fr_attend *job, const float *q, const fr_view *view, float *o) {
    const int slots = job->committed + job->scratch, head_dim = job->head_dim;
    float *p = job->work, max = -__builtin_inff(), lane[16] = {0};
    for (int t = 0; t < slots; t++) {
        if (!visible(job, view, t)) continue;
        p[t] = score(job, q, t);
        if (p[t] > max) max = p[t];
    }
    for (int d = 0; d < head_dim; d++)
        o[d] = 0;
    for (int t = 0; t < slots; t++) { // slots are in logical order
        if (!visible(job, view, t)) continue;
        const int position = t < job->committed ? t : job->pos[t - job->committed];
        const uint16_t *v = job->v + (size_t)t * (size_t)head_dim;
        const float weight = fr_exp(p[t] - max);
        lane[position % 16] += weight;
        for (int d = 0; d < head_dim; d++)
            o[d] = __builtin_fmaf(weight, fr_f16_to_f32(v[d]), o[d]);
    }
    for (int half = 8; half; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    const float factor = 1.0f / lane[0];
    for (int d = 0; d < head_dim; d++)
        o[d] *= factor;
}

void fr_attend_scalar(const fr_attend *job) {
    for (int r = 0; r < job->n_q; r++)
        attend_row(job, job->q[r], job->view[r], job->o[r]);
}
