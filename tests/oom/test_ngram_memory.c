// Memory or a thread that cannot be had while a memory of n-gram vectors opens: a status with a
// sentence, everything given back, and the store as it was.
#include "draft/chimera/ngram_memory.h"
#include "draft/chimera/ngrams.h"
#include "oom/counted.h"

enum { D = 300, N = 60 };

static fr_status live(const fr_ngram_memory_options *o, fr_error *err) {
    float v[D];
    fr_ngram_memory m;
    const fr_status st = fr_ngram_memory_open(&m, o, err);
    if (st) return st;
    for (int i = 0; i < N; i++) {
        const fr_ngram key = ngram_key(i);
        const float *got = fr_ngram_memory_get(&m, &key);
        ngram_vector(&key, v, D);
        assert_true(!got || ngram_is_right(&key, got, D));
        fr_ngram_memory_put(&m, &key, v);
    }
    fr_ngram_memory_close(&m);
    return FR_OK;
}

static void opening_gives_everything_back(void **state) {
    (void)state;
    place p;
    fr_error err;
    place_begin(&p);
    const fr_ngram_memory_options o = {.capacity = N / 3, .store = ngram_options(&p, D)};
    int refused = 0, n = 1;
    for (bool failed = true; failed && n < 100; n++) {
        const long before = counted_live();
        err = (fr_error){0};
        counted_fail(n, false);
        const fr_status st = live(&o, &err);
        failed = counted_failures();
        counted_fail(0, false);
        assert_int_equal(counted_live(), before);
        refused += st != FR_OK;
        assert_int_equal(st, failed ? FR_ENOMEM : FR_OK);
        if (st && !err.text[0]) fail_msg("call %d: no sentence", n);
    }
    print_message("%d calls, %d refused\n", n - 1, refused);
    assert_in_range(refused, 6, 98);

    fr_ngram_store *s;
    float v[D];
    assert_int_equal(fr_ngram_store_open(&s, &o.store, &err), FR_OK);
    assert_false(fr_ngram_store_count(s).rebuilt);
    for (int i = 0; i < N; i++) {
        const fr_ngram key = ngram_key(i);
        assert_true(fr_ngram_store_get(s, &key, v) && ngram_is_right(&key, v, D));
    }
    fr_ngram_store_close(s);
    place_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(opening_gives_everything_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
