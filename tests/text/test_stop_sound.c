// What the check of stop strings notices. The struct is stop.c's own, so that file is a part of
// this test.
#include "support/damage.h"
#include "text/stop.c"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void the_check_of_stop_strings_finds_damage(void **state) {
    (void)state;
    const char *const strings[] = {"end", "enough", NULL};
    char out[32];
    size_t n;
    fr_stop *s;
    assert_int_equal(fr_stop_open(&s, strings, NULL, NULL), FR_OK);
    assert_false(fr_stop_push(s, "the en", 6, out, &n));
    assert_noticed(s->strings[0].matched, 3, fr_stop_is_sound(s)); // whole, and it goes on
    assert_noticed(s->strings[0].bytes, 0, fr_stop_is_sound(s));
    assert_noticed(s->longest, 5, fr_stop_is_sound(s));
    assert_noticed(s->found, 0, fr_stop_is_sound(s)); // and something is held
    assert_true(fr_stop_push(s, "d", 1, out, &n));
    assert_true(fr_stop_is_sound(s));
    fr_stop_close(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_check_of_stop_strings_finds_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
