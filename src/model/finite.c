#include "model/finite.h"
#include "base/status.h"
#include <float.h>
#include <math.h>
#include <stdint.h>

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t four_masks __attribute__((vector_size(16)));

// Sixteen values at a time, in four vectors of four. A NaN fails every comparison.
static bool are_between(const float *x, int n, float least, float most) {
    const four low = {least, least, least, least}, high = {most, most, most, most};
    four_masks good[4] = {~(four_masks){0}, ~(four_masks){0}, ~(four_masks){0}, ~(four_masks){0}};
    int i = 0;
    for (; i + 16 <= n; i += 16) {
        const four *v = (const four *)(const void *)(x + i);
        good[0] &= (v[0] >= low) & (v[0] <= high);
        good[1] &= (v[1] >= low) & (v[1] <= high);
        good[2] &= (v[2] >= low) & (v[2] <= high);
        good[3] &= (v[3] >= low) & (v[3] <= high);
    }
    const four_masks all = good[0] & good[1] & good[2] & good[3];
    bool yes = all[0] && all[1] && all[2] && all[3];
    for (; i < n; i++)
        yes &= x[i] >= least && x[i] <= most;
    return yes;
}

bool fr_are_finite(const float *x, int n) {
    return are_between(x, n, -FLT_MAX, FLT_MAX);
}

bool fr_are_logits(const float *logits, int n) {
    if (!are_between(logits, n, -INFINITY, FLT_MAX)) return false;
    for (int i = 0; i < n; i++) // nearly always the first one
        if (logits[i] > -INFINITY) return true;
    return false;
}

fr_status fr_logits_refuse(const float *logits, int n, int n_known, fr_error *err) {
    const char *found = "-inf for every token";
    int id = 0;
    while (logits && id < n && logits[id] <= FLT_MAX)
        id++;
    if (!logits)
        found = "infinities or NaN in its last hidden state";
    else if (id < n)
        found = isnan(logits[id]) ? "NaN" : "inf";
    if (logits && id < n)
        return fr_fail(err, FR_EDATA,
                       "the model's logits behind %d tokens are not finite (expected numbers, "
                       "found %s for token %d): the file is damaged or its weights overflow",
                       n_known, found, id);
    return fr_fail(err, FR_EDATA,
                   "the model's logits behind %d tokens are not finite (expected numbers, found "
                   "%s): the file is damaged or its weights overflow",
                   n_known, found);
}
