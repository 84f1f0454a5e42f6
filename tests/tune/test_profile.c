// What a profile promises: what was written is read, and whatever belongs elsewhere or is broken is
// refused with a sentence and leaves nothing behind.
#include "tune/profile.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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
                             .held = 1.25,
                             .expert = 2e-6,
                             .experts = {6, 18, 30},
                             .shared = 0.3}}; // of a text: not kept
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
    assert_true(q.cost.expert == 2e-6 && q.cost.experts[2] == 30 && q.cost.shared == 0);
    assert_true(q.cost.key == p.cost.key && q.cost.key_row == p.cost.key_row);
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

static void write_bytes(const uint8_t *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static size_t read_bytes(uint8_t *bytes, size_t room) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    const size_t n = fread(bytes, 1, room, f);
    assert_true(n > 0 && n < room);
    fclose(f);
    return n;
}

// The file at `path`: refused with a sentence, and nothing of it is left.
static void expect_refused(size_t at) {
    fr_error err = {0};
    fr_profile q;
    const fr_status st = fr_profile_read(&q, &KEY, path, &err);
    if (st != FR_EDATA && st != FR_EUNSUP) fail_msg("byte %zu: status %d", at, (int)st);
    assert_true(strlen(err.text) > 10);
    assert_int_equal(q.n_drafters, 0);
    assert_int_equal(q.cost.n, 0);
}

static bool is_taken(const uint8_t *file, size_t n) {
    fr_error err;
    fr_profile q;
    fr_gguf *g;
    if (fr_gguf_open_memory(&g, file, n, "memory", &err)) return false;
    const bool taken = !fr_profile_take(&q, &KEY, g, &err);
    fr_gguf_close(g);
    return taken;
}

// Each bit of each byte on its own, the file cut anywhere, and a byte more.
static void no_damage_is_believed(void **state) {
    (void)state;
    static uint8_t file[1 << 16] __attribute__((aligned(64)));
    fr_error err;
    fr_profile p = made();
    assert_int_equal(fr_profile_write(&p, path, &err), FR_OK);
    const size_t n = read_bytes(file, sizeof file);
    assert_true(is_taken(file, n));
    assert_false(is_taken(file, n + 1));
    for (size_t at = 0; at < n; at++) {
        const uint8_t was = file[at];
        assert_false(is_taken(file, at));
        for (int bit = 0; bit < 8; bit++) {
            file[at] = was ^ (uint8_t)(1 << bit);
            if (is_taken(file, n)) fail_msg("bit %d of byte %zu", bit, at);
        }
        file[at] = (uint8_t)~was;
        if (at % 16 == 0) {
            write_bytes(file, n);
            expect_refused(at);
        }
        file[at] = was;
    }
}

// A sound file with the name of a drafter that this program does not have, or text that is none.
static void a_name_that_nobody_knows_is_damage(void **state) {
    (void)state;
    const char *wrong[] = {"prompt-lookop", "prompt-lookup+", "eagle:a\nb.gguf",
                           "rest",          "none+eagle",     "medusa:\x7f"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fr_error err;
        fr_profile p = made();
        const fr_profile_drafter d = entry_of(wrong[i], 20);
        fr_profile_put(&p, &d);
        assert_int_equal(fr_profile_write(&p, path, &err), FR_OK);
        expect_refused(i);
    }
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

// What another process tuned since is kept, but for what this one tuned too.
static void what_others_tuned_is_merged(void **state) {
    (void)state;
    fr_error err;
    fr_profile theirs = made(), ours = made();
    fr_profile_drafter d = entry_of("eagle", 20);
    fr_profile_put(&theirs, &d);
    d = entry_of("medusa", 12);
    fr_profile_put(&theirs, &d);
    d = entry_of("prompt-lookup", 13); // read before they tuned, and dropped by them
    fr_profile_put(&ours, &d);
    d = entry_of("medusa", 14);
    d.tuned_here = true;
    fr_profile_put(&ours, &d);
    assert_int_equal(fr_profile_write(&theirs, path, &err), FR_OK);
    fr_profile_merge(&ours, path);
    assert_int_equal(ours.n_drafters, 3);
    assert_true(fr_profile_find(&ours, "eagle")->tok_s == 20);
    assert_true(fr_profile_find(&ours, "medusa")->tok_s == 14);
    assert_null(fr_profile_find(&ours, "prompt-lookup"));
    fr_profile_merge(&ours, "nowhere.profile");
    assert_int_equal(ours.n_drafters, 3);
}

static void a_device_is_no_folder(void **state) {
    (void)state;
    fr_error err;
    fr_profile p = made();
    if (access("/dev/full", W_OK)) skip();
    assert_int_equal(fr_profile_write(&p, "/dev/full/x.profile", &err), FR_EIO);
    assert_non_null(strstr(err.text, "/dev/full"));
}

static void a_full_disk_leaves_the_old_one(void **state) {
    (void)state;
    fr_error err;
    fr_profile p = made(), q;
    struct rlimit was, small = {100, 100};
    assert_int_equal(fr_profile_write(&p, path, &err), FR_OK);
    const fr_profile_drafter more = entry_of("eagle", 99);
    fr_profile_put(&p, &more);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    small.rlim_max = was.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0); // stands for a full disk
    const fr_status st = fr_profile_write(&p, path, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(st, FR_EIO);
    assert_non_null(strstr(err.text, "File too large"));
    assert_int_equal(fr_profile_read(&q, &KEY, path, &err), FR_OK);
    assert_true(q.n_drafters == 1 && !fr_profile_find(&q, "eagle"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(anothers_profile_is_refused_with_the_difference),
        cmocka_unit_test(every_key_has_a_file_of_its_own),
        cmocka_unit_test(a_profile_is_loaded_whosever_it_is),
        cmocka_unit_test(no_damage_is_believed),
        cmocka_unit_test(a_name_that_nobody_knows_is_damage),
        cmocka_unit_test(the_fastest_above_plain_is_best),
        cmocka_unit_test(what_others_tuned_is_merged),
        cmocka_unit_test(a_device_is_no_folder),
        cmocka_unit_test(a_full_disk_leaves_the_old_one),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
