// The picture: ticks, markup, and that a file is whole or not there.
#define _GNU_SOURCE
#include "cmd/plot.h"
#include "cmd/save.h"
#include <dirent.h>
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

static void expect_ticks(fr_plot_steps steps, double lo, double hi, int n, const double *expected) {
    double ticks[FR_PLOT_TICKS];
    assert_int_equal(fr_plot_ticks(steps, lo, hi, ticks), n);
    for (int i = 0; i < n; i++)
        if (fabs(ticks[i] / expected[i] - 1) > 1e-12)
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
    EXPECT_TICKS(FR_PLOT_DECIMAL, 0.004, 3e4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1e3, 1e4, 1e5);
    double ticks[FR_PLOT_TICKS];
    for (double lo = 1e-9; lo < 1e9; lo *= 1.7)
        for (double hi = lo; hi < lo * 1e12; hi *= 3.1) {
            const int n = fr_plot_ticks(FR_PLOT_DECIMAL, lo, hi, ticks);
            assert_in_range(n, 2, FR_PLOT_TICKS);
            assert_true(ticks[0] <= lo * 1.000001 && ticks[n - 1] >= hi * 0.999999);
            assert_true(n == 2 || (ticks[1] > lo && ticks[n - 2] < hi));
        }
}

static void expect_escaped(const char *text, const char *expected) {
    fr_buffer b = {0};
    assert_int_equal(fr_plot_escape(&b, text, NULL), FR_OK);
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

// Tags nest, attributes are quoted, '&' begins one of the entities: enough for what is written
// here.
static void assert_well_formed(const char *s) {
    char open[16][16];
    int depth = 0, elements = 0;
    while (*s) {
        if (*s == '&')
            assert_true(!strncmp(s, "&lt;", 4) || !strncmp(s, "&gt;", 4) ||
                        !strncmp(s, "&amp;", 5) || !strncmp(s, "&quot;", 6));
        if (*s++ != '<') continue;
        const bool closes = *s == '/';
        s += closes;
        const size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz");
        assert_in_range(n, 1, 15);
        char name[16];
        snprintf(name, sizeof name, "%.*s", (int)n, s);
        for (s += n; *s != '>' && *s != '/';) {
            assert_int_equal(*s, ' ');
            s += 1 + strspn(s, " ");
            s += strcspn(s, "=<>\"");
            assert_true(s[0] == '=' && s[1] == '"');
            s += 2;
            s += strcspn(s, "\"<");
            assert_int_equal(*s++, '"');
        }
        if (closes) {
            assert_true(depth > 0);
            assert_string_equal(open[--depth], name);
        } else if (*s == '/') {
            s++;
            elements++;
        } else {
            assert_in_range(depth, 0, 15);
            strcpy(open[depth++], name);
            elements++;
        }
        assert_int_equal(*s++, '>');
    }
    assert_int_equal(depth, 0);
    assert_true(elements > 10);
}

static const fr_plot_point points[] = {{1, 30}, {4, 40}, {64, 700}}, one = {1, 0.5};

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

// ---------------------------------------------------------------- files

static char folder[64], path[128];

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "plot-test-%ld", (long)getpid());
    snprintf(path, sizeof path, "%s/out.svg", folder);
    return mkdir(folder, 0777);
}

static int files_in(const char *name) {
    DIR *d = opendir(name);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
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
    assert_int_equal(fr_cmd_save_check(path, &err), FR_OK);
    assert_int_equal(files_in(folder), 0);
    assert_int_equal(fr_cmd_save(path, "first", 5, &err), FR_OK);
    expect_file("first");
    assert_int_equal(fr_cmd_save(path, "second", 6, &err), FR_OK);
    expect_file("second");
    // A disk that takes 100 bytes more.
    char large[1000] = {0};
    struct rlimit before, little;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = 100;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    const fr_status st = fr_cmd_save(path, large, sizeof large, &err);
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
        assert_int_equal(fr_cmd_save_check(bad[i], &err), FR_EIO);
        assert_non_null(strstr(err.text, why[i]));
        assert_int_equal(fr_cmd_save(bad[i], "x", 1, &err), FR_EIO);
        assert_non_null(strstr(err.text, why[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_round_and_span_the_values),
        cmocka_unit_test(any_bytes_become_character_data),
        cmocka_unit_test(pictures_are_well_formed),
        cmocka_unit_test(a_file_is_whole_or_the_old_one),
        cmocka_unit_test(what_is_no_file_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
