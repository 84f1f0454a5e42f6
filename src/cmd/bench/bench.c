// bench.c — `bench`: every drafter on the same prompts, taking turns by passes, compared with plain
// decoding.
#include "cmd/bench/bench.h"
#include "cmd/lib/generate.h"
#include "cmd/lib/text.h"
#include "draft/registry.h"
#include "tree/tree.h"
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- runs

static fr_status add_run(fr_bench *b, const char *spec, int tree, fr_error *err) {
    fr_bench_run *more = realloc(b->runs, ((size_t)b->n_runs + 1) * sizeof *more);
    if (!more) return fr_fail(err, FR_ENOMEM, "bench: no memory for %d drafters", b->n_runs + 1);
    b->runs = more;
    memset(&more[b->n_runs], 0, sizeof *more);
    more[b->n_runs].spec = spec;
    more[b->n_runs++].tree = tree;
    return FR_OK;
}

static fr_status set_drafters(fr_bench *b, fr_error *err) {
    if (!(b->specs = strdup(b->args->drafters))) return fr_fail(err, FR_ENOMEM, "no memory");
    fr_status st = add_run(b, "none", 0, err);
    char *rest;
    for (char *s = strtok_r(b->specs, ",", &rest); s && !st; s = strtok_r(NULL, ",", &rest)) {
        bool known = false;
        for (int i = 0; i < b->n_runs; i++)
            known |= !strcmp(b->runs[i].spec, s);
        if (known) continue;
        if ((st = fr_drafter_check(s, err))) return st;
        if (b->n_runs == FR_BENCH_DRAFTERS)
            return fr_fail(err, FR_EARG, "--drafters: more than %d", FR_BENCH_DRAFTERS);
        st = add_run(b, s, 0, err);
    }
    b->n_drafters = b->n_runs;
    return st;
}

// Every drafter again with trees of each size.
static fr_status set_tree_sizes(fr_bench *b, fr_error *err) {
    int32_t sizes[FR_BENCH_SIZES];
    int n = 0;
    if (!b->args->tree_sizes) return FR_OK;
    fr_status st = fr_cmd_numbers(b->args->tree_sizes, "--tree-sizes", 1, FR_TREE_MAX - 1, sizes,
                                  FR_BENCH_SIZES, &n, err);
    for (int i = 1; i < b->n_drafters; i++)
        for (int k = 0; k < n && !st; k++)
            st = add_run(b, b->runs[i].spec, sizes[k], err);
    return st;
}

static fr_status set_prompts(fr_bench *b, fr_error *err) {
    const fr_status st =
        fr_prompt_sets_read(b->sets, &b->n_sets, &b->paths, b->args->prompts, b->args->limit, err);
    for (int i = 0; i < b->n_sets; i++) {
        b->n_prompts += b->sets[i].prompts.n;
        b->repeated += b->sets[i].repeated;
    }
    return st;
}

// ---------------------------------------------------------------- results

static fr_status add_up(fr_bench *b, fr_error *err) {
    fr_status st = FR_OK;
    for (int i = 0; i < b->n_runs; i++) {
        fr_bench_run *run = &b->runs[i];
        for (int set = 0; set < b->n_sets && !st; set++) {
            st = fr_bench_counts_merge(&run->all, &run->by_set[set], err);
            if (!st) st = fr_bench_counts_finish(&run->by_set[set], &b->runs[0].by_set[set], err);
        }
        if (!st) st = fr_bench_counts_finish(&run->all, &b->runs[0].all, err);
    }
    return st;
}

void fr_bench_name(const fr_bench_run *run, char *name, size_t room) {
    const bool other = *run->used && strcmp(run->used, run->spec);
    snprintf(name, room, other ? "%s (%s)" : "%s", run->spec, run->used);
}

const fr_bench_counts *fr_bench_tally(const fr_bench_run *run, int set) {
    return set < 0 ? &run->all : &run->by_set[set];
}

double fr_bench_speedup(const fr_bench *b, const fr_bench_run *run, int set) {
    const fr_bench_counts *t = fr_bench_tally(run, set), *plain = fr_bench_tally(&b->runs[0], set);
    return fr_cmd_rate(fr_cmd_rate((double)t->tokens, t->decode),
                       fr_cmd_rate((double)plain->tokens, plain->decode));
}

bool fr_bench_broken(const fr_bench *b) {
    for (int i = 0; i < b->n_runs; i++)
        if (b->runs[i].all.broken) return true;
    return false;
}

// ---------------------------------------------------------------- the command

static fr_status open_all(fr_bench *b, fr_engine **engine, fr_error *err) {
    fr_status st = set_drafters(b, err);
    if (!st) st = set_tree_sizes(b, err);
    if (!st) st = set_prompts(b, err);
    if (!st && b->args->report) st = fr_bench_page_check(b->args->report, err);
    if (!st) st = fr_cmd_engine_open(engine, b->args, err);
    if (!st) b->info = *fr_engine_describe(*engine);
    return st;
}

static void close_bench(fr_bench *b) {
    for (int i = 0; i < b->n_runs; i++) {
        for (int set = 0; set < b->n_sets; set++)
            fr_bench_counts_free(&b->runs[i].by_set[set]);
        fr_bench_counts_free(&b->runs[i].all);
    }
    for (int i = 0; i < b->n_sets; i++)
        fr_prompts_free(&b->sets[i].prompts);
    free(b->runs);
    free(b->specs);
    free(b->paths);
    free(b);
}

// Results are shown first, so that they are there even if the page cannot be written. An
// interrupted run writes no page, as that of a complete run may be there.
static int show(const fr_bench *b) {
    int code = FR_EXIT_DONE;
    if (b->args->json)
        code = fr_cmd_print_json(fr_bench_json(b));
    else
        fr_bench_print(b);
    fr_bench_warn(b);
    if (!b->args->quiet && b->args->temp > 0)
        fprintf(stderr, "seed %llu\n", (unsigned long long)b->sampling.seed);
    fr_error err = {0};
    if (b->args->report && !b->interrupted && fr_bench_page(b, b->args->report, &err))
        return fr_cmd_fail(&err);
    return fr_bench_broken(b) ? FR_EXIT_FAILED : code;
}

static int run_bench(const fr_cmd_args *args, const fr_parsed *parsed) {
    int code = fr_cmd_check("bench", args);
    if (!code) code = fr_cmd_check_drafting("bench", args);
    if (!code && !args->prompts) code = fr_cmd_usage("bench", "--prompts: a FILE is needed");
    if (code) return code;
    fr_error err = {0};
    fr_bench *b = calloc(1, sizeof *b);
    if (!b) {
        fr_fail(&err, FR_ENOMEM, "bench: no memory");
        return fr_cmd_fail(&err);
    }
    fr_engine *engine = NULL;
    b->args = args;
    b->sampling = fr_cmd_sampling(args, fr_option_given(&fr_cmd_bench.table, parsed, "seed"));
    fr_status st = open_all(b, &engine, &err);
    if (!st) st = fr_bench_run_all(b, engine, &err);
    b->interrupted = st == FR_EINTR;
    if (!st || b->interrupted) {
        fr_error why;
        const fr_status added = add_up(b, &why);
        if (added) st = added, err = why;
    }
    if (!st || (b->interrupted && b->n_runs && b->runs[0].all.n_pairs)) code = show(b);
    if (st) {
        fr_cmd_flush();
        code = fr_cmd_fail(&err);
    }
    fr_engine_close(engine);
    close_bench(b);
    return code;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"prompts",       0,   FR_OPT_FILE,   AT(prompts),   "FILE,FILE...", NULL, NULL, "files of JSON lines {\"id\",\"messages\":[...]}, of which the user's turns are answered; results are given per file and in total", 0, 0, NULL},
    {"drafters",      0,   FR_OPT_SPEC,   AT(drafters),  "SPEC,SPEC...", "auto", NULL, "drafters to compare; 'none' is always included", 0, 0, NULL},
    {"n-predict",     'n', FR_OPT_INT,    AT(n_predict), "N", "128", NULL, "maximum number of tokens to generate for each turn", 1, 1 << 20, NULL},
    {"limit",         0,   FR_OPT_INT,    AT(limit),     "K", "0", "all", "use only the first K prompts of each file", 0, 1 << 30, NULL},
    {"repeat",        0,   FR_OPT_INT,    AT(repeat),    "R", "1", NULL, "number of runs of each prompt, each in new sessions", 1, 1000, NULL},
    FR_CMD_TEMPLATE,
    {.name = NULL}};
static const fr_option shape[] = {
    FR_CMD_TREE,
    {"tree-sizes", 0, FR_OPT_STRING, AT(tree_sizes), "N,N...", NULL, NULL, "also run every drafter with trees of N nodes, and report tokens per pass and speed by size", 0, 0, NULL},
    {"no-adapt",  0, FR_OPT_FLAG,   AT(no_adapt), NULL, NULL, NULL, "use trees of the full size in every pass, whatever they cost", 0, 0, NULL},
    {"draft-opt", 0, FR_OPT_LIST,   AT(draft_opts), "KEY=VALUE", NULL, NULL, "setting of the drafters; may be repeated", 0, 0, NULL},
    FR_CMD_ACCEPT,
    {.name = NULL}};
static const fr_option output[] = {
    {"report", 0, FR_OPT_FILE, AT(report), "DIR", NULL, NULL, "write a page with tables and pictures to DIR/index.html", 0, 0, NULL},
    FR_CMD_FORCE,
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Drafters and prompts", options},
                             shape_group = {"Drafting", shape}, report_group = {"Report", output};

const fr_cmd fr_cmd_bench = {
    {.name = "bench",
     .summary = "compare drafters on the same prompts",
     .about = "Runs every drafter on the same prompts and compares its tokens and text with those "
              "of plain decoding. The exit code is 1 if an output differs that must have the same "
              "bytes. The table shows such an output as NO; \"no\" means that --accept does not "
              "promise the same bytes.\n\nDrafters take turns pass by pass, the one with the "
              "fewest tokens first, so that noise of the machine affects all of them alike. Every "
              "conversation has new sessions. A prompt that occurs twice in the files is run once. "
              "Ctrl-C ends the run, and the results so far are printed.\n\nRates count decoding "
              "alone. The speedup is that of all tokens together. Min and max are those of single "
              "answers, each paired with the answer of plain decoding at the same moment. The "
              "median is over answers, with an interval by the sign test. The acceptance is the "
              "probability of accepting a candidate whose parent was accepted, computed from the "
              "tokens per pass. Break-even is the acceptance at which the same passes in the same "
              "time would be as fast as plain decoding.\n\nThe page needs no network. It shows "
              "speed by prompts, times and rows of the passes, acceptance by depth, tokens per "
              "pass by tree size, and all numbers; bench.json lies beside it.",
     .example = "forerun bench -m models/smollm2-135m.gguf --prompts prompts.jsonl --drafters "
                "prompt-lookup --limit 8 --report report",
     .groups = {&group, &fr_cmd_model_options, &shape_group, &fr_cmd_sampling_options,
                &report_group, &fr_cmd_output_options}},
    run_bench};
