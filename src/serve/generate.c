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

// Of choices that have ended. What the first that failed says.
static fr_status parse_all(fr_ask *ask, fr_error *err) {
    fr_status st = FR_OK;
    for (int i = 0; i < ask->n && !st; i++) {
        fr_choice *c = &ask->choice[i];
        st = fr_told_read(&c->told, &c->job, err);
        if (!st) st = fr_ask_parse(ask, c, err);
    }
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
