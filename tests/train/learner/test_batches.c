// Data sets and their order: what is held out stays out, every sample comes once an epoch.
#define _GNU_SOURCE
#include "train/learner/batches.h"
#include "train/made_data.h"
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const fr_shard_format form = {.target = "0123456789abcdef0123456789abcdef",
                                     .d = 32,
                                     .n_vocab = 100,
                                     .n_taps = 2,
                                     .taps = {1, 2},
                                     .top = 4};
static char folder[64], more[80], other[80];

static int drop(const char *path, const struct stat *s, int type, struct FTW *f) {
    (void)s;
    (void)type;
    (void)f;
    return remove(path);
}

static int set_up(void **state) {
    (void)state;
    fr_error err;
    snprintf(folder, sizeof folder, "batches_XXXXXX");
    if (!mkdtemp(folder)) return 1;
    snprintf(more, sizeof more, "%s/more", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    fr_shard_format another = form;
    another.d = 64;
    return make_shards(folder, &form, 1, 300, &err) || make_shards(more, &form, 280, 120, &err) ||
           make_shards(other, &another, 1, 10, &err);
}

static int tear_down(void **state) {
    (void)state;
    return nftw(folder, drop, 8, FTW_DEPTH | FTW_PHYS);
}

static void open_set(fr_dataset *d, int n, int max_rows, uint64_t limit) {
    fr_error err;
    const char *const folders[] = {folder, more};
    if (fr_dataset_open(d, folders, n, form.target, &(fr_dataset_limits){max_rows, limit, 0}, NULL,
                        NULL, &err))
        fail_msg("%s", err.text);
}

static bool is_held_out(const fr_dataset *d, uint64_t key) {
    for (int i = 0; i < d->n_held; i++)
        if (d->place[i].key == key) return true;
    return false;
}

static void held_out_are_a_few_and_never_learned(void **state) {
    (void)state;
    fr_dataset d;
    open_set(&d, 1, 64, 0);
    assert_int_equal(d.n_held, 6); // 2 % of 300
    assert_int_equal(d.n_train, 294);
    for (int i = 0; i < d.n_train; i++)
        assert_false(is_held_out(&d, d.place[d.n_held + i].key));
    fr_dataset_close(&d);
}

static void as_many_as_are_asked_for_are_held_out(void **state) {
    const char *const folders[] = {folder};
    fr_dataset d;
    fr_error err;
    (void)state;
    fr_dataset_limits limits = {.max_rows = 64, .held_out = 100};
    assert_int_equal(fr_dataset_open(&d, folders, 1, form.target, &limits, NULL, NULL, &err),
                     FR_OK);
    assert_int_equal(d.n_held, 100);
    assert_int_equal(d.n_train, 200);
    fr_dataset_close(&d);
    limits.held_out = 300; // all that there are
    assert_int_equal(fr_dataset_open(&d, folders, 1, form.target, &limits, NULL, NULL, &err),
                     FR_EDATA);
    assert_non_null(strstr(err.text, "more than 300"));
}

static void the_split_does_not_depend_on_limits(void **state) {
    (void)state;
    fr_dataset all, few;
    open_set(&all, 1, 64, 0);
    open_set(&few, 1, 64, 1000);
    assert_int_equal(few.n_held, all.n_held);
    assert_memory_equal(few.place, all.place, sizeof *few.place * (size_t)few.n_held);
    assert_true(few.rows <= 1000 && few.rows > 1000 - MADE_ROWS);
    assert_true(all.hash != few.hash);
    fr_dataset_close(&few);
    open_set(&few, 1, 64, 1); // one sample at least
    assert_int_equal(few.n_train, 1);
    fr_dataset_close(&few);
    fr_dataset_close(&all);
}

static void a_text_in_two_folders_counts_once(void **state) {
    (void)state;
    fr_dataset d;
    open_set(&d, 2, 64, 0); // keys 1..300 and 280..399
    assert_int_equal(d.n_held + d.n_train, 399);
    for (int i = 1; i < 399; i++)
        assert_true(d.place[i - 1].order < d.place[i].order);
    fr_dataset_close(&d);
}

static void long_samples_are_cut(void **state) {
    (void)state;
    fr_dataset whole, cut;
    open_set(&whole, 1, 64, 0);
    open_set(&cut, 1, 20, 0);
    int n_cut = 0;
    for (int i = 0; i < whole.n_held + whole.n_train; i++) {
        fr_sample a, b;
        fr_dataset_sample(&whole, i, &a);
        fr_dataset_sample(&cut, i, &b);
        assert_true(a.key == b.key); // all of them have answers in their first 20 rows
        assert_int_equal(b.n, a.n < 20 ? a.n : 20);
        assert_int_equal(b.whole, a.n > 20 ? a.n : 0);
        n_cut += b.whole > 0;
        // The second tap is where the whole sample has it.
        const size_t at = (size_t)(b.whole ? b.whole : b.n) * (size_t)form.d;
        assert_memory_equal(a.tap + (size_t)a.n * (size_t)form.d, b.tap + at, 64);
    }
    assert_true(n_cut > 100);
    fr_dataset_close(&whole);
    fr_dataset_close(&cut);
}

static void other_forms_and_targets_are_refused(void **state) {
    (void)state;
    fr_dataset d;
    fr_error err;
    const char *const mixed[] = {folder, other};
    assert_int_equal(fr_dataset_open(&d, mixed, 2, form.target,
                                     &(fr_dataset_limits){.max_rows = 64}, NULL, NULL, &err),
                     FR_EDATA);
    assert_non_null(strstr(err.text, "another form"));
    const char *const one[] = {folder};
    assert_int_equal(fr_dataset_open(&d, one, 1, "ffffffffffffffffffffffffffffffff",
                                     &(fr_dataset_limits){.max_rows = 64}, NULL, NULL, &err),
                     FR_EDATA);
}

static void every_epoch_has_every_sample_once(void **state) {
    (void)state;
    fr_dataset d;
    fr_batches b;
    fr_error err;
    fr_batch *batch = malloc(sizeof *batch);
    open_set(&d, 1, 64, 0);
    assert_int_equal(fr_batches_open(&b, &d, d.n_held, d.n_train, 200, true, 7, &err), FR_OK);
    uint64_t first[2] = {0, 0};
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        int samples = 0, seen[400] = {0};
        do {
            fr_batches_next(&b, batch);
            assert_true(b.epoch == epoch && batch->n > 0 && batch->rows <= 200);
            int rows = 0;
            for (int i = 0; i < batch->n; i++) {
                assert_int_equal(seen[batch->sample[i].key]++, 0);
                assert_false(is_held_out(&d, batch->sample[i].key));
                rows += batch->sample[i].n;
            }
            assert_int_equal(rows, batch->rows);
            if (!samples) first[epoch] = batch->sample[0].key;
            samples += batch->n;
        } while (b.at < b.n);
        assert_int_equal(samples, d.n_train);
    }
    assert_true(first[0] != first[1]); // 1 in 294 by chance; the seed is fixed
    fr_batches_close(&b);
    fr_dataset_close(&d);
    free(batch);
}

// Keys from 301 on are those of the second folder alone.
static void a_folder_by_itself_is_its_samples_alone(void **state) {
    (void)state;
    fr_dataset d;
    fr_batches b;
    fr_error err;
    fr_batch *batch = malloc(sizeof *batch);
    int samples = 0;
    open_set(&d, 2, 64, 0);
    for (int f = 0; f < 2; f++) {
        int seen[500] = {0}, n = 0;
        assert_int_equal(fr_batches_open(&b, &d, d.n_held, d.n_train, 200, true, 7, &err), FR_OK);
        fr_batches_of_folder(&b, f);
        do {
            fr_batches_next(&b, batch);
            for (int i = 0; i < batch->n; i++) {
                const uint64_t key = batch->sample[i].key;
                assert_int_equal(seen[key]++, 0);
                assert_false(is_held_out(&d, key));
                assert_true((key > 300) == (f == 1)); // what stands in both is the first one's
            }
            n += batch->n;
        } while (b.at < b.n);
        assert_true(n > 50 && n == b.n);
        samples += n;
        fr_batches_close(&b);
    }
    assert_int_equal(samples, d.n_train);
    fr_dataset_close(&d);
    free(batch);
}

static void a_place_in_the_data_is_epoch_and_number(void **state) {
    (void)state;
    fr_dataset d;
    fr_batches a, b;
    fr_error err;
    fr_batch *x = malloc(sizeof *x), *y = malloc(sizeof *y);
    open_set(&d, 1, 64, 0);
    assert_int_equal(fr_batches_open(&a, &d, d.n_held, d.n_train, 200, true, 7, &err), FR_OK);
    assert_int_equal(fr_batches_open(&b, &d, d.n_held, d.n_train, 200, true, 7, &err), FR_OK);
    for (int i = 0; i < 100; i++)
        fr_batches_next(&a, x);
    assert_true(a.epoch > 0);
    fr_batches_seek(&b, a.epoch, a.at);
    for (int i = 0; i < 100; i++) {
        fr_batches_next(&a, x);
        fr_batches_next(&b, y);
        assert_int_equal(x->n, y->n);
        for (int k = 0; k < x->n; k++)
            assert_true(x->sample[k].key == y->sample[k].key);
    }
    fr_batches_close(&a);
    fr_batches_close(&b);
    fr_dataset_close(&d);
    free(x);
    free(y);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(held_out_are_a_few_and_never_learned),
                                       cmocka_unit_test(as_many_as_are_asked_for_are_held_out),
                                       cmocka_unit_test(the_split_does_not_depend_on_limits),
                                       cmocka_unit_test(a_text_in_two_folders_counts_once),
                                       cmocka_unit_test(long_samples_are_cut),
                                       cmocka_unit_test(other_forms_and_targets_are_refused),
                                       cmocka_unit_test(every_epoch_has_every_sample_once),
                                       cmocka_unit_test(a_folder_by_itself_is_its_samples_alone),
                                       cmocka_unit_test(a_place_in_the_data_is_epoch_and_number)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
