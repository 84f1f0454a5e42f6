// generate.c — a body's answers, whole when all have ended, or as events while they come.
#include "serve/events.h"

static void close_events(void *events) {
    fr_events_close(events);
}

static void stream_answers(fr_ask *ask, fr_exchange *x, const fr_dialect *dialect) {
    fr_events *e = fr_events_open(ask, dialect);
    if (e) {
        fr_exchange_stream(x, 200, "text/event-stream", fr_events_next, close_events, e);
        return;
    }
    fr_ask_close(ask);
    fr_reply_error(x, 503, "unavailable_error", "no memory for the answer");
}

// The error of the first failed choice, when all have ended.
static fr_status parse_all(fr_ask *ask, fr_error *err) {
    fr_status st = FR_OK;
    for (int i = 0; i < ask->n && !st; i++) {
        fr_choice *c = &ask->choice[i];
        st = fr_job_copy_update(&c->copy, &c->job, err);
        if (!st) st = fr_ask_parse(ask, c, err);
    }
    return st;
}

typedef struct asking { // one exchange on its way
    fr_server *server;
    fr_exchange *x;
    const fr_dialect *dialect;
    fr_ask_fn *open;
    fr_ask *ask;
} asking;

static fr_status open_ask(void *user, const fr_watch *watch, fr_error *err) {
    asking *a = user;
    return a->open(&a->ask, a->server, a->x, a->dialect, watch, err);
}

static fr_status answer_whole(void *user, const fr_watch *watch, fr_error *err) {
    const asking *a = user;
    (void)watch; // an answer is not longer than a context
    const fr_status st = parse_all(a->ask, err);
    if (!st) fr_reply_json(a->x, 200, a->dialect->whole(a->ask));
    return st;
}

void fr_generate(fr_server *server, fr_exchange *x, const fr_dialect *dialect, fr_ask_fn *open) {
    asking a = {server, x, dialect, open, NULL};
    if (!fr_prepare(server, x, open_ask, &a) || !a.ask) return;
    fr_exchange_settle(x);
    if (a.ask->request.stream) {
        stream_answers(a.ask, x, dialect);
        return;
    }
    if (!fr_ask_wait(a.ask, x))
        fr_reply_json(x, 499, json_object());
    else
        fr_prepare_end(server, x, answer_whole, &a);
    fr_ask_close(a.ask);
}

// The body as it came.
static fr_status open_body(fr_ask **out, fr_server *server, fr_exchange *x,
                           const fr_dialect *dialect, const fr_watch *watch, fr_error *err) {
    json_t *body = fr_read_body(x, watch, err);
    return body ? fr_ask_open(out, server, x, &dialect->ask, body, watch, err) : err->code;
}
static void answer(fr_exchange *x, fr_server *server, const fr_dialect *dialect) {
    fr_generate(server, x, dialect, open_body);
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
