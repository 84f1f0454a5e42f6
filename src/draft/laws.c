#include "draft/laws.h"
#include <assert.h>
#include <math.h>

// What lies so far below the largest adds less than 1e-7 of it to the sum.
static const float NEGLIGIBLE = 16;

// Puts a value into the list of the largest, descending; earlier ones win ties.
static int insert(fr_likely *list, int n, int most, int index, float logit) {
    int k = n < most ? n++ : n - 1;
    for (; k > 0 && list[k - 1].logit < logit; k--)
        list[k] = list[k - 1];
    list[k] = (fr_likely){.index = index, .logit = logit};
    return n;
}

int fr_likeliest(const float *logits, int n, int most, fr_likely *out) {
    assert(most >= 1 && most <= FR_LIKELY_MOST);
    int m = 0;
    float least = -INFINITY; // to come into the list
    for (int i = 0; i < n; i++) {
        if (!(logits[i] > least) || isinf(logits[i])) continue;
        m = insert(out, m, most, i, logits[i]);
        if (m == most) least = out[m - 1].logit;
    }
    if (!m) return 0;
    const float top = out[0].logit;
    float sum = 0;
    for (int i = 0; i < n; i++)
        if (logits[i] > top - NEGLIGIBLE && logits[i] <= top) sum += expf(logits[i] - top);
    for (int i = 0; i < m; i++)
        out[i].p = expf(out[i].logit - top) / sum;
    return m;
}
