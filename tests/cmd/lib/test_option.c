// The option table: strict parsing, and texts that come out of the same table.
#include "cmd/lib/option.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct values {
    int n, mode, color;
    double temp;
    uint64_t seed;
    bool json;
    const char *model, *prompt, *who;
    fr_strings stop;
} values;

static const fr_option options[] = {
    {"predict", 'n', FR_OPT_INT, offsetof(values, n), "N", "256", NULL, "tokens", -1, 1000, NULL},
    {"temp", 0, FR_OPT_FLOAT, offsetof(values, temp), "T", "0.5", NULL, "heat", 0, 100, NULL},
    {"seed", 's', FR_OPT_U64, offsetof(values, seed), "N", NULL, "random", "noise", 0, 0, NULL},
    {"mode", 0, FR_OPT_ENUM, offsetof(values, mode), NULL, "auto", NULL, "it's the mode", 0, 0,
     "auto|fast|slow"},
    {"json", 0, FR_OPT_FLAG, offsetof(values, json), NULL, NULL, NULL, "print JSON", 0, 0, NULL},
    {"model", 'm', FR_OPT_MODEL, offsetof(values, model), "FILE", NULL, NULL, "the model", 0, 0,
     NULL},
    {"prompt", 'p', FR_OPT_TEXT, offsetof(values, prompt), "TEXT", NULL, NULL, "text", 0, 0, NULL},
    {"color", 0, FR_OPT_SWITCH, offsetof(values, color), "WHEN]", "never", NULL, "paint", 0, 0,
     "never|auto|always"},
    {"who", 0, FR_OPT_SPEC, offsetof(values, who), "SPEC", NULL, NULL, "who does", 0, 0, NULL},
    {"stop", 0, FR_OPT_LIST, offsetof(values, stop), "TEXT", NULL, NULL, "stops", 0, 0, NULL},
    {.name = NULL},
};
static const fr_option_group group = {"Options", options};
// Those with a file are of the second table alone.
static bool word_of(int index, fr_word *word, bool with_file) {
    static const fr_word words[] = {{"one", "it's the first", false},
                                    {"two", "the other: no third", false},
                                    {"filed", "with a file", true}};
    if (index >= (with_file ? 3 : 2)) return false;
    *word = words[index];
    return true;
}
static bool first_word(int index, fr_word *word) {
    return word_of(index, word, false);
}
static bool spec_word(int index, fr_word *word) {
    return word_of(index, word, true);
}
static const fr_command command = {
    .name = "run",
    .summary = "do it",
    .about = "First paragraph.\n\nSecond one.",
    .args = "FILE",
    .max_args = 1,
    .words = first_word,
    .example = "prog run -n 3 x",
    .groups = {&group},
};
static const fr_command *const commands[] = {&command, NULL};
static const fr_program program = {"prog",   "1.0",     "does things", "About it.",
                                   commands, spec_word, NULL};

static values v;
static fr_parsed parsed;
static fr_error err;

static fr_status parse(const char *line) {
    static char text[256], *argv[32];
    snprintf(text, sizeof text, "%s", line);
    int n = 0;
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
        argv[n++] = w;
    memset(&v, 0x55, sizeof v);
    err = (fr_error){0};
    return fr_option_parse(&command, n, argv, &v, &parsed, &err);
}

static void defaults_are_those_of_the_table(void **state) {
    (void)state;
    assert_int_equal(parse(""), FR_OK);
    assert_int_equal(v.n, 256);
    assert_true(v.temp == 0.5);
    assert_int_equal(v.seed, 0);
    assert_int_equal(v.mode, 0);
    assert_false(v.json);
    assert_null(v.model);
    assert_int_equal(v.stop.n, 0);
    assert_false(fr_option_given(&command, &parsed, "predict"));
}

static void every_way_of_giving_a_value_works(void **state) {
    (void)state;
    static const char *const ways[] = {"-n 7", "-n7", "-n=7", "--predict 7", "--predict=7"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        assert_int_equal(parse(ways[i]), FR_OK);
        assert_int_equal(v.n, 7);
        assert_true(fr_option_given(&command, &parsed, "predict"));
    }
    assert_int_equal(parse("-n -1 --temp .25 --mode slow --json -m a.gguf -s 18446744073709551615"),
                     FR_OK);
    assert_int_equal(v.n, -1);
    assert_true(v.temp == 0.25);
    assert_int_equal(v.mode, 2);
    assert_true(v.json);
    assert_string_equal(v.model, "a.gguf");
    assert_true(v.seed == UINT64_MAX);
    assert_int_equal(parse("-s 010"), FR_OK);
    assert_int_equal(v.seed, 10);
}

static void text_may_look_like_an_option(void **state) {
    (void)state;
    assert_int_equal(parse("-p --json --stop -x --stop=y"), FR_OK);
    assert_string_equal(v.prompt, "--json");
    assert_false(v.json);
    assert_int_equal(v.stop.n, 2);
    assert_string_equal(v.stop.item[0], "-x");
    assert_string_equal(v.stop.item[1], "y");
    assert_null(v.stop.item[2]);
}

static void a_switch_takes_its_value_attached_only(void **state) {
    (void)state;
    assert_int_equal(parse(""), FR_OK);
    assert_int_equal(v.color, 0);
    assert_int_equal(parse("--color file"), FR_OK);
    assert_int_equal(v.color, 1);
    assert_int_equal(parsed.n_args, 1);
    assert_int_equal(parse("--color=always"), FR_OK);
    assert_int_equal(v.color, 2);
    assert_int_equal(parse("--color=red"), FR_EARG);
}

static void two_dashes_end_the_options(void **state) {
    (void)state;
    assert_int_equal(parse("--json -- --temp"), FR_OK);
    assert_int_equal(parsed.n_args, 1);
    assert_string_equal(parsed.args[0], "--temp");
    assert_int_equal(parse("-"), FR_OK); // a lone dash is an argument
    assert_int_equal(parsed.n_args, 1);
}

static void wrong_lines_are_refused_with_a_sentence(void **state) {
    (void)state;
    static const char *const lines[][2] = {
        {"--nope", "--nope: unknown option"},
        {"--predct 3", "--predct: unknown option; did you mean --predict?"},
        {"-x", "-x: unknown option"},
        {"-nx 3", "-nx: unknown option"},
        {"--temperature 1", "--temperature: unknown option; did you mean --temp?"},
        {"-n many", "-n many: expected a whole number from -1 to 1000"},
        {"-n 3x", "-n 3x: expected a whole number from -1 to 1000"},
        {"-n 1001", "-n 1001: expected a whole number from -1 to 1000"},
        {"-n -2", "-n -2: expected a whole number from -1 to 1000"},
        {"-n 99999999999999999999", "whole number from -1 to 1000"},
        {"-n", "-n: needs a value, N"},
        {"-m --json", "-m: needs a value, FILE"},
        {"--model=", "--model: the FILE is empty"},
        {"--temp nan", "--temp nan: expected a number from 0 to 100"},
        {"--temp inf", "--temp inf: expected a number from 0 to 100"},
        {"--temp=", "--temp : expected a number from 0 to 100"},
        {"-s 18446744073709551616", "-s 18446744073709551616: expected a whole number"},
        {"-s -1", "-s -1: expected a whole number"},
        {"--mode quick", "--mode quick: expected one of auto|fast|slow"},
        {"--mode fas", "--mode fas: expected one of auto|fast|slow"},
        {"--json=1", "--json: takes no value"},
        {"a b", "b: unexpected argument"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(parse(lines[i][0]), FR_EARG);
        if (!strstr(err.text, lines[i][1])) fail_msg("%s: %s", lines[i][0], err.text);
    }
}

static void lists_are_bounded(void **state) {
    (void)state;
    char *argv[FR_OPT_LIST_MAX + 1], word[] = "--stop=x";
    for (int i = 0; i <= FR_OPT_LIST_MAX; i++)
        argv[i] = word;
    assert_int_equal(fr_option_parse(&command, FR_OPT_LIST_MAX, argv, &v, &parsed, &err), FR_OK);
    for (int i = 0; i <= FR_OPT_LIST_MAX; i++)
        argv[i] = word;
    assert_int_equal(fr_option_parse(&command, FR_OPT_LIST_MAX + 1, argv, &v, &parsed, &err),
                     FR_EARG);
}

static void commands_are_found_by_name(void **state) {
    (void)state;
    const char *near;
    assert_ptr_equal(fr_option_command(&program, "run", &near), &command);
    assert_null(fr_option_command(&program, "rnu", &near));
    assert_string_equal(near, "run");
    assert_null(fr_option_command(&program, "frobnicate", &near));
    assert_null(near);
}

// Every text names every option, so none can be forgotten.
// Whether `text` has the option by its long name, and not as the beginning of another's.
static bool names_option(const char *text, int kind, const char *name) {
    static const char *const before[] = {"--", "\\-\\-", "--", "--", "-l "};
    char whole[64];
    const int n = snprintf(whole, sizeof whole, "%s%s", before[kind], name);
    for (const char *at = text; (at = strstr(at, whole)); at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-", at[n]) && strncmp(at + n, "\\-", 2))
            return true;
    return false;
}

static void all_texts_name_all_options(void **state) {
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        char *text = NULL;
        size_t n = 0;
        FILE *f = open_memstream(&text, &n);
        assert_non_null(f);
        if (kind == 0) fr_option_help(&program, &command, f);
        if (kind == 1) fr_option_man(&program, &command, f);
        if (kind == 2) fr_option_bash(&program, f);
        if (kind == 3) fr_option_zsh(&program, f);
        if (kind == 4) fr_option_fish(&program, f);
        fclose(f);
        for (const fr_option *o = options; o->name; o++)
            if (!names_option(text, kind, o->name)) fail_msg("%d: %s: %s", kind, o->name, text);
        assert_non_null(strstr(text, "two"));
        if (kind >= 2) assert_non_null(strstr(text, kind == 3 ? "filed\\:" : "filed:"));
        if (kind == 0) {
            assert_non_null(strstr(text, "tokens (default: 256)"));
            assert_non_null(strstr(text, "noise (default: random)"));
            assert_non_null(strstr(text, "prog run -n 3 x"));
        }
        free(text);
    }
}

static void help_stops_the_reading(void **state) {
    (void)state;
    assert_int_equal(parse("--help --nope"), FR_OK);
    assert_true(parsed.help);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_table),
        cmocka_unit_test(every_way_of_giving_a_value_works),
        cmocka_unit_test(text_may_look_like_an_option),
        cmocka_unit_test(a_switch_takes_its_value_attached_only),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(wrong_lines_are_refused_with_a_sentence),
        cmocka_unit_test(lists_are_bounded),
        cmocka_unit_test(commands_are_found_by_name),
        cmocka_unit_test(all_texts_name_all_options),
        cmocka_unit_test(help_stops_the_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
