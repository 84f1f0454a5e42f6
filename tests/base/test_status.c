// An error is a status and one printable sentence, whatever went into it.
#include "base/status.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void fail_returns_its_status_and_writes_the_sentence(void **state) {
    (void)state;
    fr_error err = {0};
    assert_int_equal(fr_fail(&err, FR_EDATA, "%s: expected %d, found %d", "x", 1, 2), FR_EDATA);
    assert_int_equal(err.code, FR_EDATA);
    assert_string_equal(err.text, "x: expected 1, found 2");
    assert_int_equal(fr_fail(NULL, FR_EIO, "nobody listens"), FR_EIO);
}

static void fail_shows_control_bytes_as_question_marks(void **state) {
    (void)state;
    fr_error err;
    fr_fail(&err, FR_EARG, "name '%s'", "a\x1b[31m\n\x7f\tb");
    assert_string_equal(err.text, "name 'a?[31m???b'");
    fr_fail(&err, FR_EARG, "%s", "gr\xc3\xbc\xc3\x9f"); // UTF-8 passes
    assert_string_equal(err.text, "gr\xc3\xbc\xc3\x9f");
}

static void fail_cuts_what_is_too_long(void **state) {
    (void)state;
    char longer[2 * sizeof((fr_error *)0)->text];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    fr_error err;
    fr_fail(&err, FR_EARG, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_returns_its_status_and_writes_the_sentence),
        cmocka_unit_test(fail_shows_control_bytes_as_question_marks),
        cmocka_unit_test(fail_cuts_what_is_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
