// page.c — the page: pictures, tables, what the columns mean. Everything is inside it.
#include "base/cpus.h"
#include "base/save.h"
#include "cmd/bench/bench.h"
#include "cmd/lib/generate.h"
#include "cmd/plot/markup.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
    "<meta name=\"generator\" content=\"forerun " FR_VERSION "\"/>\n" // output_kind.c asks
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
    "<meta name=\"color-scheme\" content=\"light dark\"/>\n<style>\n"
    ":root{--paper:#fff;--ink:#1c2126;--soft:#59636e;--rule:#d5dae0;--best:#1d7f46;--bad:#b3283d}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#14181d;--ink:#e8ebee;--soft:#a4aeb9;"
    "--rule:#333b44;--best:#58c98a;--bad:#f3808f}}\n"
    "body{margin:0 auto;padding:1rem;max-width:68rem;background:var(--paper);color:var(--ink);"
    "font:16px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.2rem;margin:2rem 0 .5rem}\n"
    "p{margin:.4rem 0}.soft,figcaption,dd{color:var(--soft)}.bad{color:var(--bad)}\n"
    "figure{margin:1.5rem 0}figcaption{max-width:48rem}\n"
    ".wide{overflow-x:auto}.wide svg{display:block;width:100%;min-width:36rem;max-width:47.5rem;"
    "height:auto}\n"
    "table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.3rem .45rem;text-align:right;border-bottom:1px solid var(--rule);"
    "white-space:nowrap}\n"
    "th:first-child,td:first-child{text-align:left}th{vertical-align:bottom}\n"
    ".best{color:var(--best);font-weight:600}\n"
    "pre{overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere;padding:.6rem;"
    "border:1px solid var(--rule);border-radius:4px;font-size:.85rem}\n"
    "dt{font-weight:600;margin-top:.5rem}dd{margin:0 0 0 1rem}\n"
    "</style>\n";

// ---------------------------------------------------------------- the head

static void put_date(fr_markup *m) {
    char date[40] = "";
    const time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local)) strftime(date, sizeof date, "%Y-%m-%d %H:%M %z", &local);
    fr_markup_text(m, date);
}

// A word as a shell would take it.
static void put_word(fr_markup *m, char *word) {
    if (*word && !word[strcspn(word, " \t\n'\"\\$`&|;<>()*?#~!{}[]")]) {
        fr_markup_text(m, word);
        return;
    }
    fr_markup_raw(m, "'");
    for (char *quote; (quote = strchr(word, '\'')); word = quote + 1) {
        *quote = 0;
        fr_markup_text(m, word);
        fr_markup_raw(m, "'\\''");
        *quote = '\'';
    }
    fr_markup_text(m, word);
    fr_markup_raw(m, "'");
}

static void put_command(fr_markup *m) {
    fr_buffer words;
    if (fr_cmd_read_file(&words, "/proc/self/cmdline", NULL)) return; // no such system
    fr_markup_raw(m, "<pre>");
    for (size_t at = 0; at < words.n; at += strlen(words.data + at) + 1) {
        fr_markup_raw(m, at ? " " : "");
        put_word(m, words.data + at);
    }
    fr_markup_raw(m, "</pre>\n");
    fr_buffer_free(&words);
}

static int fastest(const fr_bench *b, int set) {
    int best = 0;
    for (int i = 1; i < b->n_drafters; i++)
        if (fr_bench_speedup(b, &b->runs[i], set) > fr_bench_speedup(b, &b->runs[best], set))
            best = i;
    return best;
}

// The answer to the page's question, in a sentence.
static void put_verdict(fr_markup *m, const fr_bench *b) {
    if (b->n_drafters < 2) return;
    const fr_bench_run *best = &b->runs[fastest(b, -1)];
    const fr_speedup *s = &best->all.speedup;
    fr_markup_raw(m, "<p><strong>");
    if (best == b->runs) {
        fr_markup_raw(m, "No drafter was faster than plain decoding on these prompts.</strong>");
    } else {
        fr_markup_text(m, best->spec);
        fr_markup_put(
            m,
            " was the fastest over all prompts: %.2f times plain decoding.</strong> The median "
            "speedup of an answer is %.2f (%.2f to %.2f with a confidence of %.0f %%).",
            fr_bench_speedup(b, best, -1), s->median, s->low, s->high, 100 * s->confidence);
        if (s->low <= 1 || s->confidence < 0.95)
            fr_markup_raw(m, " These answers do not show that it is faster in general.");
    }
    fr_markup_raw(m, "</p>\n");
}

static void put_difference(fr_markup *m, const fr_bench_run *run) {
    const fr_difference *d = &run->all.difference;
    if (!d->file) return;
    fr_markup_put(m, "<p class=\"%s\">", run->all.broken ? "bad" : "soft");
    fr_markup_text(m, run->spec);
    fr_markup_put(m,
                  ": output differs from plain decoding%s, first at token %d of turn %d of prompt ",
                  run->all.broken ? "" : " (as --accept permits)", d->token, d->turn + 1);
    fr_markup_text(m, d->id);
    fr_markup_raw(m, " in ");
    fr_markup_text(m, d->file);
    fr_markup_raw(m, ".</p>\n");
}

static void put_notes(fr_markup *m, const fr_bench *b) {
    bool same = true;
    for (int i = 0; i < b->n_runs; i++) {
        put_difference(m, &b->runs[i]);
        same &= !b->runs[i].all.difference.file;
    }
    if (same)
        fr_markup_put(m,
                      "<p>Every drafter gave the bytes of plain decoding: %lld tokens, %lld bytes "
                      "of text.</p>\n",
                      (long long)b->runs[0].all.tokens, (long long)b->runs[0].all.bytes);
    if (b->repeated)
        fr_markup_put(m, "<p>%d repeated prompt%s ran only once.</p>\n", b->repeated,
                      b->repeated > 1 ? "s" : "");
    if (b->args->repeat > 1)
        fr_markup_put(m, "<p>Every prompt ran %d times, in new sessions.</p>\n", b->args->repeat);
    if (b->others.programs > 0 || b->others.host > 0) {
        fr_markup_raw(m, "<p class=\"bad\">The machine was shared:");
        if (b->others.programs > 0)
            fr_markup_put(m, " other programs used %.2f CPUs;", b->others.programs);
        if (b->others.host > 0) fr_markup_put(m, " the host withheld %.2f CPUs;", b->others.host);
        fr_markup_raw(
            m, " times are longer than on an idle machine, and the pairs differ more.</p>\n");
    }
}

static void put_head(fr_markup *m, const fr_bench *b) {
    char cpu[128];
    fr_cpu_name(cpu, sizeof cpu);
    fr_markup_raw(m, head);
    fr_markup_raw(m, "<title>forerun bench: ");
    fr_markup_text(m, b->info.name);
    fr_markup_raw(m, "</title>\n</head>\n<body>\n<h1>Drafters on ");
    fr_markup_text(m, b->info.name);
    fr_markup_raw(m, "</h1>\n<p class=\"soft\">");
    fr_markup_text(m, cpu);
    fr_markup_put(m, ", %s, %d thread%s; %d prompt%s, at most %d tokens per answer, ", b->info.isa,
                  b->info.threads, b->info.threads > 1 ? "s" : "", b->n_prompts,
                  b->n_prompts > 1 ? "s" : "", b->args->n_predict);
    if (b->args->temp > 0)
        fr_markup_put(m, "temperature %g, seed %llu; ", b->args->temp,
                      (unsigned long long)b->sampling.seed);
    else
        fr_markup_raw(m, "greedy; ");
    put_date(m);
    fr_markup_raw(m, "; forerun " FR_VERSION "</p>\n");
    put_command(m);
    put_verdict(m, b);
    put_notes(m, b);
}

// ---------------------------------------------------------------- tables

static void put_number(fr_markup *m, double number) {
    if (isnan(number))
        fr_markup_raw(m, "<td>-</td>");
    else if (isinf(number))
        fr_markup_raw(m, "<td>above 1</td>");
    else
        fr_markup_put(m, "<td>%.2f</td>", number);
}

static void put_row(fr_markup *m, const fr_bench *b, int run, int set, bool sizes) {
    const fr_bench_run *r = &b->runs[run];
    const fr_bench_counts *t = fr_bench_tally(r, set);
    const double passes = (double)t->passes;
    char name[160];
    fr_bench_name(r, name, sizeof name);
    fr_markup_put(m, "<tr%s><td>", !sizes && run == fastest(b, set) ? " class=\"best\"" : "");
    fr_markup_text(m, name);
    fr_markup_raw(m, "</td>");
    if (sizes) fr_markup_put(m, "<td>%d</td>", r->tree);
    fr_markup_put(m, "<td>%.2f</td><td>%.2f</td>", fr_cmd_rate((double)t->tokens, t->decode),
                  fr_bench_speedup(b, r, set));
    put_number(m, t->predicted_speedup);
    fr_markup_put(m, "<td>%.2f (%.2f to %.2f)</td>", t->speedup.median, t->speedup.low,
                  t->speedup.high);
    fr_markup_put(m, "<td>%.2f", fr_cmd_rate((double)t->tokens, passes));
    if (!isnan(t->tokens_per_pass.low))
        fr_markup_put(m, " (%.2f to %.2f)", t->tokens_per_pass.low, t->tokens_per_pass.high);
    fr_markup_put(m, "</td><td>%.2f</td><td>%.2f</td><td>%.1f %%</td>",
                  fr_cmd_rate(t->expected, passes), fr_cmd_rate((double)t->rows, passes),
                  100 * fr_cmd_rate(t->draft, t->decode));
    put_number(m, t->break_even.reached);
    put_number(m, t->break_even.acceptance);
    fr_markup_put(m, "<td%s>%s</td></tr>\n", t->broken ? " class=\"bad\"" : "",
                  t->difference.file ? "no" : "yes");
}

static void put_table(fr_markup *m, const fr_bench *b, int set, bool sizes) {
    const fr_speedup *s = &fr_bench_tally(&b->runs[0], set)->speedup;
    fr_markup_put(m,
                  "<p class=\"soft\">%d answer%s; intervals contain the median with a confidence "
                  "of %.1f %%.</p>\n",
                  s->answers, s->answers > 1 ? "s" : "", 100 * s->confidence);
    fr_markup_raw(m, "<div class=\"wide\"><table>\n<tr><th>drafter</th>");
    if (sizes) fr_markup_raw(m, "<th>nodes</th>");
    fr_markup_raw(m, "<th>tokens/s</th><th>speedup</th><th>predicted</th><th>median (interval)</th>"
                     "<th>tokens<br/>per pass</th><th>expected</th>"
                     "<th>rows<br/>per pass</th><th>draft<br/>share</th><th>acceptance</th>"
                     "<th>break-even</th><th>identical</th></tr>\n");
    for (int i = sizes ? b->n_drafters : 0; i < (sizes ? b->n_runs : b->n_drafters); i++)
        put_row(m, b, i, set, sizes);
    fr_markup_raw(m, "</table></div>\n");
}

static void put_tables(fr_markup *m, const fr_bench *b) {
    fr_markup_raw(m, "<h2>All prompts</h2>\n");
    put_table(m, b, -1, false);
    if (b->n_runs > b->n_drafters) {
        fr_markup_raw(m, "<h2>Trees of fixed sizes, all prompts</h2>\n");
        put_table(m, b, -1, true);
    }
    for (int i = 0; i < b->n_sets && b->n_sets > 1; i++) {
        fr_markup_raw(m, "<h2>");
        fr_markup_text(m, b->sets[i].path);
        fr_markup_put(m, ": %d prompt%s</h2>\n", b->sets[i].prompts.n,
                      b->sets[i].prompts.n > 1 ? "s" : "");
        put_table(m, b, i, false);
    }
}

// Where each drafter gained least and most.
static void put_extremes(fr_markup *m, const fr_bench *b) {
    if (b->n_drafters < 2) return;
    fr_markup_raw(
        m, "<h2>Lowest and highest speedups</h2>\n<div class=\"wide\"><table>\n<tr><th>drafter</th>"
           "<th>lowest</th><th>prompt</th><th>highest</th><th>prompt</th></tr>\n");
    for (int i = 1; i < b->n_drafters; i++) {
        const fr_bench_counts *t = &b->runs[i].all;
        fr_markup_raw(m, "<tr><td>");
        fr_markup_text(m, b->runs[i].spec);
        fr_markup_put(m, "</td><td>%.2f</td><td>", t->least);
        fr_markup_text(m, t->least_id);
        fr_markup_put(m, "</td><td>%.2f</td><td>", t->most);
        fr_markup_text(m, t->most_id);
        fr_markup_raw(m, "</td></tr>\n");
    }
    fr_markup_raw(m, "</table></div>\n");
}

static const char *const columns[][2] = {
    {"tokens/s",
     "Tokens of all answers, divided by the seconds of decoding. Reading prompts does not count."},
    {"speedup", "Tokens/s, divided by that of plain decoding."},
    {"predicted",
     "The speedup of the same answers, computed from the measured cost of the passes."},
    {"median (interval)",
     "The median speedup of an answer, each paired with the answer of plain decoding at the same "
     "moment; and the interval of that median by the sign test."},
    {"tokens per pass", "Tokens divided by passes of the model; plain decoding has 1. The brackets "
                        "contain 95 of 100 bootstrap samples of the prompts."},
    {"expected", "Tokens per pass that the drafter's own scores predicted."},
    {"rows per pass", "Tokens that a pass evaluated: the known one and the candidates."},
    {"draft share", "Share of the seconds of decoding that drafting took."},
    {"acceptance", "The probability that a candidate is accepted if its parent was, computed from "
                   "the tokens per pass and the depth of the trees."},
    {"break-even", "The acceptance at which the same passes in the same time would be as fast as "
                   "plain decoding. Above 1: no acceptance is high enough."},
    {"identical", "Whether all tokens and all bytes of text are the same as with plain decoding."},
};

static void put_columns(fr_markup *m) {
    fr_markup_raw(m, "<h2>What the columns mean</h2>\n<dl>\n");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        fr_markup_put(m, "<dt>%s</dt>", columns[i][0]);
        fr_markup_put(m, "<dd>%s</dd>\n", columns[i][1]);
    }
    fr_markup_raw(m, "</dl>\n");
}

// ---------------------------------------------------------------- files

static fr_status write_page(const fr_bench *b, const fr_bench_picture *pictures, fr_buffer *out,
                            fr_error *err) {
    fr_markup m = {.out = out, .err = err};
    put_head(&m, b);
    for (int i = 0; i < FR_BENCH_PICTURES; i++) {
        if (!pictures[i].svg.n) continue;
        fr_markup_raw(&m, "<figure><div class=\"wide\">\n");
        fr_markup_raw(&m, pictures[i].svg.data);
        fr_markup_put(&m, "</div><figcaption>%s</figcaption></figure>\n", pictures[i].caption);
    }
    put_tables(&m, b);
    put_extremes(&m, b);
    put_columns(&m);
    fr_markup_raw(&m, "</body>\n</html>\n");
    return m.st;
}

static fr_status save_in(const char *folder, const char *file, const char *bytes, size_t n,
                         fr_error *err) {
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    if (length < 0 || length >= (int)sizeof path)
        return fr_fail(err, FR_EIO, "%.100s...: too long a path", folder);
    return bytes ? fr_save(path, bytes, n, err) : fr_save_check(path, err);
}

static fr_status save_json(const fr_bench *b, const char *folder, fr_error *err) {
    json_t *value = fr_bench_json(b);
    char *text = value ? json_dumps(value, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(value);
    if (!text) return fr_fail(err, FR_ENOMEM, "bench: no memory for the JSON document");
    const fr_status st = save_in(folder, "bench.json", text, strlen(text), err);
    free(text);
    return st;
}

fr_status fr_bench_page_check(const char *folder, fr_error *err) {
    if (mkdir(folder, 0777) && errno != EEXIST)
        return fr_fail(err, FR_EIO, "%s: %s", folder, strerror(errno));
    return save_in(folder, "index.html", NULL, 0, err);
}

fr_status fr_bench_page(const fr_bench *b, const char *folder, fr_error *err) {
    fr_bench_picture pictures[FR_BENCH_PICTURES];
    fr_buffer page = {0};
    fr_status st = fr_bench_draw(b, pictures, err);
    if (!st) st = write_page(b, pictures, &page, err);
    for (int i = 0; i < FR_BENCH_PICTURES; i++) {
        if (!st && pictures[i].svg.n)
            st = save_in(folder, pictures[i].file, pictures[i].svg.data, pictures[i].svg.n, err);
        fr_buffer_free(&pictures[i].svg);
    }
    if (!st) st = save_json(b, folder, err);
    if (!st) st = save_in(folder, "index.html", page.data, page.n, err);
    fr_buffer_free(&page);
    return st;
}
