// Which samples are held out: never one whose question is trained on, whatever its key.
#include "train/data/dataset.h"
#include "train/made_data.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TEXTS = 40, EACH = 3, ROWS = 20, QUESTION = 6 };
static char dir[64];
static const fr_shard_format FORMAT = {
    .d = 8, .n_vocab = MADE_WORDS, .top = 4, .target = "0123456789abcdef0123456789abcdef"};

static int set_up(void **state) {
    (void)state;
    strcpy(dir, "dataset-XXXXXX");
    return mkdtemp(dir) ? 0 : 1;
}

static int tear_down(void **state) {
    char line[96];
    (void)state;
    snprintf(line, sizeof line, "rm -rf %s", dir);
    return system(line);
}

// TEXTS questions, each EACH times with another key; text t's answers differ by their key.
static void write_texts(const char *path, uint64_t first_key, int each) {
    fr_shard_writer *w;
    fr_error err;
    static made_sample m;
    assert_int_equal(fr_shard_writer_open(&w, path, &FORMAT, &err), FR_OK);
    for (int i = 0; i < TEXTS * each; i++) {
        make_sample(&m, &FORMAT, (uint64_t)(i % TEXTS), ROWS, QUESTION);
        m.ids[0] = i % TEXTS;
        m.ids[QUESTION + 1] = i / TEXTS;
        m.s.key = first_key + (uint64_t)i;
        assert_int_equal(fr_shard_writer_add(w, &m.s, &err), FR_OK);
    }
    assert_int_equal(fr_shard_writer_flush(w, &err), FR_OK);
    fr_shard_writer_close(w);
}

static fr_status open(fr_dataset *d, const char *const *folders, int n, int held_out,
                      fr_error *err) {
    const fr_dataset_limits limits = {.max_rows = 64, .held_out = held_out};
    return fr_dataset_open(d, folders, n, FORMAT.target, &limits, NULL, NULL, err);
}

static void twins_are_on_one_side(void **state) {
    char path[96];
    const char *folder = path;
    fr_error err = {0};
    (void)state;
    snprintf(path, sizeof path, "%s/twins", dir);
    write_texts(path, 1000, EACH);
    for (int held_out = 4; held_out < 20; held_out++) {
        fr_dataset d;
        fr_sample held, learned;
        if (open(&d, &folder, 1, held_out, &err)) fail_msg("%s", err.text);
        assert_int_equal(d.n_held, held_out);
        const int rest = held_out % EACH ? EACH - held_out % EACH : 0; // of the last question
        assert_int_equal(d.n_train, TEXTS * EACH - held_out - rest);
        for (int i = 0; i < d.n_held; i++)
            for (int k = 0; k < d.n_train; k++) {
                fr_dataset_sample(&d, i, &held);
                fr_dataset_sample(&d, d.n_held + k, &learned);
                if (!memcmp(held.ids, learned.ids, (QUESTION + 1) * sizeof *held.ids))
                    fail_msg("%d held out: text %d asks what %d asks", held_out, k, i);
            }
        fr_dataset_close(&d);
    }
}

// The same key and question in two folders: the first folder's. The same key alone: two texts.
static void a_text_counts_once(void **state) {
    char one[96], two[96], other[96];
    const char *const folders[] = {one, two}, *const others[] = {one, other};
    fr_error err = {0};
    fr_dataset d;
    (void)state;
    snprintf(one, sizeof one, "%s/one", dir);
    snprintf(two, sizeof two, "%s/two", dir);
    snprintf(other, sizeof other, "%s/other", dir);
    write_texts(one, 0, 1);
    write_texts(two, 0, 1);
    write_texts(other, 1, 1);
    if (open(&d, folders, 2, 4, &err)) fail_msg("%s", err.text);
    assert_int_equal(d.n_held + d.n_train, TEXTS);
    for (int i = 0; i < d.n_held + d.n_train; i++)
        assert_int_equal(d.place[i].folder, 0);
    fr_dataset_close(&d);
    if (open(&d, others, 2, 4, &err)) fail_msg("%s", err.text);
    assert_int_equal(d.n_held + d.n_train, 2 * TEXTS);
    fr_dataset_close(&d);
}

static void one_question_is_not_enough(void **state) {
    char path[96];
    const char *folder = path;
    fr_shard_writer *w;
    fr_error err = {0};
    fr_dataset d;
    static made_sample m;
    (void)state;
    snprintf(path, sizeof path, "%s/alike", dir);
    assert_int_equal(fr_shard_writer_open(&w, path, &FORMAT, &err), FR_OK);
    for (int i = 0; i < 10; i++) {
        make_sample(&m, &FORMAT, 7, ROWS, QUESTION);
        m.s.key = (uint64_t)i;
        assert_int_equal(fr_shard_writer_add(w, &m.s, &err), FR_OK);
    }
    assert_int_equal(fr_shard_writer_flush(w, &err), FR_OK);
    fr_shard_writer_close(w);
    assert_int_equal(open(&d, &folder, 1, 4, &err), FR_EDATA);
    assert_non_null(strstr(err.text, "ask something else than the 4 that are held out"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(twins_are_on_one_side),
                                       cmocka_unit_test(a_text_counts_once),
                                       cmocka_unit_test(one_question_is_not_enough)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
