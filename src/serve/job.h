// job.h — one generation: its request, and its results so far.
//
// A caller fills it and submits it to the scheduler (scheduler.h). Any thread reads the results
// from a copy (job_copy.h), because the scheduler's thread waits for the job's lock. Only that
// thread writes results. Every submitted job ends exactly once.
#ifndef FR_SERVE_JOB_H
#define FR_SERVE_JOB_H
#include "base/buffer.h"
#include "forerun.h"
#include "serve/clients.h"
#include <pthread.h>

typedef enum fr_job_state { FR_JOB_WAITS, FR_JOB_READS, FR_JOB_WRITES, FR_JOB_ENDED } fr_job_state;

typedef enum fr_job_end {
    FR_JOB_STOP,      // the model's end token, or a stop string
    FR_JOB_LENGTH,    // as many tokens as wanted, or the end of the context
    FR_JOB_CANCELLED, // not wanted any more
    FR_JOB_TIMED_OUT, // the text so far is valid
    FR_JOB_REFUSED,   // its request gave way to another one in a full queue
    FR_JOB_FAILED,    // `error` has the reason
} fr_job_end;

// The part of the text that one token gave: from the end of the previous piece to `end`. depth and
// drafter as in fr_piece.
typedef struct fr_job_piece {
    size_t end;
    int depth, drafter;
} fr_job_piece;

typedef enum fr_job_at { // for the scheduler (schedule.h)
    FR_JOB_QUEUED,
    FR_JOB_ASIDE,
    FR_JOB_PLACED,
    FR_JOB_PAUSED,
    FR_JOB_PLACES
} fr_job_at;

typedef struct fr_bundle { // the jobs of one request
    fr_client *client;
    fr_share share; // of the client's places
    int n_jobs;     // that have not ended
    bool refused;   // all of them end as refused
} fr_bundle;

typedef struct fr_job {
    // The request. The caller keeps all of it in place until the job has ended.
    const fr_request *request; // its stream and user are the scheduler's
    const char *owner;         // contexts are shared among jobs of one owner only (NULL is one);
                               // lives as long as the scheduler
    const char *client; // of the owner; NULL is a client too. Places and the queue are shared
                        // among owners, then among the clients of each owner
    int drafter;        // index into the scheduler's drafters
    int slot;           // the context that it must run in; -1: any
    bool forget;        // reuses no context, but leaves one
    bool keep_pieces;   // `pieces` are wanted
    double timeout;     // seconds after submitting; 0: none
    // The text ends (FR_JOB_LENGTH) at the first later line indented by fewer than `indent` blanks;
    // it keeps that line's blanks. It also ends at a line break that comes more than line_seconds
    // (0: never) after the first token.
    int indent;
    double line_seconds;
    // Results, guarded by `lock`.
    pthread_mutex_t lock;
    pthread_cond_t news;
    fr_job_state state;
    fr_job_end end;
    fr_error error;
    fr_buffer text;   // whole UTF-8 sequences
    fr_buffer pieces; // fr_job_piece's, up to the end of the text
    int32_t *tokens;
    fr_logprobs *logprobs;        // if the request wants them
    fr_logprobs *prompt_logprobs; // [n_prompt], if the request wants them; the first is empty
    size_t tokens_cap, logprobs_cap;
    int n_tokens, n_read, n_reused; // generated; of the prompt, read or reused; reused
    int n_first;                    // tokens of the first pass, at first_token
    int stopped_by;                 // as in fr_result, and so is stop_token
    int32_t stop_token;
    bool cut;                                      // ended by indent or line_seconds
    int context;                                   // that it runs in; -1: not yet
    fr_stats stats;                                // once it has begun; final when it has ended
    double submitted, started, first_token, ended; // fr_seconds; 0: not yet
    // Before submitting: the next job of the same request. After it this field and all below belong
    // to the scheduler, and `next` is the next submitted job.
    struct fr_job *next;
    fr_bundle own, *bundle; // bundle: of the request, `own` of its first job
    fr_job_at at;
    bool cancelled;
    uint64_t number; // in the order of submitting, from 1
    int64_t since;   // the step in which it was submitted, or lost its place
    uint64_t round;  // the last round of dealing out places in which it got none
    int passes;      // so far
    int turn;        // passes since it was last given a place
    bool begun;      // it has been in a context
    bool waited;     // for a job that reads the same prompt; it does so only once
    uint64_t reader; // that job's number, while it waits; 0: none
    int shared;      // tokens that their prompts have in common
    // Set when the job lost its context: its stats until then; its whole text and pieces, with the
    // part that would be added if it ended there.
    fr_stats before;
    fr_buffer rest, rest_pieces;
} fr_job;

// Open a job after filling its request. Close it after it has ended, or if it was never submitted.
void fr_job_open(fr_job *job);
void fr_job_close(fr_job *job);

// Waits, at most so many seconds, until the job has ended. True: it has.
bool fr_job_await_end(fr_job *job, double seconds);

// ---- for the scheduler
void fr_job_enter(fr_job *job); // it is in the queue
    // It begins in a context that has n_reused tokens of its prompt; all of this is published at
    // once. If it begins again, only the context is published.
void fr_job_begin(fr_job *job, int context, int n_reused);
// Publishes the tokens of its prompt that its context has, if there are more than before.
void fr_job_read(fr_job *job, int n_read);
// It ends without a context: publishes the rest of its text.
void fr_job_add_rest(fr_job *job);
// Publishes the part of the session's result, text and pieces that is new. `whole`: nothing
// follows. FR_ENOMEM.
fr_status fr_job_tell(fr_job *job, const fr_result *result, const fr_buffer *text,
                      const fr_buffer *pieces, bool whole, fr_error *err);
void fr_job_finish(fr_job *job, fr_job_end end, const fr_stats *stats, const fr_error *error);

#endif
