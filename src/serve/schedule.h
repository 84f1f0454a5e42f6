// schedule.h — the parts of the scheduler. Only these files include it: scheduler.c (the thread),
// queue.c (jobs arrive and leave), turns.c (which of them have a place), runs.c (a job in its
// context).
//
// A job is QUEUED until it is given a context and a place. Then it is PLACED (it takes part in the
// passes) or PAUSED (it has a context, but no part in the passes). A paused job is set ASIDE if
// another job needs its context; its text is read again when its turn comes.
#ifndef FR_SERVE_SCHEDULE_H
#define FR_SERVE_SCHEDULE_H
#include "serve/clients.h"
#include "serve/scheduler.h"

typedef struct fr_run { // a job that has a context
    fr_job *job;        // NULL: none
    fr_slot *slot;
    fr_request request; // the job's, with its stream here
    fr_buffer text;     // of the stream
    size_t line;        // offset in `text` up to which the indentation was checked
    fr_buffer pieces;   // fr_job_piece's of the text, if they are wanted
    fr_error error;
    int known;                            // tokens in the context after the last step
    bool again;                           // it repeats its own earlier text
    bool failed, timed_out, refused, cut; // cut: by indent or line_seconds
} fr_run;

struct fr_scheduler {
    int n_slots, n_queue;      // how many jobs may have a place, and may wait
    int n_ctx;                 // of a context
    fr_slots slots;            // for the thread alone, like all fields up to `thread`
    fr_run run[FR_SLOTS_MOST]; // one for each context
    uint64_t n_rounds;         // rounds of dealing out places
    // The first step in which a job that was set aside (again_from), or a new job that needs the
    // context of another job of its client (new_from), may take the place of a running job.
    int64_t again_from, new_from;
    int step_tokens; // tokens that the current step gave
    pthread_t thread;
    pthread_mutex_t lock;    // guards all below, and jobs' `cancelled`, `at`, `next`
    pthread_cond_t work;     // there is work, or the scheduler ends
    pthread_cond_t finished; // a job has ended
    fr_job *first, **last;   // jobs that have not ended, in the order of submitting
    int n_jobs;              // the same without refused ones
    int n_at[FR_JOB_PLACES];
    fr_clients clients;
    uint64_t n_submitted;
    int64_t n_steps; // only the thread changes it
    bool draining, cancels, ends;
    fr_counters counters;
    fr_context_state context[FR_SLOTS_MOST]; // [n_contexts] after the last step
    int n_contexts;
};

// ---- queue.c
// Ends jobs without a context that are not wanted, or were refused. Call it with the lock held.
void fr_queue_drop(fr_scheduler *s);
// Ends a job and notifies its readers. stats NULL: it had not begun.
void fr_queue_end(fr_scheduler *s, fr_job *job, fr_job_end end, const fr_stats *stats,
                  const fr_error *error);
void fr_queue_move(fr_scheduler *s, fr_job *job, fr_job_at to);
bool fr_queue_is_late(const fr_job *job, double now);

// ---- turns.c
void fr_turns_deal(fr_scheduler *s); // gives places to waiting jobs, before a step
// Sets which texts are read first in the step: those of clients that got least recently.
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
// Whether the job can lose its context: everything but log probabilities of a prompt can be made
// again.
bool fr_run_can_be_set_aside(const fr_run *r);
void fr_run_set_aside(fr_scheduler *s, fr_run *r);
void fr_run_pause(fr_scheduler *s, fr_run *r);
// Gives a job a place. False: there is no context for it.
bool fr_run_place(fr_scheduler *s, fr_job *job);
// Runs a step of all jobs that have a place.
void fr_runs_step(fr_scheduler *s);

#endif
