// counts.h — statistics that drafters report by name: sums and means, which add up over answers.
// And the total time of passes.
#ifndef FR_DECODE_COUNTS_H
#define FR_DECODE_COUNTS_H
#include "forerun.h"

// Adds to the count of the same drafter and name, or makes a new one; where the list is full it is
// left out.
void fr_counts_add(fr_draft_counts *all, const fr_draft_count *count);
void fr_counts_merge(fr_draft_counts *all, const fr_draft_counts *from);

// The sum, or sum / of; NAN for a mean of nothing.
double fr_count_value(const fr_draft_count *count);

// The statistics of an answer that was given in parts: `before` of the earlier parts, `last` of the
// last one. prompt_reused is that of the first part. A `before` of zeroes adds nothing.
fr_stats fr_stats_after(const fr_stats *before, const fr_stats *last);

// All passes together: `by_rows` is seconds_by_rows of fr_stats.
double fr_pass_seconds(const double by_rows[FR_COUNTED_ROWS + 1]);

#endif
