#include "train/data/top_logprobs.h"
#include "base/top.h"
#include "train/math/vector.h"
#include <assert.h>
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

enum { MOST = 64 };

void fr_top_logprobs(const float *logits, int n, int top, int32_t *id, uint16_t *lp) {
    float value[MOST];
    assert(top >= 1 && top <= MOST);
    const int m = fr_top(logits, n, top, id, value);
    const float max = m ? value[0] : 0;
    const double all = (double)max + log(m ? sum_exp(logits, n, max) : 1);
    for (int k = 0; k < top; k++) {
        if (k >= m) id[k] = -1;
        lp[k] = fr_f16_from_f32_sat(k < m ? (float)((double)value[k] - all) : -65504.0f);
    }
}
