#include "train/learner/tally.h"

static double share(double part, double of) {
    return of > 0 ? part / of : 0;
}

void fr_tally_count(fr_tally *t, int k, float weight, const fr_loss_got *got, bool *alive) {
    t->tried[k]++;
    if (got->nats == got->nats) {
        t->loss += (double)weight * (double)got->nats;
        t->weight += (double)weight;
        t->part[k] += (double)got->nats;
    }
    if (got->rank >= 0 && got->rank < FR_RANKS) t->right[k][got->rank]++;
    if (!*alive) return;
    t->reached[k]++;
    *alive = got->rank == 0;
    t->followed[k] += *alive;
}

double fr_tally_loss(const fr_tally *t) {
    return share(t->loss, t->weight);
}

double fr_tally_tokens_per_pass(const fr_tally *t, int depth) {
    double sum = 1, reached = 1;
    for (int k = 0; k < depth; k++) {
        reached *= share(t->followed[k], t->reached[k]);
        sum += reached;
    }
    return sum;
}

void fr_tally_accuracy(const fr_tally *t, int k, float by_rank[FR_RANKS]) {
    const double best = share(t->followed[k], t->reached[k]);
    const double plain = share(t->right[k][0], t->tried[k]);
    const double others = plain < 1 ? (1 - best) / (1 - plain) : 0;
    by_rank[0] = (float)best;
    for (int r = 1; r < FR_RANKS; r++)
        by_rank[r] = (float)(others * share(t->right[k][r], t->tried[k]));
}
