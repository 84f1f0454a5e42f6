// What --tree takes, and what is said of the rest.
#include "decode/tree_option.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[64];

static void put(const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && !fclose(f));
}

static void numbers_and_auto(void **state) {
    (void)state;
    static const struct {
        const char *words;
        int nodes;
    } right[] = {{NULL, 0}, {"auto", 0}, {"1", 2}, {"16", 17}, {"127", 128}};
    fr_tree_size size;
    fr_error err;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_int_equal(fr_tree_size_read(&size, right[i].words, &err), FR_OK);
        assert_int_equal(size.nodes, right[i].nodes);
        assert_int_equal(size.shape.n, 0);
    }
}

static void what_is_neither_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"0",  "-1", "128", "99999999999999999999",
                                        "1x", "",   "big", "no-such-folder/shape"};
    fr_tree_size size;
    fr_error err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (fr_tree_size_read(&size, wrong[i], &err) != FR_EARG) fail_msg("%s", wrong[i]);
        assert_non_null(strstr(err.text, wrong[i]));
        assert_non_null(strstr(err.text, "1 to 127 nodes"));
    }
}

static void shapes_come_from_files(void **state) {
    (void)state;
    fr_tree_size size;
    fr_error err;
    put("0\n0.1 # a child\n1\n");
    assert_int_equal(fr_tree_size_read(&size, path, &err), FR_OK);
    assert_int_equal(size.nodes, 0);
    assert_int_equal(size.shape.n, 4);
    put("0\n0.x\n");
    assert_int_equal(fr_tree_size_read(&size, path, &err), FR_EDATA);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, "line 2"));
    assert_int_equal(fr_tree_size_read(&size, ".", &err), FR_EIO); // a folder
}

static int set_up(void **state) {
    (void)state;
    snprintf(path, sizeof path, "shape-test-%d.txt", (int)getpid());
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    return unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_and_auto),
                                       cmocka_unit_test(what_is_neither_is_refused),
                                       cmocka_unit_test(shapes_come_from_files)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
