// test_ngram_pool.c — the pool against a dictionary of lists.
#include "draft/lookahead/ngram_pool.h"
#include "support/damage.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { KEYS = 5, MOST = 9, LONGEST = 4 };

typedef struct list { // the last one is the newest, as a list of the paper's code is
    int n;
    int32_t tail[MOST][LONGEST];
    bool of_text[MOST];
} list;

static void forget(list *l, int at) {
    for (int i = at; i + 1 < l->n; i++) {
        memcpy(l->tail[i], l->tail[i + 1], sizeof l->tail[i]);
        l->of_text[i] = l->of_text[i + 1];
    }
    l->n--;
}

static void add(list *l, const int32_t *tail, int n, int per_key, bool of_text) {
    for (int i = 0; i < l->n; i++)
        if (!memcmp(l->tail[i], tail, sizeof *tail * (size_t)n)) {
            of_text |= l->of_text[i];
            forget(l, i);
            break;
        }
    if (l->n == per_key) forget(l, 0);
    memcpy(l->tail[l->n], tail, sizeof *tail * (size_t)n);
    l->of_text[l->n++] = of_text;
}

static void expect_same(const fr_ngram_pool *p, const list *lists) {
    for (int key = 0; key < KEYS; key++) {
        int at = p->newest[key];
        for (int i = lists[key].n - 1; i >= 0; i--, at = p->entry[at].older) {
            assert_true(at >= 0);
            assert_memory_equal(fr_ngram_pool_tail(p, at), lists[key].tail[i],
                                sizeof(int32_t) * (size_t)p->n);
            assert_int_equal(p->entry[at].of_text, lists[key].of_text[i]);
        }
        assert_int_equal(at, -1);
    }
}

static void it_is_a_dictionary_of_lists(void **state) {
    (void)state;
    enum { ADDS = 300 };
    for (int round = 0; round < 60; round++) {
        srand((unsigned)round);
        const int n = 1 + round % LONGEST, per_key = 1 + rand() % MOST;
        fr_ngram_pool p;
        fr_error err;
        assert_int_equal(fr_ngram_pool_open(&p, KEYS, n, per_key, ADDS, &err), FR_OK);
        for (int again = 0; again < 2; again++) { // what was there before a beginning is gone
            list lists[KEYS] = {{0}};
            fr_ngram_pool_begin(&p);
            for (int i = 0; i < ADDS; i++) {
                int32_t tail[LONGEST];
                const int key = rand() % KEYS;
                for (int k = 0; k < n; k++)
                    tail[k] = rand() % (n == 1 ? 12 : 3);
                const bool of_text = rand() % 3 == 0;
                fr_ngram_pool_add(&p, key, tail, of_text);
                add(&lists[key], tail, n, per_key, of_text);
                expect_same(&p, lists);
            }
        }
        fr_ngram_pool_close(&p);
    }
}

// Fewer additions than places: memory for these.
static void it_holds_as_many_as_are_added(void **state) {
    (void)state;
    fr_ngram_pool p;
    fr_error err;
    assert_int_equal(fr_ngram_pool_open(&p, 100, 1, 64, 7, &err), FR_OK);
    assert_int_equal(p.max_entries, 7);
    for (int32_t i = 0; i < 7; i++)
        fr_ngram_pool_add(&p, i % 2, &i, false);
    assert_int_equal(p.n_entries, 7);
    fr_ngram_pool_close(&p);
    assert_int_equal(fr_ngram_pool_open(&p, 1 << 30, 7, 64, INT64_MAX, &err), FR_ENOMEM);
    assert_non_null(strstr(err.text, "n-grams"));
}

static void the_check_of_a_pool_finds_damage(void **state) {
    (void)state;
    fr_ngram_pool p;
    fr_error err;
    assert_int_equal(fr_ngram_pool_open(&p, 2, 1, 3, 10, &err), FR_OK);
    for (int32_t i = 0; i < 4; i++)
        fr_ngram_pool_add(&p, i / 3, &i, false); // three of key 0, one of key 1
    assert_noticed(p.n_entries, 3, fr_ngram_pool_is_sound(&p));
    assert_noticed(p.n_entries, p.max_entries + 1, fr_ngram_pool_is_sound(&p));
    assert_noticed(p.newest[1], -1, fr_ngram_pool_is_sound(&p));     // an entry without a list
    assert_noticed(p.newest[1], 2, fr_ngram_pool_is_sound(&p));      // entries of two lists
    assert_noticed(p.entry[3].older, 3, fr_ngram_pool_is_sound(&p)); // a ring
    assert_noticed(p.per_key, 2, fr_ngram_pool_is_sound(&p));
    fr_ngram_pool_close(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_a_dictionary_of_lists),
        cmocka_unit_test(it_holds_as_many_as_are_added),
        cmocka_unit_test(the_check_of_a_pool_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
