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
