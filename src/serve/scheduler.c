// scheduler.c — the thread: jobs whose time is over end, waiting ones begin where there is room,
// all take a step, and what came of it is told.
#include "serve/scheduler.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "serve/wait.h"
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

enum { WORTH_WAITING = 16 }; // tokens

typedef struct running { // a job at work, which stays where it is
    fr_job *job;         // NULL: none
    fr_slot *slot;
    fr_request request; // the job's, with its stream here
    fr_buffer text;     // of the stream
    size_t line;        // in it: up to here lines are indented as they must be
    fr_buffer pieces;   // ... as fr_job_piece's, where they are wanted
    fr_error error;
    bool failed, timed_out, cut; // cut: by its lines
} running;

struct fr_scheduler {
    int n_slots, n_queue;       // jobs that may be at work, and wait
    int n_ctx;                  // of a context
    fr_slots slots;             // of the thread alone, as is `run`
    running run[FR_SLOTS_MOST]; // [n_slots]
    int n_run;                  // of them with a job
    int step_tokens;            // that the step at hand gave
    pthread_t thread;
    pthread_mutex_t lock;    // of all below, and of jobs' `cancelled` and `next`
    pthread_cond_t work;     // there is some, or the end
    pthread_cond_t finished; // a job has
    fr_job *first, **last;   // the queue
    int n_waits, n_runs;
    bool draining, cancels, ends;
    fr_counters counters;
    fr_context_state context[FR_SLOTS_MOST]; // [n_contexts] as they were told
    int n_contexts;
    uint64_t n_jobs; // that have begun
};

// ---------------------------------------------------------------- the queue

static void unlink_job(fr_scheduler *s, fr_job **at) {
    fr_job *job = *at;
    *at = job->next;
    if (s->last == &job->next) s->last = at;
    job->next = NULL;
    s->n_waits--;
}

// Where the queue points at the job.
static fr_job **place_of(fr_scheduler *s, const fr_job *job) {
    fr_job **at = &s->first;
    while (*at != job)
        at = &(*at)->next;
    return at;
}

fr_submitted fr_scheduler_submit(fr_scheduler *s, fr_job *job) {
    fr_submitted said = FR_SUBMITTED;
    pthread_mutex_lock(&s->lock);
    if (s->draining || s->ends)
        said = FR_DRAINING;
    else if (s->n_waits >= s->n_queue + s->n_slots - s->n_runs)
        said = FR_QUEUE_FULL;
    if (said == FR_SUBMITTED) {
        fr_job_enter(job);
        job->next = NULL;
        *s->last = job;
        s->last = &job->next;
        s->n_waits++;
        pthread_cond_signal(&s->work);
    }
    pthread_mutex_unlock(&s->lock);
    return said;
}

int fr_scheduler_room(const fr_scheduler *s) {
    return s->n_slots + s->n_queue;
}

void fr_scheduler_cancel(fr_scheduler *s, fr_job *job) {
    pthread_mutex_lock(&s->lock);
    job->cancelled = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
}

static bool is_late(const fr_job *job, double now) {
    return job->timeout > 0 && now > job->submitted + job->timeout;
}

// With the lock held.
static void count_end(fr_scheduler *s, const fr_job *job, fr_job_end end, const fr_stats *stats) {
    fr_counters_end(&s->counters, job, end, stats, fr_seconds());
    pthread_cond_broadcast(&s->finished);
}

// Ends those that wait in vain. With the lock held.
static void drop_waiting(fr_scheduler *s) {
    const double now = fr_seconds();
    for (fr_job **at = &s->first; *at;) {
        fr_job *job = *at;
        if (!job->cancelled && !s->cancels && !s->ends && !is_late(job, now)) {
            at = &job->next;
            continue;
        }
        const fr_job_end end = is_late(job, now) ? FR_JOB_TIMED_OUT : FR_JOB_CANCELLED;
        unlink_job(s, at);
        count_end(s, job, end, NULL);
        fr_job_finish(job, end, NULL, NULL);
    }
}

// ---------------------------------------------------------------- begin and end

// Whether a line has come that is indented by less than it may be; the text is then cut behind its
// indentation.
static bool is_outdented(running *r) {
    const char *text = r->text.data;
    for (const char *end; (end = memchr(text + r->line, '\n', r->text.n - r->line));) {
        size_t at = (size_t)(end - text) + 1, blanks = 0;
        while (at < r->text.n && (text[at] == ' ' || text[at] == '\t'))
            at++, blanks++;
        if (at == r->text.n) return false; // more may come
        r->line = at;
        if (blanks >= (size_t)r->job->indent) continue;
        r->text.n = at;
        return true;
    }
    return false;
}

static bool is_at_its_end(running *r) {
    const fr_job *job = r->job;
    if (!r->text.n) return false;
    if (job->indent && is_outdented(r)) return true;
    return job->line_seconds > 0 && job->first_token > 0 &&
           fr_seconds() > job->first_token + job->line_seconds &&
           memchr(r->text.data, '\n', r->text.n);
}

static bool take_text(void *user, const fr_piece *piece) {
    running *r = user;
    if (r->cut) return false; // text that was held back
    fr_status st = fr_buffer_add(&r->text, piece->text, piece->bytes, &r->error);
    r->cut = !st && piece->bytes && is_at_its_end(r);
    if (!st && piece->bytes && r->job->keep_pieces)
        st = fr_buffer_add(&r->pieces, &(fr_job_piece){r->text.n, piece->depth, piece->drafter},
                           sizeof(fr_job_piece), &r->error);
    r->failed |= st;
    return !st && !r->cut;
}

static void end_run(fr_scheduler *s, running *r, fr_job_end end, const fr_stats *stats) {
    fr_job *job = r->job;
    fr_buffer_free(&r->text);
    fr_buffer_free(&r->pieces);
    r->job = NULL;
    s->n_run--;
    pthread_mutex_lock(&s->lock);
    s->n_runs--;
    if (r->slot) s->context[r->slot - s->slots.slot].busy = false;
    count_end(s, job, end, stats);
    pthread_mutex_unlock(&s->lock);
    fr_job_finish(job, end, stats, end == FR_JOB_FAILED ? &r->error : NULL);
}

static fr_job_end end_of(const running *r, fr_status st, const fr_stats *stats) {
    if (st || r->failed) return FR_JOB_FAILED;
    if (r->timed_out) return FR_JOB_TIMED_OUT;
    if (r->cut) return FR_JOB_LENGTH;
    if (stats->finish == FR_FINISH_STOP) return FR_JOB_STOP;
    return stats->finish == FR_FINISH_LENGTH ? FR_JOB_LENGTH : FR_JOB_CANCELLED;
}

// Tells that it has begun, which context it runs in, and what that knows of the prompt.
static void tell_place(fr_scheduler *s, running *r) {
    const int at = (int)(r->slot - s->slots.slot);
    int known;
    fr_session_context(r->slot->session, &known);
    fr_job_begin(r->job, at, known);
    pthread_mutex_lock(&s->lock);
    s->n_contexts = s->slots.n;
    s->context[at] = (fr_context_state){.busy = true,
                                        .job = ++s->n_jobs,
                                        .drafter = r->slot->drafter,
                                        .n_prompt = r->request.n_prompt,
                                        .n_predict = r->request.n_predict,
                                        .n_read = known,
                                        .n_tokens = known};
    pthread_mutex_unlock(&s->lock);
}

// False: no context is free, so the job waits on.
static bool begin_job(fr_scheduler *s, fr_job *job) {
    running *r = s->run;
    while (r->job)
        r++;
    *r = (running){.request = *job->request};
    const fr_request *q = job->request;
    fr_status st = fr_slots_take(&r->slot, &s->slots, q->prompt, q->n_prompt, job->drafter,
                                 job->owner, job->forget, job->slot, &r->error);
    if (!st && !r->slot) return false;
    r->job = job;
    s->n_run++;
    pthread_mutex_lock(&s->lock);
    unlink_job(s, place_of(s, job));
    s->n_runs++;
    pthread_mutex_unlock(&s->lock);
    r->request.stream = take_text;
    r->request.user = r;
    if (!st) st = fr_session_begin(r->slot->session, &r->request, &r->error);
    if (!st) tell_place(s, r);
    if (!st) return true;
    if (r->slot) fr_slots_give_back(r->slot);
    end_run(s, r, FR_JOB_FAILED, NULL);
    return true;
}

// Whether another job is reading what this one's prompt begins with: then it is cheaper to wait and
// take that over than to read it twice.
static bool is_being_read(const fr_scheduler *s, const fr_job *job) {
    const fr_request *q = job->request;
    for (int i = 0; i < s->n_slots && !job->forget; i++) {
        const running *r = &s->run[i];
        int known, same = 0;
        if (!r->job || !fr_slots_are_of_one(r->job->owner, job->owner)) continue;
        fr_session_context(r->slot->session, &known);
        while (same < q->n_prompt && same < r->request.n_prompt &&
               q->prompt[same] == r->request.prompt[same])
            same++;
        if (same == r->request.n_prompt) same--; // the last token is read with the first answer
        if (same >= known + WORTH_WAITING) return true;
    }
    return false;
}

// Whether it is cheaper to wait, or has to: for a context that it asks for.
static bool waits_on(const fr_scheduler *s, const fr_job *job) {
    return is_being_read(s, job) || fr_slots_is_taken(&s->slots, job->drafter, job->slot);
}

// The first that has to wait for nobody; NULL: none. Only this thread takes jobs out of the queue.
static fr_job *next_job(fr_scheduler *s) {
    pthread_mutex_lock(&s->lock);
    fr_job *job = s->first;
    while (job && waits_on(s, job))
        job = job->next;
    pthread_mutex_unlock(&s->lock);
    return job;
}

// First come, first served.
static void begin_jobs(fr_scheduler *s) {
    while (s->n_run < s->n_slots) {
        fr_job *job = next_job(s);
        if (!job || !begin_job(s, job)) return;
    }
}

// ---------------------------------------------------------------- a step

// Has the generations end that nobody wants, or that take too long.
static void stop_running(fr_scheduler *s) {
    const double now = fr_seconds();
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->n_slots; i++) {
        running *r = &s->run[i];
        if (!r->job) continue;
        r->timed_out |= is_late(r->job, now);
        if (r->job->cancelled || r->timed_out || s->cancels || s->ends)
            fr_session_cancel(r->slot->session);
    }
    pthread_mutex_unlock(&s->lock);
}

static void tell_progress(fr_scheduler *s, running *r, const fr_result *result) {
    fr_context_state *c = &s->context[r->slot - s->slots.slot];
    int known;
    fr_session_context(r->slot->session, &known);
    const int read = known < r->request.n_prompt ? known : r->request.n_prompt;
    pthread_mutex_lock(&r->job->lock);
    r->job->n_read = read;
    pthread_mutex_unlock(&r->job->lock);
    pthread_mutex_lock(&s->lock);
    s->step_tokens += result->n_tokens - c->n_written;
    c->n_read = read;
    c->n_tokens = known;
    c->n_written = result->n_tokens;
    pthread_mutex_unlock(&s->lock);
}

// Tells what the step gave, and ends the job where that was all.
static void tell(fr_scheduler *s, running *r) {
    fr_session *session = r->slot->session;
    const fr_result *result = fr_session_result(session);
    const bool runs = fr_session_runs(session);
    fr_status st = FR_OK;
    tell_progress(s, r, result);
    if (!runs) st = fr_session_end(session, &r->error);
    if (fr_job_tell(r->job, result, &r->text, &r->pieces, !runs, &r->error)) {
        r->failed = true;
        fr_session_cancel(session);
    }
    if (runs) return;
    r->job->cut = r->cut; // before its end is told
    const fr_stats stats = *result->stats;
    fr_slots_give_back(r->slot);
    end_run(s, r, end_of(r, st, &stats), &stats);
}

static void step(fr_scheduler *s) {
    const double start = fr_seconds();
    stop_running(s);
    fr_group_step(s->slots.group);
    s->step_tokens = 0;
    for (int i = 0; i < s->n_slots; i++)
        if (s->run[i].job) tell(s, &s->run[i]);
    pthread_mutex_lock(&s->lock);
    fr_counters_pass(&s->counters, fr_group_last(s->slots.group), s->step_tokens,
                     fr_seconds() - start);
    pthread_mutex_unlock(&s->lock);
}

static void *run_thread(void *arg) {
    fr_scheduler *s = arg;
    for (bool ends = false; !ends || s->n_run;) {
        pthread_mutex_lock(&s->lock);
        drop_waiting(s);
        while (!s->first && !s->n_run && !s->ends) {
            pthread_cond_wait(&s->work, &s->lock);
            drop_waiting(s);
        }
        ends = s->ends;
        pthread_mutex_unlock(&s->lock);
        begin_jobs(s);
        if (s->n_run) step(s);
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
    while ((s->n_waits || s->n_runs) && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&s->finished, &s->lock, &at);
    const bool idle = !s->n_waits && !s->n_runs;
    pthread_mutex_unlock(&s->lock);
    return idle;
}

static double kv_use(const fr_scheduler *s) {
    double tokens = 0;
    for (int i = 0; i < s->n_contexts; i++)
        if (s->context[i].busy) tokens += s->context[i].n_tokens;
    return tokens / ((double)s->n_slots * s->n_ctx);
}

fr_scheduler_state fr_scheduler_look(fr_scheduler *s) {
    pthread_mutex_lock(&s->lock);
    const fr_scheduler_state state = {
        .waits = s->n_waits, .runs = s->n_runs, .kv_use = kv_use(s), .counters = s->counters};
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
