// scheduler.h — answers many requests in shared passes: a queue, contexts (slots.h), and one thread
// that owns all passes.
//
// The thread gives waiting jobs contexts in the order in which they came, steps the group, tells
// every job what it got, and sleeps where there is nothing to do. Everything else may be called
// from any thread.
#ifndef FR_SERVE_SCHEDULER_H
#define FR_SERVE_SCHEDULER_H
#include "serve/job.h"

typedef struct fr_scheduler fr_scheduler;

typedef struct fr_scheduler_options {
    const char *const *drafters; // NULL-terminated SPECs that jobs may ask for, the usual one first
    const char *kv_type;         // as in fr_session_options
    int n_ctx;                   // tokens of a context
    int n_slots;                 // jobs at work at a time, 1 to FR_SLOTS_MOST
    int n_kept;                  // contexts kept besides; n_slots + n_kept up to FR_SLOTS_MOST
    int n_queue;                 // jobs that may wait
} fr_scheduler_options;

typedef struct fr_scheduler_state { // at one moment
    int waits, runs;
    bool draining;
    uint64_t passes, prompt_tokens, reused_tokens, tokens; // since it was opened
    uint64_t jobs, cancelled, failed;                      // that have ended
    double busy;                                           // seconds of steps
    double reading, writing;                               // of jobs: to the first token, behind it
    uint64_t drafts, draft_tokens, accepted_tokens;        // drafts: passes of a job that had one
    uint64_t most_tokens, members;                         // of a job; jobs of all passes together
} fr_scheduler_state;

// `engine`, whose profile should have been taken, and the options' strings stay in place. What
// fr_slots_open says; FR_ENOMEM.
fr_status fr_scheduler_open(fr_scheduler **out, fr_engine *engine,
                            const fr_scheduler_options *options, fr_error *err);
// Ends all jobs as cancelled, then the thread. NULL is fine.
void fr_scheduler_close(fr_scheduler *s);

typedef enum fr_submitted { FR_SUBMITTED, FR_QUEUE_FULL, FR_DRAINING } fr_submitted;
// Queues a job, which was opened and ends later, or not at all where this says so.
fr_submitted fr_scheduler_submit(fr_scheduler *s, fr_job *job);
// The job ends soon, if it has not: before its next pass.
void fr_scheduler_cancel(fr_scheduler *s, fr_job *job);

void fr_scheduler_cancel_all(fr_scheduler *s); // ... and takes no more

// Takes no more jobs; those that there are go on.
void fr_scheduler_drain(fr_scheduler *s);
// Waits until no job waits or runs, at most so long. Whether that is so.
bool fr_scheduler_idle(fr_scheduler *s, double seconds);
fr_scheduler_state fr_scheduler_look(fr_scheduler *s);

#endif
