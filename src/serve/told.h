// told.h — what came of a job, as one of its readers has it.
//
// A reader builds answers of a copy of its own. The job is locked while what is new is copied, and
// for nothing that takes longer: the scheduler's thread waits for that lock.
#ifndef FR_SERVE_TOLD_H
#define FR_SERVE_TOLD_H
#include "serve/job.h"

typedef struct fr_told { // members are those of fr_job; {0}: nothing yet
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
} fr_told;

// Copies what the job has beyond *told. FR_ENOMEM, and *told is as it was.
fr_status fr_told_read(fr_told *told, fr_job *job, fr_error *err);
// Waits until the job has begun, has more text, or has ended where *told does not know that; at
// most so many seconds.
void fr_told_await(const fr_told *told, fr_job *job, double seconds);
void fr_told_close(fr_told *told); // {0} is fine

#endif
