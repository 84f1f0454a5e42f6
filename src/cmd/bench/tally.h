// tally.h — what `bench` counts of one drafter, and what the numbers say.
//
// A *pair* is one answer's speed by a drafter over that of plain decoding just before: what the
// machine does in that moment it does to both. Answers that were repeated stay one answer: their
// median counts, once. Nothing here is printed or measured.
#ifndef FR_CMD_BENCH_TALLY_H
#define FR_CMD_BENCH_TALLY_H
#include "base/status.h"
#include "cmd/lib/bootstrap.h"

typedef struct fr_pair {
    int answer; // the same number: the same turn of the same prompt
    double speedup;
    int prompt;             // the same number: the same prompt
    int64_t tokens, passes; // set by fr_bench_counts_add
} fr_pair;

typedef struct fr_difference { // where an output first differs from plain decoding's
    const char *file, *id;     // file NULL: nowhere. Both are the prompts'
    int turn, token;           // from 0
} fr_difference;

// The interval runs from the k-th least to the k-th largest answer: whatever their distribution,
// their median lies outside of it with 2 P(Bin(n, 1/2) < k) [Thompson 1936]. k is the largest with
// a confidence of 95 % or more; fewer than six answers give less, at k = 1.
typedef struct fr_speedup {
    int answers; // that the rest is of; 0: all else is 0
    double median, low, high, confidence;
} fr_speedup;

// The tokens that a drafter's steps need to be as fast as plain decoding, and the tokens that they
// bring.
//
// Passes offered depth k offered[k - 1] times. Were each of those accepted with probability a if
// its parent is, a pass would bring 1 + sum over k of offered[k - 1] / passes * a^k tokens: where
// all offer depth n, the (1 - a^(n + 1)) / (1 - a) of Leviathan et al. 2023, equation 1.
typedef struct fr_break_even {
    double tokens_per_pass; // a step's seconds over those of a plain token
    double acceptance;      // the a that brings them; INFINITY: none does; NAN: it never drafted
    double reached;         // the a that brings the tokens that there were
} fr_break_even;

typedef struct fr_bench_counts { // {0} is empty
    double decode, draft;        // seconds
    double predicted,
        predicted_plain; // the same of passes by their cost, and of a plain token each
    int64_t tokens, bytes, passes, rows;
    int64_t offered[FR_MAX_DEPTH], accepted[FR_MAX_DEPTH];
    int64_t passes_by_rows[FR_COUNTED_ROWS + 1];
    double seconds_by_rows[FR_COUNTED_ROWS + 1], predicted_by_rows[FR_COUNTED_ROWS + 1];
    double expected;        // tokens, by the scores of the trees
    fr_draft_counts counts; // of the drafter itself
    fr_pair *pairs;
    size_t n_pairs, cap_pairs;
    double least, most;             // of the pairs
    const char *least_id, *most_id; // of their prompts
    bool broken;                    // what had to be the same bytes differs
    fr_difference difference;
    fr_speedup speedup;          // these four by fr_bench_counts_finish
    fr_interval tokens_per_pass; // of prompts drawn again
    fr_break_even break_even;
    double predicted_speedup; // NAN: the cost of passes is not known
} fr_bench_counts;

void fr_bench_counts_free(fr_bench_counts *t);
// One answer of `bytes` bytes of text to prompt `id`. FR_ENOMEM.
fr_status fr_bench_counts_add(fr_bench_counts *t, const fr_stats *stats, size_t bytes, fr_pair pair,
                              const char *id, fr_error *err);
// Adds all that `from` holds; its answers are others than those of *t if their numbers are. Of two
// differences the one that is there first stays. FR_ENOMEM.
fr_status fr_bench_counts_merge(fr_bench_counts *t, const fr_bench_counts *from, fr_error *err);

// The first place at which two outputs differ, the end of one of them included; -1: they are equal.
int fr_first_difference(const int32_t *a, size_t n_a, const int32_t *b, size_t n_b);

// Fills speedup, tokens_per_pass, break_even and predicted_speedup. FR_ENOMEM.
fr_status fr_bench_counts_finish(fr_bench_counts *t, const fr_bench_counts *plain, fr_error *err);

#endif
