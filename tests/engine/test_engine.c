// Opening an engine, and its profile: progress, interrupts, and what a folder of profiles may hold.
#define _GNU_SOURCE
#include "engine/engine.h"
#include "support/tiny_model.h"
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char model_path[64], folder[64];

static int write_model(void **state) {
    (void)state;
    fr_error err;
    snprintf(model_path, sizeof model_path, "engine-test-%d.gguf", (int)getpid());
    snprintf(folder, sizeof folder, "profiles-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    return fr_tiny_write(&(fr_tiny_options){.type = FR_TYPE_Q8_0, .n_ctx = 128, .head_dim = 32},
                         model_path, &err);
}

// The one file in the folder; NULL: there is none.
static const char *profile_of_folder(void) {
    static char path[512];
    DIR *d = opendir(folder);
    int n = 0;
    for (const struct dirent *at; (at = readdir(d));)
        if (at->d_name[0] != '.' && ++n) snprintf(path, sizeof path, "%s/%s", folder, at->d_name);
    closedir(d);
    assert_true(n <= 1);
    return n ? path : NULL;
}

static int remove_all(void **state) {
    (void)state;
    if (profile_of_folder()) unlink(profile_of_folder());
    return rmdir(folder) || remove(model_path);
}

typedef struct heard {  // of progress
    int calls, stop_at; // the call, from 1, that says stop; 0: none
    uint64_t done, total;
    const char *what;
} heard;

static bool hear(void *user, const char *what, uint64_t done, uint64_t total) {
    heard *h = user;
    h->calls++;
    assert_true(done >= h->done && done <= total && (h->calls == 1 || total == h->total));
    h->done = done, h->total = total, h->what = what;
    return h->calls != h->stop_at;
}

// By one thread, so that the calls are always the same.
static fr_status open_with(fr_engine **e, heard *h, fr_error *err) {
    const fr_engine_options o = {
        .size = sizeof o, .threads = 1, .progress = hear, .progress_user = h};
    return fr_engine_open(e, model_path, &o, err);
}

static fr_engine *open_engine(void) {
    fr_engine *e;
    fr_error err;
    heard h = {0};
    if (open_with(&e, &h, &err)) fail_msg("%s", err.text);
    return e;
}

static void loading_can_be_broken_off(void **state) {
    (void)state;
    fr_engine *e;
    fr_error err;
    heard all = {0};
    assert_int_equal(open_with(&e, &all, &err), FR_OK);
    assert_string_equal(all.what, "loading");
    assert_true(all.calls > 2 && all.done == all.total && all.total > 1000);
    fr_engine_close(e);
    const int stops[] = {1, all.calls / 2, all.calls};
    for (int i = 0; i < 3; i++) {
        heard h = {.stop_at = stops[i]};
        e = (fr_engine *)&h; // no engine
        assert_int_equal(open_with(&e, &h, &err), FR_EINTR);
        assert_null(e);
        assert_int_equal(h.calls, stops[i]);
    }
}

static void expect_profile(const char *dir, int measured, fr_status noted) {
    fr_engine *e = open_engine();
    fr_error note, err;
    heard h = {0};
    if (fr_engine_profile(e, dir, hear, &h, &note, &err)) fail_msg("%s", err.text);
    assert_int_equal(h.calls > 0, measured);
    if (h.calls) assert_true(!strcmp(h.what, "measuring passes") && h.done == h.total);
    if (note.code != noted) fail_msg("%d: %s", (int)note.code, note.text);
    assert_int_equal(note.text[0] != 0, noted != FR_OK);
    h.calls = 0; // it is there
    assert_int_equal(fr_engine_profile(e, dir, hear, &h, &note, &err), FR_OK);
    assert_int_equal(h.calls, 0);
    fr_engine_close(e);
}

static void a_profile_is_measured_once(void **state) {
    (void)state;
    expect_profile(NULL, true, FR_OK);
    assert_null(profile_of_folder());
    expect_profile(folder, true, FR_OK);
    assert_non_null(profile_of_folder());
    expect_profile(folder, false, FR_OK);
}

// Another folder: the profile goes there too, or it is said why not.
static void a_profile_is_kept_where_the_last_call_says(void **state) {
    (void)state;
    fr_engine *e = open_engine();
    fr_error note, err;
    heard h = {.stop_at = 3};
    char inside[600];
    if (profile_of_folder()) unlink(profile_of_folder());
    snprintf(inside, sizeof inside, "%s/profiles", model_path); // a file is no folder
    assert_int_equal(fr_engine_profile(e, inside, hear, &h, &note, &err), FR_EINTR);
    assert_int_equal(fr_engine_profile(e, folder, NULL, NULL, &note, &err), FR_OK);
    assert_int_equal(note.code, FR_OK);
    assert_non_null(profile_of_folder());
    assert_int_equal(fr_engine_profile(e, inside, NULL, NULL, &note, &err), FR_OK);
    assert_int_equal(note.code, FR_EIO);
    unlink(profile_of_folder());
    assert_int_equal(fr_engine_profile(e, folder, NULL, NULL, &note, &err), FR_OK);
    assert_int_equal(note.code, FR_OK);
    assert_non_null(profile_of_folder());
    fr_engine_close(e);
}

static void a_damaged_profile_is_measured_anew(void **state) {
    (void)state;
    if (!profile_of_folder()) expect_profile(folder, true, FR_OK);
    FILE *f = fopen(profile_of_folder(), "w");
    fputs("no profile", f);
    fclose(f);
    expect_profile(folder, true, FR_EUNSUP);
    expect_profile(folder, false, FR_OK);
    struct stat is;
    assert_int_equal(stat(profile_of_folder(), &is), 0);
    assert_int_equal(truncate(profile_of_folder(), is.st_size / 2), 0);
    expect_profile(folder, true, FR_EDATA);
    expect_profile(folder, false, FR_OK);
}

static void a_folder_that_takes_no_profile_is_noted(void **state) {
    (void)state;
    char inside[600];
    snprintf(inside, sizeof inside, "%s/profiles", model_path); // a file is no folder
    expect_profile(inside, true, FR_EIO);
}

static void too_long_a_folder_is_refused(void **state) {
    (void)state;
    static char longer[1 << 16];
    fr_engine *e = open_engine();
    fr_error note, err;
    memset(longer, 'd', sizeof longer - 1);
    assert_int_equal(fr_engine_profile(e, longer, NULL, NULL, &note, &err), FR_EARG);
    assert_int_equal(fr_engine_profile(e, NULL, NULL, NULL, &note, &err), FR_OK);
    fr_engine_close(e);
}

// Who was broken off while he measured may measure again.
static void measuring_can_be_broken_off(void **state) {
    (void)state;
    fr_engine *e = open_engine();
    fr_error note, err;
    if (profile_of_folder()) unlink(profile_of_folder());
    const int stops[] = {1, 2, 20};
    for (int i = 0; i < 3; i++) {
        heard h = {.stop_at = stops[i]};
        assert_int_equal(fr_engine_profile(e, folder, hear, &h, &note, &err), FR_EINTR);
        assert_int_equal(h.calls, stops[i]);
        assert_null(profile_of_folder());
    }
    heard h = {0};
    assert_int_equal(fr_engine_profile(e, folder, hear, &h, &note, &err), FR_OK);
    assert_true(h.calls > 20);
    assert_non_null(profile_of_folder());
    fr_engine_close(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loading_can_be_broken_off),
        cmocka_unit_test(a_profile_is_measured_once),
        cmocka_unit_test(a_profile_is_kept_where_the_last_call_says),
        cmocka_unit_test(a_damaged_profile_is_measured_anew),
        cmocka_unit_test(a_folder_that_takes_no_profile_is_noted),
        cmocka_unit_test(too_long_a_folder_is_refused),
        cmocka_unit_test(measuring_can_be_broken_off),
    };
    return cmocka_run_group_tests_name("engine/engine", tests, write_model, remove_all);
}
