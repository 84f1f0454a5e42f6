// Checkpoints: what was written comes back, and no damage goes unseen.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "train/checkpoint.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { FLOATS = 100 };
static char path[64];

static fr_checkpoint make(float *blocks) {
    for (int i = 0; i < 4 * FLOATS; i++)
        blocks[i] = (float)i * 0.5f - 7;
    fr_checkpoint c = {.identity = "a=1\nb=2\n",
                       .identity_bytes = 8,
                       .state = "where it stands",
                       .state_bytes = 15,
                       .curve = "some points of a curve",
                       .curve_bytes = 22,
                       .n_floats = FLOATS,
                       .n_blocks = 4};
    for (int i = 0; i < 4; i++)
        c.block[i] = blocks + i * FLOATS;
    return c;
}

static void write_one(float *blocks) {
    fr_error err;
    snprintf(path, sizeof path, "checkpoint_%ld", (long)getpid());
    const fr_checkpoint c = make(blocks);
    if (fr_checkpoint_write(&c, path, &err)) fail_msg("%s", err.text);
}

static void what_was_written_comes_back(void **state) {
    (void)state;
    float blocks[4 * FLOATS];
    fr_checkpoint c;
    fr_map map;
    fr_error err;
    struct stat s;
    write_one(blocks);
    const fr_checkpoint wrote = make(blocks);
    assert_int_equal(fr_checkpoint_read(&c, &map, path, &err), FR_OK);
    assert_int_equal(c.identity_bytes, 8);
    assert_memory_equal(c.identity, "a=1\nb=2\n", 8);
    assert_int_equal(c.state_bytes, 15);
    assert_memory_equal(c.state, "where it stands", 15);
    assert_int_equal(c.curve_bytes, 22);
    assert_memory_equal(c.curve, "some points of a curve", 22);
    assert_int_equal(c.n_floats, FLOATS);
    assert_int_equal(c.n_blocks, 4);
    for (int i = 0; i < 4; i++)
        assert_memory_equal(c.block[i], blocks + i * FLOATS, sizeof(float) * FLOATS);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_size, fr_checkpoint_bytes(&wrote));
    fr_map_close(&map);
    unlink(path);
}

// Every bit of the file matters, and every length but its own.
static void damage_is_refused(void **state) {
    (void)state;
    float blocks[4 * FLOATS];
    fr_checkpoint c;
    fr_map map;
    fr_error err;
    write_one(blocks);
    assert_int_equal(fr_map_open(&map, path, &err), FR_OK);
    uint8_t *copy = fr_alloc_zero(map.bytes + 64);
    for (size_t i = 0; i < map.bytes; i++) {
        memcpy(copy, map.data, map.bytes);
        copy[i] ^= (uint8_t)(1 << i % 8);
        assert_int_equal(fr_checkpoint_take(&c, copy, map.bytes, "copy", &err), FR_EDATA);
        assert_true(strstr(err.text, "copy: ") == err.text);
    }
    memcpy(copy, map.data, map.bytes);
    for (size_t n = 0; n < map.bytes + 64; n++)
        assert_int_equal(fr_checkpoint_take(&c, copy, n, "copy", &err),
                         n == map.bytes ? FR_OK : FR_EDATA);
    fr_free(copy);
    fr_map_close(&map);
    unlink(path);
}

static void a_file_that_cannot_be_written_leaves_the_old_one(void **state) {
    (void)state;
    float blocks[4 * FLOATS];
    fr_checkpoint c;
    fr_map map;
    fr_error err;
    struct rlimit before, less;
    write_one(blocks);
    const fr_checkpoint next = make(blocks);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    less = before;
    less.rlim_cur = 64;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    const fr_status st = fr_checkpoint_write(&next, path, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(st, FR_EIO);
    assert_int_equal(fr_checkpoint_read(&c, &map, path, &err), FR_OK);
    fr_map_close(&map);
    unlink(path);
    assert_int_equal(fr_checkpoint_read(&c, &map, path, &err), FR_EIO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_comes_back), cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(a_file_that_cannot_be_written_leaves_the_old_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
