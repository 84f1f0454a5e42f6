// generate.c — a body's answers, whole when all have ended, or as server-sent events as they come.
#include "base/alloc.h"
#include "base/clock.h"
#include "serve/dialect.h"
#include <stdlib.h>
#include <string.h>

static const double PING = 15; // seconds without an event until a comment keeps the line open

typedef struct sent {   // of a choice
    int tokens, n_read; // n_read: of the prompt, as was told; -1: not yet
    size_t bytes;
    bool began, ended;
} sent;

typedef struct events { // a stream
    fr_ask *ask;
    const fr_dialect *dialect;
    sent *of; // [ask->n]
    double last;
    bool failed;
} events;

static void add_event(fr_buffer *out, json_t *document) {
    fr_error never;
    char *text = document ? json_dumps(document, JSON_COMPACT) : NULL;
    if (text && !fr_buffer_add(out, "data: ", 6, &never) &&
        !fr_buffer_add(out, text, strlen(text), &never))
        fr_buffer_add(out, "\n\n", 2, &never);
    free(text);
    json_decref(document);
}

// Tells how far the prompt of a locked choice is read: before the first pass, then after each that
// read some of it, and that it is read.
static bool add_progress(events *e, int i, fr_buffer *out) {
    const fr_job *job = &e->ask->choice[i].job;
    sent *s = &e->of[i];
    const int total = job->request->n_prompt;
    if (!e->ask->request.return_progress || !e->dialect->progress || s->began) return false;
    if (job->state == FR_JOB_WAITS || s->n_read == total) return false;
    const bool writes = job->n_tokens || job->state == FR_JOB_ENDED;
    const int read = s->n_read < 0 ? job->n_reused : writes ? total : job->n_read;
    if (read <= s->n_read) return false;
    s->n_read = read;
    add_event(out, e->dialect->progress(e->ask, i, read));
    return true;
}

// What a locked choice has beyond what was sent. False: nothing.
static bool add_news(events *e, int i, fr_buffer *out) {
    const fr_job *job = &e->ask->choice[i].job;
    sent *s = &e->of[i];
    const bool ended = job->state == FR_JOB_ENDED;
    if (!ended && job->text.n == s->bytes) return false; // a token without text waits for the next
    if (job->end == FR_JOB_FAILED && ended) {
        e->failed = true;
        add_event(out, json_pack("{s:{s:i, s:o, s:s}}", "error", "code", 500, "message",
                                 fr_json_text(job->error.text, strlen(job->error.text)), "type",
                                 "server_error"));
        return true;
    }
    json_t *list = json_array(), *event;
    size_t k;
    const fr_part part = {.index = i,
                          .text = job->text.data ? job->text.data + s->bytes : "",
                          .bytes = job->text.n - s->bytes,
                          .from = s->tokens,
                          .first = !s->began,
                          .last = ended};
    e->dialect->part(e->ask, &part, list);
    json_array_foreach(list, k, event) add_event(out, json_incref(event));
    json_decref(list);
    *s = (sent){job->n_tokens, s->n_read, job->text.n, true, ended};
    return true;
}

// The first choice that is not at its end; -1: all are.
static int unfinished(const events *e) {
    for (int i = 0; i < e->ask->n; i++)
        if (!e->of[i].ended) return i;
    return -1;
}

static bool look_at_all(events *e, fr_buffer *out) {
    bool news = false;
    for (int i = 0; i < e->ask->n && !e->failed; i++) {
        fr_job *job = &e->ask->choice[i].job;
        if (e->of[i].ended) continue;
        pthread_mutex_lock(&job->lock);
        while (add_progress(e, i, out))
            news = true;
        news |= add_news(e, i, out);
        pthread_mutex_unlock(&job->lock);
    }
    return news;
}

static void wait_for_news(events *e, int i) {
    fr_job *job = &e->ask->choice[i].job;
    pthread_mutex_lock(&job->lock);
    const bool tells = e->ask->request.return_progress && !e->of[i].began;
    fr_job_await(job, INT32_MAX, e->of[i].bytes, tells || e->ask->n > 1 ? 0.02 : 0.25);
    pthread_mutex_unlock(&job->lock);
}

static bool next_events(void *stream, fr_exchange *x, fr_buffer *out) {
    events *e = stream;
    fr_error never;
    while (!look_at_all(e, out)) {
        const int i = unfinished(e);
        if (i < 0) {
            json_t *end = e->dialect->end ? e->dialect->end(e->ask) : NULL;
            if (end) add_event(out, end);
            if (e->dialect->says_done) fr_buffer_add(out, "data: [DONE]\n\n", 14, &never);
            return false;
        }
        if (!fr_exchange_is_wanted(x)) return false;
        wait_for_news(e, i);
        if (fr_seconds() > e->last + PING) {
            fr_buffer_add(out, ": ping\n\n", 8, &never);
            break;
        }
    }
    e->last = fr_seconds();
    return !e->failed;
}

static void close_events(void *stream) {
    events *e = stream;
    fr_ask_close(e->ask);
    fr_free(e->of);
    fr_free(e);
}

static void stream_answers(fr_ask *ask, fr_exchange *x, const fr_dialect *dialect) {
    events *e = fr_alloc_zero(sizeof *e);
    sent *of = fr_alloc_array((size_t)ask->n, sizeof *of);
    if (!e || !of) {
        fr_free(e);
        fr_free(of);
        fr_ask_close(ask);
        fr_reply_error(x, 503, "unavailable_error", "no memory for the answer");
        return;
    }
    for (int i = 0; i < ask->n; i++)
        of[i].n_read = -1;
    *e = (events){.ask = ask, .dialect = dialect, .of = of, .last = fr_seconds()};
    fr_exchange_stream(x, 200, "text/event-stream", next_events, close_events, e);
}

void fr_generate_for(fr_server *server, fr_exchange *x, const fr_dialect *dialect, const char *body,
                     size_t bytes) {
    fr_ask *ask = fr_ask_open(server, x, dialect->kind, dialect->id_prefix, body, bytes);
    if (!ask) return;
    if (ask->request.stream) {
        stream_answers(ask, x, dialect);
        return;
    }
    const bool wanted = fr_ask_wait(ask, x);
    const fr_error *fault = wanted ? fr_ask_fault(ask) : NULL;
    if (fault)
        fr_reply_fault(x, fault);
    else
        fr_reply_json(x, wanted ? 200 : 499, wanted ? dialect->whole(ask) : json_object());
    fr_ask_close(ask);
}

void fr_generate(fr_server *server, fr_exchange *x, const fr_dialect *dialect) {
    const fr_buffer *body = fr_exchange_body(x);
    fr_generate_for(server, x, dialect, body->data ? body->data : "", body->n);
}

void fr_handle_chat(fr_exchange *x, void *server) {
    fr_generate(server, x, &fr_dialect_chat);
}

void fr_handle_completions(fr_exchange *x, void *server) {
    fr_generate(server, x, &fr_dialect_text);
}

void fr_handle_completion(fr_exchange *x, void *server) {
    fr_generate(server, x, &fr_dialect_llama);
}
