#include "draft/kit/ngram_votes.h"

// Offers the guesses of `voices` (bit set) as children of `node`; they hold probability `score`
// together.
static void expand(fr_ngram_votes *v, const fr_hits *hits, int node, int depth, float score,
                   uint64_t voices) {
    fr_candidate *first = &v->line.waiting[v->line.n];
    int n = 0, speaking = 0;
    for (int i = 0; i < v->n; i++) {
        if (!(voices >> i & 1)) continue;
        const int32_t id = v->word(v->user, i, depth);
        if (id < 0) continue;
        int g = 0;
        while (g < n && first[g].id != id)
            g++;
        if (g == n) {
            if (v->line.n + n == FR_CANDIDATES) break;
            first[n] = (fr_candidate){.id = id, .node = (int16_t)node, .rank = (uint8_t)n};
            n++;
        }
        first[g].from |= UINT64_C(1) << i;
        speaking++;
    }
    for (int g = 0; g < n; g++) {
        const fr_vote vote = n > 1          ? (g ? FR_VOTE_OTHER : FR_VOTE_FIRST)
                             : speaking > 1 ? FR_VOTE_AGREED
                                            : FR_VOTE_ALONE;
        first[g].kind = (uint8_t)v->kind(v->user, first[g].from, depth, vote);
        first[g].score = score * fr_hits_rate(hits, first[g].kind, 1);
    }
    v->line.n += n;
}

void fr_ngram_votes_fill(fr_ngram_votes *v, const fr_hits *hits, uint8_t part, fr_tree *tree) {
    fr_candidate best;
    v->line.n = 0;
    expand(v, hits, 0, 0, 1, ~UINT64_C(0));
    while (fr_candidates_next(&v->line, v->least, &best)) {
        const int node = fr_candidate_enter(&best, tree, part);
        if (node >= 0)
            expand(v, hits, node, tree->node[node].depth, best.score, best.from);
        else if (tree->n >= tree->max_nodes)
            return; // else it is too deep, and others are not
    }
}
