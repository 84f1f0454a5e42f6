// Text from outside does nothing to a terminal.
#include "base/clean.h"
#include "base/status.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *text, const char *shown) {
    char is[256];
    const size_t n = fr_clean(is, text, strlen(text));
    is[n] = 0;
    assert_string_equal(is, shown);
}

static void text_stays_and_controls_do_not(void **state) {
    (void)state;
    expect("", "");
    expect("a b~ é 漢字 🙂 \xc2\xa0", "a b~ é 漢字 🙂 \xc2\xa0");
    expect("\x1b[2J\a\r\n\t\x7f", "?[2J?????");
    expect("a\xc2\x9b"
           "31m\xc2\x80\xc2\x9f",
           "a?31m??"); // C1 as UTF-8
    expect("a\x9b"
           "31m\x80",
           "a?31m?"); // ... and as bytes
    expect("gpj.\xe2\x80\xae"
           "exe\xe2\x81\xa6\xe2\x80\x8f\xd8\x9c",
           "gpj.?exe???");
    expect("a\xe2\x80\xa8"
           "b\xe2\x80\xa9",
           "a?b?"); // lines of their own
}

static void what_is_no_utf8_is_not_shown(void **state) {
    (void)state;
    expect("\xc3", "?");
    expect("\xe2\x82", "??");
    expect("\xc0\x9b", "??");      // U+009B in more bytes than it needs
    expect("\xe0\x82\x9b", "???"); // the same
    expect("\xed\xa0\x80", "???"); // a surrogate
    expect("\xf4\x90\x80\x80", "????");
    expect("\xff\xfe", "??");
    expect("\xc3\x1b", "??"); // a cut character hides no byte
}

static void errors_are_clean(void **state) {
    (void)state;
    fr_error err;
    fr_fail(&err, FR_EIO, "%s", "a\x1b\xc2\x9b\xe2\x80\xae\x9bz");
    assert_string_equal(err.text, "a????z");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(text_stays_and_controls_do_not),
                                       cmocka_unit_test(what_is_no_utf8_is_not_shown),
                                       cmocka_unit_test(errors_are_clean)};
    return cmocka_run_group_tests_name("base/clean", tests, NULL, NULL);
}
