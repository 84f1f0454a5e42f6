// sequoia.c — fills the table T(n, l, b) from small trees to large ones. Then it reads the best
// shape out of the table, and chooses the size that costs least time a token.
#include "tree/sequoia.h"
#include <assert.h>

double fr_sequoia_tokens(const fr_sequoia *q, int n, int depth) {
    return q->tokens[n][depth][q->children[n][depth]];
}

// T(n, l, b) from smaller n and l, or from smaller b.
static void solve_one(fr_sequoia *q, int n, int l, int b) {
    double *best = &q->tokens[n][l][b];
    *best = 0;
    for (int y = 1; y < n; y++) {
        const double rest = q->tokens[y][l][b - 1], child = fr_sequoia_tokens(q, n - y, l - 1);
        if (rest <= 0 || child <= 0) continue;
        const double tokens = rest + q->p[b - 1] * child;
        if (tokens <= *best) continue;
        *best = tokens;
        q->rest[n][l][b] = (uint8_t)y;
    }
}

void fr_sequoia_solve(fr_sequoia *q, const double *p, const fr_shape_limits *limits) {
    q->limits =
        (fr_shape_limits){.nodes = fr_tree_clamp(limits->nodes, 1, FR_SEQUOIA_NODES),
                          .depth = fr_tree_clamp(limits->depth, 0, FR_SEQUOIA_DEPTH),
                          .children = fr_tree_clamp(limits->children, 0, FR_SEQUOIA_CHILDREN)};
    for (int b = 0; b < q->limits.children; b++)
        q->p[b] = p[b];
    for (int n = 1; n <= q->limits.nodes; n++)
        for (int l = 0; l <= q->limits.depth; l++) {
            q->tokens[n][l][0] = n == 1;
            q->children[n][l] = 0;
            for (int b = 1; b <= q->limits.children; b++) {
                q->tokens[n][l][b] = 0;
                if (l > 0) solve_one(q, n, l, b);
                if (q->tokens[n][l][b] > fr_sequoia_tokens(q, n, l)) q->children[n][l] = (uint8_t)b;
            }
        }
}

// Hangs the best n - 1 nodes of depth at most l under `parent`.
static void grow(const fr_sequoia *q, fr_shape *s, int parent, int n, int l) {
    int size[FR_SEQUOIA_CHILDREN], child[FR_SEQUOIA_CHILDREN];
    const int n_children = q->children[n][l];
    for (int b = n_children; b > 0; b--) {
        const int rest = q->rest[n][l][b];
        size[b - 1] = n - rest;
        n = rest;
    }
    for (int b = 0; b < n_children; b++)
        child[b] = fr_shape_add(s, parent, b, s->node[parent].prob * q->p[b]);
    for (int b = 0; b < n_children; b++)
        if (size[b] > 1) grow(q, s, child[b], size[b], l - 1);
}

void fr_sequoia_shape(const fr_sequoia *q, int n, int depth, fr_shape *s) {
    assert(fr_sequoia_tokens(q, n, depth) > 0);
    fr_shape_begin(s);
    grow(q, s, 0, n, depth);
    assert(fr_shape_is_sound(s));
}

double fr_sequoia_choose(const fr_sequoia *q, const fr_cost *cost, double level_seconds,
                         int context, int *n, int *depth) {
    double best = fr_cost_pass(cost, 1, 1, context);
    *n = 1;
    *depth = 0;
    for (int i = 2; i <= q->limits.nodes; i++)
        for (int l = 1; l <= q->limits.depth; l++) {
            const double tokens = fr_sequoia_tokens(q, i, l);
            if (tokens <= 0) continue;
            const double seconds = (l * level_seconds + fr_cost_pass(cost, i, i, context)) / tokens;
            if (seconds >= best) continue;
            best = seconds;
            *n = i;
            *depth = l;
        }
    return best;
}
