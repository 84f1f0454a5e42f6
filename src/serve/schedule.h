// schedule.h — what the scheduler is made of: between scheduler.c (the thread), queue.c (jobs come
// and go), turns.c (which of them have a place) and runs.c (one in its context) alone.
//
// A job is QUEUED until it is given a context and a place; then it is PLACED, in the passes, or
// PAUSED, in its context and in no pass. A paused one is set ASIDE where another one needs its
// context: what it has written is read again when its turn comes.
#ifndef FR_SERVE_SCHEDULE_H
#define FR_SERVE_SCHEDULE_H
#include "serve/clients.h"
#include "serve/scheduler.h"

typedef struct fr_run { // a job that has a context
    fr_job *job;        // NULL: none
    fr_slot *slot;
    fr_request request; // the job's, with its stream here
    fr_buffer text;     // of the stream
    size_t line;        // in it: up to here lines are indented as they must be
    fr_buffer pieces;   // ... as fr_job_piece's, where they are wanted
    fr_error error;
    int known;                            // tokens in the context after the last step
    bool again;                           // what comes is its own text of before
    bool failed, timed_out, refused, cut; // cut: by its lines
} fr_run;

struct fr_scheduler {
    int n_slots, n_queue;      // jobs that may be at work, and wait
    int n_ctx;                 // of a context
    fr_slots slots;            // of the thread alone, as is all up to `thread`
    fr_run run[FR_SLOTS_MOST]; // one for each context
    uint64_t n_rounds;         // of dealing out places
    // The steps from which on one that was set aside, and a new one that needs the context of
    // another one of its client, may take the place of one at work.
    int64_t again_from, new_from;
    int step_tokens; // that the step at hand gave
    pthread_t thread;
    pthread_mutex_t lock;    // of all below, and of jobs' `cancelled`, `at`, `next`
    pthread_cond_t work;     // there is some, or the end
    pthread_cond_t finished; // a job has
    fr_job *first, **last;   // that have not ended, in the order in which they came
    int n_jobs;              // of these, without those that were refused
    int n_at[FR_JOB_PLACES];
    fr_clients clients;
    uint64_t n_submitted;
    int64_t n_steps; // the thread alone counts them
    bool draining, cancels, ends;
    fr_counters counters;
    fr_context_state context[FR_SLOTS_MOST]; // [n_contexts] after the last step
    int n_contexts;
};

// ---- queue.c
// Ends jobs without a context that are not wanted, or were refused. With the lock held.
void fr_queue_drop(fr_scheduler *s);
// A job that has begun (`stats`) or not (NULL) ends, which its readers see.
void fr_queue_end(fr_scheduler *s, fr_job *job, fr_job_end end, const fr_stats *stats,
                  const fr_error *error);
void fr_queue_move(fr_scheduler *s, fr_job *job, fr_job_at to);
bool fr_queue_is_late(const fr_job *job, double now);

// ---- turns.c
void fr_turns_deal(fr_scheduler *s); // places to jobs that wait, before a step
// Which texts are read first in the step: those of clients that had least of late.
void fr_turns_order(fr_scheduler *s);

// ---- runs.c
// The run of a job that has a context.
fr_run *fr_run_of(fr_scheduler *s, const fr_job *job);
static inline bool fr_has_context(const fr_job *job) {
    return job->at == FR_JOB_PLACED || job->at == FR_JOB_PAUSED;
}
static inline bool fr_run_is_placed(const fr_run *r) {
    return r->job && r->job->at == FR_JOB_PLACED;
}
// Whether the context can be given up: all but scores of a prompt is made again.
bool fr_run_can_be_set_aside(const fr_run *r);
void fr_run_set_aside(fr_scheduler *s, fr_run *r);
void fr_run_pause(fr_scheduler *s, fr_run *r);
// Gives a job a place. False: there is no context for it.
bool fr_run_place(fr_scheduler *s, fr_job *job);
// A step of all that have a place.
void fr_runs_step(fr_scheduler *s);

#endif
