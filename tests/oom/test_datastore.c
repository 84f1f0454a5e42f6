// Memory that cannot be had while a datastore is made: a status with a sentence, everything given
// back, and no file.
#include "draft/chimera/stores.h"
#include "oom/counted.h"

static fr_status live(const fr_tokenizer *vocabulary, const char *path, fr_error *err) {
    fr_datastore_writer w;
    int32_t ids[3000];
    for (int i = 0; i < 3000; i++)
        ids[i] = i * i % 201;
    fr_status st = fr_datastore_writer_open(&w, vocabulary, err);
    for (int i = 0; i < 3 && !st; i++)
        st = fr_datastore_writer_add(&w, ids, 3000, err);
    if (!st) st = fr_datastore_writer_finish(&w, path, NULL, NULL, err);
    fr_datastore_writer_close(&w);
    return st;
}

static void making_gives_everything_back(void **state) {
    (void)state;
    static const char path[] = "oom-store.frd";
    fr_tokenizer *vocabulary = tiny_tokenizer();
    int refused = 0;
    unlink(path);
    for (int n = 1; n < 100; n++) {
        const long before = counted_live();
        fr_error err = {0};
        counted_fail(n, false);
        const fr_status st = live(vocabulary, path, &err);
        const int failures = counted_failures();
        counted_fail(0, false);
        assert_int_equal(counted_live(), before);
        refused += st != FR_OK;
        if (st) assert_true(st == FR_ENOMEM && err.text[0]);
        assert_int_equal(access(path, F_OK) == 0, !st);
        if (!failures) break;
    }
    assert_true(refused > 3);
    assert_int_equal(unlink(path), 0);
    fr_tokenizer_close(vocabulary);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(making_gives_everything_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
