// What the check of a preparer's queue notices. The struct is preparer.c's own, so that file is a
// part of this test.
#include "serve/preparer.c"
#include "support/damage.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void the_check_of_a_queue_finds_damage(void **state) {
    (void)state;
    fr_preparation what[3] = {{.bytes = 3}, {.bytes = 1}, {.bytes = 2}};
    ticket t[3] = {{.what = &what[0]}, {.what = &what[1]}, {.what = &what[2]}};
    fr_preparer p = {.n = 3};
    for (int i = 0; i < 3; i++)
        put_in(&p, &t[i]);
    assert_ptr_equal(p.first, &t[1]);
    assert_noticed(p.n_waiting, 2, fr_preparer_is_sound(&p));
    assert_noticed(p.n, 2, fr_preparer_is_sound(&p));
    assert_noticed(what[1].bytes, 4, fr_preparer_is_sound(&p));
    assert_noticed(t[2].begun, true, fr_preparer_is_sound(&p));
    assert_noticed(t[2].next, NULL, fr_preparer_is_sound(&p));
    take_out(&p, &t[2]);
    assert_true(fr_preparer_is_sound(&p) && p.n_waiting == 2 && t[1].next == &t[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_check_of_a_queue_finds_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
