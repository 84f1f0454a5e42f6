// events.c — a stream copies the results of each choice, then builds events from the new part.
#include "serve/events.h"
#include "base/alloc.h"
#include "base/clock.h"
#include <stdlib.h>
#include <string.h>

static const double SILENCE = 5; // the usual fr_server.silence

typedef struct sent {   // of a choice
    int tokens, n_read; // n_read: of the prompt, as was sent; -1: not yet
    size_t bytes;
    bool begun, parts, ended; // begun: with what a stream begins with; parts: of the answer
} sent;

struct fr_events {
    fr_ask *ask;
    const fr_dialect *dialect;
    sent *of; // [ask->n]
    double last;
    bool failed;
};

fr_events *fr_events_open(fr_ask *ask, const fr_dialect *dialect) {
    fr_events *e = fr_alloc_zero(sizeof *e);
    sent *of = fr_alloc_array((size_t)ask->n, sizeof *of);
    if (!e || !of) {
        fr_free(e);
        fr_free(of);
        return NULL;
    }
    for (int i = 0; i < ask->n; i++)
        of[i] = (sent){.n_read = -1};
    *e = (fr_events){.ask = ask, .dialect = dialect, .of = of, .last = fr_seconds()};
    return e;
}

void fr_events_close(fr_events *e) {
    fr_ask_close(e->ask);
    fr_free(e->of);
    fr_free(e);
}

// ---------------------------------------------------------------- as text

static bool add_text(fr_buffer *out, const char *text) {
    fr_error never;
    return !fr_buffer_add(out, text, strlen(text), &never);
}

// All of an event, or none of it: then the stream has failed.
static void add_event(fr_events *e, fr_buffer *out, json_t *document) {
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
static void add_events(fr_events *e, fr_buffer *out, json_t *list) {
    json_t *event;
    size_t i;
    json_array_foreach(list, i, event) add_event(e, out, json_incref(event));
    json_decref(list);
}

// ---------------------------------------------------------------- new text of a choice

// What its stream begins with, once. False: that was sent, or there is none.
static bool begin(fr_events *e, int i, fr_buffer *out) {
    const bool begins = !e->of[i].begun && e->dialect->begin;
    e->of[i].begun = true;
    if (!begins) return false;
    json_t *list = json_array();
    e->dialect->begin(e->ask, i, list);
    add_events(e, out, list);
    return true;
}

// When a context has taken its job.
static bool add_begin(fr_events *e, int i, fr_buffer *out) {
    return e->dialect->begins_at_once && e->ask->choice[i].copy.started > 0 && begin(e, i, out);
}

// How far its prompt is read: before the first pass, after each that has read some of it, and at
// its end.
static bool add_progress(fr_events *e, int i, fr_buffer *out) {
    const fr_job_copy *t = &e->ask->choice[i].copy;
    sent *s = &e->of[i];
    const int total = e->ask->choice[i].request.n_prompt;
    if (!e->ask->request.return_progress || !e->dialect->progress || s->parts) return false;
    if (t->started <= 0 || s->n_read == total) return false;
    const bool writes = t->n_tokens || t->state == FR_JOB_ENDED;
    const int read = s->n_read < 0 ? t->n_reused : writes ? total : t->n_read;
    if (read <= s->n_read) return false;
    if (s->n_read >= 0 && read == s->n_read + 1 && read < total) return false; // no news by itself
    s->n_read = read;
    json_t *list = json_array();
    e->dialect->progress(e->ask, i, read, list);
    add_events(e, out, list);
    return true;
}

static void fail(fr_events *e, int i, const fr_error *err, const fr_exchange *x, fr_buffer *out) {
    e->failed = true;
    add_event(e, out,
              e->dialect->fault ? e->dialect->fault(e->ask, i, err) : fr_error_json(x, err));
}

static bool add_part(fr_events *e, int i, const fr_exchange *x, fr_buffer *out) {
    fr_choice *c = &e->ask->choice[i];
    const fr_job_copy *t = &c->copy;
    sent *s = &e->of[i];
    const bool ended = t->state == FR_JOB_ENDED;
    fr_error err = {0};
    if (!ended && t->text.n == s->bytes) return false; // a token without text waits for the next
    if (fr_ask_parse(e->ask, c, &err)) {
        fail(e, i, &err, x, out);
        return true;
    }
    begin(e, i, out);
    json_t *list = json_array();
    const fr_part part = {.index = i,
                          .text = t->text.data ? t->text.data + s->bytes : "",
                          .bytes = t->text.n - s->bytes,
                          .from = s->tokens,
                          .first = !s->parts,
                          .last = ended};
    e->dialect->part(e->ask, &part, list);
    add_events(e, out, list);
    *s = (sent){t->n_tokens, s->n_read, t->text.n, true, true, ended};
    return true;
}

static bool look_at(fr_events *e, int i, const fr_exchange *x, fr_buffer *out) {
    fr_choice *c = &e->ask->choice[i];
    fr_error err = {0};
    if (fr_job_copy_update(&c->copy, &c->job, &err)) {
        fail(e, i, &err, x, out);
        return true;
    }
    bool news = add_begin(e, i, out);
    while (add_progress(e, i, out))
        news = true;
    return add_part(e, i, x, out) || news;
}

// ---------------------------------------------------------------- all of them

bool fr_events_look(fr_events *e, const fr_exchange *x, fr_buffer *out) {
    bool news = false;
    for (int i = 0; i < e->ask->n && !e->failed; i++)
        if (!e->of[i].ended) news |= look_at(e, i, x, out);
    return news;
}

// The first choice that is not at its end; -1: all are.
static int unfinished(const fr_events *e) {
    for (int i = 0; i < e->ask->n; i++)
        if (!e->of[i].ended) return i;
    return -1;
}

void fr_events_live(fr_events *e, fr_buffer *out) {
    const int i = unfinished(e);
    if (i < 0 || begin(e, i, out)) return;
    json_t *list = json_array();
    e->dialect->alive(e->ask, i, list);
    add_events(e, out, list);
}

static void add_end(fr_events *e, fr_buffer *out) {
    json_t *end = e->dialect->end ? e->dialect->end(e->ask) : NULL;
    if (end) add_event(e, out, end);
    if (e->dialect->says_done && !e->failed) add_text(out, "data: [DONE]\n\n");
}

static void wait_for_news(fr_events *e, int i) {
    fr_choice *c = &e->ask->choice[i];
    const bool reads = e->ask->request.return_progress && !e->of[i].parts;
    fr_job_copy_await(&c->copy, &c->job, reads || e->ask->n > 1 ? 0.02 : 0.25);
}

bool fr_events_next(void *events, fr_exchange *x, fr_buffer *out) {
    fr_events *e = events;
    const double silence = e->ask->server->silence;
    while (!fr_events_look(e, x, out)) {
        const int i = unfinished(e);
        if (i < 0) {
            add_end(e, out);
            return false;
        }
        if (e->failed || !fr_exchange_is_wanted(x)) return false;
        wait_for_news(e, i);
        if (fr_seconds() > e->last + (silence > 0 ? silence : SILENCE)) {
            fr_events_live(e, out);
            break;
        }
    }
    e->last = fr_seconds();
    return !e->failed;
}
