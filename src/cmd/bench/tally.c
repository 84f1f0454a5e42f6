// tally.c — sums, medians, intervals, break-even.
#include "cmd/bench/tally.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "cmd/lib/timings.h"
#include "decode/counts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void fr_bench_counts_free(fr_bench_counts *t) {
    fr_free(t->pairs);
    *t = (fr_bench_counts){0};
}

static fr_status add_pairs(fr_bench_counts *t, const fr_pair *pairs, size_t n, fr_error *err) {
    void *data = t->pairs;
    if (!fr_list_reserve(&data, &t->cap_pairs, t->n_pairs, n, sizeof *pairs))
        return fr_fail(err, FR_ENOMEM, "bench: no memory for %zu answers", t->n_pairs + n);
    t->pairs = data;
    if (n) memcpy(t->pairs + t->n_pairs, pairs, n * sizeof *pairs);
    t->n_pairs += n;
    return FR_OK;
}

static void add_counts(fr_bench_counts *t, const fr_bench_counts *from) {
    t->decode += from->decode;
    t->draft += from->draft;
    t->predicted += from->predicted;
    t->predicted_plain += from->predicted_plain;
    t->tokens += from->tokens;
    t->bytes += from->bytes;
    t->passes += from->passes;
    t->rows += from->rows;
    t->expected += from->expected;
    fr_counts_merge(&t->counts, &from->counts);
    for (int i = 0; i < FR_MAX_DEPTH; i++) {
        t->offered[i] += from->offered[i];
        t->accepted[i] += from->accepted[i];
    }
    for (int i = 0; i <= FR_COUNTED_ROWS; i++) {
        t->passes_by_rows[i] += from->passes_by_rows[i];
        t->seconds_by_rows[i] += from->seconds_by_rows[i];
        t->predicted_by_rows[i] += from->predicted_by_rows[i];
    }
}

fr_status fr_bench_counts_merge(fr_bench_counts *t, const fr_bench_counts *from, fr_error *err) {
    const bool first = !t->n_pairs;
    const fr_status st = add_pairs(t, from->pairs, from->n_pairs, err);
    if (st || !from->n_pairs) return st;
    add_counts(t, from);
    if (first || from->least < t->least) {
        t->least = from->least;
        t->least_id = from->least_id;
    }
    if (first || from->most > t->most) {
        t->most = from->most;
        t->most_id = from->most_id;
    }
    t->broken |= from->broken;
    if (!t->difference.file) t->difference = from->difference;
    return FR_OK;
}

fr_status fr_bench_counts_add(fr_bench_counts *t, const fr_stats *s, size_t bytes, fr_pair pair,
                              const char *id, fr_error *err) {
    pair.tokens = s->completion_tokens;
    pair.passes = s->passes;
    fr_bench_counts one = {.decode = s->seconds_decode,
                           .draft = s->seconds_draft,
                           .predicted = s->predicted,
                           .predicted_plain = s->predicted_plain,
                           .tokens = s->completion_tokens,
                           .bytes = (int64_t)bytes,
                           .passes = s->passes,
                           .rows = s->rows,
                           .expected = s->expected,
                           .counts = s->draft,
                           .pairs = &pair,
                           .n_pairs = 1,
                           .least = pair.speedup,
                           .most = pair.speedup,
                           .least_id = id,
                           .most_id = id};
    memcpy(one.offered, s->offered, sizeof one.offered);
    memcpy(one.accepted, s->accepted, sizeof one.accepted);
    memcpy(one.passes_by_rows, s->passes_by_rows, sizeof one.passes_by_rows);
    memcpy(one.seconds_by_rows, s->seconds_by_rows, sizeof one.seconds_by_rows);
    memcpy(one.predicted_by_rows, s->predicted_by_rows, sizeof one.predicted_by_rows);
    return fr_bench_counts_merge(t, &one, err);
}

int fr_first_difference(const int32_t *a, size_t n_a, const int32_t *b, size_t n_b) {
    size_t i = 0;
    while (i < n_a && i < n_b && a[i] == b[i])
        i++;
    return i == n_a && i == n_b ? -1 : (int)i;
}

// ---------------------------------------------------------------- the paired speedup

static int by_answer(const void *a, const void *b) {
    const fr_pair *x = a, *y = b;
    if (x->answer != y->answer) return x->answer < y->answer ? -1 : 1;
    return (x->speedup > y->speedup) - (x->speedup < y->speedup);
}

// P(Bin(n, 1/2) = i)
static double binomial(int n, int i) {
    return exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) - n * log(2));
}

// The largest k whose interval has the confidence, or 1.
static int rank_of_interval(int n, double *confidence) {
    const double wanted = 0.95;
    double outside = 2 * binomial(n, 0);
    int k = 1;
    *confidence = fmax(0, 1 - outside);
    while (2 * (k + 1) <= n) {
        outside += 2 * binomial(n, k);
        if (1 - outside < wanted) break;
        *confidence = 1 - outside;
        k++;
    }
    return k;
}

// The median of each answer's pairs; returns how many answers there are.
static int medians_of_answers(fr_pair *pairs, size_t n_pairs, double *to) {
    int n = 0;
    qsort(pairs, n_pairs, sizeof *pairs, by_answer);
    for (size_t i = 0, end; i < n_pairs; i = end) {
        for (end = i; end < n_pairs && pairs[end].answer == pairs[i].answer;)
            end++;
        to[n++] = 0.5 * (pairs[(i + end - 1) / 2].speedup + pairs[(i + end) / 2].speedup);
    }
    return n;
}

static fr_status find_speedup(fr_bench_counts *t, fr_error *err) {
    fr_speedup *s = &t->speedup;
    *s = (fr_speedup){0};
    if (!t->n_pairs) return FR_OK;
    double *values = fr_alloc_array(t->n_pairs, sizeof *values);
    if (!values) return fr_fail(err, FR_ENOMEM, "bench: no memory for %zu answers", t->n_pairs);
    s->answers = medians_of_answers(t->pairs, t->n_pairs, values);
    s->median = fr_median(values, s->answers); // sorts
    const int k = rank_of_interval(s->answers, &s->confidence);
    s->low = values[k - 1];
    s->high = values[s->answers - k];
    fr_free(values);
    return FR_OK;
}

// ---------------------------------------------------------------- tokens a pass

static int by_prompt(const void *a, const void *b) {
    const fr_pair *x = a, *y = b;
    return (x->prompt > y->prompt) - (x->prompt < y->prompt);
}

// Answers of one prompt are no independent draws, so prompts are drawn.
static fr_status find_tokens_per_pass(fr_bench_counts *t, fr_error *err) {
    int n = 0;
    fr_share *shares = fr_alloc_array(t->n_pairs + 1, sizeof *shares);
    if (!shares) return fr_fail(err, FR_ENOMEM, "bench: no memory for %zu answers", t->n_pairs);
    if (t->n_pairs) qsort(t->pairs, t->n_pairs, sizeof *t->pairs, by_prompt);
    for (size_t i = 0; i < t->n_pairs; i++) {
        const fr_pair *pair = &t->pairs[i];
        if (!i || pair->prompt != pair[-1].prompt) shares[n++] = (fr_share){0};
        shares[n - 1].numerator += (double)pair->tokens;
        shares[n - 1].denominator += (double)pair->passes;
    }
    const fr_status st = fr_bootstrap_ratio(&t->tokens_per_pass, shares, n, err);
    fr_free(shares);
    return st;
}

// ---------------------------------------------------------------- break-even

static double tokens_at(const fr_bench_counts *t, double acceptance) {
    double tokens = 1, power = 1;
    for (int k = 0; k < FR_MAX_DEPTH && t->offered[k]; k++) {
        power *= acceptance;
        tokens += power * (double)t->offered[k] / (double)t->passes;
    }
    return tokens;
}

static double acceptance_for(const fr_bench_counts *t, double tokens) {
    if (!t->passes || !t->offered[0]) return NAN;
    if (tokens <= 1) return 0;
    if (tokens > tokens_at(t, 1) * (1 + 1e-9)) return INFINITY;
    double lo = 0, hi = 1;
    for (int i = 0; i < 60; i++) {
        const double middle = 0.5 * (lo + hi);
        *(tokens_at(t, middle) < tokens ? &lo : &hi) = middle;
    }
    return 0.5 * (lo + hi);
}

// The speedup if each pass took its measured cost. Drafting, drawing and accepting were timed by
// the clock, so these times are scaled: other programs slowed them as much as the passes of plain
// decoding.
static double predicted_speedup(const fr_bench_counts *t, const fr_bench_counts *plain) {
    if (!(plain->predicted > 0 && t->predicted > 0)) return NAN;
    const double passes = fr_pass_seconds(plain->seconds_by_rows), held = passes / plain->predicted;
    const double share = (double)t->tokens / (double)plain->tokens;
    return (t->predicted_plain + share * (plain->decode - passes) / held) /
           (t->predicted + (t->decode - fr_pass_seconds(t->seconds_by_rows)) / held);
}

fr_status fr_bench_counts_finish(fr_bench_counts *t, const fr_bench_counts *plain, fr_error *err) {
    fr_break_even *b = &t->break_even;
    *b = (fr_break_even){.tokens_per_pass = NAN, .acceptance = NAN, .reached = NAN};
    if (t->passes && plain->tokens && plain->decode > 0) {
        b->tokens_per_pass =
            t->decode / (double)t->passes / (plain->decode / (double)plain->tokens);
        b->acceptance = acceptance_for(t, b->tokens_per_pass);
        b->reached = acceptance_for(t, (double)t->tokens / (double)t->passes);
    }
    t->predicted_speedup = predicted_speedup(t, plain);
    const fr_status st = find_tokens_per_pass(t, err);
    return st ? st : find_speedup(t, err);
}
