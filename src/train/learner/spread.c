#include "train/learner/spread.h"
#include <math.h>

void fr_spread_add(fr_spread *s, const fr_tally *before, const fr_tally *after) {
    s->batches++;
    for (int k = 0; k < FR_DEPTHS; k++) {
        const double r = after->right[k][0] - before->right[k][0],
                     t = after->tried[k] - before->tried[k];
        s->rr[k] += r * r;
        s->rt[k] += r * t;
        s->tt[k] += t * t;
    }
}

double fr_spread_error(const fr_spread *s, const fr_tally *all, int depth) {
    const double tried = all->tried[depth];
    if (s->batches < 2 || !(tried > 0)) return NAN;
    const double p = all->right[depth][0] / tried;
    const double sum = s->rr[depth] - 2 * p * s->rt[depth] + p * p * s->tt[depth];
    return sqrt(s->batches / (s->batches - 1) * fmax(sum, 0)) / tried;
}
