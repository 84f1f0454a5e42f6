// What a profile promises: what was written is read, and whatever belongs elsewhere or is broken is
// refused with a sentence and leaves nothing behind.
#include "tune/profile.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[128];
static const fr_profile_key KEY = {
    .model = "0123456789abcdef0123456789abcdef", .cpu = "A Processor", .isa = "avx2", .threads = 2};

static fr_profile_drafter entry_of(const char *spec, double speed) {
    fr_profile_drafter d = {.tok_s = speed, .plain_tok_s = 10, .tokens_per_pass = 2};
    snprintf(d.spec, sizeof d.spec, "%s", spec);
    return d;
}

static fr_profile made(void) {
    fr_profile p = {.key = KEY,
                    .cost = {.n = 3,
                             .rows = {1, 4, 16},
                             .trunk = {0.01, 0.02, 0.05},
                             .head = {0.001, 0.002, 0.006},
                             .key = 1e-6,
                             .key_row = 0x1p-24,
                             .held = 1.25}};
    const fr_profile_drafter d = entry_of("prompt-lookup+draft-model:/a b/ü.gguf", 15);
    fr_profile_put(&p, &d);
    return p;
}

static int set_up(void **state) {
    (void)state;
    snprintf(path, sizeof path, "profile-test-%d/deep/er/x.profile", (int)getpid());
    return 0;
}

static int tear_down(void **state) {
    char drop[160];
    (void)state;
    snprintf(drop, sizeof drop, "rm -rf profile-test-%d", (int)getpid());
    return system(drop);
}

static void what_was_written_is_read(void **state) {
    (void)state;
    fr_error err;
    fr_profile p = made(), q;
    assert_int_equal(fr_profile_write(&p, path, &err), FR_OK); // makes the folders
    assert_int_equal(fr_profile_read(&q, &KEY, path, &err), FR_OK);
    assert_int_equal(q.cost.n, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(q.cost.rows[i], p.cost.rows[i]);
        assert_true(q.cost.trunk[i] == p.cost.trunk[i] && q.cost.head[i] == p.cost.head[i]);
    }
    assert_true(q.cost.key == (double)(float)p.cost.key && q.cost.key_row == p.cost.key_row);
    assert_true(q.cost.held == 1.25);
    const fr_profile_drafter *d = fr_profile_find(&q, p.drafter[0].spec);
    assert_non_null(d);
    assert_true(d->tok_s == 15 && d->plain_tok_s == 10 && d->tokens_per_pass == 2);
    assert_null(fr_profile_find(&q, "prompt-lookup"));
    p.cost = (fr_cost){.n = 0}; // not measured
    assert_int_equal(fr_profile_write(&p, path, &err), FR_OK);
    assert_int_equal(fr_profile_read(&q, &KEY, path, &err), FR_OK);
    assert_int_equal(q.cost.n, 0);
}

// Each time one thing differs, and the sentence names it.
static void anothers_profile_is_refused_with_the_difference(void **state) {
    (void)state;
    fr_error err;
    fr_profile p = made(), q;
    fr_profile_key other[4] = {KEY, KEY, KEY, KEY};
    const char *named[4] = {"profile.model", "profile.cpu", "profile.isa", "profile.threads"};
    other[0].model[3] = 'f';
    strcpy(other[1].cpu, "Another Processor");
    strcpy(other[2].isa, "avx512");
    other[3].threads = 4;
    assert_int_equal(fr_profile_write(&p, path, &err), FR_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(fr_profile_read(&q, &other[i], path, &err), FR_EUNSUP);
        assert_non_null(strstr(err.text, named[i]));
        assert_int_equal(q.cost.n, 0);
        assert_int_equal(q.n_drafters, 0);
        assert_memory_equal(&q.key, &other[i], sizeof q.key);
    }
    assert_int_equal(fr_profile_read(&q, &KEY, "profile-test-none", &err), FR_EIO);
}

static void every_key_has_a_file_of_its_own(void **state) {
    (void)state;
    fr_error err;
    char file[5][96];
    fr_profile_key key[5] = {KEY, KEY, KEY, KEY, KEY};
    key[1].model[3] = 'f';
    strcpy(key[2].cpu, "Another Processor");
    strcpy(key[3].isa, "avx512");
    key[4].threads = 4;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(fr_profile_path(&key[i], "dir", file[i], sizeof file[i], &err), FR_OK);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(file[i], file[j]);
    }
    assert_int_equal(fr_profile_path(&KEY, "dir", file[0], 40, &err), FR_EARG);
}

static void a_profile_is_loaded_whosever_it_is(void **state) {
    (void)state;
    fr_error err;
    fr_gguf *g;
    fr_profile p = made(), q;
    assert_int_equal(fr_profile_write(&p, path, &err), FR_OK);
    assert_int_equal(fr_gguf_open(&g, path, &err), FR_OK);
    assert_true(fr_profile_is(g));
    assert_int_equal(fr_profile_load(&q, g, &err), FR_OK);
    assert_string_equal(q.key.model, KEY.model);
    assert_string_equal(q.key.cpu, KEY.cpu);
    assert_string_equal(q.key.isa, KEY.isa);
    assert_int_equal(q.key.threads, KEY.threads);
    assert_int_equal(q.n_drafters, p.n_drafters);
    assert_true(fr_profile_speedup(&q.drafter[0]) == 1.5);
    fr_gguf_close(g);
    p.key.threads = 0;
    assert_int_equal(fr_profile_write(&p, path, &err), FR_OK);
    assert_int_equal(fr_gguf_open(&g, path, &err), FR_OK);
    assert_int_equal(fr_profile_load(&q, g, &err), FR_EDATA);
    assert_non_null(strstr(err.text, "profile.threads: expected 1 to"));
    fr_gguf_close(g);
}

static void replace_byte(const char *file, long at, int value) {
    FILE *f = fopen(file, "r+b");
    fseek(f, at, SEEK_SET);
    fputc(value, f);
    fclose(f);
}

// Every byte of the file changed in turn: read as it is or refused with a sentence, and what is
// read holds what the header promises.
static void a_broken_profile_is_refused(void **state) {
    (void)state;
    fr_error err;
    fr_profile p = made(), q;
    assert_int_equal(fr_profile_write(&p, path, &err), FR_OK);
    FILE *f = fopen(path, "rb");
    fseek(f, 0, SEEK_END);
    const long n = ftell(f);
    int refused = 0;
    for (long at = 0; at < n; at++) {
        fseek(f, at, SEEK_SET);
        const int byte = fgetc(f);
        fflush(f);
        replace_byte(path, at, byte ^ (at % 2 ? 0x81 : 0x42));
        const fr_status st = fr_profile_read(&q, &KEY, path, &err);
        replace_byte(path, at, byte);
        if (st) {
            refused++;
            assert_true(strlen(err.text) > 10);
            continue;
        }
        assert_true(q.cost.n >= 0 && q.cost.n <= FR_COST_POINTS);
        for (int i = 0; i < q.cost.n; i++)
            assert_true(q.cost.held >= 1 && q.cost.trunk[i] >= 0 && q.cost.trunk[i] <= 3600 &&
                        q.cost.rows[i] >= 1);
    }
    fclose(f);
    assert_true(refused > n / 8); // header, keys and lengths at least
    assert_int_equal(truncate(path, n / 2), 0);
    assert_int_equal(fr_profile_read(&q, &KEY, path, &err), FR_EDATA);
}

static void the_fastest_above_plain_is_best(void **state) {
    (void)state;
    fr_profile p = {.key = KEY};
    assert_null(fr_profile_best(&p));
    fr_profile_drafter d = entry_of("slow", 9);
    fr_profile_put(&p, &d);
    assert_null(fr_profile_best(&p)); // plain decoding is faster
    char name[16];
    for (int i = 0; i < FR_PROFILE_DRAFTERS + 3; i++) { // the slowest make room
        snprintf(name, sizeof name, "d%d", i);
        d = entry_of(name, 11 + i);
        fr_profile_put(&p, &d);
    }
    assert_int_equal(p.n_drafters, FR_PROFILE_DRAFTERS);
    assert_null(fr_profile_find(&p, "slow"));
    assert_string_equal(fr_profile_best(&p)->spec, name);
    d = entry_of(name, 10.5); // tuned again: replaced, not added
    fr_profile_put(&p, &d);
    assert_int_equal(p.n_drafters, FR_PROFILE_DRAFTERS);
    assert_string_not_equal(fr_profile_best(&p)->spec, name);
}

static void a_full_disk_is_a_sentence(void **state) {
    (void)state;
    fr_error err;
    fr_profile p = made();
    if (access("/dev/full", W_OK)) skip();
    assert_int_equal(fr_profile_write(&p, "/dev/full/x.profile", &err), FR_EIO);
    assert_non_null(strstr(err.text, "/dev/full"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(anothers_profile_is_refused_with_the_difference),
        cmocka_unit_test(every_key_has_a_file_of_its_own),
        cmocka_unit_test(a_profile_is_loaded_whosever_it_is),
        cmocka_unit_test(a_broken_profile_is_refused),
        cmocka_unit_test(the_fastest_above_plain_is_best),
        cmocka_unit_test(a_full_disk_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
