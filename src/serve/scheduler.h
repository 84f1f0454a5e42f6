// scheduler.h — answers many requests in shared passes: a queue, contexts (slots.h), and one thread
// that owns all passes.
//
// The thread deals out places, steps the group, tells every job what it got, and sleeps where there
// is nothing to do. Everything else may be called from any thread.
//
// Who has a place. Places are shared among owners (API keys): the next place is for the owner that
// has fewest, of those the one that had none for longest; among the clients of an owner (addresses),
// and among the requests of a client, by the same rule, so that many choices count as one request;
// within a request in order. What has a place gives it up at once to another owner, client or
// request that would still have fewer. Where both would
// have as many they take turns: the one at work has had 4 passes where the other one is new (of
// the same client: and 32 in all, so that short ones come to their ends one after the other), 32
// where it had places before (and the one at work has a token by now; of the same client: and as
// many as in all its turns before, so that many long ones do not all end at the same time). A new one counts as having
// waited 128 passes, so most answers are short of ever waiting and all get on. Passes and not
// seconds, so that what happens does not depend on the machine: 32 are a third of a second with a
// small model, some seconds with a large one, whose prompts take as much longer.
//
// What gives way is paused, not ended: it stays in its context, in no pass, as long as another
// context is idle or can be opened. Else the paused job with the shortest text is set aside: it
// keeps its tokens alone, and its text is read again when it gets a place. So paused jobs take no
// more memory than the contexts that there may be. Where contexts are short, the turns of one
// client are bounded so that about one row a step is read again, four where a new one comes in.
//
// Whose prompt is read first: that of the owner, and of the client of it, for whom least was read and
// written of late.
//
// Who waits for another's prompt. A job whose prompt begins as one that is being read, by more than
// any context has of it, waits for that one: once, and until that one has read it, ends or is
// paused. Jobs with `forget` do not wait, and nobody waits for them. One that asks for a context
// (`slot`) at work waits for that or until it can be set aside, and lets others pass.
//
// The queue is shared too. If it is full, the client with most jobs without a place, of the owner
// with most, gives up its newest requests, whole, to one that has fewer; an eighth of the queue more is for clients that
// have nothing in it before that happens. A request that fills more than half of the queue gives
// way to others of its own client. A client may have a quarter of the queue wait for contexts that
// it names.
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
