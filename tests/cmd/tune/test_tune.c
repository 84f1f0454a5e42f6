// `tune` as a program.
#define _GNU_SOURCE
#include "../program.h"
#include "support/home.h"
#include "support/tiny_model.h"
#include <sys/resource.h>

enum { MIB = 1 << 20 };

static said s;
static char line[PATH_MAX + 64];

static int set_up(void **state) {
    (void)state;
    home_begin();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    home_end();
    return 0;
}

// Takes next to no place on the disk, but as much of the address space as it says.
static void write_long(const char *name, off_t bytes) {
    fr_error err;
    assert_int_equal(fr_tiny_write(&(fr_tiny_options){.n_layer = 1}, at_home(name), &err), FR_OK);
    assert_int_equal(truncate(at_home(name), bytes), 0);
}

// The draft model beside the target is tried last, and has no room in the address space.
static void what_was_measured_before_an_error_is_kept(void **state) {
    struct rlimit before, less;
    (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip(); // their shadow memory is far larger than this limit
#endif
    write_long("tiny.gguf", (off_t)1024 * MIB);
    write_long("other.gguf", (off_t)700 * MIB);
    snprintf(line, sizeof line, "tune -m %s -t 1 -q -n 8 --limit 1 --json", at_home("tiny.gguf"));
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    less = before;
    less.rlim_cur = (rlim_t)1536 * MIB;
    assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
    run_line(&s, line);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(s.code, 1);
    if (!strstr(s.err, "Cannot allocate memory; what was measured before is shown and kept"))
        fail_msg("%s", s.err);
    assert_int_equal(complaints_in(s.err), 1);
    json_t *root = json_loads(s.out, 0, NULL);
    const json_t *drafters = json_object_get(root, "drafters");
    assert_int_equal(json_array_size(drafters), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(drafters, 0), "drafter")),
                        "prompt-lookup");
    assert_true(json_is_true(json_object_get(root, "interrupted")));
    assert_int_equal(access(json_string_value(json_object_get(root, "profile")), F_OK), 0);
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_measured_before_an_error_is_kept)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
