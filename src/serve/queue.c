// queue.c — jobs arrive, if the queue has space or a client has more than its share, and leave.
#include "base/clock.h"
#include "serve/schedule.h"
#include <assert.h>

enum {
    HEAD_START = 128, // steps that a new job counts as having waited: most are short
    RESERVE = 8,      // additional part of the queue for clients that have nothing in it
    NAMED_SHARE = 4,  // part of the queue for a client's jobs that name a context
    LARGE_SHARE = 2   // ... beyond which one request gives way to others of its client
};

// ---------------------------------------------------------------- come

static int length_of(const fr_job *job) {
    int n = 0;
    for (; job; job = job->next)
        n++;
    return n;
}

// Of the client's jobs without a place the last one that came before `limit`; NULL: there is none.
static fr_job *newest(const fr_scheduler *s, const fr_client *client, uint64_t limit) {
    fr_job *last = NULL;
    for (fr_job *job = s->first; job && job->number < limit; job = job->next)
        if (job->bundle->client == client && job->at != FR_JOB_PLACED && !job->bundle->refused)
            last = job;
    return last;
}

static int waits_of(const fr_bundle *b) {
    return b->n_jobs - b->share.n_runs;
}

static void refuse(fr_scheduler *s, fr_bundle *b) {
    b->refused = true;
    s->n_jobs -= b->n_jobs;
    fr_client_count(b->client, 0, -b->n_jobs);
}

// Frees `need` places of the client by refusing whole requests, the newest first, as long as the
// client (or its owner) has more waiting jobs than `others`. It has `waits` at the beginning.
// False: that does not suffice, and nothing was refused.
static bool give_up(fr_scheduler *s, fr_client *client, int need, int waits, int others) {
    for (int pass = 0; pass < 2; pass++) { // checks, then does it
        uint64_t limit = UINT64_MAX;
        int freed = 0, left = waits;
        for (const fr_bundle *done = NULL; freed < need;) {
            fr_job *job = newest(s, client, limit);
            if (!job || left <= others) return false;
            limit = job->number;
            if (job->bundle == done) continue; // the jobs of a request came together
            done = job->bundle;
            left -= waits_of(done);
            freed += done->n_jobs;
            if (pass) refuse(s, job->bundle);
        }
    }
    return true;
}

// Whether another client gives up places for n jobs of this client. That is the client with most
// jobs in the queue, of the owner with most, or of this client's own owner.
static bool push_out(fr_scheduler *s, const fr_client *client, int need, int n) {
    const fr_client *owner = fr_clients_longest(&s->clients, NULL);
    fr_client *longest = fr_clients_longest(&s->clients, owner);
    if (owner != client->owner && longest &&
        give_up(s, longest, need, fr_client_waits(owner), fr_client_waits(client->owner) + n))
        return true;
    longest = fr_clients_longest(&s->clients, client->owner);
    return longest != client &&
           give_up(s, longest, need, fr_client_waits(longest), fr_client_waits(client) + n);
}

// A request that fills most of the queue by itself; NULL: the client has none.
static fr_bundle *large_one(const fr_scheduler *s, const fr_client *client) {
    for (const fr_job *job = s->first; job; job = job->next) {
        fr_bundle *b = job->bundle;
        if (b->client == client && !b->refused && waits_of(b) * LARGE_SHARE > s->n_queue) return b;
    }
    return NULL;
}

// Whether the queue has space for n more jobs of the client, if necessary after displacing others.
// A client that fills the queue keeps it as long as the reserve lasts; then other clients displace
// its requests. A client displaces a large request of its own in the same way.
static bool make_room(fr_scheduler *s, fr_client *client, int n) {
    const int need = s->n_jobs + n - fr_scheduler_room(s), waits = fr_client_waits(client);
    const int reserve = s->n_queue / RESERVE;
    fr_bundle *large = large_one(s, client);
    if (need <= 0 || (need <= reserve && (!waits || large))) return true;
    if (push_out(s, client, need, n)) return true;
    if (!large || waits_of(large) <= n || large->n_jobs < need) return false;
    refuse(s, large);
    return true;
}

// Whether the client may have so many jobs wait for contexts that they name.
static bool has_room_for_named(const fr_scheduler *s, const fr_client *client,
                               const fr_job *first) {
    const int most = s->n_queue > NAMED_SHARE ? s->n_queue / NAMED_SHARE : 1;
    int n = 0;
    for (const fr_job *job = first; job; job = job->next)
        n += job->slot >= 0;
    if (!n) return true;
    for (const fr_job *job = s->first; job; job = job->next)
        n += job->slot >= 0 && !fr_has_context(job) && job->bundle->client == client &&
             !job->bundle->refused;
    return n <= most || n == 1;
}

static void enter(fr_scheduler *s, fr_client *client, fr_job *first, int n) {
    first->own = (fr_bundle){.client = client, .n_jobs = n};
    first->own.share = (fr_share){.of = &client->share, .turn = s->n_steps - HEAD_START};
    for (fr_job *job = first; job; job = job->next) {
        fr_job_enter(job);
        job->bundle = &first->own;
        job->at = FR_JOB_QUEUED;
        job->number = ++s->n_submitted;
        job->since = s->n_steps;
        *s->last = job;
        s->last = &job->next;
    }
    s->n_jobs += n;
    s->n_at[FR_JOB_QUEUED] += n;
    fr_client_count(client, n, n);
}

fr_submitted fr_scheduler_submit(fr_scheduler *s, fr_job *first) {
    const int n = length_of(first);
    fr_submitted said = FR_QUEUE_FULL;
    pthread_mutex_lock(&s->lock);
    fr_client *client =
        fr_clients_enter(&s->clients, first->owner, first->client, s->n_steps - HEAD_START);
    if (s->draining || s->ends)
        said = FR_DRAINING;
    else if (client && !has_room_for_named(s, client, first))
        said = FR_CONTEXT_BUSY;
    else if (client && make_room(s, client, n))
        said = FR_SUBMITTED;
    if (said == FR_SUBMITTED) {
        enter(s, client, first, n);
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

// ---------------------------------------------------------------- move and go

void fr_queue_move(fr_scheduler *s, fr_job *job, fr_job_at to) {
    const int places = (to == FR_JOB_PLACED) - (job->at == FR_JOB_PLACED);
    pthread_mutex_lock(&s->lock);
    s->n_at[job->at]--;
    s->n_at[to]++;
    job->at = to;
    fr_share_place(&job->bundle->share, places, s->n_steps);
    if (places) job->since = s->n_steps;
    s->counters.preemptions += to == FR_JOB_PAUSED;
    pthread_mutex_unlock(&s->lock);
}

static void unlink_job(fr_scheduler *s, fr_job *job) {
    fr_job **at = &s->first;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    if (s->last == &job->next) s->last = at;
    job->next = NULL;
    s->n_at[job->at]--;
}

// Call it with the lock held. After it the job may be freed.
static void end(fr_scheduler *s, fr_job *job, fr_job_end end, const fr_stats *stats,
                const fr_error *error) {
    fr_bundle *b = job->bundle;
    unlink_job(s, job);
    b->n_jobs--;
    fr_client_count(b->client, -1, b->refused ? 0 : -1);
    fr_share_place(&b->share, -(job->at == FR_JOB_PLACED), s->n_steps);
    s->n_jobs -= !b->refused;
    fr_counters_end(&s->counters, job, end, stats, fr_seconds());
    pthread_cond_broadcast(&s->finished);
    fr_job_finish(job, end, stats, error);
}

void fr_queue_end(fr_scheduler *s, fr_job *job, fr_job_end how, const fr_stats *stats,
                  const fr_error *error) {
    pthread_mutex_lock(&s->lock);
    end(s, job, how, stats, error);
    pthread_mutex_unlock(&s->lock);
}

bool fr_queue_is_late(const fr_job *job, double now) {
    return job->timeout > 0 && now > job->submitted + job->timeout;
}

void fr_queue_drop(fr_scheduler *s) {
    const double now = fr_seconds();
    for (fr_job *job = s->first, *next; job; job = next) {
        const bool refused = job->bundle->refused, late = fr_queue_is_late(job, now);
        next = job->next;
        if (fr_has_context(job)) continue;
        if (!refused && !late && !job->cancelled && !s->cancels && !s->ends) continue;
        const fr_stats stats = job->before;
        if (job->begun) fr_job_add_rest(job);
        end(s, job,
            refused ? FR_JOB_REFUSED
            : late  ? FR_JOB_TIMED_OUT
                    : FR_JOB_CANCELLED,
            job->begun ? &stats : NULL, NULL);
    }
}
