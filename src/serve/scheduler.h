// scheduler.h — answers many requests in shared passes: a queue, contexts (slots.h), and one
// thread that owns all passes.
//
// The thread deals out places, steps the group, publishes the results of each job, and sleeps when
// there is no work. All functions here may be called from any thread.
//
// Places. The next place goes to the owner (API key) with fewest places; among equal ones, to the
// owner that has had none for longest. The same rule shares the places of an owner among its
// clients (addresses), and those of a client among its requests, so that many choices count as one
// request. The jobs of a request are in their order. A job gives its place up at once to an owner,
// client or request that would still have fewer. If both would have as many, they take turns, and
// the job with the place gives it up
// - to a new job: after 4 passes. If both are of one client, it must have had 32 passes in all, so
//   that short answers end one after the other;
// - to a job that had a place before: after 32 passes, if it has a token by then. If both are of
//   one client, its turn is at least as long as all its turns before, so that many long answers do
//   not all end at the same time.
//
// A new job counts as having waited 128 passes, so most answers end without waiting. Turns are
// counted in passes, not seconds, so that the order does not depend on the machine. A turn of 32
// passes takes a third of a second with a small model. It takes some seconds with a large one,
// whose prompts take as much longer.
//
// Pausing. A job that loses its place is paused, not ended. It keeps its context, without taking
// part in passes, as long as another context is idle or can be opened. Otherwise the paused job
// with the shortest text is set aside: it keeps only its tokens, and its text is read again when it
// gets a place. So paused jobs take no memory beyond that of the contexts. When contexts are
// scarce, the turns of one client are limited. About one row a step is then read again, or four
// when new jobs arrive.
//
// Reading order. The first prompt to be read is that of the owner, and among its clients of the
// client, for which least was read and written recently.
//
// Shared prompts. A job waits if another job is reading a prompt with the same beginning, longer
// than the beginning that any context has. It waits once, until the other job has read that
// beginning, ends or is paused. Jobs with `forget` do not wait, and no job waits for them. A job
// that names a busy context (`slot`) waits until that context is free or its job can be set aside;
// other jobs overtake it.
//
// The queue is shared too. When it is full, a client that has fewer jobs without a place displaces
// whole requests, the newest first. They are those of the client with most such jobs, of the owner
// with most. An eighth of the queue is added for clients that have nothing in it. A request that
// fills more than half of the queue gives way to others of its own client. At most a quarter of the
// queue may wait for contexts that one client names.
#ifndef FR_SERVE_SCHEDULER_H
#define FR_SERVE_SCHEDULER_H
#include "serve/counters.h"
#include "serve/slots.h"

typedef struct fr_scheduler fr_scheduler;

typedef struct fr_scheduler_options {
    fr_slots_options contexts; // `ready`: how many jobs have a place at a time
    int n_queue;               // jobs that may wait
} fr_scheduler_options;

typedef struct fr_scheduler_state { // at one moment
    int waits, runs, paused;        // paused: begun, but without a place now
    double kv_use;                  // tokens in busy contexts, as a share of their capacity; 0 to 1
    fr_counters counters;           // since the scheduler was opened
} fr_scheduler_state;

typedef struct fr_context_state { // the state of a context
    bool busy, paused;
    uint64_t job;                    // number of its job, or of its last job, from 1
    int drafter;                     // index into the options' drafters
    int n_prompt, n_read, n_written; // tokens of that job
    int n_predict;                   // ... that the job may write; -1: up to the context's end
    int n_tokens;                    // in the context
} fr_context_state;

// `engine` (load its profile before) and the options' strings are borrowed. Errors of
// fr_slots_open; FR_ENOMEM.
fr_status fr_scheduler_open(fr_scheduler **out, fr_engine *engine,
                            const fr_scheduler_options *options, fr_error *err);
// Ends all jobs as cancelled, then the thread. NULL is fine.
void fr_scheduler_close(fr_scheduler *s);

typedef enum fr_submitted {
    FR_SUBMITTED,
    FR_QUEUE_FULL,
    FR_CONTEXT_BUSY, // too many jobs of its client wait for contexts that they name
    FR_DRAINING
} fr_submitted;
// Queues the opened jobs of one request, linked by `next`. After FR_SUBMITTED every job ends later;
// after another result none was queued. The first job must stay in place until all have ended.
fr_submitted fr_scheduler_submit(fr_scheduler *s, fr_job *first);
// How many jobs it accepts, with a place and in the queue.
int fr_scheduler_room(const fr_scheduler *s);
// Ends the job before its next pass, unless it has ended.
void fr_scheduler_cancel(fr_scheduler *s, fr_job *job);

void fr_scheduler_cancel_all(fr_scheduler *s); // ... and accepts no more

// Accepts no more jobs; present jobs continue.
void fr_scheduler_drain(fr_scheduler *s);
// Waits, at most so long, until no job waits or runs. True: that was reached.
bool fr_scheduler_idle(fr_scheduler *s, double seconds);
fr_scheduler_state fr_scheduler_look(fr_scheduler *s);
// Copies the states of the open contexts. Returns their number.
int fr_scheduler_contexts(fr_scheduler *s, fr_context_state state[FR_SLOTS_MOST]);

#endif
