// show.c — what was measured, as JSON and as tables.
#include "base/cpus.h"
#include "cmd/bench/bench.h"
#include "cmd/lib/generate.h"
#include <math.h>
#include <string.h>
#include <time.h>

// ---------------------------------------------------------------- JSON

static json_t *passes_json(const fr_bench_counts *t) {
    json_t *all = json_array();
    for (int rows = 1; rows <= FR_COUNTED_ROWS; rows++)
        if (t->passes_by_rows[rows])
            json_array_append_new(all, json_pack("{s:i, s:I, s:o, s:o}", "rows", rows, "passes",
                                                 (json_int_t)t->passes_by_rows[rows], "seconds",
                                                 fr_cmd_real(t->seconds_by_rows[rows]), "predicted",
                                                 fr_cmd_real(t->predicted_by_rows[rows])));
    return all;
}

static json_t *difference_json(const fr_difference *d) {
    if (!d->file) return json_null();
    return json_pack("{s:o, s:o, s:i, s:i}", "file", fr_json_string(d->file), "prompt",
                     fr_json_string(d->id), "turn", d->turn, "token", d->token);
}

static json_t *speed_json(const fr_bench *b, const fr_bench_run *run, int set) {
    const fr_bench_counts *t = fr_bench_tally(run, set);
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i}", "drafter",
        fr_json_string(run->spec), "tok_s", fr_cmd_real(fr_cmd_rate((double)t->tokens, t->decode)),
        "speedup", fr_cmd_real(fr_bench_speedup(b, run, set)), "predicted_speedup",
        fr_cmd_real(t->predicted_speedup), "speedup_min", fr_cmd_real(t->least), "speedup_max",
        fr_cmd_real(t->most), "speedup_median", fr_cmd_real(t->speedup.median), "speedup_low",
        fr_cmd_real(t->speedup.low), "speedup_high", fr_cmd_real(t->speedup.high),
        "speedup_confidence", fr_cmd_real(t->speedup.confidence), "pairs", t->speedup.answers);
}

static json_t *work_json(const fr_bench_counts *t) {
    const double passes = (double)t->passes;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "tokens_per_pass", fr_cmd_real(fr_cmd_rate((double)t->tokens, passes)),
                     "tokens_per_pass_low", fr_cmd_real(t->tokens_per_pass.low),
                     "tokens_per_pass_high", fr_cmd_real(t->tokens_per_pass.high),
                     "expected_tokens_per_pass", fr_cmd_real(fr_cmd_rate(t->expected, passes)),
                     "accepted_by_depth", fr_cmd_depths(t->accepted, t->offered), "draft_share",
                     fr_cmd_real(fr_cmd_rate(t->draft, t->decode)), "rows_per_pass",
                     fr_cmd_real(fr_cmd_rate((double)t->rows, passes)), "acceptance",
                     fr_cmd_real(t->break_even.reached), "break_even",
                     fr_cmd_real(t->break_even.acceptance), "break_even_tokens_per_pass",
                     fr_cmd_real(t->break_even.tokens_per_pass), "passes_by_rows", passes_json(t),
                     "draft_stats", fr_cmd_draft_counts(&t->counts));
}

static json_t *run_json(const fr_bench *b, const fr_bench_run *run, int set) {
    const fr_bench_counts *t = fr_bench_tally(run, set);
    json_t *value = speed_json(b, run, set), *work = work_json(t);
    json_object_set_new(value, "used", fr_json_string(run->used));
    if (run->tree) json_object_set_new(value, "tree", json_integer(run->tree));
    json_object_update(value, work);
    json_decref(work);
    json_t *check =
        json_pack("{s:b, s:b, s:b, s:o, s:{s:I, s:I}, s:i, s:I}", "identical", !t->difference.file,
                  "lossless", run->lossless, "exact_law", run->exact_law, "first_difference",
                  difference_json(&t->difference), "compared", "tokens", (json_int_t)t->tokens,
                  "bytes", (json_int_t)t->bytes, "prompts",
                  set < 0 ? b->n_prompts : b->sets[set].prompts.n, "tokens", (json_int_t)t->tokens);
    json_object_update(value, check);
    json_decref(check);
    return value;
}

static json_t *runs_json(const fr_bench *b, int set, int from, int to) {
    json_t *all = json_array();
    for (int i = from; i < to; i++)
        json_array_append_new(all, run_json(b, &b->runs[i], set));
    return all;
}

static json_t *sets_json(const fr_bench *b) {
    json_t *all = json_array();
    for (int i = 0; i < b->n_sets; i++)
        json_array_append_new(
            all, json_pack("{s:o, s:i, s:i, s:o, s:o}", "file", fr_json_string(b->sets[i].path),
                           "prompts", b->sets[i].prompts.n, "repeated", b->sets[i].repeated, "runs",
                           runs_json(b, i, 0, b->n_drafters), "tree_sizes",
                           runs_json(b, i, b->n_drafters, b->n_runs)));
    return all;
}

json_t *fr_bench_json(const fr_bench *b) {
    char cpu[128];
    fr_cpu_name(cpu, sizeof cpu);
    return json_pack("{s:o, s:{s:o, s:s, s:i, s:o, s:o}, s:i, s:i, s:b, s:o, s:o, s:o}", "model",
                     fr_json_string(b->info.name), "machine", "cpu", fr_json_string(cpu), "isa",
                     b->info.isa, "threads", b->info.threads, "cpus_of_others",
                     fr_cmd_real(b->others.programs), "cpus_of_host", fr_cmd_real(b->others.host),
                     "repeat", b->args->repeat, "prompts_repeated", b->repeated, "interrupted",
                     (int)b->interrupted, "runs", runs_json(b, -1, 0, b->n_drafters), "tree_sizes",
                     runs_json(b, -1, b->n_drafters, b->n_runs), "sets", sets_json(b));
}

// ---------------------------------------------------------------- tables

static void print_share(double share) {
    if (isnan(share))
        printf(" %8s", "-");
    else if (isinf(share))
        printf(" %8s", "> 1");
    else
        printf(" %8.2f", share);
}

static void print_interval(fr_interval i) {
    char text[48] = "-";
    if (!isnan(i.low)) snprintf(text, sizeof text, "(%.2f..%.2f)", i.low, i.high);
    printf(" %-12s", text);
}

static void print_run(const fr_bench *b, const fr_bench_run *run, int set) {
    const fr_bench_counts *t = fr_bench_tally(run, set);
    char name[160];
    fr_bench_name(run, name, sizeof name - 16);
    if (run->tree)
        snprintf(name + strlen(name), 16, ", %d node%s", run->tree, run->tree > 1 ? "s" : "");
    fr_cmd_print(stdout, "%-24s %8.2f %7.2fx %6.2f (%.2f..%.2f) %6.2f", name,
                 fr_cmd_rate((double)t->tokens, t->decode), fr_bench_speedup(b, run, set),
                 t->speedup.median, t->speedup.low, t->speedup.high,
                 fr_cmd_rate((double)t->tokens, (double)t->passes));
    print_interval(t->tokens_per_pass);
    printf(" %5.2f %5.1f%%", fr_cmd_rate((double)t->rows, (double)t->passes),
           100 * fr_cmd_rate(t->draft, t->decode));
    print_share(t->break_even.reached);
    print_share(t->break_even.acceptance);
    printf(" %9s\n", !t->difference.file ? "yes" : t->broken ? "NO" : "no");
}

static void print_set(const fr_bench *b, int set) {
    if (set >= 0) {
        putchar('\n');
        fr_cmd_print_clean(stdout, b->sets[set].path, strlen(b->sets[set].path));
        printf(", %d prompt%s\n", b->sets[set].prompts.n, b->sets[set].prompts.n > 1 ? "s" : "");
    } else {
        printf("\n%d prompt%s in total\n", b->n_prompts, b->n_prompts > 1 ? "s" : "");
    }
    printf("%-24s %8s %8s %6s %-12s %6s %-12s %5s %6s %8s %8s %9s\n", "drafter", "tokens/s",
           "speedup", "median", "(interval)", "tokens", "(interval)", "rows", "draft", "accepts",
           "needs", "identical");
    for (int i = 0; i < b->n_runs; i++)
        print_run(b, &b->runs[i], set);
}

static void print_depths(const fr_bench *b) {
    bool title = false;
    for (int i = 0; i < b->n_drafters; i++) {
        const fr_bench_counts *t = &b->runs[i].all;
        if (!t->offered[0]) continue;
        if (!title)
            printf("\naccepted by depth, as a share of the passes with a candidate that deep\n");
        title = true;
        fr_cmd_print(stdout, "%-24s", b->runs[i].spec);
        for (int k = 0; k < FR_MAX_DEPTH && t->offered[k] && k < 12; k++)
            printf(" %5.2f", (double)t->accepted[k] / (double)t->offered[k]);
        putchar('\n');
    }
}

void fr_bench_print(const fr_bench *b) {
    const fr_speedup *s = &b->runs[0].all.speedup;
    fr_cmd_print_clean(stdout, b->info.name, strlen(b->info.name));
    printf(", %s, %d thread%s, at most %d tokens per answer\n", b->info.isa, b->info.threads,
           b->info.threads > 1 ? "s" : "", b->args->n_predict);
    for (int i = 0; i < b->n_sets && b->n_sets > 1; i++)
        print_set(b, i);
    print_set(b, -1);
    print_depths(b);
    printf(
        "\nmedian: speedup of %d answer%s, each paired with that of plain decoding; the interval "
        "has a "
        "confidence of %.1f %%\n"
        "tokens, rows: per pass; the interval contains 95 of 100 bootstrap samples of the prompts\n"
        "draft: share of the decoding time\n"
        "accepts: share of the candidates with an accepted parent that were accepted themselves\n"
        "needs: the value of 'accepts' at which it would be as fast as plain decoding\n",
        s->answers, s->answers > 1 ? "s" : "", 100 * s->confidence);
    if (b->args->repeat > 1)
        printf("every prompt ran %d times, in new sessions\n", b->args->repeat);
}

// ---------------------------------------------------------------- warnings

static void warn_differences(const fr_bench *b) {
    for (int i = 0; i < b->n_runs; i++) {
        const fr_difference *d = &b->runs[i].all.difference;
        if (!d->file) continue;
        fr_cmd_print(stderr,
                     "forerun: bench: %s: output differs from plain decoding, first at token %d of "
                     "the answer to turn %d of prompt ",
                     b->runs[i].spec, d->token, d->turn + 1);
        fr_cmd_print_clean(stderr, d->id, strlen(d->id));
        fputs(" in ", stderr);
        fr_cmd_print_clean(stderr, d->file, strlen(d->file));
        fputs(b->runs[i].all.broken ? "\n" : ", as --accept permits\n", stderr);
    }
}

void fr_bench_warn(const fr_bench *b) {
    warn_differences(b);
    if (b->repeated)
        fprintf(stderr, "forerun: bench: %d repeated prompt%s ran only once\n", b->repeated,
                b->repeated > 1 ? "s" : "");
    if (b->args->quiet || (b->others.programs <= 0 && b->others.host <= 0)) return;
    fputs("forerun: bench: the machine was shared:", stderr);
    if (b->others.programs > 0)
        fprintf(stderr, " other programs used %.2f CPUs;", b->others.programs);
    if (b->others.host > 0) fprintf(stderr, " the host withheld %.2f CPUs;", b->others.host);
    fputs(" times are longer than on an idle machine\n", stderr);
}
