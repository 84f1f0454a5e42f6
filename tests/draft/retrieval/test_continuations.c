// The trie of continuations against one that is made literally: every prefix of every continuation
// is counted.
#include "draft/chimera/stores.h"
#include "draft/retrieval/continuations.h"

enum { DEPTH = 10, MOST_PREFIXES = 20000 };

typedef struct prefix {
    int32_t id[DEPTH];
    int n, count;
    bool seen; // in the trie
} prefix;

typedef struct prefixes {
    int n;
    prefix item[MOST_PREFIXES];
} prefixes;

static prefix *find_prefix(prefixes *all, const int32_t *ids, int n) {
    for (int i = 0; i < all->n; i++)
        if (all->item[i].n == n && !memcmp(all->item[i].id, ids, sizeof *ids * (size_t)n))
            return &all->item[i];
    return NULL;
}

// REST's candidates: all prefixes of the next DEPTH tokens of every match, with their counts.
static void count_all(prefixes *all, const fr_datastore *s, const fr_datastore_match *m) {
    all->n = 0;
    for (uint32_t i = m->begin; i < m->end; i++) {
        int32_t ids[DEPTH];
        for (int n = 0; n < DEPTH && s->ids[s->places[i] + (uint32_t)n] >= 0;) {
            ids[n] = s->ids[s->places[i] + (uint32_t)n];
            prefix *p = find_prefix(all, ids, ++n);
            if (!p) {
                assert_true(all->n < MOST_PREFIXES);
                p = &all->item[all->n++];
                *p = (prefix){.n = n};
                memcpy(p->id, ids, sizeof *ids * (size_t)n);
            }
            p->count++;
        }
    }
}

static void compare(fr_continuations *c, const fr_continuation_group *g, prefixes *all,
                    int32_t *path) {
    fr_continuation_group child[FR_GROUP_CHILDREN];
    if (g->depth == DEPTH) return;
    const int n = fr_continuations_split(c, g, child);
    for (int k = 0; k < n; k++) {
        path[g->depth] = child[k].id;
        prefix *p = find_prefix(all, path, child[k].depth);
        assert_non_null(p);
        assert_int_equal(child[k].depth, g->depth + 1);
        assert_int_equal(p->count, child[k].end - child[k].begin);
        assert_false(p->seen);
        p->seen = true;
        if (k) assert_true(p->count <= child[k - 1].end - child[k - 1].begin);
        compare(c, &child[k], all, path);
    }
}

static void counts_are_those_of_all_prefixes(void **state) {
    fr_tokenizer *vocabulary = *state;
    prefixes *all = malloc(sizeof *all);
    dice_begin(81);
    for (int i = 0; i < 30; i++) {
        const int n_ids = 2 + dice_below(30);
        char path[] = "store-XXXXXX";
        fr_continuations c;
        fr_datastore s;
        fr_error err;
        texts t = texts_random(10, 120, n_ids);
        store_write(path, vocabulary, &t);
        store_open(&s, path);
        assert_int_equal(fr_continuations_open(&c, &s, &err), FR_OK);
        for (int q = 0; q < 10; q++) {
            fr_datastore_match m[FR_DATASTORE_ORDER];
            int32_t ids[2] = {dice_below(n_ids), dice_below(n_ids)}, way[DEPTH];
            const int span = fr_datastore_find(&s, ids, 2, 2, m);
            if (!span) continue;
            count_all(all, &s, &m[span - 1]);
            const fr_continuation_group root =
                fr_continuations_take(&c, &m[span - 1], FR_CONTINUATIONS);
            compare(&c, &root, all, way);
            for (int k = 0; k < all->n; k++)
                assert_true(all->item[k].seen);
        }
        fr_continuations_close(&c);
        fr_datastore_close(&s);
        unlink(path);
        texts_free(&t);
    }
    free(all);
}

// More different tokens than children, and more places than are taken.
static void the_most_frequent_are_kept_and_samples_are_spread(void **state) {
    fr_tokenizer *vocabulary = *state;
    enum { IDS = 100, AFTER = 200, ROUNDS = 60 };
    char path[] = "store-XXXXXX";
    int32_t ids[2 * IDS * ROUNDS];
    size_t length[1];
    int n = 0, seen[IDS] = {0};
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < IDS; i++) {
            if (i % ROUNDS > r) continue; // the id i + ROUNDS is as frequent as i
            ids[n++] = AFTER;
            ids[n++] = i;
        }
    length[0] = (size_t)n;
    const texts t = {ids, length, 1};
    fr_datastore s;
    fr_datastore_match m[FR_DATASTORE_ORDER];
    fr_continuations c;
    fr_continuation_group child[FR_GROUP_CHILDREN];
    fr_error err;
    store_write(path, vocabulary, &t);
    store_open(&s, path);
    assert_int_equal(fr_continuations_open(&c, &s, &err), FR_OK);
    assert_int_equal(fr_datastore_find(&s, (int32_t[]){AFTER}, 1, 1, m), 1);
    assert_int_equal(m[0].end - m[0].begin, n / 2);
    fr_continuation_group all = fr_continuations_take(&c, &m[0], FR_CONTINUATIONS);
    assert_int_equal(all.end - all.begin, n / 2);
    assert_int_equal(fr_continuations_split(&c, &all, child), FR_GROUP_CHILDREN);
    for (int k = 0; k < FR_GROUP_CHILDREN; k++) {
        assert_int_equal(child[k].end - child[k].begin, ROUNDS - child[k].id % ROUNDS);
        assert_false(seen[child[k].id]++);
    }
    const int last = child[FR_GROUP_CHILDREN - 1].end - child[FR_GROUP_CHILDREN - 1].begin;
    for (int i = 0; i < IDS; i++)
        if (!seen[i]) assert_true(ROUNDS - i % ROUNDS <= last);
    all = fr_continuations_take(&c, &m[0], 50);
    assert_int_equal(all.end, 50);
    for (uint32_t i = 0, at = m[0].begin; i < 50; i++) { // one out of each fiftieth
        while (s.places[at] != c.place[i])
            assert_true(++at < m[0].end);
        assert_in_range(at - m[0].begin, (uint64_t)n / 2 * i / 50, (uint64_t)n / 2 * (i + 1) / 50);
    }
    fr_continuations_close(&c);
    fr_datastore_close(&s);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_all_prefixes),
        cmocka_unit_test(the_most_frequent_are_kept_and_samples_are_spread),
    };
    return cmocka_run_group_tests(tests, open_tokenizer, close_tokenizer);
}
