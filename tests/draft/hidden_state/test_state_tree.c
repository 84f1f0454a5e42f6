// Trees from small lists against all paths, scored one by one and sorted.
#include "draft/hidden_state/state_tree.h"
#include "support/open_model.h"
#include "support/tiny_pack.h"
#include "support/weights.h"
#include "tree/dice.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { D = 64, RANK = 16, DRAFT = 60, TOKENS = 4, DEPTHS = 3 };

typedef struct path {
    int32_t id[DEPTHS];
    int depth;
    double score;
} path;

typedef struct fixture {
    fr_opened target;
    fr_pack_weights *weights;
    fr_pack pack; // of the weights
    fr_token_bias token_bias;
    fr_hits hits;
    char file[32];
    fr_state_dist dist[DEPTHS];
    float gate[DEPTHS][RANK];
} fixture;

static void open_fixture(fixture *f) {
    fr_error err;
    const fr_kern *kern;
    const fr_tiny_options tiny = {.arch = "llama", .n_layer = 1, .d = D};
    const fr_tiny_pack o = {.form = &fr_hidden_state_form, .n_draft = DRAFT, .rank = RANK};
    *f = (fixture){.hits = {.memory = 0}};
    assert_int_equal(fr_kern_pick(&kern, NULL, &err), FR_OK);
    fr_opened_open(&f->target, &tiny, kern, 1);
    strcpy(f->file, "pack-XXXXXX");
    fr_tiny_pack_write(f->file, &o, &f->target.model);
    f->weights = weights_of(f->file, &f->target.model);
    f->pack = f->weights->pack;
    if (fr_token_bias_open(&f->token_bias, f->weights, &err)) fail_msg("%s", err.text);
}

static void close_fixture(fixture *f) {
    fr_token_bias_close(&f->token_bias);
    fr_pack_weights_give_back(f->weights);
    unlink(f->file);
    fr_opened_close(&f->target);
}

// Distributions and rates by dice. All rates differ, so that no two nodes are alike in score.
static void throw(fixture * f) {
    for (int i = 0; i < FR_HIT_KINDS; i++)
        fr_hits_expect(&f->hits, i, (float)(0.2 + 0.9 * dice_unit()), 1e3f);
    for (int k = 0; k < DEPTHS; k++) {
        fr_state_dist *dist = &f->dist[k];
        dist->list.n = TOKENS;
        dist->reused = dice_below(2);
        dist->gate = f->gate[k];
        for (int i = 0; i < RANK; i++)
            f->gate[k][i] = (float)dice_unit();
        for (int i = 0; i < TOKENS; i++) {
            dist->list.index[i] = i * (DRAFT / TOKENS) + dice_below(DRAFT / TOKENS);
            dist->list.z[i] = (float)(3 * dice_unit());
        }
    }
}

// How likely a distribution holds token i after u.
static double dist_of(fixture *f, int k, int32_t u, bool biased, int i) {
    const fr_shortlist *list = &f->dist[k].list;
    float s[FR_SHORTLIST_MOST];
    double sum = 0;
    if (biased)
        fr_token_bias_score(&f->token_bias, list, f->dist[k].gate, u, s);
    else
        memcpy(s, list->z, sizeof list->z);
    for (int t = 0; t < list->n; t++)
        sum += exp((double)s[t]);
    return exp((double)s[i]) / sum;
}

static int all_paths(fixture *f, int32_t root, bool biased, path *to) {
    int n = 0;
    to[n++] = (path){.score = 1};
    for (int p = 0; p < n; p++) {
        if (to[p].depth == DEPTHS) continue;
        const int k = to[p].depth;
        for (int i = 0; i < TOKENS; i++) {
            const double prob = dist_of(f, k, k ? to[p].id[k - 1] : root, biased, i);
            path next = to[p];
            next.id[next.depth++] = f->pack.ids[f->dist[k].list.index[i]];
            next.score *= (double)fr_hits_rate(&f->hits, fr_state_kind(f->dist[k].reused, k + 1),
                                               (float)prob);
            to[n++] = next;
        }
    }
    return n;
}

static int descending(const void *a, const void *b) {
    const path *x = a, *y = b;
    return (x->score < y->score) - (x->score > y->score);
}

static int node_of(const fr_tree *t, const path *p) {
    int node = 0;
    for (int i = 0; i < p->depth && node >= 0; i++)
        node = fr_tree_child(t, node, p->id[i]);
    return node;
}

// A beam of all nodes of a depth (1, 4 and 16) loses nothing, so the tree is the best of all paths.
static void the_tree_is_the_best_of_all_paths(void **state) {
    (void)state;
    static fixture f;
    static fr_beam beam;
    static path all[256];
    dice_begin(75);
    open_fixture(&f);
    for (int round = 0; round < 200; round++) {
        const bool biased = round % 4;
        const int32_t root = dice_below(200);
        const fr_state_grower g = {.ids = f.pack.ids,
                                   .token_bias = biased ? &f.token_bias : NULL,
                                   .hits = &f.hits,
                                   .width = 16};
        fr_tree tree;
        throw(&f);
        fr_tree_begin(&tree, root, 2 + dice_below(60), DEPTHS);
        fr_state_tree_grow(&g, root, f.dist, DEPTHS, &beam);
        fr_beam_fill(&beam, 3, &tree);
        const int n = all_paths(&f, root, biased, all);
        assert_int_equal(n, 1 + 4 + 16 + 64);
        qsort(all, (size_t)n, sizeof *all, descending);
        assert_int_equal(tree.n, tree.max_nodes);
        const double least = all[tree.n - 1].score;
        for (int i = 0; i < n; i++) {
            const int node = node_of(&tree, &all[i]);
            // Of nodes equal in score at the border any may be there.
            if (all[i].score > least * (1 + 1e-5)) assert_true(node >= 0);
            if (all[i].score < least * (1 - 1e-5)) assert_true(node < 0);
            if (node > 0) {
                assert_true(fabs(tree.node[node].score - all[i].score) < 1e-5);
                assert_int_equal(tree.node[node].drafter, 3);
            }
        }
    }
    close_fixture(&f);
}

static void nodes_below_the_least_score_are_left_out(void **state) {
    (void)state;
    static fixture f;
    static fr_beam beam;
    static path all[256];
    dice_begin(76);
    open_fixture(&f);
    for (int round = 0; round < 50; round++) {
        const fr_state_grower g = {.ids = f.pack.ids, .hits = &f.hits, .width = 16, .least = 0.05f};
        fr_tree tree;
        throw(&f);
        fr_tree_begin(&tree, 7, FR_TREE_MAX, DEPTHS);
        fr_state_tree_grow(&g, 7, f.dist, DEPTHS, &beam);
        fr_beam_fill(&beam, 0, &tree);
        const int n = all_paths(&f, 7, false, all);
        for (int i = 0; i < n; i++) {
            if (all[i].score > 0.0501) assert_true(node_of(&tree, &all[i]) >= 0);
            if (all[i].score < 0.0499) assert_true(node_of(&tree, &all[i]) < 0);
        }
    }
    close_fixture(&f);
}

// Of a longer list: the children of the root are the eight that it holds likeliest.
static void the_likeliest_of_a_list_are_guessed(void **state) {
    (void)state;
    static fixture f;
    static fr_beam beam;
    dice_begin(79);
    open_fixture(&f);
    for (int round = 0; round < 200; round++) {
        fr_shortlist *list = &f.dist[0].list;
        const fr_state_grower g = {.ids = f.pack.ids, .hits = &f.hits, .width = 16};
        throw(&f);
        list->n = 1 + dice_below(DRAFT);
        for (int i = 0; i < list->n; i++) {
            list->index[i] = i;
            list->z[i] = (float)dice_unit();
        }
        fr_state_tree_grow(&g, 7, f.dist, 1, &beam);
        assert_int_equal(beam.n, 1 + (list->n < FR_STATE_CHILDREN ? list->n : FR_STATE_CHILDREN));
        for (int c = 1; c < beam.n; c++) {
            int at = 0, likelier = 0;
            while (f.pack.ids[at] != beam.node[c].id)
                at++;
            for (int i = 0; i < list->n; i++)
                likelier += list->z[i] > list->z[at];
            assert_int_equal(likelier, c - 1);
            assert_int_equal(beam.node[c].rank, c - 1);
        }
    }
    close_fixture(&f);
}

// Every kind is one of the table's, and reused distributions have their own.
static void kinds_are_of_the_table(void **state) {
    (void)state;
    for (int depth = 1; depth < 9; depth++) {
        assert_in_range(fr_state_kind(false, depth), 0, FR_HIT_KINDS - 1);
        assert_in_range(fr_state_kind(true, depth), 0, FR_HIT_KINDS - 1);
        for (int other = 1; other < 9; other++)
            assert_int_not_equal(fr_state_kind(false, depth), fr_state_kind(true, other));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_is_the_best_of_all_paths),
        cmocka_unit_test(nodes_below_the_least_score_are_left_out),
        cmocka_unit_test(the_likeliest_of_a_list_are_guessed),
        cmocka_unit_test(kinds_are_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
