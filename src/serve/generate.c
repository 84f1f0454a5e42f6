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

static bool add_text(fr_buffer *out, const char *text) {
    fr_error never;
    return !fr_buffer_add(out, text, strlen(text), &never);
}

// All of an event, or none of it: then the stream has failed.
static void add_event(events *e, fr_buffer *out, json_t *document) {
    const char *type = json_string_value(json_object_get(document, "type"));
    const size_t before = out->n;
    char *text = fr_json_compact(document);
    bool added = text != NULL;
    if (added && e->dialect->names_events)
        added =
            add_text(out, "event: ") && add_text(out, type ? type : "error") && add_text(out, "\n");
    added = added && add_text(out, "data: ") && add_text(out, text) && add_text(out, "\n\n");
    if (!added) {
        out->n = before;
        e->failed = true;
    }
    free(text);
    json_decref(document);
}

// Takes the list.
static void add_events(events *e, fr_buffer *out, json_t *list) {
    json_t *event;
    size_t i;
    json_array_foreach(list, i, event) add_event(e, out, json_incref(event));
    json_decref(list);
}

// Tells how far the prompt of a locked choice is read: before the first pass, then after each that
// read some of it, and that it is read.
static bool add_progress(events *e, int i, fr_buffer *out) {
    const fr_job *job = &e->ask->choice[i].job;
    sent *s = &e->of[i];
    const int total = job->request->n_prompt;
    if (!e->ask->request.return_progress || !e->dialect->progress || s->began) return false;
    if (job->started <= 0 || s->n_read == total) return false;
    const bool writes = job->n_tokens || job->state == FR_JOB_ENDED;
    const int read = s->n_read < 0 ? job->n_reused : writes ? total : job->n_read;
    if (read <= s->n_read) return false;
    if (s->n_read >= 0 && read == s->n_read + 1 && read < total) return false; // no news by itself
    s->n_read = read;
    json_t *list = json_array();
    e->dialect->progress(e->ask, i, read, list);
    add_events(e, out, list);
    return true;
}

// What a locked choice has beyond what was sent. False: nothing.
static bool add_news(events *e, int i, fr_exchange *x, fr_buffer *out) {
    fr_choice *c = &e->ask->choice[i];
    const fr_job *job = &c->job;
    sent *s = &e->of[i];
    const bool ended = job->state == FR_JOB_ENDED;
    fr_error err = {0};
    if (!ended && job->text.n == s->bytes) return false; // a token without text waits for the next
    if (fr_ask_parse(e->ask, c, &err)) {
        e->failed = true;
        add_event(e, out,
                  e->dialect->fault ? e->dialect->fault(e->ask, i, &err) : fr_error_json(x, &err));
        return true;
    }
    json_t *list = json_array();
    const fr_part part = {.index = i,
                          .text = job->text.data ? job->text.data + s->bytes : "",
                          .bytes = job->text.n - s->bytes,
                          .from = s->tokens,
                          .first = !s->began,
                          .last = ended};
    e->dialect->part(e->ask, &part, list);
    add_events(e, out, list);
    *s = (sent){job->n_tokens, s->n_read, job->text.n, true, ended};
    return true;
}

// The first choice that is not at its end; -1: all are.
static int unfinished(const events *e) {
    for (int i = 0; i < e->ask->n; i++)
        if (!e->of[i].ended) return i;
    return -1;
}

static bool look_at_all(events *e, fr_exchange *x, fr_buffer *out) {
    bool news = false;
    for (int i = 0; i < e->ask->n && !e->failed; i++) {
        fr_job *job = &e->ask->choice[i].job;
        if (e->of[i].ended) continue;
        pthread_mutex_lock(&job->lock);
        while (add_progress(e, i, out))
            news = true;
        news |= add_news(e, i, x, out);
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
    while (!look_at_all(e, x, out)) {
        const int i = unfinished(e);
        if (i < 0) {
            json_t *end = e->dialect->end ? e->dialect->end(e->ask) : NULL;
            if (end) add_event(e, out, end);
            if (e->dialect->says_done) add_text(out, "data: [DONE]\n\n");
            return false;
        }
        if (!fr_exchange_is_wanted(x)) return false;
        wait_for_news(e, i);
        if (fr_seconds() > e->last + PING) {
            add_text(out, ": ping\n\n");
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

// What the first choice that failed says.
static fr_status parse_all(fr_ask *ask, fr_error *err) {
    fr_status st = FR_OK;
    for (int i = 0; i < ask->n && !st; i++)
        st = fr_ask_parse(ask, &ask->choice[i], err);
    return st;
}

void fr_generate(fr_server *server, fr_exchange *x, const fr_dialect *dialect, json_t *body) {
    fr_error err = {0};
    fr_ask *ask = fr_ask_open(server, x, &dialect->ask, body);
    if (!ask) return;
    if (ask->request.stream) {
        stream_answers(ask, x, dialect);
        return;
    }
    if (!fr_ask_wait(ask, x))
        fr_reply_json(x, 499, json_object());
    else if (parse_all(ask, &err))
        fr_reply_fault(x, &err);
    else
        fr_reply_json(x, 200, dialect->whole(ask));
    fr_ask_close(ask);
}

static void answer(fr_exchange *x, fr_server *server, const fr_dialect *dialect) {
    json_t *body = fr_reply_body(x);
    if (body) fr_generate(server, x, dialect, body);
}

void fr_handle_chat(fr_exchange *x, void *server) {
    answer(x, server, &fr_dialect_chat);
}

void fr_handle_completions(fr_exchange *x, void *server) {
    answer(x, server, &fr_dialect_text);
}

void fr_handle_completion(fr_exchange *x, void *server) {
    answer(x, server, &fr_dialect_llama);
}

void fr_handle_messages(fr_exchange *x, void *server) {
    answer(x, server, &fr_dialect_anthropic);
}

void fr_handle_responses(fr_exchange *x, void *server) {
    answer(x, server, &fr_dialect_responses);
}
