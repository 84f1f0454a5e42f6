// curve.c — `curve`: how long a pass of n rows takes, and how long it would have to.
#include "base/clock.h"
#include "cmd/passes.h"
#include "cmd/probe.h"
#include "engine/engine.h"
#include <stdlib.h>
#include <string.h>

enum { COUNTS_MAX = 64, ROUNDS_LEAST = 5, ROUNDS_MOST = 31, LOGITS_MAX = 64 };
static const double enough_seconds = 8;

typedef struct curve {
    const fr_cmd_args *args;
    fr_engine *engine;
    fr_passes passes;
    fr_probe probe;
    int32_t rows[COUNTS_MAX];
    int n_counts, most_rows, n_rounds;
    double seconds[COUNTS_MAX][ROUNDS_MOST];
    double least[COUNTS_MAX], median[COUNTS_MAX];
} curve;

// Any tokens will do; these are spread over the vocabulary.
static int32_t some_id(const curve *c, int i) {
    return (int32_t)(((uint32_t)i * 2654435761u >> 8) % (uint32_t)c->engine->model.config.n_vocab);
}

// One pass of n rows in a chain behind the context, logits on all of them.
static double time_pass(curve *c, int n) {
    fr_row rows[FR_MAX_ROWS];
    fr_kv *kv = &c->passes.kv;
    for (int i = 0; i < n; i++)
        rows[i] = fr_row_token(some_id(c, i), i ? i - 1 : FR_PARENT_COMMITTED, FR_WANT_LOGITS);
    const double start = fr_seconds();
    fr_forward_run(c->passes.forward, &(fr_pass){.rows = rows, .n_rows = n, .kv = &kv, .n_seq = 1});
    const double seconds = fr_seconds() - start;
    fr_kv_drop_scratch(kv);
    return seconds;
}

static bool nothing(void *user, int pos, float *logits) {
    (void)user, (void)pos, (void)logits;
    return true;
}

static fr_status fill_context(curve *c, fr_error *err) {
    const int n = c->args->ctx;
    int32_t *ids = fr_alloc_array((size_t)n, sizeof *ids);
    if (!ids) return fr_fail(err, FR_ENOMEM, "curve: no memory for %d ids", n);
    for (int i = 0; i < n; i++)
        ids[i] = some_id(c, i + FR_MAX_ROWS);
    const fr_status st = fr_passes_read(&c->passes, ids, n, n, nothing, NULL, err);
    fr_free(ids);
    return st;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static fr_status measure(curve *c, fr_error *err) {
    fr_progress bar;
    fr_pool_adapt(c->engine->model.pool, false); // all threads, whatever else runs
    fr_status st = fill_context(c, err);
    if (st) return st;
    fr_progress_open(&bar, c->args->quiet ? NULL : stderr, "rounds", 1);
    const double start = fr_seconds();
    for (int i = 0; i < c->n_counts; i++)
        time_pass(c, c->rows[i]); // warms up
    while (c->n_rounds < ROUNDS_MOST &&
           (c->n_rounds < ROUNDS_LEAST || fr_seconds() - start < enough_seconds)) {
        fr_probe_round(&c->probe);
        for (int i = 0; i < c->n_counts; i++) {
            if (fr_cmd_interrupted()) return fr_fail(err, FR_EINTR, "interrupted");
            c->seconds[i][c->n_rounds] = time_pass(c, c->rows[i]);
        }
        fr_progress_show(&bar, "curve", (uint64_t)++c->n_rounds, 0);
    }
    fr_probe_round(&c->probe);
    fr_progress_clear(&bar);
    for (int i = 0; i < c->n_counts; i++) {
        qsort(c->seconds[i], (size_t)c->n_rounds, sizeof **c->seconds, ascending);
        c->least[i] = c->seconds[i][0];
        c->median[i] = c->seconds[i][c->n_rounds / 2];
    }
    return FR_OK;
}

// What memory and multipliers allow at best, seconds.
static double limit_of(const curve *c, int i) {
    const fr_engine_info info = fr_engine_describe(c->engine);
    const double reading = (double)info.weights_bytes / c->probe.read_rate;
    const double computing = c->rows[i] * (double)info.macs_per_row / c->probe.product_rate;
    return reading > computing ? reading : computing;
}

static json_t *curve_json(const curve *c) {
    const fr_engine_info info = fr_engine_describe(c->engine);
    json_t *rows = json_array(), *ms = json_array(), *median = json_array(), *ratio = json_array(),
           *fraction = json_array();
    for (int i = 0; i < c->n_counts; i++) {
        json_array_append_new(rows, json_integer(c->rows[i]));
        json_array_append_new(ms, fr_cmd_real(1e3 * c->least[i]));
        json_array_append_new(median, fr_cmd_real(1e3 * c->median[i]));
        json_array_append_new(ratio, fr_cmd_real(c->least[i] / c->least[0]));
        json_array_append_new(fraction, fr_cmd_real(limit_of(c, i) / c->least[i]));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:i, s:I, s:I, s:{s:o, s:o, s:s, s:i}, s:o, s:i}",
                     "rows", rows, "ms", ms, "ms_median", median, "ratio", ratio, "context",
                     c->args->ctx, "weights_bytes", (json_int_t)info.weights_bytes, "macs_per_row",
                     (json_int_t)info.macs_per_row, "machine", "read_gb_s",
                     fr_cmd_real(c->probe.read_rate / 1e9), "int8_gmac_s",
                     fr_cmd_real(c->probe.product_rate / 1e9), "isa", info.isa, "threads",
                     info.threads, "fraction_of_limit", fraction, "rounds", c->n_rounds);
}

static void curve_print(const curve *c) {
    const fr_engine_info info = fr_engine_describe(c->engine);
    fr_cmd_print_clean(stdout, info.name, strlen(info.name));
    printf(", %s, %d threads, context %d; the machine reads %.1f GB/s and multiplies %.0f GMAC/s\n",
           info.isa, info.threads, c->args->ctx, c->probe.read_rate / 1e9,
           c->probe.product_rate / 1e9);
    printf("%5s %10s %10s %10s %18s\n", "rows", "ms", "median", "L(n)/L(1)", "part of the limit");
    for (int i = 0; i < c->n_counts; i++)
        printf("%5d %10.3f %10.3f %10.2f %17.0f%%\n", c->rows[i], 1e3 * c->least[i],
               1e3 * c->median[i], c->least[i] / c->least[0], 100 * limit_of(c, i) / c->least[i]);
}

// L(1) is what all others are compared with, so it is measured even when it was not asked for.
static fr_status read_rows(curve *c, fr_error *err) {
    const fr_status st = fr_cmd_numbers(c->args->rows, "--rows", 1, LOGITS_MAX, c->rows,
                                        COUNTS_MAX - 1, &c->n_counts, err);
    if (st) return st;
    if (c->rows[0] != 1) {
        memmove(c->rows + 1, c->rows, (size_t)c->n_counts * sizeof *c->rows);
        c->rows[0] = 1;
        c->n_counts++;
    }
    for (int i = 0; i < c->n_counts; i++)
        if (c->rows[i] > c->most_rows) c->most_rows = c->rows[i];
    return FR_OK;
}

static int run_curve(const fr_cmd_args *args, const fr_parsed *parsed) {
    (void)parsed;
    int code = fr_cmd_check("curve", args);
    if (code) return code;
    fr_error err = {0};
    curve *c = calloc(1, sizeof *c);
    if (!c) {
        fr_fail(&err, FR_ENOMEM, "curve: no memory");
        return fr_cmd_fail(&err);
    }
    c->args = args;
    fr_status st = read_rows(c, &err);
    if (!st) st = fr_cmd_engine_open(&c->engine, args, &err);
    if (!st) st = fr_passes_open(&c->passes, c->engine, args->ctx, LOGITS_MAX, &err);
    if (!st) {
        const fr_model *m = &c->engine->model;
        st = fr_probe_open(&c->probe, m->pool, m->kern->isa, m->weights_bytes, &err);
    }
    if (!st) st = measure(c, &err);
    if (st)
        code = fr_cmd_fail(&err);
    else if (args->json)
        code = fr_cmd_print_json(curve_json(c));
    else
        curve_print(c);
    fr_probe_close(&c->probe);
    fr_passes_close(&c->passes);
    fr_engine_close(c->engine);
    free(c);
    return code;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"rows",    0, FR_OPT_STRING, AT(rows), "N,N...", "1,2,4,8,16,32,64", NULL, "rows of a pass, 1 to 64 each", 0, 0, NULL},
    {"context", 0, FR_OPT_INT,    AT(ctx),  "N", "512", NULL, "tokens that every row sees", 1, 1 << 24, NULL},
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"What is measured", options};

const fr_cmd fr_cmd_curve = {
    {.name = "curve",
     .summary = "measure how a pass grows with its rows",
     .about = "Measures the forward latency curve L(n): a whole pass with logits on all n rows, "
              "row counts round robin, the least and the median of each. Between the rounds the "
              "machine's own limits are probed: bytes read a second by all threads, and 8-bit "
              "integer products a second of the instruction set in use. The part of the limit is "
              "max(bytes / read, n * products / peak) / L(n).",
     .example = "forerun curve -m models/smollm2-135m.gguf --rows 1,2,4,8",
     .groups = {&group, &fr_cmd_engine_options, &fr_cmd_output_options}},
    run_curve};
