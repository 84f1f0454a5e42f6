// Shards: what was added comes back, nothing half-written or damaged is ever read.
#include "train/data/shard.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { D = 24, TOP = 5, VOCAB = 100, SAMPLES = 12, MOST = 40 };
static const fr_shard_format FORMAT = {.target = "0123456789abcdef0123456789abcdef",
                                       .d = D,
                                       .n_vocab = VOCAB,
                                       .n_taps = 2,
                                       .taps = {1, 3},
                                       .top = TOP};

typedef struct made { // a sample with memory of its own
    fr_sample s;
    int32_t ids[MOST + 1], dist_id[MOST * TOP];
    uint8_t flags[MOST];
    uint16_t final[MOST * D], tap[2 * MOST * D], dist_lp[MOST * TOP];
} made;

static void make(made *m, uint64_t key, unsigned seed) {
    srand(seed);
    const int n = 1 + rand() % MOST, first = rand() % (n + 1);
    for (int i = 0; i <= n; i++)
        m->ids[i] = rand() % VOCAB;
    for (int i = 0; i < n; i++)
        m->flags[i] = i >= first ? FR_ROW_ANSWER | FR_ROW_DISTRIBUTION : 0;
    for (int i = 0; i < n * D; i++)
        m->final[i] = (uint16_t)rand();
    for (int i = 0; i < 2 * n * D; i++)
        m->tap[i] = (uint16_t)rand();
    for (int i = 0; i < (n - first) * TOP; i++) {
        m->dist_id[i] = rand() % (VOCAB + 1) - 1;
        m->dist_lp[i] = (uint16_t)rand();
    }
    m->s = (fr_sample){.key = key,
                       .n = n,
                       .dist_first = first,
                       .ids = m->ids,
                       .flags = m->flags,
                       .final = m->final,
                       .tap = m->tap,
                       .dist_id = m->dist_id,
                       .dist_lp = m->dist_lp};
}

static void same(const fr_sample *a, const fr_sample *b) {
    const size_t n = (size_t)b->n, dists = n - (size_t)b->dist_first;
    assert_true(a->key == b->key);
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->dist_first, b->dist_first);
    assert_memory_equal(a->ids, b->ids, (n + 1) * 4);
    assert_memory_equal(a->flags, b->flags, n);
    assert_memory_equal(a->final, b->final, n * D * 2);
    assert_memory_equal(a->tap, b->tap, 2 * n * D * 2);
    if (dists) assert_memory_equal(a->dist_id, b->dist_id, dists * TOP * 4);
    if (dists) assert_memory_equal(a->dist_lp, b->dist_lp, dists * TOP * 2);
}

static char dir[64];
static int set_up(void **state) {
    (void)state;
    strcpy(dir, "shards-XXXXXX");
    return mkdtemp(dir) == NULL;
}
static int tear_down(void **state) {
    char line[96];
    (void)state;
    snprintf(line, sizeof line, "rm -rf %s", dir);
    return system(line);
}

static fr_shard_writer *writer(void) {
    fr_shard_writer *w = NULL;
    fr_error err = {0};
    if (fr_shard_writer_open(&w, dir, &FORMAT, &err)) fail_msg("%s", err.text);
    return w;
}

static void add(fr_shard_writer *w, int from, int to) {
    made m;
    for (int i = from; i < to; i++) {
        make(&m, (uint64_t)(i * 7919 % 101), (unsigned)i); // keys are not in order
        assert_int_equal(fr_shard_writer_add(w, &m.s, NULL), FR_OK);
    }
}

static fr_shards *reader(void) {
    fr_shards *s = NULL;
    fr_error err = {0};
    if (fr_shards_open(&s, dir, FORMAT.target, NULL, NULL, &err)) fail_msg("%s", err.text);
    return s;
}

static void samples_come_back(void **state) {
    made m;
    fr_sample got;
    (void)state;
    fr_shard_writer *w = writer();
    add(w, 0, 5);
    assert_int_equal(fr_shard_writer_flush(w, NULL), FR_OK);
    add(w, 5, 8);
    fr_shard_writer_close(w); // these three were not flushed
    w = writer();
    add(w, 5, SAMPLES);
    assert_int_equal(fr_shard_writer_flush(w, NULL), FR_OK);
    assert_int_equal(fr_shard_writer_flush(w, NULL), FR_OK); // nothing to write
    fr_shard_writer_close(w);
    fr_shards *s = reader();
    uint64_t answers = 0;
    assert_int_equal(fr_shards_count(s), SAMPLES);
    for (int i = 0; i < SAMPLES; i++) {
        const uint64_t key = (uint64_t)(i * 7919 % 101);
        int at = 0;
        assert_true(fr_shards_has(s, key));
        while (fr_shards_sample(s, at, &got), got.key != key)
            at++;
        make(&m, key, (unsigned)i);
        same(&got, &m.s);
        answers += (uint64_t)(m.s.n - m.s.dist_first);
    }
    assert_false(fr_shards_has(s, 999));
    assert_true(fr_shards_answers(s) == answers);
    for (int i = 1; i < SAMPLES; i++) { // by key
        fr_sample before;
        fr_shards_sample(s, i - 1, &before);
        fr_shards_sample(s, i, &got);
        assert_true(before.key < got.key);
    }
    fr_shards_close(s);
}

// Of a file of `bytes`, the estimate for its rows is all but headers and padding.
static void the_estimate_is_the_size(void **state) {
    struct stat info;
    char path[96];
    (void)state;
    fr_shard_writer *w = writer();
    add(w, 0, SAMPLES);
    assert_int_equal(fr_shard_writer_flush(w, NULL), FR_OK);
    fr_shard_writer_close(w);
    snprintf(path, sizeof path, "%s/shard-000000.frs", dir);
    assert_int_equal(stat(path, &info), 0);
    fr_shards *s = reader();
    uint64_t rows = 0;
    for (int i = 0; i < SAMPLES; i++) {
        fr_sample got;
        fr_shards_sample(s, i, &got);
        rows += (uint64_t)got.n;
    }
    const double said = (double)fr_shard_bytes(&FORMAT, rows, fr_shards_answers(s));
    assert_true((double)info.st_size >= said && (double)info.st_size < said + SAMPLES * 32 + 256);
    fr_shards_close(s);
}

static void empty_folders_are_empty(void **state) {
    fr_shards *s = reader();
    (void)state;
    assert_int_equal(fr_shards_count(s), 0);
    assert_false(fr_shards_has(s, 0));
    fr_shards_close(s);
}

// Files of other names, and more than six digits, whose names come before those of six.
static void a_new_file_takes_no_others_place(void **state) {
    static const char *const names[] = {"shard-old.frs", "shard-1000000.frs"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char from[128], to[128];
        fr_shard_writer *w = writer();
        add(w, 4 * i, 4 * i + 2);
        assert_int_equal(fr_shard_writer_flush(w, NULL), FR_OK);
        add(w, 4 * i + 2, 4 * i + 4);
        assert_int_equal(fr_shard_writer_flush(w, NULL), FR_OK);
        fr_shard_writer_close(w);
        snprintf(from, sizeof from, "%s/shard-%06d.frs", dir, 2 * i);
        snprintf(to, sizeof to, "%s/%s", dir, names[i]);
        assert_int_equal(rename(from, to), 0);
    }
    fr_shard_writer *w = writer();
    add(w, 8, 10);
    assert_int_equal(fr_shard_writer_flush(w, NULL), FR_OK);
    fr_shard_writer_close(w);
    fr_shards *s = reader();
    assert_int_equal(fr_shards_count(s), 10);
    fr_shards_close(s);
}

// The byte at `at` with the bits of `mask` turned.
static void turn(const char *path, long at, int mask) {
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, at, SEEK_SET);
    const int c = getc(f);
    fseek(f, at, SEEK_SET);
    putc(c ^ mask, f);
    fclose(f);
}

static void damage_is_found(void **state) {
    struct stat info;
    fr_shards *s;
    char path[96];
    (void)state;
    fr_shard_writer *w = writer();
    add(w, 0, SAMPLES);
    assert_int_equal(fr_shard_writer_flush(w, NULL), FR_OK);
    fr_shard_writer_close(w);
    snprintf(path, sizeof path, "%s/shard-000000.frs", dir);
    assert_int_equal(stat(path, &info), 0);
    srand(3);
    for (int i = 0; i < 300; i++) {
        const long at = i < 120 ? i : rand() % info.st_size;
        const int mask = 1 << rand() % 8;
        fr_error err = {0};
        turn(path, at, mask);
        assert_int_equal(fr_shards_open(&s, dir, NULL, NULL, NULL, &err), FR_EDATA);
        assert_non_null(strstr(err.text, path));
        turn(path, at, mask);
    }
    fr_shards_close(reader()); // whole again
    assert_int_equal(truncate(path, info.st_size - 1), 0);
    assert_int_equal(fr_shards_open(&s, dir, NULL, NULL, NULL, NULL), FR_EDATA);
}

// The checksum is right, and yet a row in front of the distributions says that it has one.
static void a_distribution_without_room_is_refused(void **state) {
    fr_shard_writer *w = writer();
    fr_shards *s;
    fr_error err = {0};
    made m;
    unsigned seed = 0;
    (void)state;
    do
        make(&m, 5, seed++);
    while (!m.s.dist_first);
    m.flags[m.s.dist_first - 1] = FR_ROW_ANSWER | FR_ROW_DISTRIBUTION;
    assert_int_equal(fr_shard_writer_add(w, &m.s, NULL), FR_OK);
    assert_int_equal(fr_shard_writer_flush(w, NULL), FR_OK);
    fr_shard_writer_close(w);
    assert_int_equal(fr_shards_open(&s, dir, NULL, NULL, NULL, &err), FR_EDATA);
    assert_non_null(strstr(err.text, "sample 0 has no room for the distribution of row"));
}

static void other_targets_and_formats_are_refused(void **state) {
    fr_shard_format other = FORMAT;
    fr_shard_writer *w = writer();
    fr_shards *s;
    fr_error err = {0};
    (void)state;
    add(w, 0, 2);
    assert_int_equal(fr_shard_writer_flush(w, NULL), FR_OK);
    fr_shard_writer_close(w);
    assert_int_equal(fr_shards_open(&s, dir, "another", NULL, NULL, &err), FR_EDATA);
    assert_non_null(strstr(err.text, "expected another, found 0123"));
    other.taps[1] = 2;
    assert_int_equal(fr_shard_writer_open(&w, dir, &other, &err), FR_EDATA);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(samples_come_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_estimate_is_the_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(empty_folders_are_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_new_file_takes_no_others_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_distribution_without_room_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_targets_and_formats_are_refused, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
