// The picture: ticks, markup, and that a file is whole or not there.
#define _GNU_SOURCE
#include "base/save.h"
#include "cmd/plot/markup.h"
#include "cmd/plot/plot.h"
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
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

static void expect_ticks(fr_plot_steps steps, double lo, double hi, int n, const double *expected) {
    double ticks[FR_PLOT_TICKS];
    assert_int_equal(fr_plot_ticks(steps, lo, hi, ticks), n);
    for (int i = 0; i < n; i++)
        if (!(fabs(ticks[i] - expected[i]) <= 1e-12 * fabs(expected[i])))
            fail_msg("tick %d of %g to %g: %g", i, lo, hi, ticks[i]);
}
#define EXPECT_TICKS(steps, lo, hi, ...)                                                           \
    expect_ticks(steps, lo, hi, sizeof(double[]){__VA_ARGS__} / sizeof(double),                    \
                 (double[]){__VA_ARGS__})

static void ticks_are_round_and_span_the_values(void **state) {
    (void)state;
    EXPECT_TICKS(FR_PLOT_POWERS_OF_TWO, 1, 64, 1, 2, 4, 8, 16, 32, 64);
    EXPECT_TICKS(FR_PLOT_POWERS_OF_TWO, 3, 5, 2, 4, 8);
    EXPECT_TICKS(FR_PLOT_POWERS_OF_TWO, 1, 1, 1, 2);
    EXPECT_TICKS(FR_PLOT_DECIMAL, 33, 750, 20, 50, 100, 200, 500, 1000);
    EXPECT_TICKS(FR_PLOT_DECIMAL, 0.2, 0.5, 0.2, 0.5);
    EXPECT_TICKS(FR_PLOT_DECIMAL, 0.03, 0.03, 0.02, 0.05);
    EXPECT_TICKS(FR_PLOT_DECIMAL, 1000, 1001, 1000, 2000);
    EXPECT_TICKS(FR_PLOT_LINEAR, 0, 1.32, 0, 0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4);
    EXPECT_TICKS(FR_PLOT_LINEAR, 0, 0.3, 0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3);
    EXPECT_TICKS(FR_PLOT_LINEAR, -3, 90, -20, 0, 20, 40, 60, 80, 100);
    EXPECT_TICKS(FR_PLOT_LINEAR, 0, 0, 0, 0.2);
    EXPECT_TICKS(FR_PLOT_COUNTS, 1, 3, 1, 2, 3);
    EXPECT_TICKS(FR_PLOT_COUNTS, 1, 1, 1, 2);
    EXPECT_TICKS(FR_PLOT_COUNTS, 1, 64, 0, 10, 20, 30, 40, 50, 60, 70);
    EXPECT_TICKS(FR_PLOT_DECIMAL, 0.004, 3e4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1e3, 1e4, 1e5);
    double ticks[FR_PLOT_TICKS];
    for (double lo = 1e-9; lo < 1e9; lo *= 1.7)
        for (double hi = lo; hi < lo * 1e12; hi *= 3.1) {
            const int n = fr_plot_ticks(FR_PLOT_DECIMAL, lo, hi, ticks);
            assert_in_range(n, 2, FR_PLOT_TICKS);
            assert_true(ticks[0] <= lo * 1.000001 && ticks[n - 1] >= hi * 0.999999);
            assert_true(n == 2 || (ticks[1] > lo && ticks[n - 2] < hi));
            const int m = fr_plot_ticks(FR_PLOT_LINEAR, lo, hi, ticks);
            assert_in_range(m, 2, 11);
            assert_true(ticks[0] <= lo * 1.000001 && ticks[m - 1] >= hi * 0.999999);
        }
}

static void expect_escaped(const char *text, const char *expected) {
    fr_buffer b = {0};
    assert_int_equal(fr_markup_escape(&b, text, NULL), FR_OK);
    assert_string_equal(b.n ? b.data : "", expected);
    fr_buffer_free(&b);
}

static void any_bytes_become_character_data(void **state) {
    (void)state;
    expect_escaped("", "");
    expect_escaped("a<b>&\"c'", "a&lt;b&gt;&amp;&quot;c'");
    expect_escaped("Modèle \U0001F600", "Modèle \U0001F600");
    expect_escaped("\x01\x1b[31m\n", "\uFFFD\uFFFD[31m\uFFFD");
    expect_escaped("\xff\xc3", "\uFFFD\uFFFD");
    expect_escaped("\xef\xbf\xbf", "\uFFFD"); // U+FFFF is no character of XML
}

static const fr_plot_point points[] = {{.x = 1, .y = 30}, {.x = 4, .y = 40}, {.x = 64, .y = 700}},
                           one = {.x = 1, .y = 0.5};

static void pictures_are_well_formed(void **state) {
    (void)state;
    const fr_plot_series series[] = {{NULL, FR_PLOT_BAND, 0, points, 3},
                                     {"context <512>", FR_PLOT_LINE, 0, points, 3},
                                     {"\"least\" & more", FR_PLOT_DASHED, 5, points, 3},
                                     {"limit", FR_PLOT_LIMIT, 0, points, 2},
                                     {"one", FR_PLOT_LINE, 1, &one, 1}};
    fr_plot plot = {.title = "</svg><script>\xff\x02",
                    .subtitle = "",
                    .note = "n",
                    .x_label = "x",
                    .y_label = "y",
                    .x_steps = FR_PLOT_POWERS_OF_TWO,
                    .y_steps = FR_PLOT_DECIMAL,
                    .series = series,
                    .n_series = 5};
    fr_buffer svg = {0};
    assert_int_equal(fr_plot_svg(&plot, &svg, NULL), FR_OK);
    assert_well_formed(svg.data);
    assert_null(strstr(svg.data, "nan"));
    assert_null(strstr(svg.data, "inf"));
    assert_non_null(strstr(svg.data, ">context &lt;512&gt;</text>"));
    assert_non_null(strstr(svg.data, "prefers-color-scheme:dark"));
    // One point alone still has axes.
    svg.n = 0;
    plot.series = series + 4;
    plot.n_series = 1;
    assert_int_equal(fr_plot_svg(&plot, &svg, NULL), FR_OK);
    assert_well_formed(svg.data);
    assert_null(strstr(svg.data, "nan"));
    fr_buffer_free(&svg);
}

// The numbers behind `what` in its n-th occurrence: "M1.5 2 H3" gives 1.5, 2 and 3.
static int numbers_after(const char *svg, const char *what, int occurrence, double *to, int room) {
    for (; occurrence >= 0; occurrence--) {
        svg = strstr(svg, what);
        if (!svg) fail_msg("no %s", what);
        svg += strlen(what);
    }
    int n = 0;
    while (n < room && *svg != '"') {
        char *end;
        svg += strcspn(svg, "-.0123456789\"");
        if (*svg == '"') break;
        to[n++] = strtod(svg, &end);
        svg = end;
    }
    return n;
}

static void bars_stand_on_zero_beside_each_other(void **state) {
    (void)state;
    const fr_plot_point a[] = {{.x = 0, .y = 1, .low = 0.5, .high = 2}, {.x = 1, .y = 2}},
                        b[] = {{.x = 0, .y = 1.5}, {.x = 1, .y = 0}},
                        level[] = {{.x = -0.5, .y = 1}, {.x = 1.5, .y = 1}};
    const fr_plot_series series[] = {{"a", FR_PLOT_BARS, 0, a, 2},
                                     {"b", FR_PLOT_BARS, 7, b, 2},
                                     {"plain", FR_PLOT_LIMIT, 0, level, 2}};
    const fr_plot plot = {.title = "t",
                          .subtitle = "",
                          .note = "",
                          .x_label = "x",
                          .y_label = "y",
                          .y_steps = FR_PLOT_LINEAR,
                          .y_from_zero = true,
                          .groups = (const char *const[]){"one", "<two>"},
                          .n_groups = 2,
                          .series = series,
                          .n_series = 3};
    fr_buffer svg = {0};
    assert_int_equal(fr_plot_svg(&plot, &svg, NULL), FR_OK);
    assert_well_formed(svg.data);
    assert_non_null(strstr(svg.data, ">&lt;two&gt;</text>"));
    // "M left top H right V bottom H left Z"; the first is the swatch of the legend.
    double first[5], second[5], other[5], line[4];
    numbers_after(svg.data, "class=\"d0\" d=\"", 1, first, 5);
    numbers_after(svg.data, "class=\"d0\" d=\"", 2, second, 5);
    numbers_after(svg.data, "class=\"d1 pale\" d=\"", 1, other, 5);
    numbers_after(svg.data, "class=\"limit\" d=\"", 1, line, 4);
    const double zero = first[3];
    assert_true(second[3] == zero && other[3] == zero);
    assert_true(fabs((zero - second[1]) - 2 * (zero - first[1])) < 0.3);
    assert_true(fabs((zero - other[1]) - 1.5 * (zero - first[1])) < 0.3);
    assert_true(other[0] > first[2] && other[2] < second[0]); // neighbours do not overlap
    assert_true(line[1] == first[1] && line[3] == line[1]); // a level of 1 is as high as a bar of 1
    double whisker[3];
    numbers_after(svg.data, "class=\"whisker\" d=\"", 0, whisker, 3);
    assert_true(whisker[0] > first[0] && whisker[0] < first[2]);
    assert_true(fabs((zero - whisker[1]) - 0.5 * (zero - first[1])) < 0.3);
    assert_true(fabs((zero - whisker[2]) - 2 * (zero - first[1])) < 0.3);
    fr_buffer_free(&svg);
}

static void a_mark_is_upright_and_no_part_of_the_heights(void **state) {
    (void)state;
    const fr_plot_point curve[] = {{.x = 1, .y = 10}, {.x = 3, .y = 20}}, at = {.x = 2, .y = 1e9};
    const fr_plot_series series[] = {{"c", FR_PLOT_LINE, 0, curve, 2},
                                     {"m", FR_PLOT_MARK, 1, &at, 1},
                                     {"of nothing", FR_PLOT_BARS, 2, NULL, 0}};
    const fr_plot plot = {.title = "t",
                          .subtitle = "",
                          .note = "",
                          .x_label = "x",
                          .y_label = "y",
                          .x_steps = FR_PLOT_COUNTS,
                          .y_steps = FR_PLOT_LINEAR,
                          .y_from_zero = true,
                          .series = series,
                          .n_series = 3};
    fr_buffer svg = {0};
    assert_int_equal(fr_plot_svg(&plot, &svg, NULL), FR_OK);
    assert_well_formed(svg.data);
    double line[4], mark[3];
    numbers_after(svg.data, "class=\"line s0\" d=\"", 1, line, 4);
    numbers_after(svg.data, "class=\"mark s1\" d=\"", 1, mark, 3);
    assert_true(fabs(mark[0] - 0.5 * (line[0] + line[2])) < 0.11);
    assert_null(strstr(svg.data, "nan"));
    assert_non_null(strstr(svg.data, ">20</text>"));
    assert_null(strstr(svg.data, "e+"));
    fr_buffer_free(&svg);
}

// ---------------------------------------------------------------- files

static char folder[64], path[128];

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "plot-test-%ld", (long)getpid());
    snprintf(path, sizeof path, "%s/out.svg", folder);
    return mkdir(folder, 0777);
}

static int tear_down(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder); // fails when anything was left behind
}

static void expect_file(const char *content) {
    char text[64] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fread(text, 1, sizeof text - 1, f), strlen(content));
    fclose(f);
    assert_string_equal(text, content);
    assert_int_equal(files_in(folder), 1);
}

static void a_file_is_whole_or_the_old_one(void **state) {
    (void)state;
    fr_error err;
    assert_int_equal(fr_save_check(path, &err), FR_OK);
    assert_int_equal(files_in(folder), 0);
    assert_int_equal(fr_save(path, "first", 5, &err), FR_OK);
    expect_file("first");
    assert_int_equal(fr_save(path, "second", 6, &err), FR_OK);
    expect_file("second");
    // A disk that takes 100 bytes more.
    char large[1000] = {0};
    struct rlimit before, little;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = 100;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    const fr_status st = fr_save(path, large, sizeof large, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(st, FR_EIO);
    assert_non_null(strstr(err.text, "out.svg: File too large"));
    expect_file("second");
}

static void what_is_no_file_is_refused(void **state) {
    (void)state;
    fr_error err;
    static const char *const bad[] = {"/dev/full", ".", "/nonexistent/x.svg"};
    static const char *const why[] = {"a device", "a folder", "No such file"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fr_save_check(bad[i], &err), FR_EIO);
        assert_non_null(strstr(err.text, why[i]));
        assert_int_equal(fr_save(bad[i], "x", 1, &err), FR_EIO);
        assert_non_null(strstr(err.text, why[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_round_and_span_the_values),
        cmocka_unit_test(any_bytes_become_character_data),
        cmocka_unit_test(pictures_are_well_formed),
        cmocka_unit_test(bars_stand_on_zero_beside_each_other),
        cmocka_unit_test(a_mark_is_upright_and_no_part_of_the_heights),
        cmocka_unit_test(a_file_is_whole_or_the_old_one),
        cmocka_unit_test(what_is_no_file_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
