// What names a training: which differences are refused, and how they are told.
#include "train/identity.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void differences_are_named(void **state) {
    static const struct {
        const char *mine, *found, *says; // NULL: the same training
    } of[] = {
        {"a=1\nset=x=1\nset=y=2\n", "a=1\nset=x=1\nset=y=2\n", NULL},
        {"a=1\nset=x=1\nset=y=2\n", "set=y=2\nset=x=1\na=1", NULL},
        {"a=1\n", "a=2\n", "expected a=1, found a=2"},
        {"a=1\naverage=0.5\n", "a=1\n", "expected average=0.5, found none"},
        {"a=1\n", "a=1\naverage=0.5\n", "expected no average, found average=0.5"},
        {"a=1\nset=x=1\n", "a=1\nset=y=1\n", "expected set=x=1, found none"},
        {"set=x=1\nset=x=2\n", "set=x=1\nset=x=2\n", NULL},
        {"set=x=1\nset=x=2\n", "set=x=2\nset=x=1\n", "expected set=x=1, found set=x=2"},
        {"set=x=1\nset=x=2\n", "set=x=1\n", "expected set=x=2, found none"},
        {"a=1\nlength=9 steps\n", "a=1\nlength=5 steps\n", NULL},
        {"a=1\nlength=9 steps\ntexts=5\n", "a=1\n", NULL},
        {"a=1\ntexts=5\n", "a=1\ntexts=6\n", "expected texts=5, found texts=6"},
        {"a=1\n", "", "expected a=1, found none"},
        {"a=1\n", "a=1\n\n=\n", "expected no "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        fr_error err = {0};
        const fr_status st =
            fr_identity_compare(of[i].mine, of[i].found, strlen(of[i].found), "x.ckpt", &err);
        assert_int_equal(st, of[i].says ? FR_EDATA : FR_OK);
        if (st && (!strstr(err.text, of[i].says) || strncmp(err.text, "x.ckpt: of another", 18)))
            fail_msg("%s", err.text);
    }
}

static void values_are_found(void **state) {
    const char *text = "a=1\nlength=40 steps\nset=length=3\nb\n";
    char value[8];
    (void)state;
    fr_identity_value(text, strlen(text), "length", value, sizeof value);
    assert_string_equal(value, "40 step"); // cut to its room
    fr_identity_value(text, strlen(text), "set=length", value, sizeof value);
    assert_string_equal(value, "3");
    fr_identity_value(text, 5, "length", value, sizeof value);
    assert_string_equal(value, "");
    fr_identity_value(text, strlen(text), "b", value, sizeof value);
    assert_string_equal(value, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(differences_are_named),
                                       cmocka_unit_test(values_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
