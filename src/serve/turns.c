// turns.c — which jobs have a place, and which prompts are read first. scheduler.h has the rules.
#include "engine/engine.h"
#include "serve/schedule.h"

enum {
    TURN = 32,         // passes of a job before another one with an equal claim gets its place
    SHORT_TURN = 4,    // ... before one that never had a place
    LONG = 128,        // ... in all, before another one of its client that names its context
    READ_SOON = 32,    // for each of so many tokens it has one more pass, if its text is read again
    WORTH_WAITING = 16 // tokens
};

// ---------------------------------------------------------------- the next job

// Order by the owner with fewest places, then by the one that has had none for longest. The same
// among the clients of an owner and the requests of a client, then in the order of arriving or of
// losing a place.
static bool is_before(const fr_job *a, const fr_job *b) {
    const fr_share *p = &a->bundle->share, *q = &b->bundle->share;
    fr_shares_part(&p, &q);
    if (p->n_runs != q->n_runs) return p->n_runs < q->n_runs;
    if (p->turn != q->turn) return p->turn < q->turn;
    if (a->bundle->client == b->bundle->client && a->since != b->since) return a->since < b->since;
    return a->number < b->number;
}

// Whether the job that it waits for still reads their common beginning. If not, stops the waiting.
static bool is_still_read(const fr_scheduler *s, fr_job *job) {
    for (int i = 0; i < FR_SLOTS_MOST && job->reader; i++) {
        const fr_run *r = &s->run[i];
        if (!fr_run_is_placed(r) || r->job->number != job->reader) continue;
        if (r->known + WORTH_WAITING <= job->shared) return true;
    }
    job->reader = 0;
    return false;
}

// The next job to get a place in this round; NULL: none.
static fr_job *next_job(fr_scheduler *s) {
    fr_job *next = NULL;
    pthread_mutex_lock(&s->lock);
    for (fr_job *job = s->first; job; job = job->next) {
        if (job->at == FR_JOB_PLACED || job->round == s->n_rounds) continue;
        if (job->cancelled || job->bundle->refused || is_still_read(s, job)) continue;
        if (!next || is_before(job, next)) next = job;
    }
    pthread_mutex_unlock(&s->lock);
    return next;
}

// ---------------------------------------------------------------- shared prompts

static int in_common(const fr_request *a, const fr_request *b) {
    int same = 0;
    while (same < a->n_prompt && same < b->n_prompt && a->prompt[same] == b->prompt[same])
        same++;
    return same == b->n_prompt ? same - 1 : same; // the last token is read with the first answer
}

// Whether another job is reading a beginning of this job's prompt that is longer than the one in
// any context. Then it is cheaper to wait, once, and copy it than to read it twice.
static bool finds_reader(fr_scheduler *s, fr_job *job) {
    if (job->forget || job->waited || job->begun) return false;
    const fr_request *q = job->request;
    job->shared = 0;
    for (int i = 0; i < FR_SLOTS_MOST; i++) {
        const fr_run *r = &s->run[i];
        if (!fr_run_is_placed(r) || r->job->forget) continue;
        if (r->known + WORTH_WAITING > r->request.n_prompt) continue; // nearly read
        if (!fr_slots_are_of_one(r->job->owner, job->owner)) continue;
        const int same = in_common(q, &r->request);
        if (same <= job->shared || same < r->known + WORTH_WAITING) continue;
        job->shared = same;
        job->reader = r->job->number;
    }
    if (!job->reader) return false;
    const int there = fr_slots_agree(&s->slots, q->prompt, q->n_prompt, job->owner);
    if (job->shared < there + WORTH_WAITING) job->reader = 0;
    return job->waited = job->reader != 0;
}

// ---------------------------------------------------------------- which job gives way

static bool needs_context(const fr_scheduler *s, const fr_job *job) {
    return !fr_has_context(job) && !fr_slots_have_room(&s->slots);
}

// Whether it may lose its context: it has used it for as long as reading it again may take.
static bool can_be_spared(const fr_run *r) {
    const fr_job *job = r->job;
    const int n = job->request->n_prompt + job->n_tokens;
    return job->n_tokens && r->known + 1 >= n && job->turn >= SHORT_TURN + n / READ_SOON;
}

// Whether a job that never had a place takes the place of another. Within a client short jobs are
// not interrupted, so that many of them end one after the other. Contexts are not taken faster than
// their texts are read again.
static bool comes_in(const fr_scheduler *s, const fr_run *at_work, const fr_job *job, bool one) {
    if (at_work->job->turn < SHORT_TURN) return false;
    if (one && at_work->job->passes < TURN) return false;
    if (one && fr_slots_is_taken(&s->slots, job->drafter, job->slot))
        return at_work->job->passes >= LONG;
    return !one || !needs_context(s, job) || s->n_steps >= s->new_from;
}

// Whether the running job has had its turn, for another job with an equal claim. A job that had
// turns before waits for a job without a token. Within a client each turn is as long as all before
// together, so that many long answers do not all end at the same time.
static bool had_its_turn(const fr_scheduler *s, const fr_run *at_work, const fr_job *job,
                         bool one) {
    const bool loses = needs_context(s, job) && !s->n_at[FR_JOB_PAUSED]; // its context
    if (loses && !can_be_spared(at_work)) return false;
    if (job->at == FR_JOB_QUEUED) return comes_in(s, at_work, job, one);
    const int before = at_work->job->passes - at_work->job->turn;
    const int turn = one && before > TURN ? before : TURN;
    if (at_work->job->turn < turn || !at_work->job->n_tokens) return false;
    return job->at == FR_JOB_PAUSED || s->n_steps >= s->again_from;
}

static bool gives_way(const fr_scheduler *s, const fr_run *r, const fr_job *job) {
    const fr_share *p = &r->job->bundle->share, *q = &job->bundle->share;
    const bool one = p->of == q->of;
    fr_shares_part(&p, &q);
    if (p == q || p->n_runs <= q->n_runs) return false;
    return p->n_runs > q->n_runs + 1 || had_its_turn(s, r, job, one);
}

// Above 0 if r gives its place up rather than `other`: its owner has more places, or its client, or
// its request.
static int has_more(const fr_run *r, const fr_run *other) {
    const fr_bundle *a = r->job->bundle, *b = other->job->bundle;
    const int owners = a->client->owner->share.n_runs - b->client->owner->share.n_runs,
              clients = a->client->share.n_runs - b->client->share.n_runs;
    if (owners) return owners;
    return clients ? clients : a->share.n_runs - b->share.n_runs;
}

// Of the runs that give way, one with most places (has_more). Of equal ones, the one with the
// shortest text if its context is needed, because that text is read again; else the one with most
// passes.
static fr_run *gives_place(fr_scheduler *s, const fr_job *job) {
    const bool short_of = needs_context(s, job);
    fr_run *best = NULL;
    for (int i = 0; i < FR_SLOTS_MOST; i++) {
        fr_run *r = &s->run[i];
        if (!fr_run_is_placed(r) || !gives_way(s, r, job)) continue;
        if (short_of && !fr_run_can_be_set_aside(r)) continue;
        const int more = best ? has_more(r, best) : 1;
        const bool better =
            more ? more > 0
                 : (short_of ? r->known < best->known : r->job->passes > best->job->passes);
        if (better) best = r;
    }
    return best;
}

// The run in the context that the job names; NULL: that context is free, or the job names none.
static fr_run *in_named(fr_scheduler *s, const fr_job *job) {
    if (fr_has_context(job) || !fr_slots_is_taken(&s->slots, job->drafter, job->slot)) return NULL;
    return &s->run[job->slot];
}

// Whether it leaves the place to a job that need not read its text again. Not if its client has no
// place at all.
static bool stays_aside(const fr_scheduler *s, const fr_job *job) {
    return job->at == FR_JOB_ASIDE && s->n_steps < s->again_from && s->n_at[FR_JOB_PAUSED] &&
           job->bundle->client->share.n_runs;
}

// Frees a place, if none is free, and the context that the job names. False: the job waits on.
static bool clear(fr_scheduler *s, const fr_job *job) {
    fr_run *named = in_named(s, job), *gives = NULL;
    if (stays_aside(s, job) || (named && !fr_run_can_be_set_aside(named))) return false;
    if (named && fr_run_is_placed(named)) {
        if (!gives_way(s, named, job)) return false;
        gives = named;
    } else if (s->n_at[FR_JOB_PLACED] >= s->n_slots) {
        if (!(gives = gives_place(s, job))) return false;
    }
    if (gives) {
        gives->job->round = s->n_rounds;
        fr_run_pause(s, gives);
    }
    if (named) fr_run_set_aside(s, named);
    return true;
}

void fr_turns_deal(fr_scheduler *s) {
    s->n_rounds++;
    for (fr_job *job; (job = next_job(s));) {
        if (!fr_has_context(job) && finds_reader(s, job)) continue;
        if (!clear(s, job) || !fr_run_place(s, job)) job->round = s->n_rounds;
    }
}

// ---------------------------------------------------------------- the order of reading

typedef struct served { // recent tokens
    int owner, client;
} served;

static served had(const fr_client *client) {
    return (served){client->owner->recent, client->recent};
}

static bool is_less(served a, served b) {
    return a.owner != b.owner ? a.owner < b.owner : a.client < b.client;
}

// The recent tokens of the run's client, or of the client of a job that waits for its prompt.
static served had_least(const fr_scheduler *s, const fr_run *r) {
    served least = had(r->job->bundle->client);
    for (const fr_job *job = s->first; job; job = job->next)
        if (job->reader == r->job->number && !fr_has_context(job) &&
            is_less(had(job->bundle->client), least))
            least = had(job->bundle->client);
    return least;
}

void fr_turns_order(fr_scheduler *s) {
    served of[FR_SLOTS_MOST];
    fr_run *run[FR_SLOTS_MOST];
    int n = 0;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->slots.n; i++)
        if (fr_run_is_placed(&s->run[i])) {
            run[n] = &s->run[i];
            of[n++] = had_least(s, &s->run[i]);
        }
    pthread_mutex_unlock(&s->lock);
    for (int i = 0; i < n; i++) {
        int order = 0;
        for (int k = 0; k < n; k++)
            order += is_less(of[k], of[i]);
        fr_session_order(run[i]->slot->session, order);
    }
}
