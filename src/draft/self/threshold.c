#include "draft/self/threshold.h"
#include "base/mean.h"
#include <assert.h>

static const double WANTED = 0.9, STEP = 0.01, KEPT = 0.9, KEPT_SHARE = 0.5;

void fr_threshold_begin(fr_threshold *t, bool greedy) {
    *t = (fr_threshold){.value = greedy ? 0.8 : 0.5, .share = WANTED};
}

void fr_threshold_learn(fr_threshold *t, int drafted, int accepted, bool full) {
    fr_fade(&t->share, (1 - KEPT_SHARE) * accepted / drafted, KEPT_SHARE);
    const double step = t->share < WANTED ? STEP : full ? 0 : -STEP;
    t->value += (1 - KEPT) * step;
    if (t->value < 0) t->value = 0;
    if (t->value > 1) t->value = 1;
    assert(fr_threshold_is_sound(t));
}

bool fr_threshold_is_sound(const fr_threshold *t) {
    return t->value >= 0 && t->value <= 1 && t->share >= 0 && t->share <= 1;
}
