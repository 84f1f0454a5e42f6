// scheduler.h — answers many requests in shared passes: a queue, contexts (slots.h), and one thread
// that owns all passes.
//
// The thread gives waiting jobs contexts in the order in which they came (one that asks for a
// context at work lets others pass), steps the group, tells
// every job what it got, and sleeps where there is nothing to do. Everything else may be called
// from any thread.
#ifndef FR_SERVE_SCHEDULER_H
#define FR_SERVE_SCHEDULER_H
#include "serve/counters.h"
#include "serve/slots.h"

typedef struct fr_scheduler fr_scheduler;

typedef struct fr_scheduler_options {
    fr_slots_options contexts; // `ready`: as many jobs are at work at a time
    int n_queue;               // jobs that may wait
} fr_scheduler_options;

typedef struct fr_scheduler_state { // at one moment
    int waits, runs, paused;        // paused: begun, and without a place at this moment
    double kv_use;        // tokens in contexts at work, of all that they have room for; 0 to 1
    fr_counters counters; // since it was opened
} fr_scheduler_state;

typedef struct fr_context_state { // of a context
    bool busy, paused;
    uint64_t job;                    // number of the one at work, or of the last one, from 1
    int drafter;                     // which of the options'
    int n_prompt, n_read, n_written; // tokens of that job
    int n_predict;                   // ... that it may write; -1: as many as there is room for
    int n_tokens;                    // that the context holds
} fr_context_state;

// `engine`, whose profile should have been taken, and the options' strings stay in place. What
// fr_slots_open says; FR_ENOMEM.
fr_status fr_scheduler_open(fr_scheduler **out, fr_engine *engine,
                            const fr_scheduler_options *options, fr_error *err);
// Ends all jobs as cancelled, then the thread. NULL is fine.
void fr_scheduler_close(fr_scheduler *s);

typedef enum fr_submitted {
    FR_SUBMITTED,
    FR_QUEUE_FULL,
    FR_CONTEXT_BUSY, // too many of its client wait for contexts that they name
    FR_DRAINING
} fr_submitted;
// Queues the jobs of one request, linked by `next` and opened. All of them end later, or none where
// this says so. The first one stays in place until all have ended.
fr_submitted fr_scheduler_submit(fr_scheduler *s, fr_job *first);
// How many jobs it has room for, at work and in the queue.
int fr_scheduler_room(const fr_scheduler *s);
// The job ends soon, if it has not: before its next pass.
void fr_scheduler_cancel(fr_scheduler *s, fr_job *job);

void fr_scheduler_cancel_all(fr_scheduler *s); // ... and takes no more

// Takes no more jobs; those that there are go on.
void fr_scheduler_drain(fr_scheduler *s);
// Waits until no job waits or runs, at most so long. Whether that is so.
bool fr_scheduler_idle(fr_scheduler *s, double seconds);
fr_scheduler_state fr_scheduler_look(fr_scheduler *s);
// The contexts that are open; how many.
int fr_scheduler_contexts(fr_scheduler *s, fr_context_state state[FR_SLOTS_MOST]);

#endif
