// choose.c — first the trees whose size is settled. Then the scores of all other members' nodes are
// merged, likeliest first; the budget says how many of them pay, and each tree keeps its share. A
// text with a hook has the tree that it would have alone.
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
    return d->hook ? CANDIDATES : CANDIDATES / n_roots;
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

// Scores of the members whose trees are open; the others take what they want. The candidates of
// those; `extra` grows by the rows that all have beside their trees.
static int gather(fr_decoder *const *members, int n, ranked *by, fr_extra_rows *extra) {
    int fixed = 0;
    for (int i = 0; i < n; i++) {
        fr_decoder *d = members[i];
        by[i].n = by[i].taken = 0;
        fr_extra_rows_add(extra, &d->proposal.extra_rows);
        if (is_open(d)) {
            by[i].n = fr_tree_scores(&d->proposal.tree, by[i].score);
        } else {
            take_wanted(d, share_of(d, n));
            fixed += d->tree.n - 1;
        }
    }
    return fixed;
}

static int likeliest_of(const ranked *by, int n) {
    int best = -1;
    for (int i = 0; i < n; i++)
        if (by[i].taken < by[i].n &&
            (best < 0 || by[i].score[by[i].taken] > by[best].score[by[best].taken]))
            best = i;
    return best;
}

// All scores in one list, descending, and whose each is; at most `room`. How many.
static int merge(ranked *by, int n, int room, float *score, int *from) {
    int n_scores = 0, best;
    while (n_scores < room && (best = likeliest_of(by, n)) >= 0) {
        score[n_scores] = by[best].score[by[best].taken++];
        from[n_scores++] = best;
    }
    return n_scores;
}

void fr_choose_rows(const fr_decoder_group *g, fr_decoder *const *members, int n,
                    const fr_extra_rows *read, int context) {
    ranked by[FR_GROUP_MEMBERS];
    float score[CANDIDATES] = {0};
    int from[CANDIDATES], rows[FR_GROUP_MEMBERS];
    fr_extra_rows extra = *read;
    const int fixed = gather(members, n, by, &extra);
    const int n_scores = merge(by, n, CANDIDATES - n - fixed, score, from);
    const int taken =
        fr_budget_choose_from(&g->budget, score, n_scores, 1 + fixed, &extra, context);
    for (int i = 0; i < n; i++)
        rows[i] = 1; // the root
    for (int k = 0; k < taken; k++)
        rows[from[k]]++;
    for (int i = 0; i < n; i++) {
        if (!is_open(members[i])) continue;
        members[i]->tree = members[i]->proposal.tree;
        fr_tree_keep(&members[i]->tree, rows[i]);
    }
}
