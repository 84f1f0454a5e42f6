// The beam against a plain reading of EAGLE-2: keep the best of each level, then the best of all.
#include "dice.h"
#include "support/damage.h"
#include "tree/beam.h"

enum { MOST = 1200, LONGEST = 8 };

static uint64_t model; // the pretended one; another each round

// What it thinks of rank `rank` after a path: any function of the path will do. Few steps of p make
// ties.
static float chance(const int32_t *path, int n, int rank, int steps) {
    uint64_t h = model + 14695981039346656037u;
    for (int i = 0; i <= n; i++) {
        h = (h ^ (uint64_t)(i < n ? path[i] : rank)) * 1099511628211u;
        h ^= h >> 29;
    }
    const double u = (double)(h * 0x9e3779b97f4a7c15u >> 11) * 0x1p-53;
    return steps ? (float)(1 + (int)(u * steps)) / (float)steps : (float)u;
}

typedef struct guess {
    int32_t path[LONGEST];
    int n;
    float score;
} guess;

typedef struct plain_beam {
    guess all[MOST];
    int n;
    int steps, children, width;
} plain_beam;

// The k best of all[from..n), marked; ties to the first.
static void mark_best(const plain_beam *b, int from, int k, bool *marked) {
    memset(marked, 0, sizeof *marked * MOST);
    for (; k > 0; k--) {
        int best = -1;
        for (int i = from; i < b->n; i++)
            if (!marked[i] && (best < 0 || b->all[i].score > b->all[best].score)) best = i;
        if (best < 0) return;
        marked[best] = true;
    }
}

static void expand(plain_beam *b, guess of) {
    for (int r = 0; r < b->children; r++) {
        guess *g = &b->all[b->n++];
        *g = of;
        g->path[g->n++] = r;
        g->score = of.score * chance(of.path, of.n, r, b->steps);
    }
}

// Expansion in the frontier's order, best first, as the beam hands it out.
static void expand_frontier(plain_beam *b, int from) {
    bool frontier[MOST];
    const int end = b->n;
    mark_best(b, from, b->width, frontier);
    for (;;) {
        int best = -1;
        for (int i = from; i < end; i++)
            if (frontier[i] && (best < 0 || b->all[i].score > b->all[best].score)) best = i;
        if (best < 0) return;
        frontier[best] = false;
        expand(b, b->all[best]);
    }
}

static void run_plain(plain_beam *b, int levels) {
    b->n = 0;
    expand(b, (guess){.score = 1});
    for (int from = 0, level = 1; level < levels; level++) {
        const int end = b->n;
        expand_frontier(b, from);
        from = end;
    }
}

static int path_of(const fr_beam *b, int node, int32_t *path) {
    const int n = b->node[node].depth;
    for (int k = n; k > 0; k--, node = b->node[node].parent)
        path[k - 1] = b->node[node].id;
    return n;
}

static void run_beam(fr_beam *b, const plain_beam *like, int levels) {
    fr_beam_begin(b, 7, like->width);
    for (int level = 0; level < levels; level++) {
        for (int i = 0; i < b->n_frontier; i++) {
            int32_t path[LONGEST];
            const int n = path_of(b, b->frontier[i], path);
            for (int r = 0; r < like->children; r++)
                assert_true(fr_beam_offer(b, b->frontier[i], r, chance(path, n, r, like->steps),
                                          r + 1) > 0);
        }
        fr_beam_next(b);
    }
}

static int find(const fr_tree *t, const guess *g) {
    int node = 0;
    for (int i = 0; i < g->n && node >= 0; i++)
        node = fr_tree_child(t, node, g->path[i]);
    return node;
}

static fr_beam beam;
static plain_beam plain;
static fr_tree tree;

static void the_tree_is_the_best_of_all_that_was_scored(void **state) {
    (void)state;
    bool best[MOST];
    dice_begin(14);
    for (int round = 0; round < 300; round++) {
        model = dice_bits();
        plain.steps = round % 2 ? 0 : 2 + dice_below(4);
        plain.children = 1 + dice_below(10);
        plain.width = 1 + dice_below(10);
        const int levels = 1 + dice_below(LONGEST), most = 1 + dice_below(64);
        run_plain(&plain, levels);
        run_beam(&beam, &plain, levels);
        assert_int_equal(beam.n, plain.n + 1);
        fr_tree_begin(&tree, 7, most, FR_TREE_MAX_DEPTH);
        fr_beam_fill(&beam, 3, &tree);
        mark_best(&plain, 0, most - 1, best);
        int n = 1;
        for (int i = 0; i < plain.n; i++) {
            const int node = find(&tree, &plain.all[i]);
            assert_int_equal(node >= 0, best[i]);
            if (!best[i]) continue;
            assert_true(tree.node[node].score == plain.all[i].score);
            assert_int_equal(tree.node[node].rank, tree.node[node].id);
            assert_int_equal(tree.node[node].kind, tree.node[node].id + 1);
            assert_int_equal(tree.node[node].drafter, 3);
            n++;
        }
        assert_int_equal(tree.n, n);
    }
}

static int all_scores(float *score, int n, int32_t *path, int depth, float above) {
    for (int r = 0; depth < 4 && r < 2; r++) {
        const float own = above * chance(path, depth, r, 0);
        score[n++] = own;
        path[depth] = r;
        n = all_scores(score, n, path, depth + 1, own);
    }
    return n;
}

static int falling(const void *a, const void *b) {
    return (*(const float *)b > *(const float *)a) - (*(const float *)b < *(const float *)a);
}

// 2 children to a depth of 4 make frontiers of 8 nodes at most: nothing is ever dropped.
static void a_wide_beam_finds_the_best_paths_there_are(void **state) {
    (void)state;
    dice_begin(15);
    for (int round = 0; round < 50; round++) {
        float score[32], found[32];
        int32_t path[4];
        model = dice_bits();
        plain = (plain_beam){.children = 2, .width = 8};
        run_beam(&beam, &plain, 4);
        fr_tree_begin(&tree, 7, 12, 8);
        fr_beam_fill(&beam, 0, &tree);
        assert_int_equal(tree.n, 12);
        for (int i = 1; i < tree.n; i++)
            found[i - 1] = tree.node[i].score;
        assert_int_equal(all_scores(score, 0, path, 0, 1), 2 + 4 + 8 + 16);
        qsort(score, 30, sizeof *score, falling);
        qsort(found, 11, sizeof *found, falling);
        assert_memory_equal(found, score, 11 * sizeof *found);
    }
}

static void a_tree_in_use_gets_what_still_fits(void **state) {
    (void)state;
    fr_beam_begin(&beam, 7, 4);
    fr_beam_offer(&beam, 0, 1, 0.5f, 0);
    fr_beam_offer(&beam, 0, 2, 0.25f, 0);
    fr_beam_next(&beam);
    fr_beam_offer(&beam, 1, 3, 0.9f, 0);
    fr_tree_begin(&tree, 7, 3, 8);
    fr_tree_add(&tree, 0, 9, 0.1f, 1);
    fr_beam_fill(&beam, 0, &tree);
    assert_int_equal(tree.n, 3); // the root, what was there, the best
    assert_int_equal(fr_tree_child(&tree, 0, 1), 2);
    fr_beam_fill(&beam, 0, &tree); // full
    assert_int_equal(tree.n, 3);
    fr_tree_begin(&tree, 7, 3, 1); // depth 1: node 3 does not take the place of node 2
    fr_beam_fill(&beam, 0, &tree);
    assert_int_equal(tree.n, 3);
    assert_true(fr_tree_child(&tree, 0, 2) > 0);
}

static void impossible_guesses_are_not_expanded(void **state) {
    (void)state;
    fr_beam_begin(&beam, 7, 4);
    assert_int_equal(beam.n_frontier, 1);
    fr_beam_offer(&beam, 0, 1, 0, 0);
    assert_int_equal(fr_beam_next(&beam), 0);
    assert_int_equal(fr_beam_next(&beam), 0);
    fr_beam_begin(&beam, 7, 1000);
    assert_int_equal(beam.width, FR_BEAM_WIDTH);
    fr_beam_begin(&beam, 7, 0);
    assert_int_equal(beam.width, 1);
}

static void no_child_stands_above_its_parent(void **state) {
    (void)state;
    fr_beam_begin(&beam, 7, 4);
    fr_beam_offer(&beam, 0, 1, 0.5f, 0);
    fr_beam_next(&beam);
    fr_beam_offer(&beam, 1, 2, 1.0000001f, 0); // a softmax may round up
    assert_true(beam.node[2].score == 0.5f);
    fr_tree_begin(&tree, 7, 2, 8);
    fr_beam_fill(&beam, 0, &tree);
    assert_true(fr_tree_child(&tree, 0, 1) == 1); // equal, but the parent was offered first
}

static void a_full_beam_says_so(void **state) {
    (void)state;
    fr_beam_begin(&beam, 7, 4);
    for (int i = 1; i < FR_BEAM_NODES; i++)
        assert_int_equal(fr_beam_offer(&beam, 0, i, 0.5f, 0), i);
    assert_int_equal(fr_beam_offer(&beam, 0, 0, 1, 0), -1);
    assert_int_equal(fr_beam_next(&beam), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(beam.frontier[i], i + 1); // ties: those offered first
}

static void the_check_of_a_beam_finds_damage(void **state) {
    (void)state;
    static fr_beam b;
    fr_beam_begin(&b, 7, 2);
    const int a = fr_beam_offer(&b, 0, 1, 0.5f, 0), c = fr_beam_offer(&b, 0, 2, 0.25f, 0);
    fr_beam_next(&b);
    const int d = fr_beam_offer(&b, a, 3, 0.5f, 0);
    assert_noticed(b.n, 0, fr_beam_is_sound(&b));
    assert_noticed(b.n, FR_BEAM_NODES + 1, fr_beam_is_sound(&b));
    assert_noticed(b.level, b.n + 1, fr_beam_is_sound(&b));
    assert_noticed(b.width, 1, fr_beam_is_sound(&b));
    assert_noticed(b.frontier[1], (int16_t)d, fr_beam_is_sound(&b)); // newer than the frontier
    assert_noticed(b.node[c].parent, (int16_t)c, fr_beam_is_sound(&b));
    assert_noticed(b.node[d].depth, 1, fr_beam_is_sound(&b));
    assert_noticed(b.node[d].score, 0.6f, fr_beam_is_sound(&b)); // above its parent's
    assert_noticed(b.node[d].score, 0.0f / 0.0f, fr_beam_is_sound(&b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_is_the_best_of_all_that_was_scored),
        cmocka_unit_test(a_wide_beam_finds_the_best_paths_there_are),
        cmocka_unit_test(a_tree_in_use_gets_what_still_fits),
        cmocka_unit_test(impossible_guesses_are_not_expanded),
        cmocka_unit_test(no_child_stands_above_its_parent),
        cmocka_unit_test(a_full_beam_says_so),
        cmocka_unit_test(the_check_of_a_beam_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
