// curve.c — `curve`: how long a pass of n rows takes, and how long it must take at least.
#include "cmd/curve/curve.h"
#include "base/clock.h"
#include "base/save.h"
#include "base/system_file.h"
#include "cmd/curve/probe.h"
#include "cmd/lib/passes.h"
#include "engine/engine.h"
#include <stdlib.h>
#include <string.h>

static const double enough_seconds = 7;
// How long a probe takes: probe_seconds, and probe_part of the longer of the two passes beside it.
static const double probe_seconds = 3e-3, probe_part = 0.04;

typedef struct measuring {
    const fr_cmd_args *args;
    fr_engine *engine;
    fr_passes passes;
    fr_probe probe;
    fr_curve curve;
    int most_rows, most_context;
    int first; // token of the next pass
} measuring;

// ---------------------------------------------------------------- passes

// Any tokens will do; these are spread over the vocabulary.
static int32_t some_id(const measuring *m, int i) {
    return (int32_t)(((uint32_t)i * 2654435761u >> 8) % (uint32_t)m->engine->model.config.n_vocab);
}

// Seconds of one pass of n rows in a chain after the context, logits on all of them; those of its
// phases are added to `phases`, unless that is NULL.
static double time_pass(measuring *m, int n, int context, double *phases) {
    fr_row rows[FR_CURVE_ROWS];
    fr_kv *kv = &m->passes.kv;
    kv->n_committed = context; // the slots up to the longest context hold keys
    for (int i = 0; i < n; i++)
        rows[i] =
            fr_row_token(some_id(m, m->first + i), i ? i - 1 : FR_PARENT_COMMITTED, FR_WANT_LOGITS);
    m->first += n; // other experts in every pass: those of the last one may lie in a cache
    fr_forward_time_phases(m->passes.forward, phases);
    const double start = fr_seconds();
    fr_forward_run(m->passes.forward, &(fr_pass){.rows = rows, .n_rows = n, .kv = &kv, .n_seq = 1});
    const double seconds = fr_seconds() - start;
    fr_kv_drop_scratch(kv);
    return seconds;
}

static bool nothing(void *user, int pos, float *logits) {
    (void)user, (void)pos, (void)logits;
    return true;
}

// Reads a little text and repeats its keys and values, as their contents do not change the time.
// This also warms up.
static fr_status fill_context(measuring *m, fr_error *err) {
    int32_t ids[FR_PASSES_ROWS];
    const int n = m->most_context < FR_PASSES_ROWS ? m->most_context : FR_PASSES_ROWS;
    for (int i = 0; i < n; i++)
        ids[i] = some_id(m, i + FR_CURVE_ROWS);
    const fr_status st = fr_passes_read(&m->passes, ids, n, 0, nothing, NULL, err);
    if (st) return st;
    fr_kv_repeat(&m->passes.kv, m->most_context);
    time_pass(m, m->most_rows, m->most_context, NULL);
    return FR_OK;
}

// ---------------------------------------------------------------- measuring

// Each probe serves the pass before it and the pass after it.
static fr_status measure_cells(measuring *m, fr_progress *bar, fr_error *err) {
    fr_curve *c = &m->curve;
    const int n_cells = c->n_rows * c->n_contexts;
    const double start = fr_seconds();
    fr_rates before = fr_probe_run(&m->probe, probe_seconds);
    double last = 0;
    for (int i = fr_cells_next(c->cells, n_cells, false); i >= 0;) {
        if (fr_cmd_interrupted()) return fr_fail(err, FR_EINTR, "interrupted");
        fr_cell *cell = &c->cells[i];
        fr_timing *s = &cell->sample[cell->n];
        s->before = c->probed[c->n_passes++] = before;
        s->seconds = last =
            time_pass(m, cell->rows, cell->context, c->phases ? c->phases[i] : NULL);
        c->experts[i % c->n_rows] += fr_forward_experts(m->passes.forward);
        cell->n++;
        i = fr_cells_next(c->cells, n_cells, fr_seconds() - start > enough_seconds);
        const double next = i >= 0 && c->cells[i].n ? c->cells[i].sample[0].seconds : 0;
        s->after = before =
            fr_probe_run(&m->probe, probe_seconds + probe_part * (next > last ? next : last));
        fr_progress_show(bar, "curve", (uint64_t)c->n_passes, 0);
    }
    return FR_OK;
}

// Rows of one pass read an expert once; c->rows[0] is 1.
double fr_curve_bytes(const fr_curve *c, int i) {
    const double one = (double)c->info.weights_bytes;
    if (!c->experts[0]) return one;
    return one + (double)c->expert_bytes * (c->experts[i] / c->experts[0] - 1);
}

static int passes_of(const fr_curve *c, int row) { // of that many rows, over all contexts
    int n = 0;
    for (int k = 0; k < c->n_contexts; k++)
        n += c->cells[k * c->n_rows + row].n;
    return n;
}

static fr_status summarize(fr_curve *c, fr_error *err) {
    double *room = malloc(sizeof *room * (size_t)c->n_passes);
    if (!room) return fr_fail(err, FR_ENOMEM, "curve: no memory for %d rates", c->n_passes);
    fr_rates_summarize(c->probed, c->n_passes, room, &c->typical, &c->best);
    free(room);
    for (int i = 0; i < c->n_rows; i++)
        c->experts[i] /= passes_of(c, i);
    for (int i = 0; i < c->n_rows * c->n_contexts; i++)
        c->summaries[i] = fr_cell_summarize(&c->cells[i], fr_curve_bytes(c, i % c->n_rows),
                                            c->cells[i].rows * (double)c->info.macs_per_row);
    return FR_OK;
}

static fr_status measure(measuring *m, fr_error *err) {
    fr_progress bar;
    fr_pool_adapt(m->engine->model.pool, false); // all threads, whatever else runs
    fr_status st = fill_context(m, err);
    if (st) return st;
    fr_progress_open(&bar, m->args->quiet ? NULL : stderr, "passes", 1);
    const fr_cpu_use start = fr_cpu_use_now();
    st = measure_cells(m, &bar, err);
    m->curve.others = fr_cpu_use_others(start, fr_cpu_use_now());
    fr_progress_clear(&bar);
    return st ? st : summarize(&m->curve, err);
}
// ---------------------------------------------------------------- the command

// All others are compared with L(1), so it is measured even if it was not requested.
static fr_status read_options(measuring *m, fr_error *err) {
    fr_curve *c = &m->curve;
    fr_status st = fr_cmd_numbers(m->args->rows, "--rows", 1, FR_CURVE_ROWS, c->rows,
                                  FR_CURVE_ROWS - 1, &c->n_rows, err);
    if (!st)
        st = fr_cmd_numbers(m->args->contexts, "--context", 1, 1 << 24, c->contexts,
                            FR_CURVE_CONTEXTS, &c->n_contexts, err);
    if (st) return st;
    if (c->rows[0] != 1) {
        memmove(c->rows + 1, c->rows, (size_t)c->n_rows * sizeof *c->rows);
        c->rows[0] = 1;
        c->n_rows++;
    }
    for (int i = 0; i < c->n_rows; i++)
        if (c->rows[i] > m->most_rows) m->most_rows = c->rows[i];
    for (int i = 0; i < c->n_contexts; i++)
        if (c->contexts[i] > m->most_context) m->most_context = c->contexts[i];
    return m->args->plot ? fr_save_check(m->args->plot, err) : FR_OK;
}

static fr_status open_cells(fr_curve *c, bool phases, fr_error *err) {
    const size_t n = (size_t)c->n_rows * (size_t)c->n_contexts;
    c->cells = calloc(n, sizeof *c->cells);
    c->summaries = calloc(n, sizeof *c->summaries);
    c->probed = calloc(n * FR_SAMPLES_MOST, sizeof *c->probed);
    if (phases) c->phases = calloc(n, sizeof *c->phases);
    if (!c->cells || !c->summaries || !c->probed || (phases && !c->phases))
        return fr_fail(err, FR_ENOMEM, "curve: no memory for %zu points", n);
    for (int k = 0; k < c->n_contexts; k++)
        for (int i = 0; i < c->n_rows; i++)
            c->cells[k * c->n_rows + i] = (fr_cell){.rows = c->rows[i], .context = c->contexts[k]};
    return FR_OK;
}

// Memory that is available without swapping; 0 if the system does not report it.
static double available_bytes(void) {
    uint64_t kib = 0;
    fr_system_entry("", "/proc/meminfo", "MemAvailable", &kib);
    return 1024 * (double)kib;
}

static fr_status open_context(measuring *m, fr_error *err) {
    const fr_config *config = &m->engine->model.config;
    if (m->most_context > config->n_ctx_train)
        return fr_fail(err, FR_EARG, "--context %d: the model's context is %d tokens",
                       m->most_context, config->n_ctx_train);
    // Checked here, as the system promises more memory than there is and ends the program that uses
    // it.
    const char *type_name = fr_cmd_kv_type(m->args);
    fr_kv_type type;
    const fr_status st = fr_kv_type_of(&type, type_name, err);
    if (st) return st;
    const double needed = (double)fr_kv_bytes(config, m->most_context, type);
    const double there = available_bytes();
    if (there > 0 && needed > there)
        return fr_fail(err, FR_ENOMEM,
                       "--context %d: keys and values need %.0f MB, there are %.0f MB left",
                       m->most_context, needed / 1e6, there / 1e6);
    return fr_passes_open(&m->passes, m->engine, m->most_context, FR_CURVE_ROWS, type_name, err);
}

// What a pass reads: the panels, or the file where it lies.
static const uint8_t *weights_of(const fr_model *m, size_t *bytes) {
    *bytes = m->arena.used;
    if (m->layers[0].q.panels) return m->arena.base;
    const uint8_t *begin = m->embed->data, *end = begin;
    for (size_t i = 0; i < fr_gguf_n_tensors(m->gguf); i++) {
        const fr_gguf_tensor *t = fr_gguf_tensor_at(m->gguf, i);
        const uint8_t *data = t->data;
        if (data < begin) begin = data;
        if (data + t->bytes > end) end = data + t->bytes;
    }
    *bytes = (size_t)(end - begin);
    return begin;
}

static fr_status open_all(measuring *m, fr_error *err) {
    fr_status st = read_options(m, err);
    if (!st) st = open_cells(&m->curve, m->args->phases, err);
    if (!st) st = fr_cmd_engine_open(&m->engine, m->args, err);
    if (!st) st = open_context(m, err);
    if (st) return st;
    const fr_model *model = &m->engine->model;
    m->curve.info = *fr_engine_describe(m->engine);
    m->curve.expert_bytes = model->expert_bytes;
    size_t bytes;
    const uint8_t *weights = weights_of(model, &bytes);
    return fr_probe_open(&m->probe, model->pool, model->kern->isa, weights, bytes, err);
}

static void close_all(measuring *m) {
    free(m->curve.cells);
    free(m->curve.summaries);
    free(m->curve.probed);
    free(m->curve.phases);
    fr_passes_close(&m->passes);
    fr_engine_close(m->engine);
    free(m);
}

static int run_curve(const fr_cmd_args *args, const fr_parsed *parsed) {
    (void)parsed;
    int code = fr_cmd_check("curve", args);
    if (code) return code;
    fr_error err = {0};
    measuring *m = calloc(1, sizeof *m);
    if (!m) {
        fr_fail(&err, FR_ENOMEM, "curve: no memory");
        return fr_cmd_fail(&err);
    }
    m->args = args;
    fr_status st = open_all(m, &err);
    if (!st) st = measure(m, &err);
    if (st)
        code = fr_cmd_fail(&err);
    else if (args->json)
        code = fr_cmd_print_json(fr_curve_json(&m->curve));
    else
        fr_curve_print(&m->curve);
    if (!st && !args->quiet) fr_curve_warn(&m->curve);
    // Results are shown first, so that they are there even if the picture cannot be written.
    if (!st && args->plot && fr_curve_plot(&m->curve, args->plot, &err)) code = fr_cmd_fail(&err);
    close_all(m);
    return code;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"rows",    0, FR_OPT_STRING, AT(rows),     "N,N...", "1,2,4,8,16,32,64", NULL, "numbers of rows of a pass, 1 to 64 each", 0, 0, NULL},
    {"context", 0, FR_OPT_STRING, AT(contexts), "N,N...", "512", NULL, "number of tokens that every row sees; up to 6 numbers give a table of rows and contexts", 0, 0, NULL},
    {"phases",  0, FR_OPT_FLAG,   AT(phases),   NULL, NULL, NULL, "show the share of each phase of a pass: norms, quantising, products, attention, waiting", 0, 0, NULL},
    {"plot",    0, FR_OPT_FILE,   AT(plot),     "FILE.svg", NULL, NULL, "draw the curves and the limit to this file", 0, 0, NULL},
    FR_CMD_FORCE,
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Measurement", options};

const fr_cmd fr_cmd_curve = {
    {.name = "curve",
     .summary = "measure the time of a pass by its number of rows",
     .about = "Measures the forward latency curve L(n): the time of a pass with logits on all n "
              "rows. Row counts and contexts take turns. The minimum and the median of each are "
              "printed.\n\nBetween any two passes the limits of the machine are probed: how many "
              "bytes of the weights all threads read per second, and how many products of 8-bit "
              "integers the instruction set in use computes per second. The fraction of the limit "
              "is the median over passes of max(bytes / read, n * products / peak) / seconds, "
              "where read and peak are the means of the probes before and after the pass. A pass "
              "whose two probes differ by more than 10 % does not count, as long as three others "
              "remain. 'bytes' are those of the weights that a pass reads. Where a model has "
              "experts, the rows of a pass are unrelated tokens, each with experts of its own: "
              "'experts' counts those that were read in all layers. Rows of a text share more. The "
              "rates printed are the medians of all probes (read_gb_s, int8_gmac_s in "
              "the JSON document) and the highest ones (..._best).\n\nIn the JSON document, 'ms' "
              "is the minimum, and values outside of 'contexts' are those of the first context. "
              "'passes' counts the passes measured, 'passes_counted' those used for the fraction.",
     .example = "forerun curve -m models/smollm2-135m.gguf --context 512,2000 --plot curve.svg",
     .groups = {&group, &fr_cmd_engine_options, &fr_cmd_output_options}},
    run_curve};
