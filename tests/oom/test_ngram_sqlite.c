// SQLite without memory, at every call of its own: what a store of n-gram vectors holds is neither
// wrong nor lost by it.
#include "draft/chimera/ngrams.h"
#include "oom/counted.h"
#include <malloc.h>
#include <sqlite3.h>

enum { D = 300, KEPT = 40, N = 60 };

// The library's own allocator lies out of the linker's reach; this one does not.
static void *take(int n) {
    return malloc((size_t)n);
}

static void *resize(void *p, int n) {
    return realloc(p, (size_t)n);
}

static int size_of(void *p) {
    return (int)malloc_usable_size(p);
}

static int round_up(int n) {
    return (n + 7) & ~7;
}

static int begin(void *unused) {
    (void)unused;
    return SQLITE_OK;
}

static void end(void *unused) {
    (void)unused;
}

static int group_setup(void **state) {
    (void)state;
    const sqlite3_mem_methods counted = {take, free, resize, size_of, round_up, begin, end, NULL};
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &counted) || sqlite3_initialize();
}

// Opens, reads all, adds more, and closes. *dropped: entries that found no memory.
static fr_status live(const fr_ngram_store_options *o, int64_t *dropped, fr_error *err) {
    fr_ngram_store *s;
    const fr_status st = fr_ngram_store_open(&s, o, err);
    if (st) return st;
    assert_true(there(s, 0, N, D) >= 0);
    add(s, KEPT, N, D);
    assert_true(there(s, 0, N, D) >= 0);
    const fr_ngram_store_counts c = fr_ngram_store_count(s);
    assert_false(c.rebuilt);
    assert_int_equal(c.damaged, 0);
    assert_int_equal(c.written + c.known + c.dropped, N - KEPT);
    *dropped += c.dropped;
    fr_ngram_store_close(s);
    return FR_OK;
}

static void no_memory_costs_entries_alone(void **state) {
    (void)state;
    place p;
    fr_error err;
    int64_t dropped = 0;
    int n = 1, refused = 0;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    fr_ngram_store *s = open_store(&o);
    add(s, 0, KEPT, D);
    fr_ngram_store_close(s);
    for (bool failed = true; failed; n++) {
        const long before = counted_live();
        err = (fr_error){0};
        counted_fail(n, n % 2); // once, or from then on
        const fr_status st = live(&o, &dropped, &err);
        failed = counted_failures();
        counted_fail(0, false);
        assert_int_equal(counted_live(), before);
        if (st && (st != FR_ENOMEM || !err.text[0])) fail_msg("call %d: %d %s", n, st, err.text);
        refused += st != FR_OK;
        s = open_store(&o);
        assert_false(fr_ngram_store_count(s).rebuilt);
        assert_int_equal(there(s, 0, KEPT, D), KEPT);
        fr_ngram_store_close(s);
    }
    print_message("%d calls, %d refused, %d entries dropped\n", n - 1, refused, (int)dropped);
    assert_true(refused > 100 && dropped > 0);
    place_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_memory_costs_entries_alone)};
    return cmocka_run_group_tests(tests, group_setup, NULL);
}
