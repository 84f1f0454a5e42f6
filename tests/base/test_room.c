// Room on a disk and room for a file.
#include "base/room.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

static void more_than_any_disk_has_is_refused(void **state) {
    (void)state;
    fr_error err;
    assert_int_equal(fr_room_check("some-file", 1, 1, &err), FR_OK);
    assert_int_equal(fr_room_check("/some-file", 0, 0, &err), FR_OK);
    assert_int_equal(fr_room_check("some-file", UINT64_MAX, 1, &err), FR_EIO);
    assert_non_null(strstr(err.text, "some-file: expected about 18446744073709.6 MB of free disk"));
    // What is not there is said by whoever opens it.
    assert_int_equal(fr_room_check("no-such-folder/some-file", UINT64_MAX, 1, &err), FR_OK);
}

static void files_that_may_not_grow_are_refused(void **state) {
    (void)state;
    struct rlimit before, less;
    fr_error err;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    less = before;
    less.rlim_cur = 3000000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    const fr_status fits = fr_room_check("some-file", 10, 3000000, &err);
    const fr_status not = fr_room_check("some-file", 10, 3000001, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(fits, FR_OK);
    assert_int_equal(not, FR_EIO);
    assert_non_null(strstr(err.text, "found a limit of 3.0 MB"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(more_than_any_disk_has_is_refused),
                                       cmocka_unit_test(files_that_may_not_grow_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
