#include "decode/counts.h"
#include <math.h>
#include <string.h>

static bool same(const fr_draft_count *a, const fr_draft_count *b) {
    return !strcmp(a->name, b->name) && !strcmp(a->drafter, b->drafter);
}

void fr_counts_add(fr_draft_counts *all, const fr_draft_count *count) {
    int i = 0;
    while (i < all->n && !same(&all->count[i], count))
        i++;
    if (i == FR_DRAFT_COUNTS) return;
    if (i < all->n) {
        all->count[i].sum += count->sum;
        all->count[i].of += count->of;
        return;
    }
    all->count[all->n++] = *count;
}

void fr_counts_merge(fr_draft_counts *all, const fr_draft_counts *from) {
    for (int i = 0; i < from->n; i++)
        fr_counts_add(all, &from->count[i]);
}

double fr_count_value(const fr_draft_count *count) {
    if (!count->mean) return count->sum;
    return count->of > 0 ? count->sum / count->of : NAN;
}

double fr_pass_seconds(const double by_rows[FR_COUNTED_ROWS + 1]) {
    double sum = 0;
    for (int i = 0; i <= FR_COUNTED_ROWS; i++)
        sum += by_rows[i];
    return sum;
}

static void add_times(fr_stats *all, const fr_stats *s) {
    all->seconds_prompt += s->seconds_prompt;
    all->seconds_decode += s->seconds_decode;
    all->seconds_draft += s->seconds_draft;
    all->seconds_verify += s->seconds_verify;
    all->predicted += s->predicted;
    all->predicted_plain += s->predicted_plain;
}

fr_stats fr_stats_after(const fr_stats *before, const fr_stats *last) {
    fr_stats all = *last;
    if (!before->prompt_tokens) return all;
    all.prompt_reused = before->prompt_reused;
    all.completion_tokens += before->completion_tokens;
    all.passes += before->passes;
    all.rows += before->rows;
    all.plain_passes += before->plain_passes;
    all.expected += before->expected;
    add_times(&all, before);
    for (int i = 0; i < FR_MAX_DEPTH; i++) {
        all.offered[i] += before->offered[i];
        all.accepted[i] += before->accepted[i];
    }
    for (int i = 0; i <= FR_COUNTED_ROWS; i++) {
        all.passes_by_rows[i] += before->passes_by_rows[i];
        all.seconds_by_rows[i] += before->seconds_by_rows[i];
        all.predicted_by_rows[i] += before->predicted_by_rows[i];
    }
    fr_counts_merge(&all.draft, &before->draft);
    return all;
}
