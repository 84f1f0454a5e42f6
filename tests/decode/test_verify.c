// Rules other than `exact`, on a model: rejection gives the distribution of plain decoding whatever
// drafters draw, typical takes the path that its definition says.
#include "chi_square.h"
#include "decode/group.h"
#include "support/open_model.h"
#include "support/quick.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CTX = 48, PROMPT = 5, TOP = 4, N_Q = 6, DRAWN = 3 };

// ---------------------------------------------------------------- the distribution, by hand

typedef struct hand_dist { // of one token: the TOP best, and their chances
    int32_t id[TOP];
    double p[TOP];
} hand_dist;

// Repeat penalty, top-k, temperature, as docs of samplers define them.
static hand_dist dist_of(const float *logits, int n_vocab, const int32_t *ids, int n_ids,
                         const fr_sampling *g) {
    hand_dist dist;
    double *z = malloc(sizeof *z * (size_t)n_vocab), total = 0;
    for (int i = 0; i < n_vocab; i++) {
        bool seen = false;
        for (int k = 0; k < n_ids; k++)
            seen |= ids[k] == i;
        z[i] = !seen           ? logits[i]
               : logits[i] > 0 ? logits[i] / g->repeat_penalty
                               : logits[i] * g->repeat_penalty;
    }
    for (int k = 0; k < TOP; k++) {
        int best = 0;
        for (int i = 1; i < n_vocab; i++)
            if (z[i] > z[best]) best = i;
        dist.id[k] = best;
        total += dist.p[k] = exp(z[best] / g->temperature);
        z[best] = -INFINITY;
    }
    for (int k = 0; k < TOP; k++)
        dist.p[k] /= total;
    free(z);
    return dist;
}

static bool keep_token(void *user, int32_t token, const fr_node *node) {
    (void)node;
    *(int32_t *)user = token;
    return true;
}

// The distribution after n ids. A greedy step leaves the logits of its root as the model gave them.
static hand_dist dist_after(fr_decoder *d, const int32_t *ids, int n, const fr_sampling *g) {
    int32_t token;
    fr_decoder_prompt(d, ids, n, &(fr_sampling){0});
    fr_decoder_step(d, 1, keep_token, &token);
    return dist_of(fr_decoder_logits(d, 0), d->model->config.n_vocab, ids, n, g);
}

// ---------------------------------------------------------------- a drafter that draws

typedef enum way { CHAIN, WITH_REPLACEMENT, WITHOUT, CHOSEN, MIXED, WAYS } way;
static const char *const WAY_NAMES[WAYS] = {"one draw", "with replacement", "without replacement",
                                            "chosen", "drawn and chosen"};

typedef struct drawn {
    fr_dist dist;
    int16_t draw[DRAWN];
} drawn;

typedef struct drawing {
    fr_drafter base;
    way how;
    hand_dist first, second[TOP]; // the target's, which the drafts resemble
    int32_t q_id[1 + TOP][N_Q];
    float q[1 + TOP][N_Q]; // of the root, and of the node after each token of `first`
    drawn memory[FR_TREE_MAX];
} drawing;

// Tokens of the target's distribution in another order, and two that it never gives.
static void make_drafts(drawing *d) {
    static const float weights[N_Q] = {0.1f, 0.35f, 0.15f, 0.2f, 0.05f, 0.15f};
    for (int l = 0; l <= TOP; l++) {
        const hand_dist *dist = l ? &d->second[l - 1] : &d->first;
        int n = 0;
        for (int32_t id = 0; n < N_Q - TOP; id++) {
            bool in_dist = false;
            for (int k = 0; k < TOP; k++)
                in_dist |= dist->id[k] == id;
            if (!in_dist) d->q_id[l][n++] = id;
        }
        memcpy(d->q_id[l] + n, dist->id, sizeof dist->id);
        for (int k = 0; k < N_Q; k++)
            d->q[l][k] = weights[(k + l) % N_Q];
    }
}

// Which of the distributions holds for a node's children; -1: the pair is complete, or not one of
// the target's.
static int dist_index(const drawing *d, const fr_context *c, const fr_tree *tree, int node) {
    const int n_before = c->n_ids + tree->node[node].depth;
    for (int k = 0; k < TOP && n_before == PROMPT + 1; k++)
        if (d->first.id[k] == tree->node[node].id) return 1 + k;
    return n_before == PROMPT ? 0 : -1;
}

static void draw_children(drawing *d, const fr_context *c, fr_tree *tree, int node, int *k) {
    const int l = dist_index(d, c, tree, node);
    if (l < 0) return;
    drawn *m = &d->memory[node];
    float left[N_Q];
    memcpy(left, d->q[l], sizeof left);
    m->dist = (fr_dist){.id = d->q_id[l],
                        .p = d->q[l],
                        .n = N_Q,
                        .draw = m->draw,
                        .replace = d->how == WITH_REPLACEMENT};
    for (int i = 0; i < (d->how == CHAIN ? 1 : DRAWN); i++) {
        double total = 0, u;
        int at = 0;
        for (int j = 0; j < N_Q; j++)
            total += left[j];
        u = total *
            fr_uniform_at(c->sampling->seed, FR_NOISE_DRAFT, (uint64_t)c->n_ids, (uint64_t)(*k)++);
        while (at < N_Q - 1 && (u -= left[at]) >= 0)
            at++;
        m->draw[m->dist.n_draws++] = (int16_t)fr_tree_add(tree, node, d->q_id[l][at], 0.5f, 0);
        if (d->how != WITH_REPLACEMENT) left[at] = 0;
    }
    tree->dist[node] = &m->dist;
}

static void choose_children(drawing *d, const fr_context *c, fr_tree *tree, int node) {
    const int l = dist_index(d, c, tree, node);
    for (int i = 0; l >= 0 && i < 3; i++)
        fr_tree_add(tree, node, d->q_id[l][2 * i], 0.3f, 1);
}

static void propose(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_tree *tree = &p->tree;
    drawing *d = (drawing *)base;
    int k = 0;
    for (int node = 0; node < tree->n; node++) { // the children of a child come behind it
        if (tree->node[node].depth >= tree->max_depth) return;
        if (d->how != CHOSEN) draw_children(d, c, tree, node, &k);
        if (d->how == CHOSEN || d->how == MIXED) choose_children(d, c, tree, node);
    }
}

static const fr_drafter_ops DRAWS = {.name = "test",
                                     .begin = fr_no_begin,
                                     .propose = propose,
                                     .want = fr_no_want,
                                     .got = fr_no_got,
                                     .extend = fr_no_extend,
                                     .observe = fr_no_observe,
                                     .report = fr_no_report,
                                     .close = fr_no_close};

// ---------------------------------------------------------------- rejection

typedef struct pair {
    int32_t token[3];
    int n;
} pair;

static bool emit(void *user, int32_t token, const fr_node *node) {
    pair *p = user;
    (void)node;
    p->token[p->n++] = token;
    return true;
}

static int cell_of(const drawing *d, const pair *p) {
    for (int i = 0; i < TOP; i++)
        for (int j = 0; j < TOP && d->first.id[i] == p->token[0]; j++)
            if (d->second[i].id[j] == p->token[1]) return i * TOP + j;
    return TOP * TOP;
}

static void count_pairs(fr_decoder *d, drawing *draws, fr_sampling g, const int32_t *prompt,
                        int trials, long *count) {
    d->drafter = &draws->base;
    d->accept.rule = FR_RULE_REJECTION;
    d->adapt = true; // what was drawn must be kept whole all the same
    for (int trial = 0; trial < trials; trial++) {
        pair p = {0};
        g.seed = (uint64_t)trial;
        fr_decoder_prompt(d, prompt, PROMPT, &g);
        assert_true(!d->stats.lossless && d->stats.exact_law);
        while (p.n < 2) {
            fr_decoder_step(d, 3 - p.n, emit, &p);
            if (draws->how != CHOSEN) assert_int_equal(d->tree.n, d->proposal.tree.n);
        }
        count[cell_of(draws, &p)]++;
    }
    d->drafter = fr_drafter_none();
}

static void rejection_gives_the_law_of_plain_decoding(void **state) {
    (void)state;
    const int trials = fr_test_is_quick() ? 5000 : 20000;
    fr_opened o;
    fr_error err;
    fr_decoder d;
    int32_t ids[PROMPT + 1];
    const fr_kern *kern;
    const fr_sampling g = {.temperature = 2, .top_k = TOP, .repeat_penalty = 1.2f};
    assert_int_equal(fr_kern_pick(&kern, NULL, &err), FR_OK);
    fr_opened_open(&o, &(fr_tiny_options){.type = FR_TYPE_Q8_0, .n_layer = 1}, kern, 1);
    fr_test_ids(ids, PROMPT, o.model.config.n_vocab, 5);
    assert_int_equal(fr_decoder_open(&d, &o.model, CTX, FR_KV_F16, &(fr_needs){0}, &err), FR_OK);
    drawing draws = {.base = {.ops = &DRAWS, .default_nodes = 64}};
    draws.first = dist_after(&d, ids, PROMPT, &g);
    double dist[TOP * TOP + 1] = {0};
    for (int i = 0; i < TOP; i++) {
        ids[PROMPT] = draws.first.id[i];
        draws.second[i] = dist_after(&d, ids, PROMPT + 1, &g);
        for (int j = 0; j < TOP; j++)
            dist[i * TOP + j] = draws.first.p[i] * draws.second[i].p[j];
    }
    make_drafts(&draws);
    for (draws.how = 0; draws.how < WAYS; draws.how++) {
        long count[TOP * TOP + 1] = {0};
        int df;
        count_pairs(&d, &draws, g, ids, trials, count);
        const double chi = chi_square(count, dist, TOP * TOP + 1, &df);
        print_message("%s, seeds 0 to %d: chi-square %.2f, %d degrees of freedom\n",
                      WAY_NAMES[draws.how], trials - 1, chi, df);
        assert_int_equal(df, TOP * TOP - 1);
        assert_true(chi < chi_square_limit(df));
    }
    fr_decoder_close(&d);
    fr_opened_close(&o);
}

// ---------------------------------------------------------------- whole texts

// A drafter of random trees, in part made of a given text, that checks typical acceptance.
typedef struct guesser {
    fr_drafter base;
    const int32_t *text;
    int n_text, accepted;
    fr_typical typical;
    bool check;
} guesser;

static void guess(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_tree *tree = &p->tree;
    guesser *d = (guesser *)base;
    int node = 0;
    for (int i = c->n_ids; i < d->n_text && node >= 0 && tree->n < 6; i++)
        node = fr_tree_add(tree, node, d->text[i], 0.9f, 0);
    for (int i = 0; i < 10; i++)
        fr_tree_add(tree, rand() % tree->n, rand() % c->model->config.n_vocab, 0.1f, 0);
}

// Softmax of a row at the temperature: every token, in order of ids.
static void softmax(const float *logits, int n, double temperature, double *p) {
    double most = -INFINITY, total = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, logits[i]);
    for (int i = 0; i < n; i++)
        total += p[i] = exp((logits[i] - most) / temperature);
    for (int i = 0; i < n; i++)
        p[i] /= total;
}

// Medusa's rule, node by node for every path: the depth and log p that the best path has.
static int best_path(const guesser *d, const fr_context *c, const fr_tree *tree) {
    const int n = c->model->config.n_vocab;
    double log_p[FR_TREE_MAX] = {0}, *p = malloc(sizeof *p * (size_t)n);
    bool typical[FR_TREE_MAX] = {true};
    int best = 0;
    for (int i = 1; i < tree->n; i++) {
        const int parent = tree->node[i].parent;
        double entropy = 0;
        softmax(fr_forward_logits(c->forward, parent), n, c->sampling->temperature, p);
        for (int k = 0; k < n; k++)
            if (p[k] > 0) entropy -= p[k] * log(p[k]);
        const double x = p[tree->node[i].id];
        typical[i] =
            typical[parent] && x > fmin(d->typical.epsilon, d->typical.delta * exp(-entropy));
        log_p[i] = log_p[parent] + log(x);
        const int deeper = tree->node[i].depth - tree->node[best].depth;
        if (typical[i] && (deeper > 0 || (deeper == 0 && log_p[i] > log_p[best]))) best = i;
    }
    free(p);
    return best;
}

static void check_path(fr_drafter *base, const fr_context *c, const fr_verdict *v) {
    guesser *d = (guesser *)base;
    if (!v->tree || !d->check) return;
    const int best = best_path(d, c, v->tree);
    assert_int_equal(v->path[v->n_path - 1], best);
    assert_int_equal(v->n_path, v->tree->node[best].depth + 1);
    for (int i = 1; i < v->n_path; i++) {
        assert_int_equal(v->tree->node[v->path[i]].parent, v->path[i - 1]);
        assert_int_equal(c->ids[c->n_ids - 1 - v->n_path + i], v->tree->node[v->path[i]].id);
    }
    d->accepted += v->n_path - 1;
}

static const fr_drafter_ops GUESSES = {.name = "test",
                                       .begin = fr_no_begin,
                                       .propose = guess,
                                       .want = fr_no_want,
                                       .got = fr_no_got,
                                       .extend = fr_no_extend,
                                       .observe = check_path,
                                       .report = fr_no_report,
                                       .close = fr_no_close};

typedef struct text {
    int32_t token[CTX];
    int n;
} text;

static bool append(void *user, int32_t token, const fr_node *node) {
    text *t = user;
    if (node) assert_int_equal(node->id, token);
    t->token[t->n++] = token;
    return true;
}

static text decode(const fr_model *m, fr_drafter *drafter, fr_rule rule, const fr_typical *typical,
                   const fr_sampling *g, const int32_t *prompt) {
    fr_decoder d;
    fr_error err;
    text t = {.n = 0};
    assert_int_equal(fr_decoder_open(&d, m, CTX, FR_KV_F16, &(fr_needs){0}, &err), FR_OK);
    d.drafter = drafter ? drafter : fr_drafter_none();
    d.accept.rule = rule;
    if (typical) d.accept.typical = *typical;
    fr_decoder_prompt(&d, prompt, PROMPT, g);
    assert_int_equal(d.stats.lossless, rule == FR_RULE_EXACT || !drafter);
    assert_int_equal(d.stats.exact_law, rule != FR_RULE_TYPICAL || !drafter);
    while (d.n_ids < CTX)
        fr_decoder_step(&d, CTX - d.n_ids, append, &t);
    fr_decoder_close(&d);
    return t;
}

static const fr_sampling WARM = {.temperature = 1, .top_k = 40, .repeat_penalty = 1.1f, .seed = 8};

// Greedy distributions leave one token at every place, so that every rule says it; without a
// drafter there is nothing to accept at any temperature.
static void rules_agree_where_there_is_no_choice(void **state) {
    (void)state;
    fr_opened o;
    int32_t ids[CTX];
    fr_opened_open(&o, &(fr_tiny_options){.type = FR_TYPE_Q8_0}, fr_kern_of(FR_ISA_SCALAR), 1);
    fr_test_ids(ids, PROMPT, o.model.config.n_vocab, 6);
    const fr_sampling cold = {.repeat_penalty = 1.3f};
    const text greedy = decode(&o.model, NULL, FR_RULE_EXACT, NULL, &cold, ids);
    const text warm = decode(&o.model, NULL, FR_RULE_EXACT, NULL, &WARM, ids);
    memcpy(ids + PROMPT, greedy.token, sizeof *ids * (size_t)greedy.n);
    for (fr_rule rule = FR_RULE_REJECTION; rule <= FR_RULE_TYPICAL; rule++) {
        guesser d = {
            .base = {.ops = &GUESSES, .default_nodes = 16}, .text = ids, .n_text = CTX - 10};
        srand(7);
        const text got = decode(&o.model, &d.base, rule, NULL, &cold, ids);
        assert_memory_equal(got.token, greedy.token, sizeof *got.token * (CTX - PROMPT));
        const text plain = decode(&o.model, NULL, rule, NULL, &WARM, ids);
        assert_memory_equal(plain.token, warm.token, sizeof *plain.token * (CTX - PROMPT));
    }
    fr_opened_close(&o);
}

// Chosen candidates do not move a text under rejection: it is a function of the seed.
static void chosen_candidates_do_not_change_the_text(void **state) {
    (void)state;
    fr_opened o;
    int32_t ids[CTX];
    fr_opened_open(&o, &(fr_tiny_options){.type = FR_TYPE_Q8_0}, fr_kern_of(FR_ISA_SCALAR), 1);
    fr_test_ids(ids, PROMPT, o.model.config.n_vocab, 6);
    guesser d = {.base = {.ops = &GUESSES, .default_nodes = 1}, .text = ids, .n_text = 0};
    const text bare = decode(&o.model, &d.base, FR_RULE_REJECTION, NULL, &WARM, ids);
    const text exact = decode(&o.model, &d.base, FR_RULE_EXACT, NULL, &WARM, ids);
    memcpy(ids + PROMPT, bare.token, sizeof *ids * (size_t)bare.n);
    d.base.default_nodes = 16;
    d.n_text = CTX;
    srand(9);
    const text got = decode(&o.model, &d.base, FR_RULE_REJECTION, NULL, &WARM, ids);
    assert_memory_equal(got.token, bare.token, sizeof *got.token * (CTX - PROMPT));
    assert_memory_not_equal(exact.token, bare.token, sizeof *got.token * (CTX - PROMPT));
    fr_opened_close(&o);
}

static void typical_takes_the_path_of_its_definition(void **state) {
    (void)state;
    fr_opened o;
    int32_t ids[CTX];
    fr_opened_open(&o, &(fr_tiny_options){.type = FR_TYPE_Q8_0}, fr_kern_of(FR_ISA_SCALAR), 1);
    fr_test_ids(ids, PROMPT, o.model.config.n_vocab, 6);
    const fr_typical rules[] = {{0.09, 0.3}, {0.01, 0.1}, {0.0005, 100}, {0, 0}};
    int accepted = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        const fr_sampling g = {.temperature = 1.5f, .seed = seed};
        const fr_typical *rule = &rules[seed % 4];
        guesser d = {.base = {.ops = &GUESSES, .default_nodes = 16},
                     .text = ids,
                     .typical = *rule,
                     .check = true};
        srand((unsigned)seed);
        const text plain = decode(&o.model, NULL, FR_RULE_EXACT, NULL, &g, ids);
        memcpy(ids + PROMPT, plain.token, sizeof *ids * (size_t)plain.n);
        d.n_text = CTX;
        decode(&o.model, &d.base, FR_RULE_TYPICAL, rule, &g, ids);
        accepted += d.accepted;
    }
    print_message("%d candidates accepted (seeds 0 to 11)\n", accepted);
    assert_true(accepted > 20);
    fr_opened_close(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rejection_gives_the_law_of_plain_decoding),
        cmocka_unit_test(rules_agree_where_there_is_no_choice),
        cmocka_unit_test(chosen_candidates_do_not_change_the_text),
        cmocka_unit_test(typical_takes_the_path_of_its_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
