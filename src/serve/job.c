// job.c — results of a job are added under its lock, and wake the threads that wait for them.
#include "serve/job.h"
#include "base/alloc.h"
#include "decode/counts.h"
#include "serve/wait.h"
#include <errno.h>
#include <string.h>

void fr_job_open(fr_job *job) {
    job->stopped_by = job->stop_token = job->context = -1;
    pthread_mutex_init(&job->lock, NULL);
    fr_wait_open(&job->news);
}

void fr_job_close(fr_job *job) {
    pthread_cond_destroy(&job->news);
    pthread_mutex_destroy(&job->lock);
    fr_buffer_free(&job->text);
    fr_buffer_free(&job->pieces);
    fr_buffer_free(&job->rest);
    fr_buffer_free(&job->rest_pieces);
    fr_free(job->tokens);
    fr_free(job->logprobs);
    fr_free(job->prompt_logprobs);
    job->prompt_logprobs = NULL;
    job->tokens = NULL;
    job->logprobs = NULL;
}

bool fr_job_await_end(fr_job *job, double seconds) {
    const struct timespec at = fr_wait_until(seconds);
    int rc = 0;
    pthread_mutex_lock(&job->lock);
    while (job->state != FR_JOB_ENDED && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&job->news, &job->lock, &at);
    const bool ended = job->state == FR_JOB_ENDED;
    pthread_mutex_unlock(&job->lock);
    return ended;
}

void fr_job_enter(fr_job *job) {
    pthread_mutex_lock(&job->lock);
    job->state = FR_JOB_WAITS;
    job->submitted = fr_seconds();
    pthread_mutex_unlock(&job->lock);
}

void fr_job_begin(fr_job *job, int context, int n_reused) {
    pthread_mutex_lock(&job->lock);
    job->context = context;
    if (!job->begun) {
        job->begun = true;
        job->state = FR_JOB_READS;
        job->started = fr_seconds();
        job->n_read = job->n_reused = n_reused;
        pthread_cond_broadcast(&job->news);
    }
    pthread_mutex_unlock(&job->lock);
}

void fr_job_read(fr_job *job, int n_read) {
    pthread_mutex_lock(&job->lock);
    if (n_read > job->n_read) job->n_read = n_read;
    pthread_mutex_unlock(&job->lock);
}

static bool make_room(fr_job *job, const fr_result *r) {
    const size_t n = (size_t)job->n_tokens, more = (size_t)r->n_tokens - n;
    return fr_list_reserve((void **)&job->tokens, &job->tokens_cap, n, more, sizeof *job->tokens) &&
           (!r->logprobs || fr_list_reserve((void **)&job->logprobs, &job->logprobs_cap, n, more,
                                            sizeof *job->logprobs));
}

// Once the prompt is read.
static fr_status keep_prompt(fr_job *job, const fr_result *r, fr_error *err) {
    const int n = job->request->n_prompt;
    if (!r->prompt_logprobs || job->prompt_logprobs) return FR_OK;
    if (n > 1 && !r->prompt_logprobs[n - 1]) return FR_OK; // broken off before
    job->prompt_logprobs = fr_alloc_array((size_t)n, sizeof *job->prompt_logprobs);
    if (!job->prompt_logprobs)
        return fr_fail(err, FR_ENOMEM, "logprobs: no memory for the %d tokens of a prompt", n);
    for (int i = 1; i < n; i++)
        job->prompt_logprobs[i] = *r->prompt_logprobs[i];
    return FR_OK;
}

static fr_status add_rest(fr_buffer *kept, const fr_buffer *all, fr_error *err) {
    return all->n > kept->n ? fr_buffer_add(kept, all->data + kept->n, all->n - kept->n, err)
                            : FR_OK;
}

static fr_status add(fr_job *job, const fr_result *r, const fr_buffer *text,
                     const fr_buffer *pieces, fr_error *err) {
    if (!make_room(job, r))
        return fr_fail(err, FR_ENOMEM, "answer: no memory for %d tokens", r->n_tokens);
    fr_status st = add_rest(&job->text, text, err); // no piece ends after it
    if (!st) st = add_rest(&job->pieces, pieces, err);
    if (st) return st;
    for (int i = job->n_tokens; i < r->n_tokens; i++) {
        job->tokens[i] = r->tokens[i];
        if (r->logprobs) job->logprobs[i] = *r->logprobs[i];
    }
    if (!job->n_tokens && r->n_tokens) {
        job->first_token = fr_seconds();
        job->n_first = r->n_tokens;
    }
    job->n_tokens = r->n_tokens;
    if (job->n_tokens) job->state = FR_JOB_WRITES;
    return FR_OK;
}

fr_status fr_job_tell(fr_job *job, const fr_result *result, const fr_buffer *text,
                      const fr_buffer *pieces, bool whole, fr_error *err) {
    pthread_mutex_lock(&job->lock);
    const bool more = result->n_tokens > job->n_tokens || text->n > job->text.n;
    job->stopped_by = result->stopped_by;
    job->stop_token = result->stop_token;
    if (more) job->stats = fr_stats_after(&job->before, result->stats);
    fr_status st = more || whole ? keep_prompt(job, result, err) : FR_OK;
    if (!st && more) st = add(job, result, text, pieces, err);
    if (more) pthread_cond_broadcast(&job->news);
    pthread_mutex_unlock(&job->lock);
    return st;
}

void fr_job_add_rest(fr_job *job) {
    fr_error unsaid; // the text so far is kept
    pthread_mutex_lock(&job->lock);
    if (!add_rest(&job->text, &job->rest, &unsaid))
        add_rest(&job->pieces, &job->rest_pieces, &unsaid);
    pthread_mutex_unlock(&job->lock);
}

void fr_job_finish(fr_job *job, fr_job_end end, const fr_stats *stats, const fr_error *error) {
    pthread_mutex_lock(&job->lock);
    job->end = end;
    if (stats) {
        job->stats = *stats;
        job->n_reused = stats->prompt_reused;
    }
    if (error) job->error = *error;
    job->ended = fr_seconds();
    job->state = FR_JOB_ENDED;
    pthread_cond_broadcast(&job->news);
    pthread_mutex_unlock(&job->lock);
}
