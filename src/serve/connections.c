// connections.c — a list for each phase, sorted by the time of entering it. Ending a connection
// shuts its socket down: its thread reads the end of the stream and removes the connection.
#define _GNU_SOURCE
#include "serve/connections.h"
#include "base/alloc.h"
#include "serve/wait.h"
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static const double LOOK = 0.5;   // seconds between two checks for late connections
static const double WHILE = 1;    // seconds of waiting after which a connection counts as silent
static const double PATIENCE = 3; // seconds that a new connection waits if none can be ended

enum { FIRST = 1 << 20 }; // bytes of a request that may come slowly

struct fr_connection {
    fr_connection *before, *after; // in the list of its phase; an ending connection is in no list
    fr_connection_phase phase;
    int fd;
    bool ends;
    double since;
    size_t received; // of the request, since its first line
};

// Every connection that is not ending is in the list of its phase. All lists together have `n`
// entries. Within a list `since` never decreases.
struct fr_connections {
    fr_connections_options options;
    pthread_mutex_t lock;
    pthread_cond_t changed; // a phase began, or the end
    pthread_t watch;
    bool closes;
    struct list {
        fr_connection *first, *last;
    } of[FR_CONNECTION_PHASES];
    int n, n_ending; // ending, and not removed yet
};

// ---------------------------------------------------------------- lists, locked

static void put_last(fr_connections *c, fr_connection *x) {
    struct list *l = &c->of[x->phase];
    x->before = l->last;
    x->after = NULL;
    *(l->last ? &l->last->after : &l->first) = x;
    l->last = x;
    c->n++;
}

static void take_out(fr_connections *c, fr_connection *x) {
    struct list *l = &c->of[x->phase];
    *(x->before ? &x->before->after : &l->first) = x->after;
    *(x->after ? &x->after->before : &l->last) = x->before;
    x->before = x->after = NULL;
    c->n--;
}

bool fr_connections_is_sound(const fr_connections *c) {
    bool none = true;
    for (int i = 0; i < FR_CONNECTION_PHASES; i++) {
        const struct list *l = &c->of[i];
        if (!l->first != !l->last) return false;
        if (l->first && (l->first->before || l->last->after || l->first->since > l->last->since))
            return false;
        none &= !l->first;
    }
    return c->n >= 0 && none == !c->n;
}

static void end(fr_connections *c, fr_connection *x) {
    take_out(c, x);
    x->ends = true;
    c->n_ending++;
    shutdown(x->fd, SHUT_RDWR);
}

// ---------------------------------------------------------------- which connection is ended

// What has come and was not read yet: the delay is ours.
static bool has_said_more(const fr_connection *x) {
    struct pollfd p = {.fd = x->fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0 && (p.revents & POLLIN) && !(p.revents & (POLLHUP | POLLERR));
}

static fr_connection *first_silent(const fr_connections *c, fr_connection_phase phase) {
    fr_connection *x = c->of[phase].first;
    while (x && has_said_more(x))
        x = x->after;
    return x;
}

// Candidates are first the connections for which the server has waited a while. Of these, ones
// without any request go first, then ones with an answer, then ones in the middle of a request.
// Otherwise it is the one for which the server has waited longest, so that a new connection
// outlives a flood. The last resort is a peer that does not take its answer.
static fr_connection *least_wanted(const fr_connections *c) {
    static const fr_connection_phase order[] = {FR_CONNECTION_NEW, FR_CONNECTION_RESTS,
                                                FR_CONNECTION_SENDS};
    const double now = fr_seconds();
    fr_connection *longest = NULL;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        fr_connection *x = first_silent(c, order[i]);
        if (x && now > x->since + WHILE) return x;
        if (x && (!longest || x->since < longest->since)) longest = x;
    }
    if (longest) return longest;
    fr_connection *slow = c->of[FR_CONNECTION_TAKES].first;
    return slow && now > slow->since + c->options.request_seconds ? slow : NULL;
}

// If all wait for answers, a place is free as soon as one is answered. False: not in time.
static bool make_room(fr_connections *c) {
    const double until = fr_seconds() + PATIENCE;
    while (c->n >= c->options.most && fr_seconds() < until) {
        // libmicrohttpd reads bytes without notifying this file, so it is polled.
        const struct timespec soon = fr_wait_until(0.01);
        fr_connection *other = least_wanted(c);
        if (other)
            end(c, other);
        else
            pthread_cond_timedwait(&c->changed, &c->lock, &soon);
    }
    return c->n < c->options.most;
}

// ---------------------------------------------------------------- late connections

static double allowed(const fr_connections *c, const fr_connection *x) {
    const fr_connections_options *o = &c->options;
    if (x->phase == FR_CONNECTION_RESTS) return o->rest_seconds;
    const size_t first = x->received < FIRST ? x->received : FIRST;
    return o->request_seconds + (double)first / o->body_rate +
           (double)(x->received - first) / o->more_rate;
}

static void end_the_late(fr_connections *c, fr_connection_phase phase) {
    const double now = fr_seconds();
    for (fr_connection *x = c->of[phase].first, *after; x; x = after) {
        after = x->after;
        if (now > x->since + allowed(c, x)) end(c, x);
    }
}

static void *watch(void *arg) {
    fr_connections *c = arg;
    pthread_mutex_lock(&c->lock);
    while (!c->closes) {
        const struct timespec at = fr_wait_until(LOOK);
        int rc = 0;
        while (!c->closes && rc != ETIMEDOUT)
            rc = pthread_cond_timedwait(&c->changed, &c->lock, &at);
        end_the_late(c, FR_CONNECTION_NEW);
        end_the_late(c, FR_CONNECTION_SENDS);
        end_the_late(c, FR_CONNECTION_RESTS);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

// ---------------------------------------------------------------- open and close

fr_status fr_connections_open(fr_connections **out, const fr_connections_options *o,
                              fr_error *err) {
    fr_connections *c = fr_alloc_zero(sizeof *c);
    *out = NULL;
    if (!c) return fr_fail(err, FR_ENOMEM, "connections: cannot get %zu bytes", sizeof *c);
    c->options = *o;
    pthread_mutex_init(&c->lock, NULL);
    fr_wait_open(&c->changed);
    if (pthread_create(&c->watch, NULL, watch, c)) {
        pthread_cond_destroy(&c->changed);
        pthread_mutex_destroy(&c->lock);
        fr_free(c);
        return fr_fail(err, FR_ENOMEM, "connections: cannot start a thread");
    }
    *out = c;
    return FR_OK;
}

void fr_connections_close(fr_connections *c) {
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    assert(!c->n);
    c->closes = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->watch, NULL);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    fr_free(c);
}

// ---------------------------------------------------------------- a connection

fr_connection *fr_connections_add(fr_connections *c, int fd) {
    fr_connection *x = fr_alloc_zero(sizeof *x);
    if (!x) return NULL;
    *x = (fr_connection){.fd = fd, .since = fr_seconds()};
    pthread_mutex_lock(&c->lock);
    const bool room = make_room(c);
    put_last(c, x);
    if (!room) end(c, x);
    assert(fr_connections_is_sound(c));
    const bool hurries = c->n_ending > c->options.most / 2 + 16;
    pthread_mutex_unlock(&c->lock);
    if (hurries) usleep(1000); // they get to their end
    return x;
}

void fr_connections_remove(fr_connections *c, fr_connection *x) {
    if (!x) return;
    pthread_mutex_lock(&c->lock);
    if (x->ends)
        c->n_ending--;
    else
        take_out(c, x);
    assert(fr_connections_is_sound(c));
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    fr_free(x);
}

void fr_connections_enter(fr_connections *c, fr_connection *x, fr_connection_phase phase) {
    if (!x) return;
    pthread_mutex_lock(&c->lock);
    const bool heard = x->phase == FR_CONNECTION_WAITS || x->phase == FR_CONNECTION_TAKES;
    if (!x->ends) take_out(c, x);
    x->phase = phase;
    x->since = fr_seconds();
    if (phase != FR_CONNECTION_WAITS && phase != FR_CONNECTION_TAKES) x->received = 0;
    if (!x->ends) put_last(c, x);
    assert(fr_connections_is_sound(c));
    if (heard && phase == FR_CONNECTION_RESTS) pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

void fr_connections_received(fr_connections *c, fr_connection *x, size_t bytes) {
    if (!x) return;
    pthread_mutex_lock(&c->lock);
    x->received += bytes;
    pthread_mutex_unlock(&c->lock);
}

void fr_connections_end(fr_connections *c, fr_connection *x) {
    if (!x) return;
    pthread_mutex_lock(&c->lock);
    if (!x->ends) end(c, x);
    assert(fr_connections_is_sound(c));
    pthread_mutex_unlock(&c->lock);
}

// ---------------------------------------------------------------- all of them

static bool is_at_rest(const fr_connections *c) {
    const fr_connection *last = c->of[FR_CONNECTION_TAKES].last;
    if (c->of[FR_CONNECTION_WAITS].first) return false;
    return !last || fr_seconds() > last->since + c->options.request_seconds;
}

bool fr_connections_at_rest(fr_connections *c, double seconds) {
    const struct timespec until = fr_wait_until(seconds);
    pthread_mutex_lock(&c->lock);
    bool rests = is_at_rest(c);
    for (int rc = 0; !rests && rc != ETIMEDOUT; rests = is_at_rest(c))
        rc = pthread_cond_timedwait(&c->changed, &c->lock, &until);
    pthread_mutex_unlock(&c->lock);
    return rests;
}
