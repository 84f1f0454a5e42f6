#include "decode/accept_option.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static fr_acceptance read(const char *words) {
    fr_acceptance a;
    fr_error err;
    if (fr_acceptance_read(&a, words, &err)) fail_msg("%s", err.text);
    return a;
}

static void words_name_a_rule(void **state) {
    (void)state;
    assert_int_equal(read(NULL).rule, FR_RULE_EXACT);
    assert_int_equal(read("exact").rule, FR_RULE_EXACT);
    assert_int_equal(read("rejection").rule, FR_RULE_REJECTION);
    const fr_acceptance plain = read("typical"), given = read("typical:0.2,0.5"),
                        ends = read("typical:1,0");
    assert_int_equal(plain.rule, FR_RULE_TYPICAL);
    assert_true(plain.typical.epsilon == 0.09 && plain.typical.delta == 0.3);
    assert_int_equal(given.rule, FR_RULE_TYPICAL);
    assert_true(given.typical.epsilon == 0.2 && given.typical.delta == 0.5);
    assert_true(ends.typical.epsilon == 1 && ends.typical.delta == 0);
}

static void other_words_are_refused_with_a_sentence(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "Exact",
                                      "exact:1",
                                      "rejection:0.5",
                                      "typically",
                                      "typical:",
                                      "typical:0.1",
                                      "typical:0.1,",
                                      "typical:0.1,0.3,",
                                      "typical:0.1,0.3x",
                                      "typical:1.5,0.3",
                                      "typical:-0.1,0.3",
                                      "typical:0.1,-1",
                                      "typical:nan,0.3",
                                      "typical:0.1,nan"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fr_acceptance a;
        fr_error err = {0};
        if (fr_acceptance_read(&a, bad[i], &err) != FR_EARG) fail_msg("taken: '%s'", bad[i]);
        assert_non_null(strstr(err.text, "expected"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_name_a_rule),
        cmocka_unit_test(other_words_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
