// Names of files, and their metadata, do nothing to a terminal.
#include "program.h"
#include "support/tiny_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define ODD                                                                                        \
    "shown\x1b[31m\xc2\x9b"                                                                        \
    "2J\x9b\xe2\x80\xae.gguf" // both kinds of escapes, and a change of direction

static said s;
static char line[512];

static void expect_clean(const char *text) {
    for (const char *c = text; *c; c++)
        if (((uint8_t)*c < ' ' && *c != '\n') || *c == 0x7f || (uint8_t)*c >= 0x80)
            fail_msg("byte %02x in '%s'", (uint8_t)*c, text);
}

static int make_model(void **state) {
    (void)state;
    return fr_tiny_write(&(fr_tiny_options){.n_layer = 1}, ODD, NULL);
}

static int remove_model(void **state) {
    (void)state;
    return remove(ODD);
}

static void inspect_shows_a_name_clean(void **state) {
    (void)state;
    snprintf(line, sizeof line, "inspect %s", ODD);
    assert_int_equal(run_line(&s, line), 0);
    assert_non_null(strstr(s.out, "file: shown?[31m?2J??.gguf, "));
    s.out[strcspn(s.out, "\n")] = 0;
    expect_clean(s.out);
}

static void sentences_show_a_name_clean(void **state) {
    (void)state;
    static const char *const commands[] = {"run -p x -m none" ODD,
                                           "inspect none" ODD,
                                           ODD,
                                           "run -n 1 -p x --drafter rest:none" ODD " -m " ODD,
                                           "run --none" ODD,
                                           "serve --allow-host /" ODD " -m " ODD,
                                           "models none" ODD};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        snprintf(line, sizeof line, "%s", commands[i]);
        assert_int_not_equal(run_line(&s, line), 0);
        expect_clean(s.err);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(inspect_shows_a_name_clean),
                                       cmocka_unit_test(sentences_show_a_name_clean)};
    return cmocka_run_group_tests_name("cmd/shown", tests, make_model, remove_model);
}
