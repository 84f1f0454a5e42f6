// The table of n-gram vectors against a list that is searched from end to end.
#include "draft/chimera/ngram_table.h"
#include "gguf/hash.h"
#include "support/damage.h"
#include "tree/dice.h"
#include <limits.h>
#include <stdio.h>

enum { D = 3, MOST = 300, OPERATIONS = 100000 };

typedef struct item {
    fr_ngram key;
    float value;
} item;

typedef struct list { // newest first
    item item[MOST];
    int n, capacity;
} list;

static int find(const list *l, const fr_ngram *key) {
    int i = 0;
    while (i < l->n && !fr_ngram_equal(&l->item[i].key, key))
        i++;
    return i < l->n ? i : -1;
}

static void to_front(list *l, int i) {
    const item it = l->item[i];
    memmove(l->item + 1, l->item, (size_t)i * sizeof it);
    l->item[0] = it;
}

static fr_ngram any_key(int kinds) {
    const int kind = dice_below(kinds);
    // Tokens and lengths differ; [k, 0] and [k] must be two keys.
    const int32_t ids[3] = {kind / 6, kind % 3, kind / 3 % 2};
    return fr_ngram_of(ids, 1 + kind % 3, 3);
}

static void expect_vector(const float *v, float value) {
    for (int k = 0; k < D; k++)
        assert_true(v[k] == value + (float)k);
}

static void get(list *l, fr_ngram_table *t, const fr_ngram *key) {
    const int i = find(l, key);
    const float *v = fr_ngram_table_get(t, key);
    assert_int_equal(v != NULL, i >= 0);
    if (i < 0) return;
    expect_vector(v, l->item[i].value);
    assert_ptr_equal(fr_ngram_table_at(t, fr_ngram_table_place(t, v)), v);
    to_front(l, i);
}

static void put(list *l, fr_ngram_table *t, const fr_ngram *key, float value) {
    fr_ngram out;
    bool fell;
    float *v = fr_ngram_table_put(t, key, &out, &fell);
    int i = find(l, key);
    assert_int_equal(fell, i < 0 && l->n == l->capacity);
    if (fell) {
        const item *last = &l->item[l->n - 1];
        assert_true(fr_ngram_equal(&out, &last->key));
        expect_vector(v, last->value);
    }
    if (i < 0) i = fell ? l->n - 1 : l->n++;
    l->item[i] = (item){*key, value};
    to_front(l, i);
    for (int k = 0; k < D; k++)
        v[k] = value + (float)k;
}

static void it_keeps_what_was_used_last(void **state) {
    (void)state;
    static const int capacities[] = {1, 2, 7, 64, MOST};
    static list l;
    fr_error err;
    fr_ngram_table t;
    dice_begin(41);
    for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
        l = (list){.capacity = capacities[c]};
        assert_int_equal(fr_ngram_table_open(&t, l.capacity, D, &err), FR_OK);
        assert_true(fr_ngram_table_is_sound(&t));
        for (int i = 0; i < OPERATIONS; i++) {
            const fr_ngram key = any_key(2 * l.capacity + 3);
            if (dice_below(2))
                get(&l, &t, &key);
            else
                put(&l, &t, &key, (float)i);
            assert_int_equal(t.n, l.n);
            if (i % 1000 == 0) assert_true(fr_ngram_table_is_sound(&t));
        }
        assert_true(fr_ngram_table_is_sound(&t));
        for (int i = 0, place = t.newest; i < l.n; i++, place = t.entry[place].older)
            assert_true(fr_ngram_equal(&t.entry[place].key, &l.item[i].key));
        fr_ngram_table_close(&t);
    }
}

// N-grams that share a bucket cost no more than others: the first of them fall out.
static void a_bucket_is_bounded(void **state) {
    (void)state;
    enum { CAPACITY = 4096, ALIKE = 100 };
    fr_error err;
    fr_ngram_table t;
    fr_ngram alike[ALIKE], out;
    bool fell;
    assert_int_equal(fr_ngram_table_open(&t, CAPACITY, D, &err), FR_OK);
    int n = 0;
    for (int32_t i = 0; n < ALIKE; i++) {
        const fr_ngram key = fr_ngram_of(&i, 1, 1);
        fr_hash h;
        fr_hash_open(&h, 0);
        fr_hash_add(&h, &key, sizeof key);
        if (!(fr_hash_value(&h) & (CAPACITY - 1))) alike[n++] = key;
    }
    for (int i = 0; i < ALIKE; i++) {
        fr_ngram_table_put(&t, &alike[i], &out, &fell)[0] = (float)i;
        assert_int_equal(fell, i >= FR_NGRAM_BUCKET);
        if (fell) assert_true(fr_ngram_equal(&out, &alike[i - FR_NGRAM_BUCKET]));
        assert_true(fr_ngram_table_is_sound(&t));
    }
    assert_int_equal(t.n, FR_NGRAM_BUCKET);
    for (int i = 0; i < ALIKE; i++) {
        const float *v = fr_ngram_table_get(&t, &alike[i]);
        assert_int_equal(v != NULL, i >= ALIKE - FR_NGRAM_BUCKET);
        if (v) assert_true(v[0] == (float)i);
    }
    fr_ngram_table_close(&t);
}

static void keys_are_the_last_tokens(void **state) {
    (void)state;
    const int32_t ids[6] = {1, 2, 3, 4, 5, 6};
    const fr_ngram whole = fr_ngram_of(ids, 6, 5), three = fr_ngram_of(ids, 6, 3),
                   start = fr_ngram_of(ids, 2, 3);
    assert_memory_equal(whole.id, ((int32_t[]){2, 3, 4, 5, 6}), sizeof whole.id);
    assert_memory_equal(three.id, ((int32_t[]){4, 5, 6, -1, -1}), sizeof three.id);
    assert_memory_equal(start.id, ((int32_t[]){1, 2, -1, -1, -1}), sizeof start.id);
}

static void a_size_beyond_memory_is_refused(void **state) {
    (void)state;
    fr_error err = {0};
    fr_ngram_table t;
    assert_int_equal(fr_ngram_table_open(&t, INT_MAX, INT_MAX - 64, &err), FR_ENOMEM);
    assert_string_not_equal(err.text, "");
    fr_ngram_table_close(&t);
}

static void the_check_of_a_table_finds_damage(void **state) {
    (void)state;
    fr_error err;
    fr_ngram_table t;
    fr_ngram out;
    bool fell;
    assert_int_equal(fr_ngram_table_open(&t, 4, D, &err), FR_OK);
    for (int32_t i = 0; i < 4; i++) {
        const fr_ngram key = fr_ngram_of(&i, 1, 1);
        fr_ngram_table_put(&t, &key, &out, &fell);
    }
    assert_noticed(t.n, 3, fr_ngram_table_is_sound(&t));
    assert_noticed(t.capacity, 3, fr_ngram_table_is_sound(&t));
    assert_noticed(t.newest, t.oldest, fr_ngram_table_is_sound(&t));
    assert_noticed(t.oldest, t.newest, fr_ngram_table_is_sound(&t));
    assert_noticed(t.entry[1].older, 1, fr_ngram_table_is_sound(&t)); // a ring
    assert_noticed(t.entry[1].newer, -1, fr_ngram_table_is_sound(&t));
    assert_noticed(t.entry[2].next, 2, fr_ngram_table_is_sound(&t));
    int *bucket = t.bucket;
    while (*bucket < 0)
        bucket++;
    assert_noticed(*bucket, -1, fr_ngram_table_is_sound(&t));
    fr_ngram_table_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_keeps_what_was_used_last),
        cmocka_unit_test(a_bucket_is_bounded),
        cmocka_unit_test(keys_are_the_last_tokens),
        cmocka_unit_test(a_size_beyond_memory_is_refused),
        cmocka_unit_test(the_check_of_a_table_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
