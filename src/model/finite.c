#include "model/finite.h"
#include "base/lanes.h"
#include "base/status.h"
#include <float.h>
#include <math.h>

static inline fr_i32x4 between(const float *x, fr_f32x4 low, fr_f32x4 high) {
    const fr_f32x4 v = fr_f32x4_load(x);
    return (v >= low) & (v <= high);
}

// Sixteen values at a time, in four vectors of four. A NaN fails every comparison.
static bool are_between(const float *x, int n, float least, float most) {
    const fr_f32x4 low = fr_f32x4_all(least), high = fr_f32x4_all(most);
    fr_i32x4 good[4] = {~(fr_i32x4){0}, ~(fr_i32x4){0}, ~(fr_i32x4){0}, ~(fr_i32x4){0}};
    int i = 0;
    for (; i + 16 <= n; i += 16) {
        good[0] &= between(x + i, low, high);
        good[1] &= between(x + i + 4, low, high);
        good[2] &= between(x + i + 8, low, high);
        good[3] &= between(x + i + 12, low, high);
    }
    const fr_i32x4 all = good[0] & good[1] & good[2] & good[3];
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
