// What `bench` shows, of numbers made up here: the page and the JSON document.
#define _GNU_SOURCE
#include "cmd/bench/bench.h"
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/plot/xml.h"
#include "support/folder.h"

static const char hostile[] = "</td><script>alert(\"1\")</script>&\x01\xff";
static char folder[64];

// `none` and two drafters on two sets, the drafters with trees of 1 and 4 nodes too; twelve answers
// a set. The last drafter is hostile and gave a wrong output.
static fr_bench *make_bench(const fr_cmd_args *args) {
    fr_bench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    b->args = args;
    b->info = (fr_engine_info){.name = hostile, .isa = "avx2", .threads = 2};
    b->n_sets = 2;
    b->n_prompts = 24;
    b->repeated = 3;
    for (int set = 0; set < 2; set++) {
        b->sets[set] = (fr_prompt_set){.path = set ? hostile : "a.jsonl"};
        b->sets[set].prompts.n = 12;
        snprintf(b->sets[set].name, sizeof b->sets[set].name, "%s", set ? hostile : "a");
    }
    b->n_drafters = 3;
    b->n_runs = 7;
    b->runs = calloc(7, sizeof *b->runs);
    assert_non_null(b->runs);
    for (int i = 0; i < 7; i++) {
        fr_bench_run *run = &b->runs[i];
        run->spec = !i ? "none" : i == 2 || i > 4 ? hostile : "lookup";
        snprintf(run->used, sizeof run->used, "%s", i == 4 ? "another" : run->spec);
        run->tree = i < 3 ? 0 : i % 2 ? 1 : 4;
        for (int set = 0; set < 2; set++) {
            for (int answer = 0; answer < 12; answer++) {
                const int rows = i ? 1 + (answer + i) % 5 : 1;
                fr_stats s = {.completion_tokens = 30,
                              .passes = i ? 20 : 30,
                              .seconds_decode = 1.0 / (1 + 0.1 * i),
                              .seconds_draft = 0.01 * i,
                              .rows = 30,
                              .predicted = 0.5 / (1 + 0.2 * i),
                              .predicted_plain = 0.5,
                              .expected = 29,
                              .offered = {i ? 20 : 0, i ? 10 : 0},
                              .accepted = {i ? 8 : 0, i ? 2 : 0}};
                s.passes_by_rows[rows] = s.passes;
                s.seconds_by_rows[rows] = 0.01 * rows * (double)s.passes;
                const fr_pair pair = {.answer = 12 * set + answer,
                                      .speedup = (1 + 0.1 * i) * (1 + 0.01 * answer),
                                      .prompt = 12 * set + answer};
                assert_int_equal(
                    fr_bench_counts_add(&run->by_set[set], &s, 100, pair, hostile, NULL), 0);
            }
            if (i == 2 && set) {
                run->by_set[set].difference = (fr_difference){hostile, hostile, 1, 17};
                run->by_set[set].broken = true;
            }
            assert_int_equal(fr_bench_counts_merge(&run->all, &run->by_set[set], NULL), 0);
            fr_bench_counts_finish(&run->by_set[set], &b->runs[0].by_set[set], NULL);
        }
        fr_bench_counts_finish(&run->all, &b->runs[0].all, NULL);
    }
    return b;
}

static void free_bench(fr_bench *b) {
    for (int i = 0; i < b->n_runs; i++) {
        fr_bench_counts_free(&b->runs[i].all);
        for (int set = 0; set < b->n_sets; set++)
            fr_bench_counts_free(&b->runs[i].by_set[set]);
    }
    free(b->runs);
    free(b);
}

static char *read_file(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    const size_t n = fread(text, 1, (1 << 20) - 1, f);
    assert_true(n < (1 << 20) - 1 && strlen(text) == n);
    fclose(f);
    return text;
}

static int occurrences(const char *text, const char *what) {
    int n = 0;
    while ((text = strstr(text, what))) {
        n++;
        text += strlen(what);
    }
    return n;
}

static void the_page_holds_everything_and_is_well_formed(void **state) {
    (void)state;
    const fr_cmd_args args = {.n_predict = 30, .repeat = 2, .temp = 0.5};
    fr_bench *b = make_bench(&args);
    fr_error err;
    assert_int_equal(fr_bench_page_check(folder, &err), FR_OK);
    assert_int_equal(files_in(folder), 0);
    assert_int_equal(fr_bench_page(b, folder, &err), FR_OK);
    assert_int_equal(files_in(folder), FR_BENCH_PICTURES + 2);
    char *page = read_file("index.html");
    assert_non_null(page);
    assert_int_equal(strncmp(page, "<!doctype html>\n", 16), 0);
    assert_well_formed(page + 16);
    assert_int_equal(occurrences(page, "<svg "), FR_BENCH_PICTURES);
    assert_null(strstr(page, "<script"));
    assert_null(strstr(page, "nan"));
    // Nothing is asked of a network: the only address is the name space of SVG.
    assert_int_equal(occurrences(page, "://"), occurrences(page, "http://www.w3.org/2000/svg"));
    assert_null(strstr(page, "url("));
    assert_null(strstr(page, "src="));
    assert_null(strstr(page, "href="));
    assert_non_null(strstr(page, "&lt;/td&gt;&lt;script&gt;"));
    assert_non_null(strstr(page, "first at token 17 of turn 2 of prompt"));
    assert_non_null(strstr(page, "3 repeated prompts ran only once"));
    assert_non_null(strstr(page, "Every prompt ran 2 times"));
    assert_non_null(strstr(page, "seed"));
    // By set and over all, once more with their trees of two sizes.
    assert_int_equal(occurrences(page, "<td>lookup</td>"), 3 + 1 + 1);
    assert_int_equal(occurrences(page, "<td>lookup (another)</td>"), 1);
    for (int i = 0; i < 2; i++) {
        char *svg = read_file(i ? "passes.svg" : "speed.svg");
        assert_non_null(svg);
        assert_well_formed(svg);
        assert_non_null(strstr(page, svg)); // the same picture
        free(svg);
    }
    free(page);
    free_bench(b);
}

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) fail_msg("%s is no number", key);
    return json_number_value(value);
}

static void the_document_says_what_was_counted(void **state) {
    (void)state;
    const fr_cmd_args args = {.n_predict = 30, .repeat = 1};
    fr_bench *b = make_bench(&args);
    assert_true(fr_bench_broken(b));
    json_t *root = fr_bench_json(b);
    assert_non_null(root);
    const json_t *runs = json_object_get(root, "runs"), *run = json_array_get(runs, 1);
    assert_int_equal(json_array_size(runs), 3);
    assert_int_equal(json_array_size(json_object_get(root, "tree_sizes")), 4);
    assert_int_equal(json_array_size(json_object_get(root, "sets")), 2);
    assert_true(fabs(number(run, "speedup") - 1.1) < 1e-9);
    // Of a set, in seconds: plain passes took 3.6 and cost 6, all else 8.4. The drafter's passes
    // took 7 and cost 5, all else what is left of 12 / 1.1.
    const double held = 3.6 / 6, all = (6 + 8.4 / held) / (5 + (12 / 1.1 - 7) / held);
    assert_true(fabs(number(run, "predicted_speedup") - all) < 1e-9);
    assert_true(fabs(number(run, "speedup_min") - 1.1) < 1e-9);
    assert_true(fabs(number(run, "speedup_max") - 1.1 * 1.11) < 1e-9);
    assert_true(fabs(number(run, "speedup_median") - 1.1 * 1.055) < 1e-9);
    assert_true(fabs(number(run, "tokens_per_pass") - 1.5) < 1e-9);
    assert_true(fabs(number(run, "expected_tokens_per_pass") - 1.45) < 1e-9);
    assert_true(number(run, "pairs") == 24 && number(run, "tokens") == 720);
    assert_true(number(json_object_get(run, "compared"), "bytes") == 2400);
    assert_true(json_is_true(json_object_get(run, "identical")));
    assert_true(json_is_null(json_object_get(run, "first_difference")));
    // A step takes 1/1.1 / 20 seconds, a plain token 1/30: 1.3636 tokens, by 1 + a + a^2 / 2.
    const double a = number(run, "break_even");
    assert_true(fabs(1 + a + a * a / 2 - 30 / 22.) < 1e-6);
    // Plain decoding drafts nothing.
    assert_true(json_is_null(json_object_get(json_array_get(runs, 0), "break_even")));
    const json_t *wrong = json_object_get(json_array_get(runs, 2), "first_difference");
    assert_true(json_is_false(json_object_get(json_array_get(runs, 2), "identical")));
    assert_true(number(wrong, "token") == 17 && number(wrong, "turn") == 1);
    json_decref(root);
    // A rule of acceptance that promises no bytes breaks nothing by giving others.
    b->runs[2].all.broken = false;
    assert_false(fr_bench_broken(b));
    free_bench(b);
}

static void a_full_disk_leaves_the_old_page(void **state) {
    (void)state;
    const fr_cmd_args args = {.n_predict = 30, .repeat = 1};
    fr_bench *b = make_bench(&args);
    fr_error err;
    const int files = files_in(folder);
    char *before = read_file("index.html");
    struct rlimit all, little;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    little = all;
    little.rlim_cur = 6000; // room for pictures, not for the page
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    const fr_status st = fr_bench_page(b, folder, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_int_equal(st, FR_EIO);
    assert_non_null(strstr(err.text, "File too large"));
    assert_int_equal(files_in(folder), files);
    char *after = read_file("index.html");
    assert_non_null(before);
    assert_string_equal(before, after);
    free(before);
    free(after);
    free_bench(b);
}

static void a_folder_that_cannot_be_is_a_sentence(void **state) {
    (void)state;
    fr_error err;
    assert_int_equal(fr_bench_page_check("/nonexistent/a", &err), FR_EIO);
    assert_non_null(strstr(err.text, "/nonexistent/a: No such file"));
    assert_int_equal(fr_bench_page_check("/dev/null", &err), FR_EIO);
    assert_non_null(strstr(err.text, "/dev/null"));
}

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "page-test-%ld", (long)getpid());
    return 0; // made by the first check
}

static int tear_down(void **state) {
    (void)state;
    char drop[128];
    snprintf(drop, sizeof drop, "rm -rf %s", folder);
    return system(drop);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_holds_everything_and_is_well_formed),
        cmocka_unit_test(the_document_says_what_was_counted),
        cmocka_unit_test(a_full_disk_leaves_the_old_page),
        cmocka_unit_test(a_folder_that_cannot_be_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
