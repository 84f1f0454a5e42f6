// Progress: silent at first, then a line now and then, or a bar that leaves nothing behind.
#include "cmd/lib/progress.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *text;
static size_t n_text;
static FILE *out;
static fr_progress p;

static void begin(void) {
    out = open_memstream(&text, &n_text);
    assert_non_null(out);
    fr_progress_open(&p, out, "MB", 1e6);
}

static const char *said(void) {
    fflush(out);
    return text ? text : "";
}

static void end(void) {
    fclose(out);
    free(text);
    text = NULL;
}

// As if the work had begun so many seconds earlier.
static void wait_for(double seconds) {
    p.start -= seconds;
    p.shown -= seconds;
}

static void the_first_two_seconds_are_silent(void **state) {
    (void)state;
    begin();
    fr_progress_show(&p, "load", 1, 10);
    p.terminal = true;
    wait_for(1.5);
    fr_progress_show(&p, "load", 2, 10);
    assert_string_equal(said(), "");
    end();
}

static void elsewhere_a_line_every_ten_seconds(void **state) {
    (void)state;
    begin();
    wait_for(9);
    fr_progress_show(&p, "load", 10000000, 40000000);
    assert_string_equal(said(), "");
    wait_for(1); // 10 of 40 MB in 10 s: 1 MB/s, 30 s left
    fr_progress_show(&p, "load", 10000000, 40000000);
    assert_string_equal(said(), "load:  25 % of 40 MB, 1.0 MB/s, 0:30 left\n");
    fr_progress_show(&p, "load", 20000000, 40000000);
    assert_string_equal(said(), "load:  25 % of 40 MB, 1.0 MB/s, 0:30 left\n");
    fr_progress_clear(&p); // nothing to wipe
    assert_string_equal(said(), "load:  25 % of 40 MB, 1.0 MB/s, 0:30 left\n");
    end();
}

static void on_a_terminal_a_bar_that_is_wiped(void **state) {
    (void)state;
    begin();
    p.terminal = true;
    wait_for(10);
    fr_progress_show(&p, "load", 20000000, 40000000);
    assert_non_null(strstr(said(), "\rload: [############------------]  50 % of 40 MB"));
    assert_null(strchr(said(), '\n'));
    fr_progress_clear(&p);
    assert_int_equal(text[n_text - 1], '\r');
    end();
}

static void an_unknown_or_wrong_total_is_no_trouble(void **state) {
    (void)state;
    begin();
    wait_for(4000);
    fr_progress_show(&p, "load", 8000000, 0);
    assert_string_equal(said(), "load: 8 MB, 0.0 MB/s, 1:06:40 so far\n");
    wait_for(4000);
    fr_progress_show(&p, "load", 8, 7); // more than all
    wait_for(10);
    fr_progress_show(&p, "load", 0, 7000000);
    assert_string_equal(said(), "load: 8 MB, 0.0 MB/s, 1:06:40 so far\n"
                                "load: 0 MB, 0.0 MB/s, 2:13:20 so far\n"
                                "load:   0 % of 7 MB, 0.0 MB/s, -:-- left\n");
    end();
    fr_progress silent;
    fr_progress_open(&silent, NULL, "MB", 1);
    fr_progress_show(&silent, "load", 1, 2);
    fr_progress_clear(&silent);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_two_seconds_are_silent),
        cmocka_unit_test(elsewhere_a_line_every_ten_seconds),
        cmocka_unit_test(on_a_terminal_a_bar_that_is_wiped),
        cmocka_unit_test(an_unknown_or_wrong_total_is_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
