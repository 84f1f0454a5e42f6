// The drafter that retrieves: what it proposes, what it learns, and that no store changes a token.
#include "draft/chimera/stores.h"
#include "draft/drafting.h"
#include "support/tiny_pack.h"

enum { CTX = 200, PROMPT = 12, TOKENS = 60, IDS = 256 };
static const fr_tiny_options TARGET = {.type = FR_TYPE_Q8_0, .n_ctx = CTX, .seed = 5};
static const fr_sampling SAMPLINGS[] = {
    {.temperature = 0},
    {.temperature = 1, .top_k = 40, .top_p = 0.95f, .seed = 7},
    {.temperature = 1.3f, .min_p = 0.05f, .repeat_penalty = 1.2f, .repeat_last_n = 32, .seed = 9}};
enum { N_SAMPLINGS = sizeof SAMPLINGS / sizeof *SAMPLINGS };

static void close_pair(pair *p) {
    close_target(p);
    unlink(p->path);
}

static void write_store(pair *p, const texts *t) {
    strcpy(p->path, "rest-XXXXXX");
    store_write(p->path, p->tokenizer, t);
    snprintf(p->spec, sizeof p->spec, "rest:%s", p->path);
}

static void open_pair(pair *p, const texts *t) {
    open_target(p, &TARGET, 1, CTX);
    write_store(p, t);
}

// A store of one text.
static void open_pair_of(pair *p, const int32_t *ids, size_t n) {
    const texts t = {(int32_t *)ids, &n, 1};
    open_pair(p, &t);
}

static fr_tree propose(fr_drafter *d, const int32_t *ids, int n, int nodes, int depth) {
    const fr_context c = {.ids = ids, .n_ids = n};
    fr_proposal p = {0};
    fr_tree_begin(&p.tree, ids[n - 1], nodes, depth);
    d->ops->begin(d, &c, 0, NULL);
    d->ops->propose(d, &c, &p);
    return p.tree;
}

// The node at the end of a path, or -1.
static int node_at(const fr_tree *t, const int32_t *path, int n) {
    int node = 0;
    for (int i = 0; i < n && node >= 0; i++)
        node = fr_tree_child(t, node, path[i]);
    return node;
}

// ---------------------------------------------------------------- what is proposed

static void the_longest_span_decides(void **state) {
    (void)state;
    // "2 3" goes on with 4 three times, "1 2 3" with 5.
    static const int32_t ids[] = {9, 2, 3, 4, 8, 2, 3, 4, 7, 2, 3, 4, 6, 1, 2, 3, 5, 6};
    pair p;
    open_pair_of(&p, ids, sizeof ids / sizeof *ids);
    fr_drafter *d = open_drafter(&p, p.spec, false, (const char *[]){"min-score=0", NULL});
    fr_tree t = propose(d, (int32_t[]){30, 1, 2, 3}, 4, 32, 31);
    assert_true(node_at(&t, (int32_t[]){5, 6}, 2) > 0);
    assert_int_equal(node_at(&t, (int32_t[]){4}, 1), -1);
    assert_int_equal(t.n, 3);
    t = propose(d, (int32_t[]){30, 2, 3}, 3, 32, 31);
    assert_true(t.node[node_at(&t, (int32_t[]){4}, 1)].score >
                t.node[node_at(&t, (int32_t[]){5}, 1)].score);
    assert_int_equal(t.node[node_at(&t, (int32_t[]){4}, 1)].rank, 0);
    assert_int_equal(t.node[node_at(&t, (int32_t[]){5}, 1)].rank, 1);
    fr_drafter_close(d);
    d = open_drafter(&p, p.spec, false, (const char *[]){"min-score=0", "span=2", NULL});
    t = propose(d, (int32_t[]){30, 1, 2, 3}, 4, 32, 31); // looks at "2 3" alone
    assert_true(node_at(&t, (int32_t[]){4}, 1) > 0);
    fr_drafter_close(d);
    d = open_drafter(&p, p.spec, false, (const char *[]){"least-span=3", NULL});
    t = propose(d, (int32_t[]){30, 2, 3}, 3, 32, 31);
    assert_int_equal(t.n, 1);
    fr_drafter_close(d);
    close_pair(&p);
}

static void every_path_stands_in_the_store_and_fits_the_tree(void **state) {
    (void)state;
    pair p;
    fr_datastore s;
    dice_begin(91);
    texts t = texts_random(20, 60, 6);
    open_pair(&p, &t);
    store_open(&s, p.path);
    fr_drafter *d =
        open_drafter(&p, p.spec, false, (const char *[]){"min-score=0", "depth=7", NULL});
    for (int q = 0; q < 400; q++) {
        int32_t ids[30];
        fr_datastore_match m[FR_DATASTORE_ORDER];
        const int n = 1 + dice_below(30), nodes = 1 + dice_below(40), depth = dice_below(9);
        for (int i = 0; i < n; i++)
            ids[i] = dice_below(6);
        const fr_tree tree = propose(d, ids, n, nodes, depth);
        const int span = fr_datastore_find(&s, ids, n, FR_DATASTORE_ORDER, m);
        assert_true(tree.n <= nodes);
        for (int i = 1; i < tree.n; i++) {
            int32_t path[7];
            int at = tree.node[i].depth;
            bool stands = false;
            assert_true(at <= depth && at <= 7);
            for (int k = i; k > 0; k = tree.node[k].parent)
                path[--at] = tree.node[k].id;
            for (uint32_t k = m[span - 1].begin; k < m[span - 1].end && !stands; k++) {
                stands = true;
                for (uint32_t a = 0; a < tree.node[i].depth; a++)
                    stands &= fr_datastore_id(&s, s.places[k], a) == path[a];
            }
            assert_true(stands);
            if (tree.node[i].parent)
                assert_true(tree.node[i].score <= tree.node[tree.node[i].parent].score);
        }
    }
    fr_drafter_close(d);
    fr_datastore_close(&s);
    close_pair(&p);
    texts_free(&t);
}

static void guesses_that_fail_lose_their_score(void **state) {
    (void)state;
    static const int32_t ids[] = {1, 2, 3, 4, 5, 6, 7, 8};
    pair p;
    open_pair_of(&p, ids, 8);
    fr_drafter *d = open_drafter(&p, p.spec, false, (const char *[]){"min-score=0", NULL});
    const int32_t context[] = {1, 2, 3};
    fr_tree t = propose(d, context, 3, 32, 31);
    const float before = t.node[node_at(&t, (int32_t[]){4}, 1)].score;
    for (int i = 0; i < 50; i++)
        fr_hits_learn(&d->hits, &t, d->part, (int32_t[]){99}, 1);
    t = propose(d, context, 3, 32, 31);
    assert_true(t.node[node_at(&t, (int32_t[]){4}, 1)].score < 0.2f * before);
    for (int i = 0; i < 200; i++)
        fr_hits_learn(&d->hits, &t, d->part, (int32_t[]){4}, 1);
    t = propose(d, context, 3, 32, 31);
    assert_true(t.node[node_at(&t, (int32_t[]){4}, 1)].score > 0.9f);
    fr_drafter_close(d);
    close_pair(&p);
}

// A model may have fewer rows than its tokenizer tokens.
static void ids_that_the_model_has_not_are_ends(void **state) {
    (void)state;
    static const int32_t ids[] = {1, 2, 3, 250, 5};
    pair p;
    open_pair_of(&p, ids, 5);
    p.target.model.config.n_vocab = 250;
    fr_drafter *d = open_drafter(&p, p.spec, false, (const char *[]){"min-score=0", NULL});
    const fr_tree t = propose(d, (int32_t[]){1, 2}, 2, 32, 31);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.node[1].id, 3);
    fr_drafter_close(d);
    close_pair(&p);
}

// ---------------------------------------------------------------- decoding with it

// A store that knows much of what the target says, and much that it does not.
static void open_own(pair *p, const int32_t *prompt) {
    int32_t ids[N_SAMPLINGS * (PROMPT + TOKENS) + 3000];
    size_t length[N_SAMPLINGS + 100];
    texts t = {ids, length, 0};
    int n = 0;
    open_target(p, &TARGET, 1, CTX);
    for (int dist = 0; dist < N_SAMPLINGS; dist++) {
        const output o = decode_once(p, NULL, FR_RULE_EXACT, false, prompt, PROMPT,
                                     &SAMPLINGS[dist], TOKENS, NULL);
        memcpy(ids + n, prompt, sizeof *ids * PROMPT);
        memcpy(ids + n + PROMPT, o.token, sizeof *ids * TOKENS);
        for (int i = 10; i < PROMPT + TOKENS; i += 17)
            ids[n + i] = dice_below(IDS); // wrong now and then
        length[t.n++] = PROMPT + TOKENS;
        n += PROMPT + TOKENS;
    }
    for (int i = 0; i < 100; i++) {
        length[t.n++] = 30;
        for (int k = 0; k < 30; k++)
            ids[n++] = dice_below(IDS);
    }
    write_store(p, &t);
}

static void any_store_gives_the_tokens_of_plain_decoding(void **state) {
    (void)state;
    static const struct {
        const char *tail;
        bool no_adapt, adapt;
        const char *options[4];
    } HOW[] = {{"", true, false, {NULL}},
               {"", false, true, {NULL}},
               {"", false, false, {"min-score=0", "span=3", "retrieved=20", NULL}},
               {"", true, false, {"depth=63", "min-score=0", NULL}},
               {"+prompt-lookup", false, true, {"min-score=0", NULL}},
               {"+prompt-lookup", true, false, {NULL}}};
    for (int own = 0; own < 2; own++) {
        pair p;
        int32_t prompt[PROMPT];
        dice_begin(92);
        texts random = texts_random(40, 100, IDS);
        fr_test_ids(prompt, PROMPT, IDS, 31);
        own ? open_own(&p, prompt) : open_pair(&p, &random);
        for (int dist = 0; dist < N_SAMPLINGS; dist++) {
            fr_stats plain_stats, stats;
            const output plain = decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT,
                                             &SAMPLINGS[dist], TOKENS, &plain_stats);
            for (size_t h = 0; h < sizeof HOW / sizeof *HOW; h++) {
                char spec[80];
                snprintf(spec, sizeof spec, "%s%s", p.spec, HOW[h].tail);
                fr_drafter *d = open_drafter(&p, spec, HOW[h].no_adapt, HOW[h].options);
                const output got = decode_once(&p, d, FR_RULE_EXACT, HOW[h].adapt, prompt, PROMPT,
                                               &SAMPLINGS[dist], TOKENS, &stats);
                expect_same(&got, &plain);
                if (own && !HOW[h].adapt) assert_true(2 * stats.passes < plain_stats.passes);
                fr_drafter_close(d);
            }
        }
        close_pair(&p);
        texts_free(&random);
    }
}

static void it_joins_a_drafter_with_a_pack(void **state) {
    (void)state;
    const fr_tiny_pack tiny = {.form = &fr_eagle_form, .n_draft = 200};
    pair p;
    int32_t prompt[PROMPT];
    char pack[] = "rest-pack-XXXXXX", spec[96];
    dice_begin(93);
    fr_test_ids(prompt, PROMPT, IDS, 31);
    open_own(&p, prompt);
    fr_tiny_pack_write(pack, &tiny, &p.target.model);
    snprintf(spec, sizeof spec, "eagle:%s+%s", pack, p.spec);
    for (int dist = 0; dist < N_SAMPLINGS; dist++) {
        fr_stats stats;
        const output plain = decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT,
                                         &SAMPLINGS[dist], TOKENS, NULL);
        fr_drafter *d = open_drafter(&p, spec, true, NULL);
        const output got = decode_once(&p, d, FR_RULE_EXACT, false, prompt, PROMPT,
                                       &SAMPLINGS[dist], TOKENS, &stats);
        expect_same(&got, &plain);
        assert_true(stats.passes < TOKENS);
        fr_drafter_close(d);
    }
    unlink(pack);
    close_pair(&p);
}

// Greedy decoding is the same by every rule but the typical one, which takes what is likely enough.
static void under_other_rules_it_drafts_as_well(void **state) {
    (void)state;
    pair p;
    int32_t prompt[PROMPT];
    dice_begin(94);
    fr_test_ids(prompt, PROMPT, IDS, 31);
    open_own(&p, prompt);
    fr_drafter *d = open_drafter(&p, p.spec, true, NULL);
    for (int dist = 0; dist < N_SAMPLINGS; dist++) {
        fr_stats stats;
        const output a = decode_once(&p, d, FR_RULE_REJECTION, false, prompt, PROMPT,
                                     &SAMPLINGS[dist], TOKENS, &stats);
        const output b = decode_once(&p, d, FR_RULE_REJECTION, false, prompt, PROMPT,
                                     &SAMPLINGS[dist], TOKENS, &stats);
        if (dist == 0) {
            const output plain = decode_once(&p, NULL, FR_RULE_EXACT, false, prompt, PROMPT,
                                             &SAMPLINGS[dist], TOKENS, NULL);
            expect_same(&a, &plain);
        }
        assert_int_equal(a.n, b.n);
        assert_true(stats.exact_law);
        decode_once(&p, d, FR_RULE_TYPICAL, false, prompt, PROMPT, &SAMPLINGS[dist], TOKENS,
                    &stats);
        assert_true(stats.passes < TOKENS);
        assert_false(stats.lossless);
    }
    fr_drafter_close(d);
    close_pair(&p);
}

static void its_counts_are_told(void **state) {
    (void)state;
    static const int32_t ids[] = {1, 2, 3, 4, 5, 6, 7, 8};
    pair p;
    open_pair_of(&p, ids, 8);
    fr_drafter *d = open_drafter(&p, p.spec, false, NULL);
    const fr_context c = {.ids = ids, .n_ids = 3}, none = {.ids = (int32_t[]){70, 71}, .n_ids = 2};
    fr_draft_counts counts = {0};
    fr_proposal of = {0};
    d->ops->begin(d, &c, 0, NULL);
    fr_tree_begin(&of.tree, 3, 32, 31);
    d->ops->propose(d, &c, &of);
    fr_tree_begin(&of.tree, 71, 32, 31);
    d->ops->propose(d, &none, &of);
    d->ops->report(d, &counts);
    int known = 0;
    for (int i = 0; i < counts.n; i++) {
        const fr_draft_count *n = &counts.count[i];
        assert_string_equal(n->drafter, "rest");
        if (!strcmp(n->name, "lookups")) known += n->sum == 2 && !n->mean;
        if (!strcmp(n->name, "found")) known += n->sum == 1 && n->of == 2;
        if (!strcmp(n->name, "span")) known += n->sum == 3 && n->of == 1;
        if (!strcmp(n->name, "continuations")) known += n->sum == 1 && n->of == 1;
    }
    assert_int_equal(known, 4);
    fr_drafter_close(d);
    close_pair(&p);
}

// ---------------------------------------------------------------- what is refused

static void wrong_options_and_files_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "span=0",         "span=17",  "least-span=0", "span=3x",    "retrieved=0",
        "retrieved=5001", "depth=64", "min-score=2",  "min-score=", "colour=red"};
    static const int32_t ids[] = {1, 2, 3};
    pair p;
    fr_drafter *d;
    fr_error err;
    open_pair_of(&p, ids, 3);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(try_drafter(&d, &p, p.spec, false, (const char *[]){bad[i], NULL}, &err),
                         FR_EARG);
        assert_null(d);
    }
    assert_int_equal(
        try_drafter(&d, &p, p.spec, false, (const char *[]){"span=2", "least-span=3", NULL}, &err),
        FR_EARG);
    assert_int_equal(fr_drafter_check("rest", &err), FR_EARG); // needs a file
    assert_int_equal(try_drafter(&d, &p, "rest:nowhere.frd", false, NULL, &err), FR_EIO);
    assert_non_null(strstr(err.text, "nowhere.frd"));
    FILE *f = fopen(p.path, "r+b"); // damaged
    fseek(f, -1, SEEK_END);
    fputc(1, f);
    fclose(f);
    assert_int_equal(try_drafter(&d, &p, p.spec, false, NULL, &err), FR_EDATA);
    assert_non_null(strstr(err.text, p.path));
    assert_null(d);
    close_pair(&p);
}

static void a_store_of_another_vocabulary_is_refused(void **state) {
    (void)state;
    static const int32_t ids[] = {1, 2, 3};
    fr_tiny_options other = TARGET;
    pair p, q;
    fr_drafter *d;
    fr_error err;
    char own[FR_VOCAB_NAME], its[FR_VOCAB_NAME];
    open_pair_of(&p, ids, 3);
    other.spm = true;
    open_target(&q, &other, 1, CTX);
    assert_int_equal(try_drafter(&d, &q, p.spec, false, NULL, &err), FR_EUNSUP);
    fr_vocab_name(q.tokenizer, own);
    fr_vocab_name(p.tokenizer, its);
    assert_string_not_equal(own, its);
    assert_non_null(strstr(err.text, own));
    assert_non_null(strstr(err.text, its));
    close_target(&q);
    other = TARGET; // another model of the same vocabulary may use it
    other.seed = 77;
    other.n_layer = 1;
    open_target(&q, &other, 1, CTX);
    fr_drafter_close(open_drafter(&q, p.spec, false, NULL));
    close_target(&q);
    close_pair(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_span_decides),
        cmocka_unit_test(every_path_stands_in_the_store_and_fits_the_tree),
        cmocka_unit_test(guesses_that_fail_lose_their_score),
        cmocka_unit_test(ids_that_the_model_has_not_are_ends),
        cmocka_unit_test(any_store_gives_the_tokens_of_plain_decoding),
        cmocka_unit_test(it_joins_a_drafter_with_a_pack),
        cmocka_unit_test(under_other_rules_it_drafts_as_well),
        cmocka_unit_test(its_counts_are_told),
        cmocka_unit_test(wrong_options_and_files_are_refused),
        cmocka_unit_test(a_store_of_another_vocabulary_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
