// verify.c — first the walk of the exact rule and of rejection: at each node the rule gives a token
// and the walk goes to the child that holds it. Then the typical rule, which judges the children of
// every node that it reaches and takes the longest path. The rules themselves (rejection with and
// without replacement, the typical threshold) are in accept_rules.h.
#include "decode/verify.h"
#include "kern/math.h"
#include "model/finite.h"

// ---------------------------------------------------------------- workspace

fr_status fr_verify_room_open(fr_verify_room *r, const fr_kern *kern, int n_vocab, fr_error *err) {
    *r = (fr_verify_room){0};
    fr_status st = fr_sampler_open(&r->sampler, kern, n_vocab, err);
    if (!st && (st = fr_rejection_open(&r->rejection, n_vocab, err))) fr_sampler_close(&r->sampler);
    return st;
}

fr_status fr_verify_room_score(fr_verify_room *r, fr_error *err) {
    if (r->scorer.x) return FR_OK;
    return fr_logprob_scorer_open(&r->scorer, r->sampler.kern, r->sampler.n_vocab, err);
}

void fr_verify_room_close(fr_verify_room *r) {
    fr_logprob_scorer_close(&r->scorer);
    fr_rejection_close(&r->rejection);
    fr_sampler_close(&r->sampler);
}

// ---------------------------------------------------------------- exact and rejection

static float *logits_of(const fr_verification *a, int node) {
    return fr_forward_logits(a->forward, fr_row_place(a->places, node));
}

// A node that was left out holds no token that the target draws, unless the answer that is held to
// be known is not the target's: then the path ends before it.
static bool is_in_pass(const fr_verification *a, int node) {
    return !a->places.at || a->places.at[node] >= 0;
}

typedef int32_t next_fn(const fr_verification *a, int node, float *logits, int n_ids);

static int32_t target_draws(const fr_verification *a, int node, float *logits, int n_ids) {
    (void)node;
    return fr_sampler_token(&a->room->sampler, logits, a->ids, n_ids, n_ids);
}

static int32_t rejection_gives(const fr_verification *a, int node, float *logits, int n_ids) {
    fr_sampler *s = &a->room->sampler;
    const fr_chance *dist;
    fr_sampler_read(s, logits, a->ids, n_ids);
    const int n = fr_sampler_dist(s, &dist);
    return fr_rejection_token(&a->room->rejection, dist, n, a->tree, node, s->sampling.seed, n_ids);
}

// Scores the token that the node gave; its row is the sampler's.
static void score(const fr_verification *a, int32_t id, fr_logprobs *out) {
    fr_logprob_scorer *scorer = &a->room->scorer;
    if (a->drawn)
        fr_drawn_logprobs(&a->room->sampler, id, scorer->n_top, out);
    else
        fr_logprob_scorer_score(scorer, id, out);
}

static void walk(fr_verdict *v, const fr_verification *a, next_fn *next) {
    int node = 0, n_ids = a->n_ids;
    v->n_path = v->broken = 0;
    do {
        float *logits = logits_of(a, node);
        if (!fr_are_logits(logits, a->room->sampler.n_vocab)) return; // the next step begins there
        if (a->scores && !a->drawn) fr_logprob_scorer_keep(&a->room->scorer, logits);
        v->next = next(a, node, logits, n_ids);
        if (a->scores) score(a, v->next, &a->scores[v->n_path]);
        v->path[v->n_path++] = node;
        a->ids[n_ids++] = v->next;
        node = fr_tree_child(a->tree, node, v->next);
    } while (node >= 0 && is_in_pass(a, node));
}

static void verify_exact(fr_verdict *v, const fr_verification *a) {
    walk(v, a, target_draws);
}

static void verify_rejection(fr_verdict *v, const fr_verification *a) {
    walk(v, a, rejection_gives);
}

// ---------------------------------------------------------------- typical

typedef struct fr_reached { // a node whose path is typical
    bool yes;
    double log_p; // of its path
    int32_t next; // the target's draw if the path ends here
} fr_reached;

static void append_path(const fr_tree *tree, int node, int32_t *ids, int n_ids) {
    for (; node > 0; node = tree->node[node].parent)
        ids[n_ids + tree->node[node].depth - 1] = tree->node[node].id;
}

static void judge_children(fr_reached *reached, const fr_tree *tree, int node,
                           const fr_typical *typical, const fr_chance *dist, int n) {
    if (tree->node[node].first_child < 0) return;
    const double threshold = fr_typical_threshold(typical, dist, n);
    for (int i = 0; i < n; i++) {
        if (!(dist[i].p > threshold)) continue;
        const int child = fr_tree_child(tree, node, dist[i].id);
        if (child < 0) continue;
        reached[child].yes = true;
        reached[child].log_p = reached[node].log_p + fr_log(dist[i].p);
    }
}

static bool better(const fr_tree *tree, const fr_reached *reached, int a, int b) {
    if (tree->node[a].depth != tree->node[b].depth)
        return tree->node[a].depth > tree->node[b].depth;
    return reached[a].log_p > reached[b].log_p;
}

static void verify_typical(fr_verdict *v, const fr_verification *a) {
    const fr_tree *tree = a->tree;
    fr_reached reached[FR_TREE_MAX] = {{.yes = true}};
    int best = 0;
    for (int i = 0; i < tree->n; i++) { // parents come first
        if (!reached[i].yes) continue;
        const fr_chance *dist;
        const int known = a->n_ids + tree->node[i].depth;
        float *logits = logits_of(a, i);
        v->broken = i;
        v->n_path = 0;
        if (!fr_are_logits(logits, a->room->sampler.n_vocab)) return;
        append_path(tree, i, a->ids, a->n_ids);
        fr_sampler_read(&a->room->sampler, logits, a->ids, known);
        const int n = fr_sampler_dist(&a->room->sampler, &dist);
        reached[i].next = fr_sampler_draw(&a->room->sampler, known).id;
        judge_children(reached, tree, i, a->typical, dist, n);
        if (better(tree, reached, i, best)) best = i;
    }
    append_path(tree, best, a->ids, a->n_ids);
    v->n_path = tree->node[best].depth + 1;
    v->next = a->ids[a->n_ids + v->n_path - 1] = reached[best].next;
    for (int i = v->n_path - 1, node = best; i >= 0; i--, node = tree->node[node].parent)
        v->path[i] = node;
}

const fr_rule_ops fr_rules[FR_RULES] = {
    [FR_RULE_EXACT] = {"exact", true, true, verify_exact},
    [FR_RULE_REJECTION] = {"rejection", false, true, verify_rejection},
    [FR_RULE_TYPICAL] = {"typical", false, false, verify_typical},
};
