#include "serve/body_memory.h"
#include "base/alloc.h"
#include "serve/wait.h"
#include <assert.h>

static const double SLOW = 100e3; // bytes a second; a slower body may be ended
static const double TAKEN = 1e6;  // ... and an answer that is taken slower
static const double LOOK = 0.1;   // seconds between two checks for slow bodies

enum { RESERVE = 8 }; // one part of so many is for small bodies alone

// `used` is the sum of all shares, `large` the sum of those with a large body.
struct fr_body_memory {
    pthread_mutex_t lock;
    pthread_cond_t given;
    size_t most, used, large;
    fr_body_share *first;
};

fr_status fr_body_memory_open(fr_body_memory **out, size_t most, fr_error *err) {
    fr_body_memory *b = *out = fr_alloc_zero(sizeof *b);
    if (!b) return fr_fail(err, FR_ENOMEM, "memory of bodies: cannot get %zu bytes", sizeof *b);
    b->most = most;
    pthread_mutex_init(&b->lock, NULL);
    fr_wait_open(&b->given);
    return FR_OK;
}

void fr_body_memory_close(fr_body_memory *b) {
    if (!b) return;
    assert(!b->first && !b->used);
    pthread_cond_destroy(&b->given);
    pthread_mutex_destroy(&b->lock);
    fr_free(b);
}

size_t fr_body_memory_most(const fr_body_memory *b, bool large) {
    return large ? b->most - b->most / RESERVE : b->most;
}

bool fr_body_memory_is_sound(const fr_body_memory *b) {
    size_t used = 0, large = 0;
    for (const fr_body_share *s = b->first; s; s = s->after) {
        if (s->after && s->after->before != s) return false;
        used += s->bytes;
        large += s->is_large ? s->bytes : 0;
    }
    return used == b->used && large == b->large && used <= b->most;
}

// ---------------------------------------------------------------- requests come and go

void fr_body_memory_enter(fr_body_memory *b, fr_body_share *s, void (*end)(void *user), void *user,
                          double now) {
    *s = (fr_body_share){.of = b,
                         .sends = true,
                         .since = now,
                         .last = now,
                         .second = now,
                         .rate = SLOW,
                         .end = end,
                         .user = user};
    pthread_mutex_lock(&b->lock);
    s->after = b->first;
    if (b->first) b->first->before = s;
    b->first = s;
    pthread_mutex_unlock(&b->lock);
}

void fr_body_share_came(fr_body_share *s, size_t bytes, double now) {
    fr_body_memory *b = s->of;
    pthread_mutex_lock(&b->lock);
    s->come += bytes;
    s->last = now;
    if (!s->is_large && s->come > FR_BODY_SMALL) {
        s->is_large = true;
        b->large += s->bytes;
    }
    if (now >= s->second + 1) {
        s->rate = (double)(s->come - s->then) / (now - s->second);
        s->second = now;
        s->then = s->come;
    }
    pthread_mutex_unlock(&b->lock);
}

void fr_body_share_arrived(fr_body_share *s) {
    if (!s->of) return;
    pthread_mutex_lock(&s->of->lock);
    s->sends = false;
    pthread_mutex_unlock(&s->of->lock);
}

static void give(fr_body_memory *b, fr_body_share *s, size_t bytes) {
    assert(bytes <= s->bytes);
    s->bytes -= bytes;
    b->used -= bytes;
    if (s->is_large) b->large -= bytes;
    assert(b->large <= b->used);
    if (bytes) pthread_cond_broadcast(&b->given);
}

void fr_body_share_answered(fr_body_share *s, size_t bytes, double now) {
    fr_body_memory *b = s->of;
    if (!b) return;
    pthread_mutex_lock(&b->lock);
    if (s->bytes > bytes) give(b, s, s->bytes - bytes);
    s->takes = true;
    s->late = now + 1 + (double)s->bytes / TAKEN;
    pthread_mutex_unlock(&b->lock);
}

void fr_body_share_leave(fr_body_share *s) {
    fr_body_memory *b = s->of;
    if (!b) return;
    pthread_mutex_lock(&b->lock);
    give(b, s, s->bytes);
    *(s->before ? &s->before->after : &b->first) = s->after;
    if (s->after) s->after->before = s->before;
    pthread_mutex_unlock(&b->lock);
    *s = (fr_body_share){0};
}

// ---------------------------------------------------------------- bytes

static bool take(fr_body_memory *b, fr_body_share *s, size_t bytes) {
    if (bytes > b->most - b->used) return false;
    if (s->is_large && b->large + bytes > fr_body_memory_most(b, true)) return false;
    s->bytes += bytes;
    b->used += bytes;
    if (s->is_large) b->large += bytes;
    assert(b->large <= b->used && b->used <= b->most);
    return true;
}

bool fr_body_share_take(fr_body_share *s, size_t bytes) {
    if (!s->of) return true;
    pthread_mutex_lock(&s->of->lock);
    const bool taken = take(s->of, s, bytes);
    pthread_mutex_unlock(&s->of->lock);
    return taken;
}

void fr_body_share_give(fr_body_share *s, size_t bytes) {
    if (!s->of) return;
    pthread_mutex_lock(&s->of->lock);
    give(s->of, s, bytes);
    pthread_mutex_unlock(&s->of->lock);
}

// ---------------------------------------------------------------- which request is ended

static bool is_slow(const fr_body_share *s, double now) {
    if (s->takes) return now > s->late;
    return s->sends && !s->waits && (now >= s->last + 1 || s->rate < SLOW);
}

static fr_body_share *least_wanted(const fr_body_memory *b, const fr_body_share *but, double now) {
    fr_body_share *worst = NULL;
    double most = 0;
    for (fr_body_share *s = b->first; s; s = s->after) {
        const double held = (double)s->bytes * (now - s->since);
        if (s == but || s->ends || s->bytes <= FR_BODY_SMALL || held <= most || !is_slow(s, now))
            continue;
        worst = s;
        most = held;
    }
    return worst;
}

// Whether one is to end and has not yet.
static bool one_ends(const fr_body_memory *b) {
    const fr_body_share *s = b->first;
    while (s && !s->ends)
        s = s->after;
    return s;
}

static bool displace(fr_body_memory *b, const fr_body_share *s, double now) {
    fr_body_share *worst = least_wanted(b, s, now);
    assert(fr_body_memory_is_sound(b));
    if (!worst) return false;
    worst->ends = true;
    worst->end(worst->user);
    return true;
}

bool fr_body_share_displace(fr_body_share *s, double now) {
    pthread_mutex_lock(&s->of->lock);
    const bool displaced = displace(s->of, s, now);
    pthread_mutex_unlock(&s->of->lock);
    return displaced;
}

// Its own delay is over: from now on the sender is measured again.
static void go_on(fr_body_share *s, double now) {
    s->waits = false;
    s->last = s->second = now;
    s->then = s->come;
}

static bool wait_for_room(fr_body_memory *b, fr_body_share *s, size_t bytes, double seconds) {
    const double until = fr_seconds() + seconds;
    bool taken = false;
    s->waits = true;
    while (!taken && fr_seconds() < until) {
        const struct timespec soon = fr_wait_until(LOOK);
        if (!one_ends(b)) displace(b, s, fr_seconds());
        pthread_cond_timedwait(&b->given, &b->lock, &soon);
        taken = take(b, s, bytes);
    }
    go_on(s, fr_seconds());
    return taken;
}

bool fr_body_share_claim(fr_body_share *s, size_t bytes, double seconds) {
    fr_body_memory *b = s->of;
    if (!b) return true;
    pthread_mutex_lock(&b->lock);
    bool taken = take(b, s, bytes);
    if (!taken && bytes <= fr_body_memory_most(b, s->is_large))
        taken = wait_for_room(b, s, bytes, seconds);
    pthread_mutex_unlock(&b->lock);
    return taken;
}
