// show.c — tokens a pass by set and drafter, as JSON and as a table.
#include "base/alloc.h"
#include "cmd/lib/generate.h"
#include "cmd/lib/text.h"
#include "lab/cmd/replay/replay.h"
#include <math.h>
#include <string.h>

typedef struct summary { // of a drafter on a set
    int prompts, checked;
    int64_t tokens, passes, rows;
    int64_t accepted[FR_MAX_DEPTH], offered[FR_MAX_DEPTH];
    lab_copied copied;
    fr_interval interval; // of tokens a pass
    fr_interval after;    // ... of the passes that begin after the copied heads
} summary;

// set < 0: all of them. Prompts are what is drawn again, not their turns.
static summary sum_up(const lab_replay *r, const lab_drafter *d, int set) {
    summary s = {.interval = {NAN, NAN}, .after = {NAN, NAN}};
    fr_error unsaid;
    fr_share *shares = fr_alloc_array(2 * (size_t)r->n, sizeof *shares);
    for (int i = 0; i < r->n; i++) {
        const lab_score *of = &d->score[i];
        if (!of->there || (set >= 0 && r->item[i].set != set)) continue;
        if (shares) {
            shares[s.prompts] = (fr_share){(double)of->tokens, (double)of->passes};
            shares[r->n + s.prompts] = (fr_share){(double)(of->tokens - of->copied.tokens),
                                                  (double)(of->passes - of->copied.passes)};
        }
        s.prompts++;
        s.checked += of->checked;
        s.tokens += of->tokens;
        s.passes += of->passes;
        s.rows += of->rows;
        s.copied.tokens += of->copied.tokens;
        s.copied.passes += of->copied.passes;
        for (int k = 0; k < FR_MAX_DEPTH; k++) {
            s.accepted[k] += of->accepted[k];
            s.offered[k] += of->offered[k];
        }
    }
    if (shares) {
        fr_bootstrap_ratio(&s.interval, shares, s.prompts, &unsaid);
        fr_bootstrap_ratio(&s.after, shares + r->n, s.prompts, &unsaid);
    }
    fr_free(shares);
    return s;
}

static double ratio(int64_t much, int64_t many) {
    return many ? (double)much / (double)many : NAN;
}

// Tokens a pass after the copied heads.
static double behind_heads(const summary *s) {
    return ratio(s->tokens - s->copied.tokens, s->passes - s->copied.passes);
}

// ---------------------------------------------------------------- JSON

static json_t *summary_json(const lab_replay *r, const lab_drafter *d, int set) {
    const summary s = sum_up(r, d, set);
    return json_pack(
        "{s:s, s:i, s:i, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "set",
        set < 0 ? "all" : r->set[set].name, "prompts", s.prompts, "checked", s.checked, "tokens",
        (json_int_t)s.tokens, "passes", (json_int_t)s.passes, "tokens_per_pass",
        fr_cmd_real(ratio(s.tokens, s.passes)), "tokens_per_pass_low", fr_cmd_real(s.interval.low),
        "tokens_per_pass_high", fr_cmd_real(s.interval.high), "copied_tokens",
        (json_int_t)s.copied.tokens, "copied_passes", (json_int_t)s.copied.passes,
        "not_copied_per_pass", fr_cmd_real(behind_heads(&s)), "not_copied_per_pass_low",
        fr_cmd_real(s.after.low), "not_copied_per_pass_high", fr_cmd_real(s.after.high),
        "rows_per_pass", fr_cmd_real(ratio(s.rows, s.passes)), "accepted_by_depth",
        fr_cmd_depths(s.accepted, s.offered));
}

static json_t *prompts_json(const lab_replay *r, const lab_drafter *d) {
    json_t *prompts = json_array();
    for (int i = 0; i < r->n; i++)
        if (d->score[i].there) json_array_append_new(prompts, lab_score_json(r, d, i));
    return prompts;
}

json_t *lab_replay_json(const lab_replay *r) {
    json_t *drafters = json_array();
    for (int i = 0; i < r->n_drafters; i++) {
        json_t *sets = json_array();
        for (int set = 0; set < r->n_sets; set++)
            json_array_append_new(sets, summary_json(r, &r->drafter[i], set));
        json_array_append_new(sets, summary_json(r, &r->drafter[i], -1));
        json_array_append_new(drafters,
                              json_pack("{s:O, s:o, s:o}", "setup", r->drafter[i].setup, "sets",
                                        sets, "prompts", prompts_json(r, &r->drafter[i])));
    }
    const lab_seconds *t = &r->seconds;
    return json_pack("{s:o, s:o, s:i, s:{s:f, s:f, s:f, s:f, s:f}}", "model",
                     fr_json_string(fr_engine_describe(r->engine)->name), "drafters", drafters,
                     "differences", r->differences, "seconds", "answers", t->answers, "replay",
                     t->replay, "check", t->check, "tokens_replayed", t->replayed, "tokens_checked",
                     t->checked);
}

// ---------------------------------------------------------------- the table

static const char *interval_text(char text[32], fr_interval interval) {
    if (isnan(interval.low)) return "-";
    snprintf(text, 32, "(%.2f..%.2f)", interval.low, interval.high);
    return text;
}

static void print_row(const lab_replay *r, const lab_drafter *d, int set) {
    const summary s = sum_up(r, d, set);
    char text[2][32];
    printf("%-20s %-28s %7d %8lld %7.3f %-13s %6.2f %7d", set < 0 ? "all" : r->set[set].name,
           d->spec, s.prompts, (long long)s.tokens, ratio(s.tokens, s.passes),
           interval_text(text[0], s.interval), ratio(s.rows, s.passes), s.checked);
    if (s.copied.passes)
        printf("  %lld copied, then %.3f %s", (long long)s.copied.tokens, behind_heads(&s),
               interval_text(text[1], s.after));
    putchar('\n');
}

void lab_replay_print(const lab_replay *r) {
    const char *name = fr_engine_describe(r->engine)->name;
    fr_cmd_print_clean(stdout, name, strlen(name));
    printf(", trees of %s, %d tokens an answer at most, temperature %g\n\n", r->args->tree,
           r->args->n_predict, r->args->temp);
    printf("%-20s %-28s %7s %8s %7s %-13s %6s %7s\n", "set", "drafter", "prompts", "tokens",
           "a pass", "(interval)", "rows", "checked");
    for (int set = 0; set < r->n_sets; set++)
        for (int i = 0; i < r->n_drafters && r->n_sets > 1; i++)
            print_row(r, &r->drafter[i], set);
    for (int i = 0; i < r->n_drafters; i++)
        print_row(r, &r->drafter[i], -1);
    printf(
        "\nthe interval holds 95 of 100 draws of as many prompts; rows: of a pass of the real run; "
        "checked: prompts decoded for real too; copied: tokens of heads that repeat the prompt\n");
}
