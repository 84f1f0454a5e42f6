// counters.h — counts of a server's answers and passes, for /metrics. Not thread-safe: the
// scheduler's lock guards it.
#ifndef FR_SERVE_COUNTERS_H
#define FR_SERVE_COUNTERS_H
#include "serve/job.h"

enum { FR_COUNTERS_BOUNDS = 16 };

typedef struct fr_histogram {
    const double *bound; // ascending, ends with 0: a value counts at the first bound not below it
    uint64_t count[FR_COUNTERS_BOUNDS + 1]; // [the bounds, and one above them]
    uint64_t n;
    double sum;
} fr_histogram;

typedef struct fr_counters {
    uint64_t ended[FR_JOB_FAILED + 1]; // jobs, by their end
    uint64_t preemptions;              // how often jobs were paused
    uint64_t prompt_tokens, reused_tokens, tokens;
    uint64_t most_tokens;            // largest prompt with its answer
    double reading, writing;         // seconds of jobs: until the first token; from then to the end
    uint64_t passes, sessions;       // of all passes together
    double busy, passed, predicted;  // seconds of steps; of their passes; predicted for those
    uint64_t drafts, drafted;        // passes of one text that drafted; their drafted tokens
    uint64_t accepted[FR_MAX_DEPTH]; // drafted tokens that were accepted, by place in the draft
    fr_histogram first_token, between_tokens, end_to_end, queued; // seconds of a job
    fr_histogram prompt, answer;                                  // tokens of a job
    fr_histogram rows, pass_tokens;                               // of a shared pass
    fr_group_pass last; // the last shared pass, and the tokens that it gave
    int last_tokens;
} fr_counters;

void fr_counters_open(fr_counters *t);
// A job has ended. stats NULL: it had not begun.
void fr_counters_end(fr_counters *t, const fr_job *job, fr_job_end end, const fr_stats *stats,
                     double now);
// A step of all running texts gave so many tokens.
void fr_counters_pass(fr_counters *t, const fr_group_pass *pass, int tokens, double seconds);
uint64_t fr_counters_accepted(const fr_counters *t); // at all places

#endif
