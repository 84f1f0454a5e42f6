// scheduler.c — the thread: late jobs end, places are dealt out, all jobs that have one take a
// step. Then what may be called from any thread.
#include "base/alloc.h"
#include "serve/schedule.h"
#include "serve/wait.h"
#include <errno.h>
#include <string.h>

static bool has_contexts(const fr_scheduler *s) {
    return s->n_at[FR_JOB_PLACED] || s->n_at[FR_JOB_PAUSED];
}

static void *run_thread(void *arg) {
    fr_scheduler *s = arg;
    for (bool ends = false; !ends || has_contexts(s);) {
        pthread_mutex_lock(&s->lock);
        fr_queue_drop(s);
        while (!s->first && !s->ends) {
            pthread_cond_wait(&s->work, &s->lock);
            fr_queue_drop(s);
        }
        ends = s->ends;
        pthread_mutex_unlock(&s->lock);
        if (!ends) fr_turns_deal(s);
        if (has_contexts(s)) fr_runs_step(s);
    }
    return NULL;
}

// ---------------------------------------------------------------- open and close

fr_status fr_scheduler_open(fr_scheduler **out, fr_engine *engine,
                            const fr_scheduler_options *options, fr_error *err) {
    *out = NULL;
    fr_scheduler *s = fr_alloc_zero(sizeof *s);
    if (!s) return fr_fail(err, FR_ENOMEM, "scheduler: cannot get %zu bytes", sizeof *s);
    s->n_slots = options->contexts.ready;
    s->n_queue = options->n_queue;
    s->n_ctx = options->contexts.n_ctx;
    s->last = &s->first;
    fr_counters_open(&s->counters);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, NULL);
    fr_wait_open(&s->finished);
    fr_status st = fr_slots_open(&s->slots, engine, &options->contexts, err);
    s->n_contexts = s->slots.n;
    if (!st && pthread_create(&s->thread, NULL, run_thread, s))
        st = fr_fail(err, FR_ENOMEM, "scheduler: cannot start a thread");
    if (st) {
        s->ends = true; // there is no thread
        fr_scheduler_close(s);
        return st;
    }
    *out = s;
    return FR_OK;
}

void fr_scheduler_close(fr_scheduler *s) {
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    const bool runs = !s->ends;
    s->ends = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    if (runs) pthread_join(s->thread, NULL);
    fr_slots_close(&s->slots);
    fr_clients_close(&s->clients);
    pthread_cond_destroy(&s->finished);
    pthread_cond_destroy(&s->work);
    pthread_mutex_destroy(&s->lock);
    fr_free(s);
}

void fr_scheduler_cancel_all(fr_scheduler *s) {
    pthread_mutex_lock(&s->lock);
    s->draining = s->cancels = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
}

void fr_scheduler_drain(fr_scheduler *s) {
    pthread_mutex_lock(&s->lock);
    s->draining = true;
    pthread_mutex_unlock(&s->lock);
}

bool fr_scheduler_idle(fr_scheduler *s, double seconds) {
    const struct timespec at = fr_wait_until(seconds);
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    while (s->first && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&s->finished, &s->lock, &at);
    const bool idle = !s->first;
    pthread_mutex_unlock(&s->lock);
    return idle;
}

static double kv_use(const fr_scheduler *s) {
    double tokens = 0;
    for (int i = 0; i < s->n_contexts; i++)
        if (s->context[i].busy && !s->context[i].paused) tokens += s->context[i].n_tokens;
    return tokens / ((double)s->n_slots * s->n_ctx);
}

fr_scheduler_state fr_scheduler_look(fr_scheduler *s) {
    pthread_mutex_lock(&s->lock);
    const fr_scheduler_state state = {.waits = s->n_at[FR_JOB_QUEUED],
                                      .runs = s->n_at[FR_JOB_PLACED],
                                      .paused = s->n_at[FR_JOB_PAUSED] + s->n_at[FR_JOB_ASIDE],
                                      .kv_use = kv_use(s),
                                      .counters = s->counters};
    pthread_mutex_unlock(&s->lock);
    return state;
}

int fr_scheduler_contexts(fr_scheduler *s, fr_context_state state[FR_SLOTS_MOST]) {
    pthread_mutex_lock(&s->lock);
    const int n = s->n_contexts;
    memcpy(state, s->context, sizeof *state * (size_t)n);
    pthread_mutex_unlock(&s->lock);
    return n;
}
