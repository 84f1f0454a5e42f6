#include "draft/voices.h"

// The guesses of `voices` at the children of `node`, which hold probability `score` together.
static void expand(fr_voices *v, const fr_hits *hits, int node, int depth, float score,
                   uint64_t voices) {
    fr_voice_guess *first = &v->waiting[v->n_waiting];
    int n = 0, speaking = 0;
    for (int i = 0; i < v->n; i++) {
        if (!(voices >> i & 1)) continue;
        const int32_t id = v->word(v->user, i, depth);
        if (id < 0) continue;
        int g = 0;
        while (g < n && first[g].id != id)
            g++;
        if (g == n) {
            if (v->n_waiting + n == FR_VOICES_WAITING) break;
            first[n] = (fr_voice_guess){.id = id, .node = (int16_t)node, .rank = (uint8_t)n};
            n++;
        }
        first[g].voices |= UINT64_C(1) << i;
        speaking++;
    }
    for (int g = 0; g < n; g++) {
        const fr_vote vote = n > 1          ? (g ? FR_VOTE_OTHER : FR_VOTE_FIRST)
                             : speaking > 1 ? FR_VOTE_AGREED
                                            : FR_VOTE_ALONE;
        first[g].kind = (uint8_t)v->kind(v->user, first[g].voices, depth, vote);
        first[g].score = score * fr_hits_rate(hits, first[g].kind);
    }
    v->n_waiting += n;
}

void fr_voices_fill(fr_voices *v, const fr_hits *hits, uint8_t part, fr_tree *tree) {
    v->n_waiting = 0;
    expand(v, hits, 0, 0, 1, ~UINT64_C(0));
    while (v->n_waiting) {
        int best = 0;
        for (int i = 1; i < v->n_waiting; i++)
            if (v->waiting[i].score > v->waiting[best].score) best = i;
        const fr_voice_guess g = v->waiting[best];
        if (g.score < v->least) return;
        v->waiting[best] = v->waiting[--v->n_waiting];
        const int before = tree->n;
        const int node = fr_tree_add(tree, g.node, g.id, g.score, part);
        if (node < 0) {
            if (tree->n >= tree->max_nodes) return;
            continue; // too deep
        }
        if (node == before) {
            tree->node[node].kind = g.kind;
            tree->node[node].rank = g.rank;
        }
        expand(v, hits, node, tree->node[node].depth, g.score, g.voices);
    }
}
