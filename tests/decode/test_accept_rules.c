// The promise of rejection sampling: whatever the candidates and the distribution that they were
// drawn from, the token follows the target's distribution.
#include "chi_square.h"
#include "decode/accept_rules.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { V = 8, MOST_DRAWS = 16, DRAWS = 1000000 };
static const uint64_t SEED = 20;

// ---------------------------------------------------------------- a toy drafter

// How children come to be, and how that is told.
typedef enum way {
    CHOSEN,           // the k likeliest of q
    WITH_REPLACEMENT, // k draws of q
    WITHOUT,          // k draws of q (as many as it has tokens)
    MIXED,            // WITHOUT, and beside each drawn child its right neighbour, chosen
    // What must not be done:
    CHOSEN_SAID_DRAWN,
    WITHOUT_SAID_WITH,
    DRAWS_DROPPED, // k draws of which only those of the first one's token are told
} way;

typedef struct drafts { // what a distribution of the tree points to
    fr_dist dist;
    int32_t id[V];
    float p[V];
    int16_t draw[MOST_DRAWS];
} drafts;

static int32_t draw_from(const float *q, double u) {
    double total = 0, sum = 0;
    int32_t last = -1;
    for (int i = 0; i < V; i++)
        total += q[i];
    for (int i = 0; i < V; i++) {
        if (q[i] > 0) last = i;
        if ((sum += q[i]) > u * total) return i;
    }
    return last;
}

static void list_dist(drafts *d, const float *q, bool replace) {
    d->dist = (fr_dist){.id = d->id, .p = d->p, .draw = d->draw, .replace = replace};
    for (int i = V - 1; i >= 0; i--) // in an order of its own, and without the zeros
        if (q[i] > 0) {
            d->id[d->dist.n] = i;
            d->p[d->dist.n++] = q[i];
        }
}

static void choose(drafts *d, fr_tree *t, int node, const float *q, int k) {
    bool taken[V] = {false};
    for (int i = 0; i < k && i < V; i++) {
        int best = -1;
        for (int j = 0; j < V; j++)
            if (!taken[j] && (best < 0 || q[j] > q[best])) best = j;
        taken[best] = true;
        d->draw[d->dist.n_draws++] = (int16_t)fr_tree_add(t, node, best, q[best], 0);
    }
}

static void draw(drafts *d, fr_tree *t, int node, const float *q, way how, int k, uint64_t trial) {
    float left[V];
    memcpy(left, q, sizeof left);
    for (int i = 0; i < k; i++) {
        const double u = fr_uniform_at(SEED, FR_NOISE_DRAFT, trial, (uint64_t)(node * 100 + i));
        const int32_t x = draw_from(left, u);
        if (x < 0) return; // none is left
        if (how == DRAWS_DROPPED && i && x != t->node[d->draw[0]].id) continue;
        d->draw[d->dist.n_draws++] = (int16_t)fr_tree_add(t, node, x, q[x], 0);
        if (how != WITH_REPLACEMENT && how != DRAWS_DROPPED) left[x] = 0;
    }
}

static void add_children(drafts *d, fr_tree *t, int node, const float *q, way how, int k,
                         uint64_t trial) {
    list_dist(d, q, how == WITH_REPLACEMENT || how == WITHOUT_SAID_WITH || how == DRAWS_DROPPED);
    if (how == CHOSEN || how == CHOSEN_SAID_DRAWN)
        choose(d, t, node, q, k);
    else
        draw(d, t, node, q, how, k, trial);
    if (how != CHOSEN) t->dist[node] = &d->dist;
    for (int i = 0; how == MIXED && i < d->dist.n_draws; i++)
        fr_tree_add(t, node, (t->node[d->draw[i]].id + 1) % V, 0.1f, 1);
}

static int list_target(fr_chance *list, const float *p) {
    int n = 0;
    for (int i = 0; i < V; i++)
        if (p[i] > 0) list[n++] = (fr_chance){i, p[i]};
    return n;
}

// ---------------------------------------------------------------- one token

// Draws many times; the statistic, its degrees of freedom, and how often a child was accepted.
static double statistic(const float *p, const float *q, way how, int k, int *df, double *accepted) {
    fr_rejection r;
    fr_chance list[V];
    double dist[V];
    long count[V] = {0}, hits = 0;
    const int n = list_target(list, p);
    assert_int_equal(fr_rejection_open(&r, V, NULL), FR_OK);
    for (int trial = 0; trial < DRAWS; trial++) {
        fr_tree t;
        drafts d;
        fr_tree_begin(&t, 0, 64, 1);
        add_children(&d, &t, 0, q, how, k, (uint64_t)trial);
        const int32_t id = fr_rejection_token(&r, list, n, &t, 0, SEED, trial);
        assert_true(id >= 0 && id < V);
        count[id]++;
        hits += fr_tree_child(&t, 0, id) >= 0;
    }
    for (int i = 0; i < V; i++) {
        dist[i] = p[i];
        assert_true(r.q[i] == 0);
    }
    fr_rejection_close(&r);
    *accepted = (double)hits / DRAWS;
    return chi_square(count, dist, V, df);
}

typedef struct dists {
    const char *name;
    float p[V], q[V];
} dists;

static const dists CASES[] = {
    {"like each other",
     {0.30f, 0.20f, 0.15f, 0.12f, 0.10f, 0.06f, 0.05f, 0.02f},
     {0.20f, 0.30f, 0.10f, 0.15f, 0.05f, 0.10f, 0.02f, 0.08f}},
    {"equal",
     {0.30f, 0.20f, 0.15f, 0.12f, 0.10f, 0.06f, 0.05f, 0.02f},
     {0.30f, 0.20f, 0.15f, 0.12f, 0.10f, 0.06f, 0.05f, 0.02f}},
    {"disjoint",
     {0.50f, 0, 0.25f, 0, 0.125f, 0, 0.125f, 0},
     {0, 0.10f, 0, 0.20f, 0, 0.30f, 0, 0.40f}},
    {"q has not p's mode",
     {0.60f, 0.10f, 0.08f, 0.07f, 0.06f, 0.04f, 0.03f, 0.02f},
     {0, 0.25f, 0.25f, 0.10f, 0.10f, 0.10f, 0.10f, 0.10f}},
    {"q is nearly sure",
     {0.30f, 0.20f, 0.15f, 0.12f, 0.10f, 0.06f, 0.05f, 0.02f},
     {1e-5f, 1e-5f, 0.99995f, 1e-5f, 1e-5f, 1e-5f, 0, 0}},
    {"p is nearly sure",
     {0.002f, 0.001f, 0.992f, 0.001f, 0.001f, 0.001f, 0.001f, 0.001f},
     {0.125f, 0.125f, 0.125f, 0.125f, 0.125f, 0.125f, 0.125f, 0.125f}},
    {"q has most of what p keeps after a rejection", // so that repeats matter
     {0.35f, 0.40f, 0.05f, 0.04f, 0.04f, 0.04f, 0.04f, 0.04f},
     {0.29f, 0.05f, 0.31f, 0.07f, 0.07f, 0.07f, 0.07f, 0.07f}},
};
enum { N_CASES = sizeof CASES / sizeof *CASES };

static void expect_dist(const dists *c, const char *rule, way how, int k, double *accepted) {
    int df;
    const double chi = statistic(c->p, c->q, how, k, &df, accepted);
    print_message("%s, %d of q, %s: chi-square %.2f, %d degrees of freedom, accepted %.4f\n", rule,
                  k, c->name, chi, df, *accepted);
    if (!(chi < chi_square_limit(df)))
        fail_msg("above %.2f, the limit (seed %llu)", chi_square_limit(df),
                 (unsigned long long)SEED);
}

// A share of DRAWS draws, within five standard deviations. A sum of chances may be a little above 1.
static void expect_share(double got, double share) {
    if (!(fabs(got - share) <= 5 * sqrt(fmax(0, share * (1 - share)) / DRAWS) + 1e-6))
        fail_msg("expected %.5f, found %.5f", share, got);
}

// The chance that one of k draws passes, by all the ways in which the draws before it may have
// failed.
static double chance_of_passing(const double *p, const double *q, int k, bool replace) {
    double left[V], rest[V], mass = 0, passing = 0;
    for (int i = 0; i < V; i++) {
        passing += fmin(p[i], q[i]);
        mass += left[i] = fmax(p[i] - q[i], 0);
    }
    if (k == 1 || mass < 1e-9) return passing;
    for (int i = 0; i < V; i++)
        left[i] /= mass;
    if (replace) return passing + (1 - passing) * chance_of_passing(left, q, k - 1, true);
    for (int x = 0; x < V; x++) {
        const double failed = q[x] - fmin(p[x], q[x]);
        if (failed <= 0 || q[x] >= 1) continue;
        for (int i = 0; i < V; i++)
            rest[i] = i == x ? 0 : q[i] / (1 - q[x]);
        passing += failed * chance_of_passing(left, rest, k - 1, false);
    }
    return passing;
}

static void expect_passing(const dists *c, int k, bool replace, double accepted) {
    double p[V], q[V];
    for (int i = 0; i < V; i++) {
        p[i] = c->p[i];
        q[i] = c->q[i];
    }
    expect_share(accepted, chance_of_passing(p, q, k, replace));
}

// Leviathan 2023, Theorem 3.5: a draft is accepted with probability sum of min(p, q).
static void a_single_draw_is_the_chain_rule(void **state) {
    (void)state;
    for (int c = 0; c < N_CASES; c++) {
        double accepted;
        expect_dist(&CASES[c], "chain", WITHOUT, 1, &accepted);
        expect_passing(&CASES[c], 1, false, accepted);
    }
}

static void one_draw_is_drawn_either_way(void **state) {
    (void)state;
    fr_rejection r;
    fr_chance list[V];
    const int n = list_target(list, CASES[0].p);
    assert_int_equal(fr_rejection_open(&r, V, NULL), FR_OK);
    for (int trial = 0; trial < 10000; trial++) {
        fr_tree t;
        drafts d;
        fr_tree_begin(&t, 0, 64, 1);
        add_children(&d, &t, 0, CASES[0].q, WITHOUT, 1, (uint64_t)trial);
        const int32_t id = fr_rejection_token(&r, list, n, &t, 0, SEED, trial);
        d.dist.replace = true;
        assert_int_equal(id, fr_rejection_token(&r, list, n, &t, 0, SEED, trial));
    }
    fr_rejection_close(&r);
}

static void draws_with_replacement_keep_the_law(void **state) {
    (void)state;
    double accepted;
    for (int c = 0; c < N_CASES; c++) {
        expect_dist(&CASES[c], "with replacement", WITH_REPLACEMENT, 3, &accepted);
        expect_passing(&CASES[c], 3, true, accepted);
    }
    expect_dist(&CASES[5], "with replacement", WITH_REPLACEMENT, 12, &accepted);
}

static void draws_without_replacement_keep_the_law(void **state) {
    (void)state;
    double accepted;
    for (int c = 0; c < N_CASES; c++) {
        expect_dist(&CASES[c], "without replacement", WITHOUT, 3, &accepted);
        expect_passing(&CASES[c], 3, false, accepted);
    }
    expect_dist(&CASES[4], "without replacement", WITHOUT, 12, &accepted);
}

// A chosen child is accepted with its probability, all together with their sum.
static void chosen_children_keep_the_law(void **state) {
    (void)state;
    double accepted;
    expect_dist(&CASES[0], "chosen", CHOSEN, 3, &accepted); // tokens 1, 0, 3
    expect_share(accepted, 0.30 + 0.20 + 0.12);
    expect_dist(&CASES[2], "chosen", CHOSEN, 2, &accepted); // none that p has
    expect_share(accepted, 0);
    expect_dist(&CASES[1], "chosen", CHOSEN, 8, &accepted); // all
    expect_share(accepted, 1);
}

static void chosen_children_beside_drawn_ones_keep_the_law(void **state) {
    (void)state;
    double accepted;
    for (int c = 0; c < N_CASES; c += 2)
        expect_dist(&CASES[c], "drawn and chosen", MIXED, 2, &accepted);
}

static void no_children_keep_the_law(void **state) {
    (void)state;
    double accepted;
    expect_dist(&CASES[0], "a distribution without draws", WITHOUT, 0, &accepted);
    assert_true(accepted == 0);
}

// The statistic sees what it is there for: candidates that are not what their distribution says.
static void wrong_candidates_fail_the_chi_square(void **state) {
    (void)state;
    static const struct {
        const char *name;
        way how;
        int k;
    } wrong[] = {{"a chosen child tested against q", CHOSEN_SAID_DRAWN, 1},
                 {"draws without replacement said to be with", WITHOUT_SAID_WITH, 3},
                 {"draws dropped for what they are", DRAWS_DROPPED, 3}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int df;
        double accepted;
        const double chi =
            statistic(CASES[0].p, CASES[0].q, wrong[i].how, wrong[i].k, &df, &accepted);
        print_message("%s: chi-square %.1f, limit %.1f\n", wrong[i].name, chi,
                      chi_square_limit(df));
        assert_true(chi > 2 * chi_square_limit(df));
    }
}

// ---------------------------------------------------------------- two tokens

static const float *second(const dists *c,
                           int32_t first) { // the target's distribution after `first`
    static float p[V];
    for (int i = 0; i < V; i++)
        p[i] = c->p[(i + 3 * first) % V];
    return p;
}

static const float *second_draft(const dists *c, int32_t first) {
    static float q[V];
    for (int i = 0; i < V; i++)
        q[i] = c->q[(i + 2 * first) % V];
    return q;
}

// A step verifies a tree of two levels; where it ends after one token another step gives the
// second.
static void two_tokens(fr_rejection *r, const dists *c, way how, int trial, int32_t *pair) {
    fr_tree t;
    drafts root, below[V], next;
    fr_chance list[V];
    fr_tree_begin(&t, 0, 64, 2);
    add_children(&root, &t, 0, c->q, how, 2, (uint64_t)trial);
    const int n_children = t.n;
    for (int i = 1; i < n_children; i++)
        add_children(&below[i], &t, i, second_draft(c, t.node[i].id), how, 2, (uint64_t)trial);
    int n = list_target(list, c->p);
    pair[0] = fr_rejection_token(r, list, n, &t, 0, SEED, 2 * trial);
    int node = fr_tree_child(&t, 0, pair[0]);
    if (node < 0) {
        fr_tree_begin(&t, pair[0], 64, 1);
        add_children(&next, &t, 0, second_draft(c, pair[0]), how, 2, (uint64_t)(trial + DRAWS));
        node = 0;
    }
    n = list_target(list, second(c, pair[0]));
    pair[1] = fr_rejection_token(r, list, n, &t, node, SEED, 2 * trial + 1);
}

static void two_tokens_keep_their_joint_law(void **state) {
    (void)state;
    static const struct {
        const char *name;
        way how;
    } ways[] = {{"chosen", CHOSEN},
                {"with replacement", WITH_REPLACEMENT},
                {"without replacement", WITHOUT},
                {"drawn and chosen", MIXED}};
    enum { N = 400000 };
    const dists *c = &CASES[0];
    fr_rejection r;
    assert_int_equal(fr_rejection_open(&r, V, NULL), FR_OK);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        double dist[V * V];
        long count[V * V] = {0};
        for (int trial = 0; trial < N; trial++) {
            int32_t pair[2];
            two_tokens(&r, c, ways[w].how, trial, pair);
            count[pair[0] * V + pair[1]]++;
        }
        for (int i = 0; i < V; i++)
            for (int j = 0; j < V; j++)
                dist[i * V + j] = (double)c->p[i] * second(c, i)[j];
        int df;
        const double chi = chi_square(count, dist, V * V, &df);
        print_message("two tokens, %s: chi-square %.2f, %d degrees of freedom\n", ways[w].name, chi,
                      df);
        assert_true(chi < chi_square_limit(df));
    }
    fr_rejection_close(&r);
}

// ---------------------------------------------------------------- distributions as models give them

// A large vocabulary of which both distributions list a few, in orders of their own.
static void sparse_distributions_meet_by_token(void **state) {
    (void)state;
    enum { LARGE = 150000, N = 200000, P = 5, Q = 4 };
    const fr_chance p[P] = {{149999, 0.4f}, {7, 0.3f}, {70000, 0.15f}, {0, 0.1f}, {31, 0.05f}};
    const int32_t q_id[Q] = {0, 123456, 149999, 7};
    const float q_p[Q] = {0.5f, 0.25f, 0.15f, 0.1f};
    const double dist[P + 1] = {0.4, 0.3, 0.15, 0.1, 0.05, 0};
    long count[P + 1] = {0};
    fr_rejection r;
    assert_int_equal(fr_rejection_open(&r, LARGE, NULL), FR_OK);
    for (int trial = 0; trial < N; trial++) {
        fr_tree t;
        int16_t drawn[2];
        fr_dist q = {.id = q_id, .p = q_p, .n = Q, .draw = drawn, .n_draws = 2, .replace = true};
        fr_tree_begin(&t, 0, 8, 1);
        for (int i = 0; i < 2; i++) {
            double u = fr_uniform_at(SEED, FR_NOISE_DRAFT, (uint64_t)trial, (uint64_t)i);
            int at = 0;
            while (at < Q - 1 && (u -= q_p[at]) >= 0)
                at++;
            drawn[i] = (int16_t)fr_tree_add(&t, 0, q_id[at], 0.5f, 0);
        }
        t.dist[0] = &q;
        const int32_t id = fr_rejection_token(&r, p, P, &t, 0, SEED, trial);
        int cell = 0;
        while (cell < P && p[cell].id != id)
            cell++;
        count[cell]++;
    }
    int df;
    const double chi = chi_square(count, dist, P + 1, &df);
    print_message("150000 tokens: chi-square %.2f, %d degrees of freedom\n", chi, df);
    assert_true(chi < chi_square_limit(df));
    fr_rejection_close(&r);
}

// A node in the list of draws that the distribution does not hold passes with its own probability
// only.
static void a_child_outside_its_law_counts_as_chosen(void **state) {
    (void)state;
    enum { N = 100000 };
    const fr_chance p[3] = {{0, 0.5f}, {1, 0.3f}, {2, 0.2f}};
    const int32_t id = 1;
    const float one = 1;
    const int16_t drawn = 1;
    const fr_dist q = {.id = &id, .p = &one, .n = 1, .draw = &drawn, .n_draws = 1};
    const double dist[3] = {0.5, 0.3, 0.2};
    long count[3] = {0};
    fr_rejection r;
    assert_int_equal(fr_rejection_open(&r, V, NULL), FR_OK);
    for (int trial = 0; trial < N; trial++) {
        fr_tree t;
        fr_tree_begin(&t, 0, 8, 1);
        assert_int_equal(fr_tree_add(&t, 0, 2, 0.5f, 0), 1);
        t.dist[0] = &q;
        count[fr_rejection_token(&r, p, 3, &t, 0, SEED, trial)]++;
    }
    int df;
    assert_true(chi_square(count, dist, 3, &df) < chi_square_limit(2));
    fr_rejection_close(&r);
}

// The same position and seed give the same token whatever else was asked before; chosen children
// change nothing at all.
static void a_token_depends_on_seed_position_and_candidates_alone(void **state) {
    (void)state;
    fr_rejection a, b;
    fr_chance list[V];
    const int n = list_target(list, CASES[0].p);
    assert_int_equal(fr_rejection_open(&a, V, NULL), FR_OK);
    assert_int_equal(fr_rejection_open(&b, V, NULL), FR_OK);
    for (int trial = 999; trial >= 0; trial--) {
        fr_tree drawn, chosen, bare;
        drafts d, c;
        fr_tree_begin(&drawn, 0, 64, 1);
        fr_tree_begin(&chosen, 0, 64, 1);
        fr_tree_begin(&bare, 0, 64, 1);
        add_children(&d, &drawn, 0, CASES[0].q, WITHOUT, 3, (uint64_t)trial);
        add_children(&c, &chosen, 0, CASES[0].q, CHOSEN, 3, (uint64_t)trial);
        const int32_t first = fr_rejection_token(&a, list, n, &drawn, 0, SEED, trial);
        fr_rejection_token(&b, list, n, &bare, 0, SEED + 1, 5);
        assert_int_equal(first, fr_rejection_token(&b, list, n, &drawn, 0, SEED, trial));
        assert_int_equal(fr_rejection_token(&a, list, n, &bare, 0, SEED, trial),
                         fr_rejection_token(&a, list, n, &chosen, 0, SEED, trial));
    }
    fr_rejection_close(&a);
    fr_rejection_close(&b);
}

// Correlation of every pair of streams, and of each with the target's own draws, within five
// standard deviations of none.
static void streams_know_nothing_of_each_other(void **state) {
    (void)state;
    enum { N = 200000, STREAMS = 5 };
    double sum[STREAMS][STREAMS] = {{0}};
    for (int i = 0; i < N; i++) {
        const uint64_t at = (uint64_t)i;
        const double x[STREAMS] = {fr_uniform(9, at) - 0.5,
                                   fr_uniform_at(9, FR_NOISE_ACCEPT, at, 0) - 0.5,
                                   fr_uniform_at(9, FR_NOISE_ACCEPT, at, 1) - 0.5,
                                   fr_uniform_at(9, FR_NOISE_DRAFT, at, 0) - 0.5,
                                   fr_uniform_at(9, FR_NOISE_DRAFT + 1, at, 0) - 0.5};
        for (int a = 0; a < STREAMS; a++) {
            assert_true(x[a] >= -0.5 && x[a] < 0.5);
            for (int b = 0; b < a; b++)
                sum[a][b] += 12 * x[a] * x[b];
        }
    }
    for (int a = 0; a < STREAMS; a++)
        for (int b = 0; b < a; b++)
            assert_true(fabs(sum[a][b]) < 5 * sqrt(N));
}

// ---------------------------------------------------------------- typical

static void typical_thresholds_by_hand(void **state) {
    (void)state;
    const fr_chance sure[] = {{3, 1}}, half[] = {{0, 0.5f}, {1, 0.25f}, {2, 0.25f}};
    fr_chance flat[8];
    for (int i = 0; i < 8; i++)
        flat[i] = (fr_chance){i, 0.125f};
    const fr_typical *t = &fr_typical_default, loose = {.epsilon = 1, .delta = 0.3},
                     hard = {.epsilon = 0.09, .delta = 100};
    const double near = 1e-12;
    assert_true(fabs(fr_typical_threshold(t, sure, 1) - 0.09) < near); // entropy 0: min(.09, .3)
    assert_true(fabs(fr_typical_threshold(&loose, sure, 1) - 0.3) < near);
    // entropy 1.5 ln 2: 0.3 * 2^-1.5 = 0.10607 is above epsilon
    assert_true(fabs(fr_typical_threshold(t, half, 3) - 0.09) < near);
    assert_true(fabs(fr_typical_threshold(&loose, half, 3) - 0.3 / sqrt(8)) < near);
    assert_true(fabs(fr_typical_threshold(t, flat, 8) - 0.3 / 8) < near); // entropy ln 8
    assert_true(fabs(fr_typical_threshold(&hard, flat, 8) - 0.09) < near);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_draw_is_the_chain_rule),
        cmocka_unit_test(one_draw_is_drawn_either_way),
        cmocka_unit_test(draws_with_replacement_keep_the_law),
        cmocka_unit_test(draws_without_replacement_keep_the_law),
        cmocka_unit_test(chosen_children_keep_the_law),
        cmocka_unit_test(chosen_children_beside_drawn_ones_keep_the_law),
        cmocka_unit_test(no_children_keep_the_law),
        cmocka_unit_test(wrong_candidates_fail_the_chi_square),
        cmocka_unit_test(two_tokens_keep_their_joint_law),
        cmocka_unit_test(sparse_distributions_meet_by_token),
        cmocka_unit_test(a_child_outside_its_law_counts_as_chosen),
        cmocka_unit_test(a_token_depends_on_seed_position_and_candidates_alone),
        cmocka_unit_test(streams_know_nothing_of_each_other),
        cmocka_unit_test(typical_thresholds_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
