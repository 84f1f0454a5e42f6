// The two layers against a list and a set: what was put is found where it must be, and again after
// everything was closed.
#include "draft/chimera/ngram_memory.h"
#include "draft/chimera/ngrams.h"
#include "support/damage.h"
#include <sqlite3.h>

enum { D = 20, KINDS = 300, CAPACITY = 40, OPERATIONS = 4000, BETWEEN = 10 };

typedef struct model {
    int recent[CAPACITY], n; // keys in memory, newest first
    bool put[KINDS];
    fr_ngram_memory_counts counts;
} model;

static int find(const model *m, int key) {
    int i = 0;
    while (i < m->n && m->recent[i] != key)
        i++;
    return i < m->n ? i : -1;
}

static void use(model *m, int key) {
    int at = find(m, key);
    if (at < 0) {
        m->counts.evicted += m->n == CAPACITY;
        at = m->n < CAPACITY ? m->n++ : CAPACITY - 1;
    }
    memmove(m->recent + 1, m->recent, (size_t)at * sizeof *m->recent);
    m->recent[0] = key;
}

static void put(fr_ngram_memory *memory, model *m, int i) {
    float v[D];
    const fr_ngram key = ngram_key(i);
    ngram_vector(&key, v, D);
    fr_ngram_memory_put(memory, &key, v);
    m->put[i] = true;
    use(m, i);
}

// `stores`: a key that was put and has left the memory is in the store.
static bool get(fr_ngram_memory *memory, model *m, int i, bool stores) {
    const fr_ngram key = ngram_key(i);
    const bool in_memory = find(m, i) >= 0, in_store = !in_memory && stores && m->put[i];
    const float *v = fr_ngram_memory_get(memory, &key);
    assert_int_equal(v != NULL, in_memory || in_store);
    if (v) assert_true(ngram_is_right(&key, v, D));
    m->counts.in_memory += in_memory;
    m->counts.in_store += in_store;
    m->counts.missed += !v;
    if (v) use(m, i);
    return v;
}

static void expect_counts(const fr_ngram_memory *memory, const model *m) {
    assert_int_equal(memory->counts.in_memory, m->counts.in_memory);
    assert_int_equal(memory->counts.in_store, m->counts.in_store);
    assert_int_equal(memory->counts.missed, m->counts.missed);
    assert_int_equal(memory->counts.evicted, m->counts.evicted);
}

// As a drafter does: what is not there is computed and put.
static void live(fr_ngram_memory *memory, model *m) {
    for (int i = 0; i < OPERATIONS; i++) {
        // Mostly among a few, as texts have it. Fewer fall out between two syncs than queue up.
        const int key = dice_below(2) ? dice_below(KINDS) : dice_below(CAPACITY);
        if (memory->store && i % BETWEEN == 0) fr_ngram_store_sync(memory->store);
        if (i % BETWEEN == 0 && !get(memory, m, key, memory->store)) put(memory, m, key);
        if (i % BETWEEN) put(memory, m, key);
    }
    expect_counts(memory, m);
}

static void memory_alone_forgets_what_falls_out(void **state) {
    (void)state;
    static model m;
    fr_ngram_memory memory;
    fr_error err;
    fr_ngram_memory_options o = {.capacity = CAPACITY};
    o.store.kind.d = D;
    dice_begin(97);
    assert_int_equal(fr_ngram_memory_open(&memory, &o, &err), FR_OK);
    live(&memory, &m);
    assert_true(m.counts.evicted > 100 && m.counts.missed > 100);
    fr_ngram_memory_close(&memory);
    fr_ngram_memory_close(&memory); // a zeroed one
}

static void with_a_store_nothing_is_forgotten(void **state) {
    (void)state;
    static model m;
    place p;
    fr_error err;
    place_begin(&p);
    dice_begin(101);
    const fr_ngram_memory_options o = {.capacity = CAPACITY, .store = ngram_options(&p, D)};
    for (int run = 0; run < 3; run++) {
        fr_ngram_memory memory;
        if (fr_ngram_memory_open(&memory, &o, &err)) fail_msg("%s", err.text);
        m.n = 0;
        m.counts = (fr_ngram_memory_counts){0};
        for (int i = 0; i < KINDS; i++) // what the runs before had, in memory or not
            get(&memory, &m, i, true);
        live(&memory, &m);
        assert_true(m.counts.in_store > 100);
        const fr_ngram_store_counts c = fr_ngram_store_count(memory.store);
        assert_int_equal(c.dropped + c.damaged + c.rebuilt, 0);
        assert_string_equal(c.trouble, "");
        fr_ngram_memory_close(&memory);
    }
    fr_ngram_store_options all = o.store;
    fr_ngram_store *s;
    float v[D];
    assert_int_equal(fr_ngram_store_open(&s, &all, &err), FR_OK);
    for (int i = 0; i < KINDS; i++) {
        const fr_ngram key = ngram_key(i);
        assert_int_equal(fr_ngram_store_get(s, &key, v), m.put[i]);
    }
    fr_ngram_store_close(s);
    place_end(&p);
}

// As nobody does while a store is open; returns how many rows there were.
static int remove_all_rows(const place *p) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(p->file, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM vectors", NULL, NULL, NULL), SQLITE_OK);
    const int n = sqlite3_changes(db);
    sqlite3_close(db);
    return n;
}

static void what_the_store_has_is_not_given_to_it_again(void **state) {
    (void)state;
    static model m;
    place p;
    fr_error err;
    place_begin(&p);
    const fr_ngram_memory_options o = {.capacity = CAPACITY, .store = ngram_options(&p, D)};
    fr_ngram_memory memory;
    for (int run = 0; run < 2; run++) {
        m.n = 0;
        assert_int_equal(fr_ngram_memory_open(&memory, &o, &err), FR_OK);
        for (int i = 0; i < KINDS; i++) {
            if (run) assert_true(get(&memory, &m, i, true));
            if (!run || i % 2) put(&memory, &m, i);
        }
        fr_ngram_store_sync(memory.store);
        assert_int_equal(fr_ngram_store_count(memory.store).known, 0);
        if (run) assert_int_equal(fr_ngram_store_count(memory.store).written, 0);
        if (run) assert_int_equal(remove_all_rows(&p), KINDS);
        fr_ngram_memory_close(&memory); // which would bring back what it gave
    }
    assert_int_equal(remove_all_rows(&p), 0);
    place_end(&p);
}

static void the_check_of_a_memory_finds_damage(void **state) {
    (void)state;
    fr_ngram_memory m;
    fr_error err;
    const fr_ngram_memory_options o = {.capacity = 4, .store.kind = {.n = 2, .d = D}};
    assert_int_equal(fr_ngram_memory_open(&m, &o, &err), FR_OK);
    assert_noticed(m.counts.missed, -1, fr_ngram_memory_is_sound(&m));
    assert_noticed(m.counts.evicted, -1, fr_ngram_memory_is_sound(&m));
    assert_noticed(m.table.n, 1, fr_ngram_memory_is_sound(&m));
    assert_noticed(m.store, (void *)&m, fr_ngram_memory_is_sound(&m)); // no room for what it has
    fr_ngram_memory_close(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_alone_forgets_what_falls_out),
        cmocka_unit_test(with_a_store_nothing_is_forgotten),
        cmocka_unit_test(what_the_store_has_is_not_given_to_it_again),
        cmocka_unit_test(the_check_of_a_memory_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
