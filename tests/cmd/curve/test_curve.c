// `curve` from outside: its document, its tables, its picture, what it refuses. No time is judged.
#define _GNU_SOURCE
#include "cmd/program.h"
#include "support/folder.h"
#include "support/tiny_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { CONTEXT = 200 };
static char folder[64], model[96], line[1024];
static said s;

static int set_up(void **state) {
    (void)state;
    fr_error err;
    snprintf(folder, sizeof folder, "curve-test-%d", (int)getpid());
    snprintf(model, sizeof model, "%s/tiny.gguf", folder);
    if (mkdir(folder, 0777)) return -1;
    return fr_tiny_write(&(fr_tiny_options){.type = FR_TYPE_Q8_0, .n_ctx = CONTEXT}, model, &err);
}

static int tear_down(void **state) {
    (void)state;
    unlink(model);
    return rmdir(folder); // fails when something was left behind
}

static const char *curve(const char *rest) {
    snprintf(line, sizeof line, "curve -m %s -t 2 %s", model, rest);
    return line;
}

static json_t *parse(void) {
    json_error_t error;
    json_t *root = json_loads(s.out, JSON_REJECT_DUPLICATES, &error);
    if (!root) fail_msg("not JSON (%s): %.200s / %.200s", error.text, s.out, s.err);
    return root;
}

static void expect(const char *rest, int code, const char *sentence) {
    run_line(&s, curve(rest));
    if (s.code != code || !strstr(s.err, sentence) || lines_in(s.err) != 1 || s.n_out)
        fail_msg("%s: exit %d, %s%s", rest, s.code, s.err, s.out);
}

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) fail_msg("%s: expected a number", key);
    return json_number_value(value);
}

static void expect_positive(const json_t *object, const char *key, size_t n) {
    const json_t *list = json_object_get(object, key);
    assert_int_equal(json_array_size(list), n);
    for (size_t i = 0; i < n; i++)
        assert_true(json_number_value(json_array_get(list, i)) > 0);
}

static void the_document_has_what_was_promised(void **state) {
    (void)state;
    assert_int_equal(run_line(&s, curve("--rows 3,8 --context 20,9,200 --json -q")), 0);
    assert_int_equal(s.n_err, 0);
    json_t *root = parse();
    static const char *const lists[] = {
        "rows", "ms", "ms_median", "ratio", "fraction_of_limit", "passes", "passes_counted"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        expect_positive(root, lists[i], 3); // one row is always measured
    static const int rows[] = {1, 3, 8}, contexts[] = {20, 9, 200};
    const json_t *all = json_object_get(root, "contexts");
    assert_int_equal(json_array_size(all), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *one = json_array_get(all, i);
        assert_int_equal(number(one, "context"), contexts[i]);
        expect_positive(one, "ms", 3);
        expect_positive(one, "ms_median", 3);
        expect_positive(one, "ratio", 3);
        assert_true(json_number_value(json_array_get(json_object_get(one, "ratio"), 0)) == 1);
        const json_t *list = json_object_get(root, "rows");
        assert_int_equal(json_integer_value(json_array_get(list, i)), rows[i]);
    }
    // What stands outside is the first context.
    assert_int_equal(number(root, "context"), 20);
    assert_true(
        json_equal(json_object_get(root, "ms"), json_object_get(json_array_get(all, 0), "ms")));
    assert_true(number(root, "weights_bytes") > 0 && number(root, "macs_per_row") > 0);
    const json_t *machine = json_object_get(root, "machine");
    assert_int_equal(number(machine, "threads"), 2);
    assert_true(json_is_string(json_object_get(machine, "isa")));
    assert_true(number(machine, "read_gb_s") > 0 &&
                number(machine, "read_gb_s") <= number(machine, "read_gb_s_best"));
    assert_true(number(machine, "int8_gmac_s") > 0 &&
                number(machine, "int8_gmac_s") <= number(machine, "int8_gmac_s_best"));
    json_decref(root);
}

static void phases_are_shown_when_asked_for(void **state) {
    (void)state;
    static const char *const worked[] = {"norm", "quantize", "products", "head", "attention"};
    assert_int_equal(run_line(&s, curve("--rows 1,3 --context 20,9 --phases --json -q")), 0);
    json_t *root = parse();
    const json_t *all = json_object_get(root, "contexts");
    for (size_t k = 0; k < 2; k++) {
        const json_t *phases = json_object_get(json_array_get(all, k), "phases_ms");
        for (size_t i = 0; i < sizeof worked / sizeof *worked; i++)
            expect_positive(phases, worked[i], 2);
        if (k == 0) assert_true(json_equal(phases, json_object_get(root, "phases_ms")));
    }
    json_decref(root);
    assert_int_equal(run_line(&s, curve("--rows 1,2 --context 16 --phases")), 0);
    assert_non_null(strstr(s.out, "\nattention "));
    assert_int_equal(run_line(&s, curve("--rows 1,2 --context 16 --json -q")), 0);
    assert_null(strstr(s.out, "phases"));
}

static void tables_have_a_line_for_every_row_count(void **state) {
    (void)state;
    assert_int_equal(run_line(&s, curve("--rows 1,2 --context 16")), 0);
    assert_int_equal(lines_in(s.out), 3 + 1 + 2 + 1);
    assert_non_null(strstr(s.out, "\n   2 "));
    assert_null(strstr(s.out, "after a context"));
    assert_int_equal(run_line(&s, curve("--rows 1,2 --context 16,32 --isa scalar -t 1")), 0);
    assert_int_equal(lines_in(s.out), 3 + 1 + 2 + 1 + 3 + 2);
    assert_non_null(strstr(s.out, "scalar, 1 thread, context 16"));
}

static void the_picture_is_a_whole_file(void **state) {
    (void)state;
    char rest[256], path[128], text[200] = "";
    snprintf(path, sizeof path, "%s/curve.svg", folder);
    snprintf(rest, sizeof rest, "--rows 1,4,2 --context 16,64 -q --json --plot %s", path);
    assert_int_equal(run_line(&s, curve(rest)), 0);
    json_decref(parse());
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 100);
    assert_int_equal(strncmp(text, "<svg xmlns=", 11), 0);
    assert_int_equal(fseek(f, -7, SEEK_END), 0);
    memset(text, 0, sizeof text);
    assert_int_equal(fread(text, 1, 7, f), 7);
    assert_string_equal(text, "</svg>\n");
    fclose(f);
    assert_int_equal(files_in(folder), 2); // the model and the picture
    unlink(path);
}

static void what_cannot_be_measured_or_drawn_is_told_first(void **state) {
    (void)state;
    expect("--rows 65", 2, "--rows 65: expected whole numbers from 1 to 64");
    expect("--context 0", 2, "--context 0: expected whole numbers from 1");
    expect("--context 1,2,3,4,5,6,7", 2, "--context: more than 6 numbers");
    expect("--context 16,201", 2, "--context 201: the model's context is 200 tokens");
    expect("--plot /nonexistent/x.svg", 1, "forerun: /nonexistent/x.svg: No such file");
    expect("--plot /dev/full", 1, "forerun: /dev/full: expected a file, found a device");
    expect("--plot .", 1, "forerun: .: expected a file, found a folder");
    // Even before the model is looked for, which may take long to load.
    run_line(&s, "curve -m /nonexistent.gguf --plot /nonexistent/x.svg");
    assert_non_null(strstr(s.err, "x.svg"));
}

static void an_interrupt_leaves_nothing(void **state) {
    (void)state;
    char rest[256];
    // Enough points to take a minute.
    snprintf(rest, sizeof rest,
             "--rows 1,2,3,4,5,6,7,8,9,10,11,12 --context 190,191,192,193 --plot %s/x.svg", folder);
    run_with(&s, curve(rest), "", 0, 1500, NULL);
    assert_int_equal(s.code, 130);
    assert_int_equal(s.n_out, 0);
    assert_non_null(strstr(s.err, "forerun: interrupted\n"));
    assert_int_equal(files_in(folder), 1);
}

static void a_real_model_is_measured(void **state) {
    (void)state;
    const char *models = getenv("FR_MODELS");
    char path[512];
    snprintf(path, sizeof path, "%s/smollm2-135m.gguf", models ? models : FR_SOURCE_DIR "/models");
    if (access(path, R_OK)) {
        print_message("%s is missing: skipped\n", path);
        skip();
    }
    snprintf(line, sizeof line, "curve -m %s --rows 1,4 --context 40,600 -q --json", path);
    assert_int_equal(run_line(&s, line), 0);
    json_t *root = parse();
    expect_positive(root, "ms", 2);
    expect_positive(root, "fraction_of_limit", 2);
    assert_int_equal(number(json_array_get(json_object_get(root, "contexts"), 1), "context"), 600);
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_has_what_was_promised),
        cmocka_unit_test(phases_are_shown_when_asked_for),
        cmocka_unit_test(tables_have_a_line_for_every_row_count),
        cmocka_unit_test(the_picture_is_a_whole_file),
        cmocka_unit_test(what_cannot_be_measured_or_drawn_is_told_first),
        cmocka_unit_test(an_interrupt_leaves_nothing),
        cmocka_unit_test(a_real_model_is_measured),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
