// runs.c — a job in its context: it begins, is paused or set aside, takes steps, and ends. After
// each step its results are added to the job.
#include "base/alloc.h"
#include "base/clock.h"
#include "decode/counts.h"
#include "engine/engine.h"
#include "serve/schedule.h"
#include <assert.h>
#include <string.h>

// Rows a step that are read again, on average, as new jobs take the contexts of others.
enum { NEW_ROWS = 4 };

static int index_of(const fr_scheduler *s, const fr_run *r) {
    return (int)(r - s->run);
}

fr_run *fr_run_of(fr_scheduler *s, const fr_job *job) {
    for (int i = 0; i < FR_SLOTS_MOST; i++)
        if (s->run[i].job == job) return &s->run[i];
    return NULL;
}

// ---------------------------------------------------------------- text

// Whether a line has come that is indented by less than it may be; the text is then cut after its
// indentation.
static bool is_outdented(fr_run *r) {
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

static bool is_at_its_end(fr_run *r) {
    const fr_job *job = r->job;
    if (!r->text.n) return false;
    if (job->indent && is_outdented(r)) return true;
    return job->line_seconds > 0 && job->first_token > 0 &&
           fr_seconds() > job->first_token + job->line_seconds &&
           memchr(r->text.data, '\n', r->text.n);
}

static bool take_text(void *user, const fr_piece *piece) {
    fr_run *r = user;
    if (r->cut) return false; // text that was held back
    fr_status st = fr_buffer_add(&r->text, piece->text, piece->bytes, &r->error);
    r->cut = !st && piece->bytes && !r->again && is_at_its_end(r);
    if (!st && piece->bytes && r->job->keep_pieces)
        st = fr_buffer_add(&r->pieces, &(fr_job_piece){r->text.n, piece->depth, piece->drafter},
                           sizeof(fr_job_piece), &r->error);
    r->failed |= st;
    return !st && !r->cut;
}

// ---------------------------------------------------------------- begin

// A job that begins again reads its own text again, and reuses the part that some context still
// has.
static fr_status take_slot(fr_scheduler *s, fr_slot **slot, const fr_job *job, fr_error *err) {
    const fr_request *q = job->request;
    const int n = q->n_prompt + job->n_tokens;
    const bool forget = job->forget && !job->begun;
    if (!job->n_tokens)
        return fr_slots_take(slot, &s->slots, q->prompt, n, job->drafter, job->owner, forget,
                             job->slot, err);
    int32_t *text = fr_alloc_array((size_t)n, sizeof *text);
    *slot = NULL;
    if (!text) return fr_fail(err, FR_ENOMEM, "no memory for %d tokens", n);
    memcpy(text, q->prompt, sizeof *text * (size_t)q->n_prompt);
    memcpy(text + q->n_prompt, job->tokens, sizeof *text * (size_t)job->n_tokens);
    const fr_status st =
        fr_slots_take(slot, &s->slots, text, n, job->drafter, job->owner, forget, job->slot, err);
    fr_free(text);
    if (st || !*slot) return st;
    (*slot)->n_prompt = q->n_prompt;
    (*slot)->kept = !job->forget;
    return FR_OK;
}

// Of two paused ones the one to set aside: that has least to read again, and rather one that has
// read its prompt, so that all prompts are read in the end.
static bool is_cheaper(const fr_run *r, const fr_run *than) {
    const bool writes = r->job->n_tokens > 0, other = than->job->n_tokens > 0;
    return writes != other ? writes : r->known < than->known;
}

// NULL: none can be set aside.
static fr_run *cheapest(fr_scheduler *s) {
    fr_run *least = NULL;
    for (int i = 0; i < FR_SLOTS_MOST; i++) {
        fr_run *r = &s->run[i];
        if (!r->job || r->job->at != FR_JOB_PAUSED || !fr_run_can_be_set_aside(r)) continue;
        if (!least || is_cheaper(r, least)) least = r;
    }
    return least;
}

// Where no context is idle, or there is no memory for one more, a paused job gives up its own.
static fr_status find_slot(fr_scheduler *s, fr_slot **slot, const fr_job *job, fr_error *err) {
    fr_status st = take_slot(s, slot, job, err);
    while ((!st && !*slot) || st == FR_ENOMEM) {
        fr_run *r = cheapest(s);
        if (!r || fr_slots_is_taken(&s->slots, job->drafter, job->slot)) break;
        if (job->at == FR_JOB_QUEUED) s->new_from = s->n_steps + r->known / NEW_ROWS;
        fr_run_set_aside(s, r);
        st = take_slot(s, slot, job, err);
    }
    return st;
}

static fr_status begin_session(fr_run *r, fr_error *err) {
    const fr_job *job = r->job;
    r->request.stream = take_text;
    r->request.user = r;
    if (job->n_tokens) r->request.prompt_logprobs = false; // they are there
    r->again = true;
    const fr_status st =
        fr_session_begin_again(r->slot->session, &r->request, job->tokens, job->n_tokens, err);
    r->again = false;
    fr_session_context(r->slot->session, &r->known);
    return st;
}

// Publishes that it has begun: its context, and the reused tokens of its prompt.
static void tell_place(fr_scheduler *s, const fr_run *r) {
    const int at = index_of(s, r);
    fr_job *job = r->job;
    fr_job_begin(job, at, r->known);
    fr_buffer_free(&job->rest);
    fr_buffer_free(&job->rest_pieces);
    pthread_mutex_lock(&s->lock);
    s->n_contexts = s->slots.n;
    s->context[at] = (fr_context_state){.busy = true,
                                        .job = job->number,
                                        .drafter = r->slot->drafter,
                                        .n_prompt = r->request.n_prompt,
                                        .n_predict = r->request.n_predict,
                                        .n_read = r->known,
                                        .n_written = job->n_tokens,
                                        .n_tokens = r->known};
    pthread_mutex_unlock(&s->lock);
}

static void free_run(fr_run *r) {
    fr_buffer_free(&r->text);
    fr_buffer_free(&r->pieces);
    *r = (fr_run){0};
}

static bool begin(fr_scheduler *s, fr_job *job) {
    fr_slot *slot;
    fr_error err = {0};
    fr_status st = find_slot(s, &slot, job, &err);
    if (!st && !slot) return false;
    fr_run *r = slot ? &s->run[slot - s->slots.slot] : NULL;
    if (!st) {
        *r = (fr_run){.job = job, .slot = slot, .request = *job->request};
        st = begin_session(r, &err);
    }
    if (!st) {
        // The limit makes it about one row a step that is read again.
        if (job->at == FR_JOB_ASIDE)
            s->again_from = s->n_steps + job->request->n_prompt + job->n_tokens;
        job->turn = 0;
        tell_place(s, r); // before it counts, so that no more jobs run than contexts are busy
        fr_queue_move(s, job, FR_JOB_PLACED);
        return true;
    }
    if (r) {
        free_run(r);
        fr_slots_give_back(slot);
    }
    const fr_stats stats = job->before;
    if (job->begun) fr_job_add_rest(job);
    fr_queue_end(s, job, FR_JOB_FAILED, job->begun ? &stats : NULL, &err);
    return true;
}

bool fr_run_place(fr_scheduler *s, fr_job *job) {
    if (!fr_has_context(job)) return begin(s, job);
    fr_run *r = fr_run_of(s, job);
    fr_session_pause(r->slot->session, false);
    fr_queue_move(s, job, FR_JOB_PLACED);
    job->turn = 0;
    pthread_mutex_lock(&s->lock);
    s->context[index_of(s, r)].paused = false;
    pthread_mutex_unlock(&s->lock);
    return true;
}

// ---------------------------------------------------------------- pause

void fr_run_pause(fr_scheduler *s, fr_run *r) {
    fr_session_pause(r->slot->session, true);
    fr_queue_move(s, r->job, FR_JOB_PAUSED);
    pthread_mutex_lock(&s->lock);
    s->context[index_of(s, r)].paused = true;
    pthread_mutex_unlock(&s->lock);
}

bool fr_run_can_be_set_aside(const fr_run *r) {
    return !r->job->request->prompt_logprobs || r->job->n_tokens;
}

void fr_run_set_aside(fr_scheduler *s, fr_run *r) {
    fr_job *job = r->job;
    fr_error unsaid; // of text that is made again
    fr_session_end(r->slot->session, &unsaid);
    job->before = fr_stats_after(&job->before, fr_session_result(r->slot->session)->stats);
    job->rest = r->text;
    job->rest_pieces = r->pieces;
    r->text = r->pieces = (fr_buffer){0};
    fr_slots_give_back(r->slot);
    free_run(r);
    fr_queue_move(s, job, FR_JOB_ASIDE);
    pthread_mutex_lock(&s->lock);
    s->context[index_of(s, r)].busy = s->context[index_of(s, r)].paused = false;
    pthread_mutex_unlock(&s->lock);
}

// ---------------------------------------------------------------- a step

// Has the generations end that are not wanted, or take too long. One that is paused takes part in
// the step, to end there.
static void stop_some(fr_scheduler *s) {
    const double now = fr_seconds();
    for (int i = 0; i < FR_SLOTS_MOST; i++) {
        fr_run *r = &s->run[i];
        if (!r->job) continue;
        pthread_mutex_lock(&s->lock);
        r->timed_out |= fr_queue_is_late(r->job, now);
        r->refused |= r->job->bundle->refused;
        const bool ends = r->job->cancelled || r->timed_out || r->refused || s->cancels || s->ends;
        pthread_mutex_unlock(&s->lock);
        if (!ends) continue;
        fr_session_cancel(r->slot->session);
        if (r->job->at == FR_JOB_PAUSED) fr_run_place(s, r->job);
    }
}

static fr_job_end end_of(const fr_run *r, fr_status st, const fr_stats *stats) {
    if (st || r->failed) return FR_JOB_FAILED;
    if (r->refused && stats->finish == FR_FINISH_INTERRUPTED) return FR_JOB_REFUSED;
    if (r->timed_out) return FR_JOB_TIMED_OUT;
    if (r->cut) return FR_JOB_LENGTH;
    if (stats->finish == FR_FINISH_STOP) return FR_JOB_STOP;
    return stats->finish == FR_FINISH_LENGTH ? FR_JOB_LENGTH : FR_JOB_CANCELLED;
}

static void end_run(fr_scheduler *s, fr_run *r, fr_status st) {
    fr_job *job = r->job;
    const fr_stats stats = fr_stats_after(&job->before, fr_session_result(r->slot->session)->stats);
    const fr_job_end end = end_of(r, st, &stats);
    const fr_error error = r->error;
    fr_slots_give_back(r->slot);
    free_run(r);
    pthread_mutex_lock(&s->lock);
    s->context[index_of(s, r)].busy = false;
    pthread_mutex_unlock(&s->lock);
    fr_queue_end(s, job, end, &stats, end == FR_JOB_FAILED ? &error : NULL);
}

static void tell_progress(fr_scheduler *s, fr_run *r, const fr_result *result) {
    fr_context_state *c = &s->context[index_of(s, r)];
    const int before = r->known;
    fr_session_context(r->slot->session, &r->known);
    const int read = r->known < r->request.n_prompt ? r->known : r->request.n_prompt;
    fr_job_read(r->job, read);
    pthread_mutex_lock(&s->lock);
    s->step_tokens += result->n_tokens - c->n_written;
    c->n_read = read;
    c->n_tokens = r->known;
    c->n_written = result->n_tokens;
    if (r->known > before) fr_clients_serve(&s->clients, r->job->bundle->client, r->known - before);
    pthread_mutex_unlock(&s->lock);
}

// Passes on what the step gave, and ends the job where that was all.
static void tell(fr_scheduler *s, fr_run *r) {
    fr_session *session = r->slot->session;
    const fr_result *result = fr_session_result(session);
    const bool runs = fr_session_runs(session);
    fr_status st = FR_OK;
    r->job->passes++;
    r->job->turn++;
    tell_progress(s, r, result);
    if (!runs) st = fr_session_end(session, &r->error);
    if (fr_job_tell(r->job, result, &r->text, &r->pieces, !runs, &r->error)) {
        r->failed = true;
        fr_session_cancel(session);
    }
    if (runs) return;
    r->job->cut = r->cut; // before its end, with which it is read
    end_run(s, r, st);
}

void fr_runs_step(fr_scheduler *s) {
    const double start = fr_seconds();
    stop_some(s);
    fr_turns_order(s);
    fr_group_step(s->slots.group);
    pthread_mutex_lock(&s->lock);
    s->n_steps++;
    pthread_mutex_unlock(&s->lock);
    s->step_tokens = 0;
    for (int i = 0; i < FR_SLOTS_MOST; i++)
        if (fr_run_is_placed(&s->run[i])) tell(s, &s->run[i]);
    pthread_mutex_lock(&s->lock);
    fr_counters_pass(&s->counters, fr_group_last(s->slots.group), s->step_tokens,
                     fr_seconds() - start);
    pthread_mutex_unlock(&s->lock);
}
