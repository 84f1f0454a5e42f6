// choose.c — first the trees whose size is settled. Then the scores of all other members' nodes are
// merged, likeliest first; the budget says how many of them pay, and each tree keeps its share. A
// text whose answer is known has the tree that it would have alone.
#include "decode/choose.h"

// Candidates of all members together; what a pass has room for beside a chunk of a prompt.
enum { CANDIDATES = FR_MAX_ROWS - FR_PREFILL_ROWS };

static int wanted_nodes(const fr_decoder *d) {
    return d->size.shape.n ? d->size.shape.n : d->size.nodes;
}

// Candidates drawn at random must not be picked over afterwards, so under rejection the size wanted
// is the limit. Otherwise more are asked for, and the best are taken.
static int most_alone(const fr_decoder *d) {
    const int wanted = wanted_nodes(d);
    if (fr_drafter_is_none(d->drafter)) return 1;
    if (wanted && d->accept.rule == FR_RULE_REJECTION) return wanted;
    if (d->size.shape.n) return FR_TREE_MAX;
    return wanted > d->drafter->default_nodes ? wanted : d->drafter->default_nodes;
}

static int share_of(const fr_decoder *d, int n_roots) {
    return d->known ? CANDIDATES : CANDIDATES / n_roots;
}

static bool is_open(const fr_decoder *d) { // whether the budget may say its size
    return d->adapt && !wanted_nodes(d) && !fr_tree_is_drawn(&d->proposal.tree);
}

int fr_choose_most(const fr_decoder *d, int n_roots) {
    const int most = most_alone(d), share = share_of(d, n_roots);
    const bool open = d->adapt && !wanted_nodes(d) && d->accept.rule != FR_RULE_REJECTION;
    return open || most < share ? most : share;
}

static void take_wanted(fr_decoder *d, int share) {
    d->tree = d->proposal.tree;
    if (d->tree.n == 1 || fr_tree_is_drawn(&d->tree)) return;
    if (d->size.shape.n)
        fr_shape_pick(&d->size.shape, &d->tree);
    else if (d->size.nodes)
        fr_tree_keep(&d->tree, d->size.nodes);
    fr_tree_keep(&d->tree, share);
}

typedef struct ranked { // a member's scores, descending
    float score[FR_TREE_MAX];
    int n, taken;
} ranked;

static int likeliest_of(const ranked *by, int n) {
    int best = -1;
    for (int i = 0; i < n; i++)
        if (by[i].taken < by[i].n &&
            (best < 0 || by[i].score[by[i].taken] > by[best].score[by[best].taken]))
            best = i;
    return best;
}

void fr_choose_rows(const fr_decoder_group *g, fr_decoder *const *members, int n,
                    const fr_extra_rows *read, int context) {
    ranked by[FR_GROUP_MEMBERS];
    float score[CANDIDATES] = {0};
    int from[CANDIDATES], fixed = 0, n_scores = 0, best;
    fr_extra_rows extra = *read;
    for (int i = 0; i < n; i++) {
        fr_decoder *d = members[i];
        by[i].n = by[i].taken = 0;
        fr_extra_rows_add(&extra, &d->proposal.extra_rows);
        if (is_open(d)) {
            by[i].n = fr_tree_scores(&d->proposal.tree, by[i].score);
        } else {
            take_wanted(d, share_of(d, n));
            fixed += d->tree.n - 1;
        }
    }
    while (n_scores < CANDIDATES - n - fixed && (best = likeliest_of(by, n)) >= 0) {
        score[n_scores] = by[best].score[by[best].taken++];
        from[n_scores++] = best;
    }
    for (int i = 0; i < n; i++)
        by[i].taken = 1; // the root
    const int taken =
        fr_budget_choose_from(&g->budget, score, n_scores, 1 + fixed, &extra, context);
    for (int k = 0; k < taken; k++)
        by[from[k]].taken++;
    for (int i = 0; i < n; i++) {
        if (!is_open(members[i])) continue;
        members[i]->tree = members[i]->proposal.tree;
        fr_tree_keep(&members[i]->tree, by[i].taken);
    }
}
