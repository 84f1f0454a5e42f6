// The merge against the union of all paths, sorted.
#include "lab/draft/merge.h"
#include "tree/dice.h"

enum { MOST = FR_MERGE_TREES * 24, LONGEST = 8 };

static fr_tree tree[FR_MERGE_TREES];
static const fr_tree *list[FR_MERGE_TREES];

typedef struct entry {
    int32_t path[LONGEST];
    int n;
    float score, prob;
    int drafter, rank;
} entry;

// steps 0: scores of any value, no two alike.
static void random_tree(fr_tree *t, int drafter, int steps) {
    fr_tree_begin(t, 7, 1 + dice_below(24), 1 + dice_below(LONGEST));
    for (int i = 0; i < 40; i++) {
        const int parent = dice_below(t->n), before = t->n;
        const float u = steps ? (float)dice_below(steps) / (float)steps : (float)dice_unit();
        const int node = fr_tree_add(t, parent, dice_below(3), t->node[parent].score * u, drafter);
        if (t->n == before) continue;
        t->node[node].rank = t->node[node].kind = (uint8_t)dice_below(9);
        t->node[node].prob = (float)dice_unit();
    }
}

static entry entry_of(const fr_tree *t, int node) {
    entry e = {.n = t->node[node].depth,
               .score = t->node[node].score,
               .prob = t->node[node].prob,
               .drafter = t->node[node].drafter,
               .rank = t->node[node].rank};
    for (int k = e.n; k > 0; k--, node = t->node[node].parent)
        e.path[k - 1] = t->node[node].id;
    return e;
}

static bool same_path(const entry *a, const entry *b, int n) {
    return a->n >= n && b->n >= n && !memcmp(a->path, b->path, sizeof *a->path * (size_t)n);
}

// Every path of every tree once, with the best score that it has.
static int union_of(entry *all, int n_trees, int max_depth) {
    int n = 0;
    for (int k = 0; k < n_trees; k++)
        for (int i = 1; i < tree[k].n; i++) {
            const entry e = entry_of(&tree[k], i);
            if (e.n > max_depth) continue;
            int at = 0;
            while (at < n && !(all[at].n == e.n && same_path(&all[at], &e, e.n)))
                at++;
            if (at == n || e.score > all[at].score) all[at] = e;
            n += at == n;
        }
    return n;
}

static int better(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return (y->score > x->score) - (y->score < x->score);
}

static void check_is_a_tree(const fr_tree *t) {
    for (int i = 1; i < t->n; i++) {
        assert_true(t->node[i].parent < i);
        assert_int_equal(fr_tree_child(t, t->node[i].parent, t->node[i].id), i);
        assert_true(t->node[i].score <= t->node[t->node[i].parent].score);
    }
}

static void the_best_paths_of_all_trees_are_kept(void **state) {
    (void)state;
    static entry all[MOST];
    dice_begin(16);
    for (int round = 0; round < 400; round++) {
        fr_tree out;
        const int n_trees = 1 + dice_below(FR_MERGE_TREES), max_depth = dice_below(LONGEST + 1);
        for (int k = 0; k < n_trees; k++)
            random_tree(&tree[k], k, 0);
        fr_tree_begin(&out, 7, 1 + dice_below(FR_TREE_MAX), max_depth);
        fr_tree_merge(&out, list, n_trees);
        const int n = union_of(all, n_trees, max_depth);
        qsort(all, (size_t)n, sizeof *all, better);
        assert_int_equal(out.n, 1 + (n < out.max_nodes - 1 ? n : out.max_nodes - 1));
        check_is_a_tree(&out);
        for (int i = 1; i < out.n; i++) { // best first
            const entry made = entry_of(&out, i);
            assert_int_equal(made.n, all[i - 1].n);
            assert_true(same_path(&made, &all[i - 1], made.n));
            assert_true(made.score == all[i - 1].score && made.prob == all[i - 1].prob);
            assert_int_equal(made.drafter, all[i - 1].drafter);
            assert_int_equal(made.rank, all[i - 1].rank);
            assert_int_equal(out.node[i].kind, out.node[i].rank);
        }
    }
}

static void ties_make_a_tree_of_the_same_worth(void **state) {
    (void)state;
    static entry all[MOST];
    dice_begin(17);
    for (int round = 0; round < 400; round++) {
        fr_tree out;
        for (int k = 0; k < 4; k++)
            random_tree(&tree[k], k, 3);
        fr_tree_begin(&out, 7, 1 + dice_below(30), LONGEST);
        fr_tree_merge(&out, list, 4);
        const int n = union_of(all, 4, LONGEST);
        qsort(all, (size_t)n, sizeof *all, better);
        check_is_a_tree(&out);
        for (int i = 1; i < out.n; i++)
            assert_true(out.node[i].score == all[i - 1].score);
    }
}

static void the_first_tree_wins_ties(void **state) {
    (void)state;
    fr_tree out;
    for (int k = 0; k < 2; k++) {
        fr_tree_begin(&tree[k], 7, 8, 8);
        fr_tree_add(&tree[k], 0, 10 + k, 0.5f, k);
        fr_tree_add(&tree[k], 0, 20, 0.25f, k);
    }
    fr_tree_begin(&out, 7, 8, 8);
    fr_tree_merge(&out, list, 2);
    assert_int_equal(out.n, 4);
    assert_int_equal(out.node[1].id, 10);
    assert_int_equal(out.node[2].id, 11);
    assert_int_equal(out.node[3].drafter, 0);
}

static void a_score_above_the_parents_counts_as_the_parents(void **state) {
    (void)state;
    fr_tree out;
    fr_tree_begin(&tree[0], 7, 8, 8);
    fr_tree_add(&tree[0], fr_tree_add(&tree[0], 0, 1, 0.25f, 0), 2, 0.9f, 0);
    fr_tree_begin(&tree[1], 7, 8, 8);
    fr_tree_add(&tree[1], 0, 3, 0.5f, 1);
    fr_tree_begin(&out, 7, 3, 8);
    fr_tree_merge(&out, list, 2);
    assert_int_equal(out.node[1].id, 3);
    assert_int_equal(out.node[2].id, 1);
    fr_tree_begin(&out, 7, 4, 8);
    fr_tree_merge(&out, list, 2);
    assert_true(out.node[3].score == 0.25f);
}

static void trees_of_a_root_alone_merge_to_one(void **state) {
    (void)state;
    fr_tree out;
    fr_tree_begin(&tree[0], 7, 8, 8);
    tree[1] = tree[0];
    fr_tree_begin(&out, 7, 8, 8);
    fr_tree_merge(&out, list, 2);
    assert_int_equal(out.n, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_paths_of_all_trees_are_kept),
        cmocka_unit_test(ties_make_a_tree_of_the_same_worth),
        cmocka_unit_test(the_first_tree_wins_ties),
        cmocka_unit_test(a_score_above_the_parents_counts_as_the_parents),
        cmocka_unit_test(trees_of_a_root_alone_merge_to_one),
    };
    for (int k = 0; k < FR_MERGE_TREES; k++)
        list[k] = &tree[k];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
