// job_copy.c — allocates first, then copies all that is new, so that a failure changes nothing.
#include "serve/job_copy.h"
#include "base/alloc.h"
#include "serve/wait.h"
#include <errno.h>
#include <string.h>

static fr_status make_room(fr_job_copy *t, const fr_job *job, fr_error *err) {
    const size_t n = (size_t)t->n_tokens, more = (size_t)job->n_tokens - n;
    fr_status st = fr_buffer_reserve(&t->text, job->text.n - t->text.n, err);
    if (!st) st = fr_buffer_reserve(&t->pieces, job->pieces.n - t->pieces.n, err);
    if (st) return st;
    if (fr_list_reserve((void **)&t->tokens, &t->tokens_cap, n, more, sizeof *t->tokens) &&
        (!job->logprobs ||
         fr_list_reserve((void **)&t->logprobs, &t->logprobs_cap, n, more, sizeof *t->logprobs)))
        return FR_OK;
    return fr_fail(err, FR_ENOMEM, "answer: no memory for %d tokens", job->n_tokens);
}

// The memory is allocated.
static void copy_text(fr_buffer *to, const fr_buffer *from) {
    fr_error never;
    if (from->n > to->n) fr_buffer_add(to, from->data + to->n, from->n - to->n, &never);
}

static void copy_tokens(fr_job_copy *t, const fr_job *job) {
    const size_t n = (size_t)t->n_tokens, more = (size_t)job->n_tokens - n;
    if (!more) return;
    memcpy(t->tokens + n, job->tokens + n, more * sizeof *t->tokens);
    if (job->logprobs) memcpy(t->logprobs + n, job->logprobs + n, more * sizeof *t->logprobs);
    t->n_tokens = job->n_tokens;
}

static void copy_rest(fr_job_copy *t, const fr_job *job) {
    t->state = job->state;
    t->end = job->end;
    t->error = job->error;
    t->prompt_logprobs = job->prompt_logprobs;
    t->n_read = job->n_read;
    t->n_reused = job->n_reused;
    t->n_first = job->n_first;
    t->stopped_by = job->stopped_by;
    t->context = job->context;
    if (job->state == FR_JOB_ENDED) t->cut = job->cut; // reported with its end
    t->stats = job->stats;
    t->started = job->started;
    t->first_token = job->first_token;
    t->ended = job->ended;
}

fr_status fr_job_copy_update(fr_job_copy *t, fr_job *job, fr_error *err) {
    pthread_mutex_lock(&job->lock);
    const fr_status st = make_room(t, job, err);
    if (!st) {
        copy_text(&t->text, &job->text);
        copy_text(&t->pieces, &job->pieces);
        copy_tokens(t, job);
        copy_rest(t, job);
    }
    pthread_mutex_unlock(&job->lock);
    return st;
}

static bool has_news(const fr_job_copy *t, const fr_job *job) {
    return job->state == FR_JOB_ENDED || job->text.n > t->text.n ||
           (t->state == FR_JOB_WAITS && job->state != FR_JOB_WAITS);
}

void fr_job_copy_await(const fr_job_copy *t, fr_job *job, double seconds) {
    const struct timespec at = fr_wait_until(seconds);
    int rc = 0;
    pthread_mutex_lock(&job->lock);
    while (!has_news(t, job) && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&job->news, &job->lock, &at);
    pthread_mutex_unlock(&job->lock);
}

void fr_job_copy_close(fr_job_copy *t) {
    fr_buffer_free(&t->text);
    fr_buffer_free(&t->pieces);
    fr_free(t->tokens);
    fr_free(t->logprobs);
    *t = (fr_job_copy){0};
}
