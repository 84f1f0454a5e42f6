// accept_rules.c — rejection sampling at one node: the drawn children are tested in order, q is
// subtracted from p after each miss, and the token is drawn from the rest. Then the threshold of
// typical acceptance.
#include "decode/accept_rules.h"
#include "base/alloc.h"
#include "kern/math.h"
#include <assert.h>
#include <string.h>

fr_status fr_rejection_open(fr_rejection *r, int n_vocab, fr_error *err) {
    *r = (fr_rejection){.n_vocab = n_vocab};
    r->left = fr_alloc_array((size_t)n_vocab, sizeof *r->left);
    r->q = fr_alloc_array((size_t)n_vocab, sizeof *r->q);
    if (r->left && r->q) return FR_OK;
    fr_rejection_close(r);
    return fr_fail(err, FR_ENOMEM, "rejection: cannot get memory for %d tokens", n_vocab);
}

void fr_rejection_close(fr_rejection *r) {
    fr_free(r->left);
    fr_free(r->q);
    *r = (fr_rejection){0};
}

static double mass_of(const fr_chance *p, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += p[i].p;
    return sum;
}

static float chance_of(const fr_chance *p, int n, int32_t id) {
    for (int i = 0; i < n; i++)
        if (p[i].id == id) return p[i].p;
    return 0;
}

// The rest of q, which loses tokens as they are drawn.
static double mass_of_draft(const fr_rejection *r, const fr_dist *dist) {
    double sum = 0;
    for (int i = 0; i < dist->n; i++)
        sum += r->q[dist->id[i]];
    return sum;
}

// p := norm(max(p - q/q_mass, 0)). Where q equals p but for rounding nothing may be left; p then
// stays, which moves no probability by more than that rounding.
static void subtract(fr_rejection *r, int n, double q_mass) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        const double d = r->left[i].p - r->q[r->left[i].id] / q_mass;
        sum += d > 0 ? d : 0;
    }
    if (sum <= 0) return;
    for (int i = 0; i < n; i++) {
        const double d = r->left[i].p - r->q[r->left[i].id] / q_mass;
        r->left[i].p = d > 0 ? (float)(d / sum) : 0;
    }
}

// The node that passed; or -1, and r->left then holds what the token is drawn from.
static int test_draws(fr_rejection *r, int n, const fr_tree *tree, const fr_dist *dist,
                      uint64_t seed, int position) {
    double q_mass = mass_of_draft(r, dist);
    for (int k = 0; k < dist->n_draws && q_mass > 0; k++) {
        const int32_t id = tree->node[dist->draw[k]].id;
        const double q = r->q[id] / q_mass;
        if (q <= 0) continue; // not of this distribution: no draw, so it counts as chosen
        const double u = fr_uniform_at(seed, FR_NOISE_ACCEPT, (uint64_t)position, (uint64_t)k + 1);
        if (u * q < chance_of(r->left, n, id)) return dist->draw[k];
        subtract(r, n, q_mass);
        if (dist->replace) continue;
        r->q[id] = 0;
        q_mass = mass_of_draft(r, dist);
    }
    return -1;
}

static void spread(fr_rejection *r, const fr_dist *dist) {
    for (int i = 0; i < dist->n; i++) {
        assert(dist->id[i] >= 0 && dist->id[i] < r->n_vocab);
        r->q[dist->id[i]] = dist->p[i];
    }
}

static void clear(fr_rejection *r, const fr_dist *dist) {
    for (int i = 0; i < dist->n; i++)
        r->q[dist->id[i]] = 0;
}

int32_t fr_rejection_token(fr_rejection *r, const fr_chance *p, int n, const fr_tree *tree,
                           int node, uint64_t seed, int position) {
    const fr_dist *dist = tree->dist[node];
    assert(n >= 1 && n <= r->n_vocab);
    memcpy(r->left, p, sizeof *p * (size_t)n);
    if (dist) {
        spread(r, dist);
        const int passed = test_draws(r, n, tree, dist, seed, position);
        clear(r, dist);
        if (passed >= 0) return tree->node[passed].id;
    }
    return fr_chance_draw(r->left, n, fr_uniform_at(seed, FR_NOISE_ACCEPT, (uint64_t)position, 0));
}

// ---------------------------------------------------------------- typical

const fr_typical fr_typical_default = {.epsilon = 0.09, .delta = 0.3};

double fr_typical_threshold(const fr_typical *t, const fr_chance *p, int n) {
    const double mass = mass_of(p, n);
    double entropy = 0;
    for (int i = 0; i < n; i++)
        if (p[i].p > 0) entropy -= p[i].p / mass * fr_log(p[i].p / mass);
    const double bound = t->delta * fr_exp_f64(-entropy);
    return bound < t->epsilon ? bound : t->epsilon;
}
