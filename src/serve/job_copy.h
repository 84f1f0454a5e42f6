// job_copy.h — one reader's copy of a job's results.
//
// A reader builds answers from its own copy. The job is locked only while new results are copied:
// the scheduler's thread waits for that lock.
#ifndef FR_SERVE_JOB_COPY_H
#define FR_SERVE_JOB_COPY_H
#include "serve/job.h"

typedef struct fr_job_copy { // members are those of fr_job; {0}: nothing yet
    fr_job_state state;
    fr_job_end end;
    fr_error error;
    fr_buffer text, pieces;
    int32_t *tokens;
    fr_logprobs *logprobs;
    const fr_logprobs *prompt_logprobs; // the job's own, which do not change
    size_t tokens_cap, logprobs_cap;
    int n_tokens, n_read, n_reused, n_first, stopped_by, context;
    bool cut;
    fr_stats stats;
    double started, first_token, ended;
} fr_job_copy;

// Copies the results that the copy does not have yet. FR_ENOMEM: the copy is unchanged.
fr_status fr_job_copy_update(fr_job_copy *copy, fr_job *job, fr_error *err);
// Waits, at most so many seconds, until the job has news for the copy: its begin, more text, or its
// end.
void fr_job_copy_await(const fr_job_copy *copy, fr_job *job, double seconds);
void fr_job_copy_close(fr_job_copy *copy); // {0} is fine

#endif
