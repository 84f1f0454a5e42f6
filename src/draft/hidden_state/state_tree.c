// state_tree.c — first sorts guesses into kinds with hit rates to start from. Then it grows the
// beam depth by depth: shortlist, token bias, softmax over the list, the best children of every
// node.
#include "draft/hidden_state/state_tree.h"
#include <math.h>

// ---------------------------------------------------------------- kinds and rates

enum {
    FIRST_DEPTHS = 3, // depth 1, 2, and more
    FIRST_BINS = 6,
    LATER_DEPTHS = 2, // depth 1, and more
    LATER_BINS = 7,
    FIRST_KINDS = FIRST_DEPTHS * FIRST_BINS,
    KINDS = FIRST_KINDS + LATER_DEPTHS * LATER_BINS, // of either origin
};
_Static_assert(2 * KINDS <= FR_HIT_KINDS, "kinds");

// Bin b is of probabilities from edge b up to edge b + 1.
static const float FIRST_EDGE[FIRST_BINS + 1] = {0, 0.15f, 0.3f, 0.5f, 0.7f, 0.9f, 1};
static const float LATER_EDGE[LATER_BINS + 1] = {0, 0.01f, 0.025f, 0.05f, 0.1f, 0.2f, 0.35f, 0.5f};

static int bin_of(const float *edge, int bins, float p) {
    int b = 0;
    while (b < bins - 1 && p >= edge[b + 1])
        b++;
    return b;
}

static int first_kind(bool reused, int depth, int bin) {
    return reused * KINDS + (depth - 1) * FIRST_BINS + bin;
}

static int later_kind(bool reused, int depth, int bin) {
    return reused * KINDS + FIRST_KINDS + (depth - 1) * LATER_BINS + bin;
}

int fr_state_kind(bool reused, int depth, float p, int rank) {
    if (rank == 0)
        return first_kind(reused, depth < FIRST_DEPTHS ? depth : FIRST_DEPTHS,
                          bin_of(FIRST_EDGE, FIRST_BINS, p));
    return later_kind(reused, depth < LATER_DEPTHS ? depth : LATER_DEPTHS,
                      bin_of(LATER_EDGE, LATER_BINS, p));
}

static void expect(fr_hits *hits, int kind, const float *edge, double counted) {
    enum { FIRM = 6 };
    const float p = 0.5f * (edge[0] + edge[1]);
    fr_hits_expect(hits, kind, counted > 0 ? 0.5f * (p + (float)counted) : p, FIRM);
}

void fr_state_expect(fr_hits *hits, const fr_accuracy *accuracy, int depth_trained) {
    hits->memory = 200;
    for (int reused = 0; reused < 2; reused++) {
        for (int depth = 1; depth <= FIRST_DEPTHS; depth++)
            for (int b = 0; b < FIRST_BINS; b++) {
                // A reused distribution was drafted at least one depth deeper.
                const int spoken = depth + reused < depth_trained ? depth + reused : depth_trained;
                expect(hits, first_kind(reused, depth, b), FIRST_EDGE + b,
                       fr_accuracy_rate(accuracy, spoken, 0));
            }
        for (int depth = 1; depth <= LATER_DEPTHS; depth++)
            for (int b = 0; b < LATER_BINS; b++)
                expect(hits, later_kind(reused, depth, b), LATER_EDGE + b, 0);
    }
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

// Tells the watch of a node's guesses, and goes on behind the token that it wants.
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
    float injected[FR_SHORTLIST_MOST];
    const float *score = dist->list.z, above = beam->node[node].score;
    const bool watched = g->watch && g->watch->next;
    guess best[FR_STATE_RANKS];
    if (g->injection) {
        fr_token_bias_score(g->injection, &dist->list, dist->gate, beam->node[node].id, injected);
        score = injected;
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
        const int kind = fr_state_kind(dist->reused, beam->node[node].depth + 1, p, r);
        const float rate = fr_hits_rate(g->hits, kind);
        if (above * rate < g->least) continue;
        fr_beam_offer(beam, node, g->ids[dist->list.index[best[r].at]], rate, kind);
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
