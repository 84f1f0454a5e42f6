#include "train/data/top_logprobs.h"
#include "train/math/vector.h"
#include <math.h>

enum { LANES = 16 };
// Sixteen sums side by side, so that the compiler may compute sixteen terms at once and the order
// of every sum stays the written one.
FR_CLONES static double sum_exp(const float *x, int n, float max) {
    float sum[LANES] = {0};
    double total = 0;
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            sum[k] += fr_vector_exp(x[i + k] - max);
        }
    for (int k = 0; k < LANES; k++)
        total += (double)sum[k];
    for (; i < n; i++)
        total += (double)fr_vector_exp(x[i] - max);
    return total;
}

FR_CLONES static float block_max(const float *x) {
    float m[LANES];
    for (int k = 0; k < LANES; k++)
        m[k] = x[k];
    for (int w = LANES / 2; w; w /= 2)
        for (int k = 0; k < w; k++)
            m[k] = m[k + w] > m[k] ? m[k + w] : m[k];
    return m[0];
}

typedef struct best { // sorted, largest first
    int n, top;
    int32_t *id;
    float value[64];
} best;

static void offer(best *b, int32_t id, float x) {
    if (!(x > -INFINITY) || (b->n == b->top && x <= b->value[b->n - 1])) return;
    int k = b->n < b->top ? b->n++ : b->n - 1;
    for (; k > 0 && b->value[k - 1] < x; k--) {
        b->value[k] = b->value[k - 1];
        b->id[k] = b->id[k - 1];
    }
    b->value[k] = x;
    b->id[k] = id;
}

void fr_top_logprobs(const float *logits, int n, int top, int32_t *id, uint16_t *lp) {
    best b = {.top = top, .id = id};
    int i = 0;
    for (; i + LANES <= n; i += LANES) {
        if (b.n == top && !(block_max(logits + i) > b.value[top - 1])) continue;
        for (int k = 0; k < LANES; k++)
            offer(&b, i + k, logits[i + k]);
    }
    for (; i < n; i++)
        offer(&b, i, logits[i]);
    const float max = b.n ? b.value[0] : 0;
    const double all = (double)max + log(b.n ? sum_exp(logits, n, max) : 1);
    for (int k = 0; k < top; k++) {
        if (k >= b.n) id[k] = -1;
        lp[k] = fr_f16_from_f32_sat(k < b.n ? (float)((double)b.value[k] - all) : -65504.0f);
    }
}
