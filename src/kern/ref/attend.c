// The definition of attention: one query row after another, each from its first visible key to its
// last. At least one key is visible to every row.
#include "kern/math.h"
#include "kern/ref/ref.h"

static bool visible(const fr_attend *job, const fr_view *view, int slot) {
    const int i = slot - job->committed;
    return i < 0 ? slot >= view->first : view->scratch[i / 64] >> (i % 64) & 1;
}

// ---------------------------------------------------------------- f16
static float score_f16(const fr_attend *job, const fr_act *q, int slot) {
    const uint16_t *k = job->k;
    k += (size_t)(slot / FR_KV_BLOCK) * FR_KV_BLOCK * (size_t)job->head_dim;
    float s = 0;
    for (int d = 0; d < job->head_dim; d++)
        s = __builtin_fmaf(q->x[d], fr_f16_to_f32(k[d * FR_KV_BLOCK + slot % FR_KV_BLOCK]), s);
    return s;
}

static float value_f16(const fr_attend *job, int slot, int d) {
    const uint16_t *v = job->v;
    return fr_f16_to_f32(v[(size_t)slot * (size_t)job->head_dim + (size_t)d]);
}

// ---------------------------------------------------------------- q8_0
static const int8_t *block_q8_0(const fr_attend *job, const void *plane, int slot) {
    return (const int8_t *)plane +
           (size_t)(slot / FR_KV_BLOCK) * fr_kv_block_bytes(FR_FORM_Q8_0, job->head_dim);
}

static float scale_q8_0(const fr_attend *job, const int8_t *block, int i) {
    uint16_t h;
    memcpy(&h, block + FR_KV_BLOCK * job->head_dim + 2 * i, sizeof h);
    return fr_f16_to_f32(h);
}

static float score_q8_0(const fr_attend *job, const fr_act *q, int slot) {
    const int8_t *k = block_q8_0(job, job->k, slot);
    const int lane = slot % FR_KV_BLOCK;
    float s = 0;
    for (int b = 0; b < job->head_dim / 32; b++) {
        int sum = 0;
        for (int d = 32 * b; d < 32 * b + 32; d++)
            sum += q->q[d] * k[d / 4 * 4 * FR_KV_BLOCK + 4 * lane + d % 4];
        s = __builtin_fmaf(q->d[b] * scale_q8_0(job, k, FR_KV_BLOCK * b + lane), (float)sum, s);
    }
    return s;
}

static float value_q8_0(const fr_attend *job, int slot, int d) {
    const int8_t *v = block_q8_0(job, job->v, slot);
    const int lane = slot % FR_KV_BLOCK;
    return scale_q8_0(job, v, lane * (job->head_dim / 32) + d / 32) *
           (float)v[lane * job->head_dim + d];
}

// ---------------------------------------------------------------- one row
typedef struct key_reader {
    fr_act_kind kind; // of the query
    float (*score)(const fr_attend *job, const fr_act *q, int slot);
} key_reader;
typedef float value_reader(const fr_attend *job, int slot, int d);

static const key_reader key_readers[FR_KV_FORMS] = {{FR_ACT_F32, score_f16},
                                                    {FR_ACT_Q32, score_q8_0}};
static value_reader *const value_readers[FR_KV_FORMS] = {value_f16, value_q8_0};

static fr_act query_of(const fr_attend *job, fr_act_kind kind, const float *x) {
    const int slots = job->committed + job->scratch;
    fr_act q = {.kind = kind, .n = 1, .k = job->head_dim, .x = x, .ldx = job->head_dim};
    if (kind == FR_ACT_F32) return q;
    q.d = job->work + slots; // after the weights
    q.ds = q.d + job->head_dim / 32;
    q.s = (int32_t *)(void *)(q.ds + job->head_dim / 32);
    q.q = (int8_t *)(q.s + job->head_dim / 32);
    fr_quantize_scalar(&q, x, job->head_dim, 0, job->head_dim / 32);
    return q;
}

static void attend_row(const fr_attend *job, int row) {
    const float *x = job->q[row];
    const fr_view *view = job->view[row];
    float *o = job->o[row];
    const int slots = job->committed + job->scratch, head_dim = job->head_dim;
    const key_reader keys = key_readers[job->k_form];
    value_reader *value = value_readers[job->v_form];
    const fr_act q = query_of(job, keys.kind, x);
    float *p = job->work, max = -__builtin_inff(), lane[16] = {0};
    for (int t = 0; t < slots; t++) {
        if (!visible(job, view, t)) continue;
        p[t] = keys.score(job, &q, t) * job->scale;
        if (job->cap) p[t] = fr_softcap(p[t], job->cap);
        if (p[t] > max) max = p[t];
    }
    if (job->sink && job->sink[row] > max) max = job->sink[row];
    for (int d = 0; d < head_dim; d++)
        o[d] = 0;
    for (int t = 0; t < slots; t++) { // slots are in logical order
        if (!visible(job, view, t)) continue;
        const int position = t < job->committed ? t : job->pos[t - job->committed];
        const float weight = fr_exp(p[t] - max);
        lane[position % 16] += weight;
        for (int d = 0; d < head_dim; d++)
            o[d] = __builtin_fmaf(weight, value(job, t, d), o[d]);
    }
    for (int half = 8; half; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    if (job->sink) lane[0] += fr_exp(job->sink[row] - max);
    const float factor = 1.0f / lane[0];
    for (int d = 0; d < head_dim; d++)
        o[d] *= factor;
}

void fr_attend_scalar(const fr_attend *job) {
    for (int r = 0; r < job->n_q; r++)
        attend_row(job, r);
}
