// preparer.c — a queue in the order of bytes, and two threads that take its first. Each
// preparation is a ticket on the stack of the thread that waits for it.
#define _GNU_SOURCE
#include "serve/preparer.h"
#include "base/alloc.h"
#include "serve/wait.h"
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

enum { THREADS = 2, NICE = 10 };
static const double LOOK = 0.05; // seconds between two checks whether it is wanted

// A chat template may need a MiB of it (jinja.h); frames that are looked after by a sanitizer are
// several times as large.
#ifdef __SANITIZE_ADDRESS__
enum { STACK = 8 << 20 };
#else
enum { STACK = 2 << 20 };
#endif

typedef enum reason { NONE, ENDING, LATE, GONE } reason;

typedef struct ticket {
    fr_preparer *of;
    const fr_preparation *what;
    struct ticket *next; // after it in the queue
    pthread_cond_t news; // it has ended
    double until, looked;
    reason stopped; // set by the thread that runs it, or before that by the caller
    bool begun, ended;
    fr_status status;
    fr_error *err;
} ticket;

// The queue is in the order of bytes, and `n_waiting` long; all that wait or run are `n`.
struct fr_preparer {
    pthread_mutex_t lock;
    pthread_cond_t work, rest; // there is something to do; something has ended
    ticket *first;
    int n_waiting, n;
    bool drains, closes;
    atomic_bool stops;
    pthread_t thread[THREADS];
    int n_threads;
};

bool fr_preparer_is_sound(const fr_preparer *p) {
    int n = 0;
    for (const ticket *t = p->first; t; t = t->next, n++)
        if (t->begun || (t->next && t->next->what->bytes < t->what->bytes)) return false;
    return n == p->n_waiting && p->n >= n;
}

// ---------------------------------------------------------------- whether it is wanted

static void look(ticket *t, double now) {
    t->looked = now;
    if (!t->what->is_wanted(t->what->asker)) t->stopped = GONE;
}

static bool is_large(const fr_preparation *what) {
    return what->bytes >= FR_PREPARER_LARGE;
}

// The end of a small request takes no time.
static bool is_soon_over(const fr_preparation *what) {
    return what->ends && !is_large(what);
}

static bool go_on(void *user) {
    ticket *t = user;
    const double now = fr_seconds();
    if (t->stopped) return false;
    if (atomic_load(&t->of->stops) && !is_soon_over(t->what))
        t->stopped = ENDING;
    else if (t->until > 0 && now > t->until)
        t->stopped = LATE;
    else if (now > t->looked + LOOK)
        look(t, now);
    return !t->stopped;
}

static fr_status say_why(const ticket *t) {
    if (t->stopped == LATE)
        return fr_fail(t->err, FR_EINTR, "no answer could be begun within %g seconds; try again",
                       t->what->timeout);
    return fr_fail(t->err, FR_EINTR,
                   t->stopped == GONE ? "the client has hung up" : "this server is shutting down");
}

static void run(ticket *t) {
    const fr_watch watch = {go_on, t};
    t->status = go_on(t) ? t->what->run(t->what->user, &watch, t->err) : FR_EINTR;
    if (t->status == FR_EINTR && t->stopped) say_why(t);
}

// ---------------------------------------------------------------- the queue, locked

static void put_in(fr_preparer *p, ticket *t) {
    ticket **at = &p->first;
    while (*at && (*at)->what->bytes <= t->what->bytes)
        at = &(*at)->next;
    t->next = *at;
    *at = t;
    p->n_waiting++;
    assert(fr_preparer_is_sound(p));
}

static void take_out(fr_preparer *p, const ticket *t) {
    ticket **at = &p->first;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    p->n_waiting--;
    assert(fr_preparer_is_sound(p));
}

// The threads' priority is theirs: what was lowered cannot be raised again without being root.
static void *serve(void *arg) {
    fr_preparer *p = arg;
    const id_t self = (id_t)gettid();
    setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + NICE); // 19 at most
    pthread_mutex_lock(&p->lock);
    while (!p->closes) {
        ticket *t = p->first;
        if (!t) {
            pthread_cond_wait(&p->work, &p->lock);
            continue;
        }
        take_out(p, t);
        t->begun = true;
        pthread_mutex_unlock(&p->lock);
        run(t);
        pthread_mutex_lock(&p->lock);
        t->ended = true;
        pthread_cond_signal(&t->news);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void wait_for_end(fr_preparer *p, ticket *t) {
    fr_wait_open(&t->news);
    put_in(p, t);
    pthread_cond_signal(&p->work);
    while (!t->ended) {
        const struct timespec at = fr_wait_until(LOOK);
        pthread_cond_timedwait(&t->news, &p->lock, &at);
        if (t->begun || go_on(t)) continue;
        take_out(p, t);
        t->status = say_why(t);
        break;
    }
    pthread_cond_destroy(&t->news);
}

// ---------------------------------------------------------------- from any thread

fr_status fr_preparer_run(fr_preparer *p, const fr_preparation *what, fr_error *err) {
    ticket t = {.of = p, .what = what, .err = err};
    if (what->timeout > 0) t.until = fr_seconds() + what->timeout - what->waited;
    pthread_mutex_lock(&p->lock);
    const bool refused = p->drains && !what->ends;
    p->n += !refused;
    if (!refused && is_large(what)) {
        wait_for_end(p, &t);
    } else if (!refused) {
        pthread_mutex_unlock(&p->lock);
        run(&t);
        pthread_mutex_lock(&p->lock);
    }
    p->n -= !refused;
    if (!p->n) pthread_cond_broadcast(&p->rest);
    pthread_mutex_unlock(&p->lock);
    return refused ? say_why(&t) : t.status;
}

void fr_preparer_drain(fr_preparer *p) {
    pthread_mutex_lock(&p->lock);
    p->drains = true;
    pthread_mutex_unlock(&p->lock);
}

void fr_preparer_stop(fr_preparer *p) {
    fr_preparer_drain(p);
    atomic_store(&p->stops, true);
}

bool fr_preparer_idle(fr_preparer *p, double seconds) {
    const struct timespec until = fr_wait_until(seconds);
    pthread_mutex_lock(&p->lock);
    for (int rc = 0; p->n && rc != ETIMEDOUT;)
        rc = pthread_cond_timedwait(&p->rest, &p->lock, &until);
    const bool idle = !p->n;
    pthread_mutex_unlock(&p->lock);
    return idle;
}

int fr_preparer_waits(fr_preparer *p) {
    pthread_mutex_lock(&p->lock);
    const int n = p->n_waiting;
    pthread_mutex_unlock(&p->lock);
    return n;
}

// ---------------------------------------------------------------- open and close

static bool start(fr_preparer *p) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes)) return false;
    bool started = !pthread_attr_setstacksize(&attributes, STACK);
    while (started && p->n_threads < THREADS) {
        started = !pthread_create(&p->thread[p->n_threads], &attributes, serve, p);
        p->n_threads += started;
    }
    pthread_attr_destroy(&attributes);
    return started;
}

fr_status fr_preparer_open(fr_preparer **out, fr_error *err) {
    *out = NULL;
    fr_preparer *p = fr_alloc_zero(sizeof *p);
    if (!p) return fr_fail(err, FR_ENOMEM, "preparing: cannot get %zu bytes", sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    fr_wait_open(&p->work);
    fr_wait_open(&p->rest);
    if (!start(p)) {
        fr_preparer_close(p);
        return fr_fail(err, FR_ENOMEM, "preparing: cannot start %d threads", THREADS);
    }
    *out = p;
    return FR_OK;
}

void fr_preparer_close(fr_preparer *p) {
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    assert(!p->n && !p->first);
    p->closes = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->n_threads; i++)
        pthread_join(p->thread[i], NULL);
    pthread_cond_destroy(&p->rest);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    fr_free(p);
}
