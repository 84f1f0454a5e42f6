// state_tree.c — grows the beam depth by depth: shortlist, token bias, softmax over the list, the
// best children of every node.
#include "draft/hidden_state/state_tree.h"
#include <math.h>

int fr_state_kind(bool reused, int depth) {
    return reused * FR_HIT_DEPTHS + fr_hits_kind_of_depth(depth);
}

// ---------------------------------------------------------------- growing

typedef struct guess {
    int at; // in the shortlist
    float score;
} guess;

// The `most` best of n scores, descending; of equal ones those that stand first.
static int best_of(const float *score, int n, guess *best, int most) {
    int m = 0;
    for (int i = 0; i < n; i++) {
        if (m == most && !(score[i] > best[m - 1].score)) continue;
        int k = m < most ? m++ : m - 1;
        for (; k > 0 && best[k - 1].score < score[i]; k--)
            best[k] = best[k - 1];
        best[k] = (guess){i, score[i]};
    }
    return m;
}

static float sum_of_exponentials(const float *score, int n, float largest) {
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += expf(score[i] - largest);
    return sum;
}

// Reports a node's guesses to the watch, and continues after the token that it returns.
static void follow(const fr_state_grower *g, const fr_shortlist *list, const guess *best, int n,
                   float sum, fr_beam *beam, int node) {
    fr_chance chance[FR_STATE_RANKS];
    for (int r = 0; r < n; r++)
        chance[r] =
            (fr_chance){g->ids[list->index[best[r].at]], expf(best[r].score - best[0].score) / sum};
    const int32_t id = g->watch->next(g->watch->user, beam->node[node].depth + 1, chance, n);
    if (id >= 0) fr_beam_offer(beam, node, id, 1, 0); // 1: a path, whatever its score
}

static void expand(const fr_state_grower *g, const fr_state_dist *dist, fr_beam *beam, int node) {
    float biased[FR_SHORTLIST_MOST];
    const float *score = dist->list.z, above = beam->node[node].score;
    const bool watched = g->watch && g->watch->next;
    guess best[FR_STATE_RANKS];
    if (g->token_bias) {
        fr_token_bias_score(g->token_bias, &dist->list, dist->gate, beam->node[node].id, biased);
        score = biased;
    }
    const int n = best_of(score, dist->list.n, best, watched ? FR_STATE_RANKS : FR_STATE_CHILDREN);
    if (!n) return;
    const float sum = sum_of_exponentials(score, dist->list.n, best[0].score);
    if (watched) {
        follow(g, &dist->list, best, n, sum, beam, node);
        return;
    }
    for (int r = 0; r < n; r++) {
        const float p = expf(best[r].score - best[0].score) / sum;
        const int kind = fr_state_kind(dist->reused, beam->node[node].depth + 1);
        const float rate = fr_hits_rate(g->hits, kind, p);
        if (!(above * rate >= g->least)) continue; // nor if it is no number
        const int child =
            fr_beam_offer(beam, node, g->ids[dist->list.index[best[r].at]], rate, kind);
        if (child >= 0) beam->node[child].prob = p;
    }
}

void fr_state_tree_grow(const fr_state_grower *g, int32_t root, const fr_state_dist *dist, int n,
                        fr_beam *beam) {
    fr_beam_begin(beam, root, g->width);
    for (int k = 0; k < n && beam->n_frontier; k++) {
        for (int i = 0; i < beam->n_frontier; i++)
            expand(g, &dist[k], beam, beam->frontier[i]);
        fr_beam_next(beam);
    }
}
