// report.c — the curve as JSON and as tables with bars.
#include "cmd/curve/curve.h"
#include <string.h>

// ---------------------------------------------------------------- JSON

typedef double value_fn(const fr_curve *c, int context, int row);

static double least_ms(const fr_curve *c, int context, int row) {
    return 1e3 * fr_curve_at(c, context, row)->least;
}
static double median_ms(const fr_curve *c, int context, int row) {
    return 1e3 * fr_curve_at(c, context, row)->median;
}
static double ratio(const fr_curve *c, int context, int row) {
    return fr_curve_at(c, context, row)->least / fr_curve_at(c, context, 0)->least;
}
static double fraction(const fr_curve *c, int context, int row) {
    return fr_curve_at(c, context, row)->fraction;
}

static double bytes(const fr_curve *c, int context, int row) {
    (void)context;
    return fr_curve_bytes(c, row);
}

static double experts(const fr_curve *c, int context, int row) {
    (void)context;
    return c->experts[row];
}

static json_t *list(const fr_curve *c, int context, value_fn *value) {
    json_t *all = json_array();
    for (int i = 0; i < c->n_rows; i++)
        json_array_append_new(all, fr_cmd_real(value(c, context, i)));
    return all;
}

static json_t *ints_json(const int *values, int n) {
    json_t *all = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(all, json_integer(values[i]));
    return all;
}

// Mean ms of a phase over the passes of a cell.
static double phase_ms(const fr_curve *c, int cell, int phase) {
    return 1e3 * c->phases[cell][phase] / c->cells[cell].n;
}

static json_t *phases_json(const fr_curve *c, int context) {
    json_t *all = json_object();
    for (int p = 0; p < FR_PHASES; p++) {
        json_t *by_row = json_array();
        for (int i = 0; i < c->n_rows; i++)
            json_array_append_new(by_row, fr_cmd_real(phase_ms(c, context * c->n_rows + i, p)));
        json_object_set_new(all, fr_phase_name((fr_phase)p), by_row);
    }
    return all;
}

static json_t *context_json(const fr_curve *c, int k) {
    json_t *one =
        json_pack("{s:i, s:o, s:o, s:o}", "context", c->contexts[k], "ms", list(c, k, least_ms),
                  "ms_median", list(c, k, median_ms), "ratio", list(c, k, ratio));
    if (one && c->phases) json_object_set_new(one, "phases_ms", phases_json(c, k));
    return one;
}

static json_t *contexts_json(const fr_curve *c) {
    json_t *all = json_array();
    for (int k = 0; k < c->n_contexts; k++)
        json_array_append_new(all, context_json(c, k));
    return all;
}

static json_t *passes_json(const fr_curve *c, bool counted) {
    json_t *all = json_array();
    for (int i = 0; i < c->n_rows; i++)
        json_array_append_new(
            all, json_integer(counted ? fr_curve_at(c, 0, i)->counted : c->cells[i].n));
    return all;
}

static json_t *machine_json(const fr_curve *c) {
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:s, s:i, s:o, s:o}", "read_gb_s", fr_cmd_real(c->typical.read / 1e9),
        "int8_gmac_s", fr_cmd_real(c->typical.products / 1e9), "read_gb_s_best",
        fr_cmd_real(c->best.read / 1e9), "int8_gmac_s_best", fr_cmd_real(c->best.products / 1e9),
        "isa", c->info.isa, "threads", c->info.threads, "cpus_of_others",
        fr_cmd_real(c->others.programs), "cpus_of_host", fr_cmd_real(c->others.host));
}

json_t *fr_curve_json(const fr_curve *c) {
    json_t *all =
        json_pack("{s:o, s:o, s:o, s:o, s:i, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "rows",
                  ints_json(c->rows, c->n_rows), "ms", list(c, 0, least_ms), "ms_median",
                  list(c, 0, median_ms), "ratio", list(c, 0, ratio), "context", c->contexts[0],
                  "weights_bytes", (json_int_t)c->info.weights_bytes, "macs_per_row",
                  (json_int_t)c->info.macs_per_row, "machine", machine_json(c), "fraction_of_limit",
                  list(c, 0, fraction), "passes", passes_json(c, false), "passes_counted",
                  passes_json(c, true), "contexts", contexts_json(c), "bytes", list(c, 0, bytes));
    if (all && c->experts[0]) json_object_set_new(all, "experts", list(c, 0, experts));
    if (all && c->phases) json_object_set_new(all, "phases_ms", phases_json(c, 0));
    return all;
}

// ---------------------------------------------------------------- tables

enum { BAR = 38 };

// '#': what the limit allows, '.': the rest.
static void print_bar(double seconds, double part, double most) {
    const int all = (int)(BAR * seconds / most + 0.5);
    const int full = (int)((all ? all : 1) * (part < 1 ? part : 1) + 0.5);
    for (int i = 0; i < (all ? all : 1); i++)
        putchar(i < full ? '#' : '.');
    putchar('\n');
}

// What a row costs, and why.
static void print_experts(const fr_curve *c) {
    printf("Experts that unrelated rows read in all layers, and all weights read:\n");
    for (int i = 0; i < c->n_rows; i++)
        printf("%s%d row%s %.0f, %.0f MB", i ? "; " : "", c->rows[i], c->rows[i] > 1 ? "s" : "",
               c->experts[i], fr_curve_bytes(c, i) / 1e6);
    puts(". Rows of a text share more.");
}

static void print_first(const fr_curve *c) {
    double most = 0;
    for (int i = 0; i < c->n_rows; i++)
        if (fr_curve_at(c, 0, i)->median > most) most = fr_curve_at(c, 0, i)->median;
    printf("%4s %9s %9s %8s %9s\n", "rows", "ms", "median", "L(n)/L1", "of limit");
    for (int i = 0; i < c->n_rows; i++) {
        const fr_summary *s = fr_curve_at(c, 0, i);
        printf("%4d %9.3f %9.3f %8.2f %8.0f%%  ", c->rows[i], 1e3 * s->least, 1e3 * s->median,
               ratio(c, 0, i), 100 * s->fraction);
        print_bar(s->median, s->fraction, most);
    }
    printf("Bars: the median; #: the limit of the machine, .: the rest.\n");
    if (c->experts[0]) print_experts(c);
}

static void print_contexts(const fr_curve *c) {
    printf("\nms (and L(n)/L1) after a context of N tokens; columns: N\nrows");
    for (int k = 0; k < c->n_contexts; k++)
        printf(" %18d", c->contexts[k]);
    putchar('\n');
    for (int i = 0; i < c->n_rows; i++) {
        printf("%4d", c->rows[i]);
        for (int k = 0; k < c->n_contexts; k++)
            printf(" %10.3f (%5.2f)", least_ms(c, k, i), ratio(c, k, i));
        putchar('\n');
    }
}

static void print_phases(const fr_curve *c, int context) {
    printf("\nms of the first thread by phase, context %d (means)\n%-10s", c->contexts[context],
           "rows");
    for (int i = 0; i < c->n_rows; i++)
        printf(" %9d", c->rows[i]);
    for (int p = 0; p < FR_PHASES; p++) {
        printf("\n%-10s", fr_phase_name((fr_phase)p));
        for (int i = 0; i < c->n_rows; i++)
            printf(" %9.3f", phase_ms(c, context * c->n_rows + i, p));
    }
    putchar('\n');
}

void fr_curve_print(const fr_curve *c) {
    fr_cmd_print_clean(stdout, c->info.name, strlen(c->info.name));
    printf(", %s, %d thread%s, context %d\nThe machine reads %.1f GB/s and multiplies %.0f GMAC/s "
           "(medians of the probes; best %.1f and %.0f).\n\n",
           c->info.isa, c->info.threads, c->info.threads > 1 ? "s" : "", c->contexts[0],
           c->typical.read / 1e9, c->typical.products / 1e9, c->best.read / 1e9,
           c->best.products / 1e9);
    print_first(c);
    if (c->n_contexts > 1) print_contexts(c);
    for (int k = 0; k < c->n_contexts && c->phases; k++)
        print_phases(c, k);
}

void fr_curve_warn(const fr_curve *c) {
    if (c->others.programs <= 0 && c->others.host <= 0) return;
    fputs("forerun: curve: the machine was shared:", stderr);
    if (c->others.programs > 0)
        fprintf(stderr, " other programs used %.2f CPUs", c->others.programs);
    if (c->others.host > 0)
        fprintf(stderr, "%s the host withheld %.2f CPUs", c->others.programs > 0 ? "," : "",
                c->others.host);
    fputs("; times are longer than on an idle machine\n", stderr);
}
