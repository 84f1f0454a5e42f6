#include "draft/registry.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static fr_drafter *open_lookup(int n_ctx, const char *const *options) {
    fr_drafter *d;
    fr_error err;
    fr_drafter_config config = {.n_ctx = n_ctx, .options = options};
    assert_int_equal(fr_prompt_lookup_method.open(&d, "", &config, &err), FR_OK);
    return d;
}

static fr_tree propose(fr_drafter *d, const int32_t *ids, int n) {
    fr_proposal p = {0};
    fr_context c = {.ids = ids, .n_ids = n};
    fr_tree_begin(&p.tree, ids[n - 1], 32, 31);
    d->ops->propose(d, &c, &p);
    return p.tree;
}

static fr_tree begin_and_propose(fr_drafter *d, const int32_t *ids, int n) {
    d->ops->begin(d, &(fr_context){.ids = ids, .n_ids = n}, 0, NULL);
    return propose(d, ids, n);
}

static void the_most_recent_continuation_comes_first(void **state) {
    (void)state;
    fr_drafter *d = open_lookup(64, (const char *[]){"min-score=0", NULL});
    const int32_t ids[] = {1, 2, 3, 10, 11, 1, 2, 3, 20, 21, 9, 1, 2, 3};
    fr_tree t = begin_and_propose(d, ids, 14);
    int recent = fr_tree_child(&t, 0, 20), older = fr_tree_child(&t, 0, 10);
    assert_true(recent > 0 && older > 0 && recent < older);
    assert_true(t.node[recent].score > t.node[older].score);
    int next = fr_tree_child(&t, recent, 21);
    assert_true(next > 0 && fr_tree_child(&t, next, 9) > 0);
    fr_drafter_close(d);
}

static void nothing_seen_means_nothing_proposed(void **state) {
    (void)state;
    fr_drafter *d = open_lookup(64, NULL);
    const int32_t ids[] = {1, 2, 3, 4, 5, 6, 7};
    fr_tree t = begin_and_propose(d, ids, 7);
    assert_int_equal(t.n, 1);
    t = begin_and_propose(d, ids, 1); // a context shorter than any n-gram
    assert_int_equal(t.n, 1);
    fr_drafter_close(d);
}

// What an index proposes that grew token by token stands in the text, and begins with what one built
// at once proposes first (with other hit rates, so the rest differs).
static void what_a_grown_index_proposes_stands_in_the_text(void **state) {
    (void)state;
    enum { N = 400 };
    int32_t ids[N];
    int proposed = 0, compared = 0;
    fr_drafter *grown = open_lookup(N, (const char *[]){"min-score=0.01", "matches=16", NULL});
    srand(51);
    for (int i = 0; i < N; i++)
        ids[i] = rand() % 6;
    grown->ops->begin(grown, &(fr_context){.ids = ids, .n_ids = 3}, 0, NULL);
    for (int n = 3; n < N; n++) {
        fr_tree t = propose(grown, ids, n);
        for (int i = 1; i < t.n; i++) { // the root and the path stand somewhere before
            int32_t path[64];
            int length = 0;
            for (int j = i; j >= 0; j = t.node[j].parent)
                path[length++] = t.node[j].id;
            bool found = false;
            for (int p = 0; p < n - 1 && !found; p++) {
                found = true; // past the end: the path itself
                for (int k = 0; k < length && found; k++) {
                    int at = p + k;
                    int32_t there = at < n ? ids[at] : path[length - 1 - (at - n + 1)];
                    found = there == path[length - 1 - k];
                }
            }
            assert_true(found);
            proposed++;
        }
        fr_drafter *fresh = open_lookup(N, (const char *[]){"min-score=0.01", "matches=16", NULL});
        fr_tree u = begin_and_propose(fresh, ids, n);
        for (int i = 1; i < u.n && i < 4; i++) {
            if (u.node[i].depth > 1) continue;
            assert_true(fr_tree_child(&t, 0, u.node[i].id) > 0);
            compared++;
        }
        fr_drafter_close(fresh);
        fr_verdict v = {.tree = &t};
        grown->ops->observe(grown, &(fr_context){.ids = ids, .n_ids = n + 1}, &v);
    }
    assert_true(proposed > N && compared > N / 2);
    fr_drafter_close(grown);
}

// One step as the decoder does it: what really followed is learned.
static void follow(fr_drafter *d, const fr_tree *t, const int32_t *ids, int n) {
    fr_hits_learn(&d->hits, t, d->part, ids + n, 1);
    d->ops->observe(d, &(fr_context){.ids = ids, .n_ids = n + 1}, &(fr_verdict){.tree = t});
}

static float best_score(const fr_tree *t) {
    float best = 0;
    for (int i = 1; i < t->n; i++)
        if (t->node[i].score > best) best = t->node[i].score;
    return best;
}

static void misses_lower_its_scores_and_hits_raise_them(void **state) {
    (void)state;
    enum { N = 900 };
    int32_t ids[N];
    fr_drafter *d = open_lookup(N, NULL);
    for (int i = 0; i < 300; i++) // "1 2" is followed by something new each time
        ids[i] = i % 3 < 2 ? 1 + i % 3 : 100 + i;
    for (int i = 300; i < N; i++)
        ids[i] = i % 7; // a text that repeats itself
    d->ops->begin(d, &(fr_context){.ids = ids, .n_ids = 4}, 0, NULL);
    fr_tree t;
    for (int n = 4; n < 299; n++) {
        t = propose(d, ids, n);
        follow(d, &t, ids, n);
    }
    t = propose(d, ids, 299); // after "1 2": it knows better now
    assert_int_equal(ids[298], 2);
    assert_true(best_score(&t) < 0.1f);
    for (int n = 299; n < N - 1; n++) {
        t = propose(d, ids, n);
        follow(d, &t, ids, n);
    }
    t = propose(d, ids, N - 1);
    assert_true(best_score(&t) > 0.95f);
    int deepest = 0; // sure of itself, it guesses many tokens on, round and round
    for (int i = 1; i < t.n; i++)
        if (t.node[i].score > 0.5f && t.node[i].depth > deepest) deepest = t.node[i].depth;
    assert_true(deepest >= 10);
    fr_drafter_close(d);
}

// A longer match and more places that agree are kinds of their own, so that each has its own rate.
static void length_and_agreement_are_told_apart(void **state) {
    (void)state;
    fr_drafter *d = open_lookup(64, NULL);
    const int32_t one[] = {5, 6, 7, 8, 9, 6}, two[] = {5, 6, 7, 8, 9, 5, 6},
                  agreed[] = {6, 7, 1, 6, 7, 2, 6}, split[] = {6, 7, 1, 6, 8, 2, 6};
    const fr_tree a = begin_and_propose(d, one, 6), b = begin_and_propose(d, two, 7),
                  c = begin_and_propose(d, agreed, 7), e = begin_and_propose(d, split, 7);
    const int ka = a.node[fr_tree_child(&a, 0, 7)].kind, kb = b.node[fr_tree_child(&b, 0, 7)].kind,
              kc = c.node[fr_tree_child(&c, 0, 7)].kind, ke = e.node[fr_tree_child(&e, 0, 8)].kind,
              ko = e.node[fr_tree_child(&e, 0, 7)].kind;
    const int kinds[] = {ka, kb, kc, ke, ko};
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < i; k++)
            assert_int_not_equal(kinds[i], kinds[k]);
    fr_drafter_close(d);
}

static void unknown_names_and_options_are_refused(void **state) {
    (void)state;
    fr_drafter *d;
    fr_error err;
    char used[64];
    fr_drafter_config config = {.n_ctx = 8};
    assert_int_equal(fr_drafter_check("nope", &err), FR_EARG);
    assert_non_null(strstr(err.text, "nope"));
    assert_int_equal(fr_drafter_check("none", &err), FR_OK);
    assert_int_equal(fr_drafter_check("auto", &err), FR_OK);
    assert_int_equal(fr_drafter_check(NULL, &err), FR_OK);
    assert_int_equal(fr_drafter_open(&d, used, "nope", &config, &err), FR_EARG);
    assert_non_null(strstr(err.text, "nope"));
    const char *bad[][2] = {{"colour=red", NULL},
                            {"min-score=2", NULL},
                            {"matches=0", NULL},
                            {"matches=x", NULL},
                            {"min-score=", NULL}};
    for (int i = 0; i < 5; i++) {
        config.options = bad[i];
        assert_int_equal(fr_drafter_open(&d, used, "prompt-lookup", &config, &err), FR_EARG);
        assert_null(d);
    }
    config.options = NULL;
    assert_int_equal(fr_drafter_open(&d, used, "none", &config, &err), FR_OK);
    assert_true(fr_drafter_is_none(d));
    assert_int_equal(fr_drafter_open(&d, used, NULL, &config, &err), FR_OK);
    assert_string_equal(used, "prompt-lookup");
    fr_drafter_close(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_recent_continuation_comes_first),
        cmocka_unit_test(nothing_seen_means_nothing_proposed),
        cmocka_unit_test(what_a_grown_index_proposes_stands_in_the_text),
        cmocka_unit_test(misses_lower_its_scores_and_hits_raise_them),
        cmocka_unit_test(length_and_agreement_are_told_apart),
        cmocka_unit_test(unknown_names_and_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
