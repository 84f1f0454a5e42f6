// job.h — one generation: what is asked, and its results so far.
//
// The asker fills it, submits it to the scheduler (scheduler.h) and reads along from any thread by a
// copy (job_copy.h), as the scheduler's thread waits for the lock. Only that thread writes results.
// It ends once, whatever happens.
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
    FR_JOB_CANCELLED, // nobody wants it any more
    FR_JOB_TIMED_OUT, // what there is came in time
    FR_JOB_REFUSED,   // its request gave way to another one in a queue that was full
    FR_JOB_FAILED,    // `error` says why
} fr_job_end;

// What one token gave of the text: what stands behind the piece before it, up to `end`. depth and
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
    fr_share share; // of what the client has
    int n_jobs;     // that have not ended
    bool refused;   // all of them end as that
} fr_bundle;

typedef struct fr_job {
    // Asked. All of it stays in place until the job has ended.
    const fr_request *request; // its stream and user are the scheduler's
    const char *owner;         // contexts are shared among jobs of one owner only; NULL is one too;
                               // it stays in place as long as the scheduler
    const char *client; // of the owner; NULL is one too. Places and the queue are shared among
                        // owners, then among the clients of one
    int drafter;        // which of the scheduler's
    int slot;           // where it should run; -1: anywhere
    bool forget;        // reuses no context, though it leaves one
    bool keep_pieces;   // `pieces` are wanted
    double timeout;     // seconds from submitting on; 0: none
    // The text ends (FR_JOB_LENGTH) at a line behind the first that is indented by less than so
    // many blanks, of which it keeps the indentation; and, so many seconds (0: never) behind its
    // first token, where it has a line break.
    int indent;
    double line_seconds;
    // Told, under its lock.
    pthread_mutex_t lock;
    pthread_cond_t news;
    fr_job_state state;
    fr_job_end end;
    fr_error error;
    fr_buffer text;   // whole UTF-8 sequences
    fr_buffer pieces; // fr_job_piece's, up to the end of the text
    int32_t *tokens;
    fr_logprobs *logprobs;        // where the request wants them
    fr_logprobs *prompt_logprobs; // [n_prompt] the same; the first is empty
    size_t tokens_cap, logprobs_cap;
    int n_tokens, n_read, n_reused; // generated; of the prompt, read or reused; reused
    int n_first;                    // tokens that came at first_token, of one pass
    int stopped_by;                 // as in fr_result, and so is stop_token
    int32_t stop_token;
    bool cut;                                      // at a line, as asked
    int context;                                   // it runs in; -1: not yet
    fr_stats stats;                                // of one that has begun; whole once it has ended
    double submitted, started, first_token, ended; // fr_seconds; 0: not yet
    // Before it is submitted: the next job of the same request. Then the scheduler's, as is all below:
    // of the jobs that there are, the one that came after it.
    struct fr_job *next;
    fr_bundle own, *bundle; // the request's, which is the first job's own
    fr_job_at at;
    bool cancelled;
    uint64_t number; // in the order in which they came, from 1
    int64_t since;   // the step in which it came, or lost its place
    uint64_t round;  // of dealing out places, in which its turn did not come
    int passes;      // it has had
    int turn;        // of these, since it was last given a place
    bool begun;      // once
    bool waited;     // for another that read the same: it does not do so twice
    uint64_t reader; // ... that one's number, while it waits; 0: for none
    int shared;      // ... tokens that their prompts have in common
    // Of one that was begun and is in no context, or was: what its stats were until then; all of its
    // text and pieces, with what would come if it ended there.
    fr_stats before;
    fr_buffer rest, rest_pieces;
} fr_job;

// For a job whose asked part is filled. fr_job_close: it has ended, or was never submitted.
void fr_job_open(fr_job *job);
void fr_job_close(fr_job *job);

// Waits until the job has ended, at most so many seconds. Whether it has.
bool fr_job_await_end(fr_job *job, double seconds);

// ---- for the scheduler
void fr_job_enter(fr_job *job); // the queue
// In a context that knows so many tokens of the prompt: all that is told of it comes at once. Of one
// that begins again the context alone is told.
void fr_job_begin(fr_job *job, int context, int n_reused);
// The tokens of its prompt that its context has, as far as that is more than before.
void fr_job_read(fr_job *job, int n_read);
// It ends in no context: adds the rest of its text.
void fr_job_add_rest(fr_job *job);
// Adds what the session's result has beyond what was told, of its text and the pieces of that too;
// `whole`: that is all. FR_ENOMEM.
fr_status fr_job_tell(fr_job *job, const fr_result *result, const fr_buffer *text,
                      const fr_buffer *pieces, bool whole, fr_error *err);
void fr_job_finish(fr_job *job, fr_job_end end, const fr_stats *stats, const fr_error *error);

#endif
