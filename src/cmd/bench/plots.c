// plots.c — the pictures of what `bench` measured.
#include "base/cpus.h"
#include "cmd/bench/bench.h"
#include "cmd/lib/generate.h"
#include "cmd/plot/plot.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MOST_SERIES = 2 * FR_BENCH_DRAFTERS + 2,
    MOST_POINTS = FR_COUNTED_ROWS + 1,
    PASSES_LEAST = 10 // fewer say nothing: not drawn
};

typedef struct drawing {
    const fr_bench *bench;
    fr_plot plot;
    fr_plot_series series[MOST_SERIES];
    fr_plot_point points[MOST_SERIES][MOST_POINTS];
    char labels[MOST_SERIES][96], title[128], subtitle[256];
    const char *groups[FR_BENCH_SETS + 1];
    int n;
} drawing;

// The series to be filled next; its points are drawing->points[drawing->n].
static void add_series(drawing *d, const char *label, fr_plot_style style, int color, int n) {
    if (label) snprintf(d->labels[d->n], sizeof d->labels[d->n], "%s", label);
    d->series[d->n] =
        (fr_plot_series){label ? d->labels[d->n] : NULL, style, color, d->points[d->n], n};
    d->n++;
}

static void add_point(drawing *d, int *n, double x, double y) {
    d->points[d->n][(*n)++] = (fr_plot_point){.x = x, .y = y};
}

// A drafter has one colour in all pictures; plain decoding is grey, where it is drawn at all.
static int color_of(int run) {
    return run - 1;
}

// The level of plain decoding.
static void add_level(drawing *d, double from, double to) {
    int n = 0;
    add_point(d, &n, from, 1);
    add_point(d, &n, to, 1);
    add_series(d, "plain decoding", FR_PLOT_LIMIT, 0, n);
}

static fr_plot_point speed_point(double x, const fr_bench_counts *t) {
    return (fr_plot_point){
        .x = x, .y = t->speedup.median, .low = t->speedup.low, .high = t->speedup.high};
}

// ---------------------------------------------------------------- the pictures

static void draw_speed(drawing *d) {
    const fr_bench *b = d->bench;
    const int n_groups = b->n_sets > 1 ? b->n_sets + 1 : 1;
    for (int i = 0; i < b->n_sets; i++)
        d->groups[i] = b->sets[i].name;
    if (b->n_sets > 1) d->groups[b->n_sets] = "all";
    for (int i = 1; i < b->n_drafters; i++) {
        for (int g = 0; g < n_groups; g++)
            d->points[d->n][g] =
                speed_point(g, fr_bench_tally(&b->runs[i], g < b->n_sets ? g : -1));
        add_series(d, b->runs[i].spec, FR_PLOT_BARS, color_of(i), n_groups);
    }
    add_level(d, -0.5, n_groups - 0.5);
    d->plot.groups = d->groups;
    d->plot.n_groups = n_groups;
    d->plot.title = "speed by prompts";
    d->plot.note =
        "median speedup of an answer, each paired with that of plain decoding; whiskers: interval";
    d->plot.x_label = "prompts";
    d->plot.y_label = "times plain decoding";
    d->plot.y_steps = FR_PLOT_LINEAR;
    d->plot.y_from_zero = true;
}

static void draw_passes(drawing *d) {
    const fr_bench *b = d->bench;
    int n = 0;
    for (int rows = 1; rows <= FR_COUNTED_ROWS; rows++) {
        double seconds = 0;
        int64_t passes = 0;
        for (int i = 0; i < b->n_runs; i++) {
            seconds += b->runs[i].all.seconds_by_rows[rows];
            passes += b->runs[i].all.passes_by_rows[rows];
        }
        if (passes >= PASSES_LEAST) add_point(d, &n, rows, 1e3 * seconds / (double)passes);
    }
    if (!n) return;
    add_series(d, "mean pass", FR_PLOT_LINE, FR_PLOT_COLORS - 1, n);
    for (int i = 1; i < b->n_drafters; i++) {
        const fr_bench_counts *t = &b->runs[i].all;
        char label[96];
        const double rows = fr_cmd_rate((double)t->rows, (double)t->passes);
        d->points[d->n][0] = (fr_plot_point){.x = rows};
        snprintf(label, sizeof label, "%.60s: %.2f rows", b->runs[i].spec, rows);
        add_series(d, label, FR_PLOT_MARK, color_of(i), 1);
    }
    d->plot.title = "time of a pass by rows";
    d->plot.note = "means of at least ten passes of this run, without drafting; marks: mean rows "
                   "of each drafter";
    d->plot.x_label = "rows in one pass, logits on all of them";
    d->plot.y_label = "milliseconds";
    d->plot.x_steps = FR_PLOT_COUNTS;
    d->plot.y_steps = FR_PLOT_LINEAR;
    d->plot.y_from_zero = true;
}

static double percent_of_rows(const fr_bench_counts *t, int rows) {
    return 100 * fr_cmd_rate((double)t->passes_by_rows[rows], (double)t->passes);
}

// A tail of single passes is not drawn.
static void draw_rows(drawing *d) {
    const fr_bench *b = d->bench;
    int most = 0;
    for (int i = 1; i < b->n_drafters; i++)
        for (int rows = 1; rows <= FR_COUNTED_ROWS; rows++)
            if (percent_of_rows(&b->runs[i].all, rows) >= 0.5 && rows > most) most = rows;
    for (int i = 1; i < b->n_drafters && most; i++) {
        const fr_bench_counts *t = &b->runs[i].all;
        int n = 0;
        for (int rows = 1; rows <= most; rows++)
            add_point(d, &n, rows, percent_of_rows(t, rows));
        add_series(d, b->runs[i].spec, FR_PLOT_BARS, color_of(i), n);
    }
    d->plot.title = "rows of the passes";
    d->plot.note = "sizes of the trees; one row is a plain step; shares of at least half a percent";
    d->plot.x_label = "rows in one pass";
    d->plot.y_label = "percent of the drafter's passes";
    d->plot.x_steps = FR_PLOT_COUNTS;
    d->plot.y_steps = FR_PLOT_LINEAR;
    d->plot.y_from_zero = true;
}

static void draw_acceptance(drawing *d) {
    const fr_bench *b = d->bench;
    for (int i = 1; i < b->n_drafters; i++) {
        const fr_bench_counts *t = &b->runs[i].all;
        int n = 0;
        for (int k = 0; k < FR_MAX_DEPTH && t->offered[k] >= PASSES_LEAST; k++)
            add_point(d, &n, k + 1, 100 * (double)t->accepted[k] / (double)t->offered[k]);
        if (n) add_series(d, b->runs[i].spec, FR_PLOT_LINE, color_of(i), n);
    }
    d->plot.title = "acceptance by depth";
    d->plot.note =
        "share of the passes with a candidate that deep (at least ten) that accepted one";
    d->plot.x_label = "depth: tokens after the known one";
    d->plot.y_label = "percent of passes";
    d->plot.x_steps = FR_PLOT_COUNTS;
    d->plot.y_steps = FR_PLOT_LINEAR;
    d->plot.y_from_zero = true;
}

// The runs of drafter i with trees of fixed sizes: those with its spec after the first ones.
static int first_of_sizes(const fr_bench *b, int i, int *n) {
    *n = b->n_drafters > 1 ? (b->n_runs - b->n_drafters) / (b->n_drafters - 1) : 0;
    return b->n_drafters + (i - 1) * *n;
}

static int by_x(const void *a, const void *b) {
    const double x = ((const fr_plot_point *)a)->x, y = ((const fr_plot_point *)b)->x;
    return (x > y) - (x < y);
}

static void draw_tokens_by_size(drawing *d) {
    const fr_bench *b = d->bench;
    for (int i = 1; i < b->n_drafters; i++)
        for (int expected = 0; expected < 2; expected++) {
            int n_sizes, n = 0;
            const int first = first_of_sizes(b, i, &n_sizes);
            for (int k = 0; k < n_sizes; k++) {
                const fr_bench_counts *t = &b->runs[first + k].all;
                add_point(
                    d, &n, b->runs[first + k].tree,
                    fr_cmd_rate(expected ? t->expected : (double)t->tokens, (double)t->passes));
            }
            if (!n) continue;
            qsort(d->points[d->n], (size_t)n, sizeof(fr_plot_point), by_x);
            const char *label = b->runs[i].spec;
            if (expected) label = i == 1 ? "expected" : NULL;
            add_series(d, label, expected ? FR_PLOT_DASHED : FR_PLOT_LINE, color_of(i), n);
        }
    d->plot.title = "tokens per pass by tree size";
    d->plot.note =
        "expected, in the same colours: 1 plus the scores that the drafter gave its candidates";
    d->plot.x_label = "nodes allowed beside the root";
    d->plot.y_label = "tokens per pass";
    d->plot.x_steps = FR_PLOT_POWERS_OF_TWO;
    d->plot.y_steps = FR_PLOT_LINEAR;
}

static void draw_speed_by_size(drawing *d) {
    const fr_bench *b = d->bench;
    double from = 1, to = 1;
    for (int i = 1; i < b->n_drafters; i++) {
        int n_sizes;
        const int first = first_of_sizes(b, i, &n_sizes);
        for (int k = 0; k < n_sizes; k++) {
            const fr_bench_run *run = &b->runs[first + k];
            d->points[d->n][k] = speed_point(run->tree, &run->all);
            if (!k && i == 1) from = to = run->tree;
            if (run->tree < from) from = run->tree;
            if (run->tree > to) to = run->tree;
        }
        if (!n_sizes) continue;
        qsort(d->points[d->n], (size_t)n_sizes, sizeof(fr_plot_point), by_x);
        add_series(d, b->runs[i].spec, FR_PLOT_LINE, color_of(i), n_sizes);
    }
    if (d->n) add_level(d, from, to);
    d->plot.title = "speed by tree size";
    d->plot.note =
        "median speedup of an answer, each paired with that of plain decoding; whiskers: interval";
    d->plot.x_label = "nodes allowed beside the root";
    d->plot.y_label = "times plain decoding";
    d->plot.x_steps = FR_PLOT_POWERS_OF_TWO;
    d->plot.y_steps = FR_PLOT_LINEAR;
    d->plot.y_from_zero = true;
}

// ---------------------------------------------------------------- all of them

static void write_titles(const fr_bench *b, drawing *d) {
    char cpu[64], date[16] = "";
    const time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local)) strftime(date, sizeof date, "%Y-%m-%d", &local);
    fr_cpu_name(cpu, sizeof cpu);
    snprintf(d->title, sizeof d->title, "%.32s: %s", b->info.name, d->plot.title);
    snprintf(d->subtitle, sizeof d->subtitle, "%s, %s, %d thread%s, %s", cpu, b->info.isa,
             b->info.threads, b->info.threads > 1 ? "s" : "", date);
    d->plot.title = d->title;
    d->plot.subtitle = d->subtitle;
}

typedef struct picture {
    const char *file, *caption;
    void (*draw)(drawing *d);
} picture;

static const picture list[FR_BENCH_PICTURES] = {
    {"speed.svg",
     "Higher is faster. If a whisker crosses the level of plain decoding, these answers do not "
     "show which of the two is faster.",
     draw_speed},
    {"passes.svg",
     "While the curve is flat, candidates cost almost nothing. A drafter pays if its tokens per "
     "pass grow faster than this curve.",
     draw_passes},
    {"rows.svg", "How many candidates each drafter proposed that were worth their rows.",
     draw_rows},
    {"acceptance.svg",
     "If a curve stays high, longer guesses pay; if it falls at once, only short ones do.",
     draw_acceptance},
    {"tokens_by_size.svg",
     "Measured and expected by the drafter. The closer they are, the better the drafter's own "
     "choice of a size.",
     draw_tokens_by_size},
    {"speed_by_size.svg", "The gain of these tokens after the cost of the larger pass.",
     draw_speed_by_size},
};

const char *fr_bench_picture_file(int i) {
    return list[i].file;
}

fr_status fr_bench_draw(const fr_bench *b, fr_bench_picture pictures[FR_BENCH_PICTURES],
                        fr_error *err) {
    fr_status st = FR_OK;
    drawing *d = malloc(sizeof *d);
    for (int i = 0; i < FR_BENCH_PICTURES; i++)
        pictures[i] = (fr_bench_picture){.file = list[i].file, .caption = list[i].caption};
    if (!d) return fr_fail(err, FR_ENOMEM, "bench: no memory for the pictures");
    for (int i = 0; i < FR_BENCH_PICTURES && !st && b->n_drafters > 1; i++) {
        memset(d, 0, sizeof *d);
        d->bench = b;
        list[i].draw(d);
        if (!d->n) continue;
        write_titles(b, d);
        d->plot.series = d->series;
        d->plot.n_series = d->n;
        st = fr_plot_svg(&d->plot, &pictures[i].svg, err);
    }
    free(d);
    return st;
}
