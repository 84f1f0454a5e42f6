// plot.c — the curve as a picture.
#include "base/cpus.h"
#include "cmd/curve/curve.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

// For every context the medians and the least; the limit, and its band from the best probes to the
// median ones.
typedef struct drawing {
    fr_plot_series series[2 * FR_CURVE_CONTEXTS + 2];
    fr_plot_point least[FR_CURVE_CONTEXTS][FR_CURVE_ROWS], median[FR_CURVE_CONTEXTS][FR_CURVE_ROWS];
    fr_plot_point limit[FR_CURVE_ROWS], band[2 * FR_CURVE_ROWS];
    char labels[FR_CURVE_CONTEXTS][40], title[128], subtitle[256], note[128];
} drawing;

static int by_x(const void *a, const void *b) {
    const double x = ((const fr_plot_point *)a)->x, y = ((const fr_plot_point *)b)->x;
    return (x > y) - (x < y);
}

static fr_plot_point limit_at(const fr_curve *c, fr_rates rates, double rows, double bytes) {
    return (fr_plot_point){.x = rows,
                           .y = 1e3 * fr_limit(rates, bytes, rows * (double)c->info.macs_per_row)};
}

// A point for every number of rows, as each reads other experts.
static int limits_by_row(const fr_curve *c, fr_rates rates, fr_plot_point *to) {
    for (int i = 0; i < c->n_rows; i++)
        to[i] = limit_at(c, rates, c->rows[i], fr_curve_bytes(c, i));
    qsort(to, (size_t)c->n_rows, sizeof *to, by_x);
    return c->n_rows;
}

// Level up to the rows whose products take as long as reading; then it rises. Returns how many.
static int limit_points(const fr_curve *c, fr_rates rates, fr_plot_point to[FR_CURVE_ROWS]) {
    if (c->experts[0]) return limits_by_row(c, rates, to);
    const double bytes = (double)c->info.weights_bytes;
    int lo = c->rows[0], hi = c->rows[0], n = 0;
    for (int i = 1; i < c->n_rows; i++) {
        if (c->rows[i] < lo) lo = c->rows[i];
        if (c->rows[i] > hi) hi = c->rows[i];
    }
    const double knee = bytes / rates.read * rates.products / (double)c->info.macs_per_row;
    to[n++] = limit_at(c, rates, lo, bytes);
    if (knee > lo && knee < hi) to[n++] = limit_at(c, rates, knee, bytes);
    if (hi > lo) to[n++] = limit_at(c, rates, hi, bytes);
    return n;
}

static void draw_context(const fr_curve *c, drawing *d, int k) {
    for (int i = 0; i < c->n_rows; i++) {
        const fr_summary *s = fr_curve_at(c, k, i);
        d->least[k][i] = (fr_plot_point){.x = c->rows[i], .y = 1e3 * s->least};
        d->median[k][i] = (fr_plot_point){.x = c->rows[i], .y = 1e3 * s->median};
    }
    qsort(d->least[k], (size_t)c->n_rows, sizeof **d->least, by_x);
    qsort(d->median[k], (size_t)c->n_rows, sizeof **d->median, by_x);
    snprintf(d->labels[k], sizeof d->labels[k], "context %d, median", c->contexts[k]);
}

static void draw_titles(const fr_curve *c, drawing *d) {
    char cpu[64], date[16] = "";
    const time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local)) strftime(date, sizeof date, "%Y-%m-%d", &local);
    fr_cpu_name(cpu, sizeof cpu);
    snprintf(d->title, sizeof d->title, "%.72s", c->info.name);
    snprintf(d->subtitle, sizeof d->subtitle, "%s, %s, %d thread%s, %s", cpu, c->info.isa,
             c->info.threads, c->info.threads > 1 ? "s" : "", date);
    snprintf(d->note, sizeof d->note, "reads %.1f GB/s, multiplies %.0f GMAC/s (medians of probes)",
             c->typical.read / 1e9, c->typical.products / 1e9);
}

// What lies below comes first.
static int list_series(const fr_curve *c, drawing *d) {
    int n = 0, n_band = limit_points(c, c->best, d->band);
    const int n_limit = limit_points(c, c->typical, d->limit);
    for (int i = n_limit; i > 0; i--) // there and back
        d->band[n_band++] = d->limit[i - 1];
    d->series[n++] = (fr_plot_series){NULL, FR_PLOT_BAND, 0, d->band, n_band};
    for (int k = 0; k < c->n_contexts; k++) {
        draw_context(c, d, k);
        d->series[n++] = (fr_plot_series){d->labels[k], FR_PLOT_LINE, k, d->median[k], c->n_rows};
    }
    for (int k = 0; k < c->n_contexts; k++)
        d->series[n++] =
            (fr_plot_series){k ? NULL : "least", FR_PLOT_DASHED, k, d->least[k], c->n_rows};
    d->series[n++] = (fr_plot_series){
        "limit: max(bytes / read, rows x products / peak); area: best to median probes",
        FR_PLOT_LIMIT, 0, d->limit, n_limit};
    return n;
}

fr_status fr_curve_plot(const fr_curve *c, const char *path, fr_error *err) {
    drawing *d = calloc(1, sizeof *d);
    if (!d) return fr_fail(err, FR_ENOMEM, "%s: no memory for the picture", path);
    draw_titles(c, d);
    const fr_plot plot = {.title = d->title,
                          .subtitle = d->subtitle,
                          .note = d->note,
                          .x_label = "rows in one pass, logits on all of them",
                          .y_label = "milliseconds",
                          .x_steps = FR_PLOT_POWERS_OF_TWO,
                          .y_steps = FR_PLOT_DECIMAL,
                          .series = d->series,
                          .n_series = list_series(c, d)};
    const fr_status st = fr_plot_save(&plot, path, err);
    free(d);
    return st;
}
