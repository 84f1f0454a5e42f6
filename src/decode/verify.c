// verify.c — first the walk of the exact rule and of rejection: at each node the rule gives a token
// and the walk goes to the child that holds it. Then the typical rule, which judges the children of
// every node that it reaches and takes the longest path.
#include "decode/verify.h"
#include "kern/math.h"
#include "model/finite.h"

// rejection NULL: the target's own draws.
static void walk(fr_verdict *v, const fr_tree *tree, fr_forward *forward, fr_sampler *sampler,
                 fr_rejection *rejection, int32_t *ids, int n_ids) {
    int node = 0;
    v->n_path = v->broken = 0;
    for (;;) {
        float *logits = fr_forward_logits(forward, node);
        if (!fr_are_logits(logits, sampler->n_vocab)) return; // the next step begins there
        v->path[v->n_path++] = node;
        if (rejection) {
            const fr_chance *dist;
            fr_sampler_read(sampler, logits, ids, n_ids);
            const int n = fr_sampler_dist(sampler, &dist);
            v->next =
                fr_rejection_token(rejection, dist, n, tree, node, sampler->sampling.seed, n_ids);
        } else {
            v->next = fr_sampler_token(sampler, logits, ids, n_ids, n_ids);
        }
        ids[n_ids++] = v->next;
        node = fr_tree_child(tree, node, v->next);
        if (node < 0) return;
    }
}

void fr_verify_exact(fr_verdict *v, const fr_tree *tree, fr_forward *forward, fr_sampler *sampler,
                     int32_t *ids, int n_ids) {
    walk(v, tree, forward, sampler, NULL, ids, n_ids);
}

void fr_verify_rejection(fr_verdict *v, const fr_tree *tree, fr_forward *forward,
                         fr_sampler *sampler, fr_rejection *rejection, int32_t *ids, int n_ids) {
    walk(v, tree, forward, sampler, rejection, ids, n_ids);
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

void fr_verify_typical(fr_verdict *v, const fr_tree *tree, fr_forward *forward, fr_sampler *sampler,
                       const fr_typical *typical, int32_t *ids, int n_ids) {
    fr_reached reached[FR_TREE_MAX] = {{.yes = true}};
    int best = 0;
    for (int i = 0; i < tree->n; i++) { // parents come first
        if (!reached[i].yes) continue;
        const fr_chance *dist;
        const int known = n_ids + tree->node[i].depth;
        float *logits = fr_forward_logits(forward, i);
        v->broken = i;
        v->n_path = 0;
        if (!fr_are_logits(logits, sampler->n_vocab)) return;
        append_path(tree, i, ids, n_ids);
        fr_sampler_read(sampler, logits, ids, known);
        const int n = fr_sampler_dist(sampler, &dist);
        reached[i].next = fr_sampler_draw(sampler, known).id;
        judge_children(reached, tree, i, typical, dist, n);
        if (better(tree, reached, i, best)) best = i;
    }
    append_path(tree, best, ids, n_ids);
    v->n_path = tree->node[best].depth + 1;
    v->next = ids[n_ids + v->n_path - 1] = reached[best].next;
    for (int i = v->n_path - 1, node = best; i >= 0; i--, node = tree->node[node].parent)
        v->path[i] = node;
}
