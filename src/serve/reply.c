// reply.c — documents and errors as bodies, bodies as documents, and a line of log.
#define _GNU_SOURCE
#include "serve/server.h"
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fr_reply_json(fr_exchange *x, int status, json_t *document) {
    static const char none[] = "{\"error\":{\"code\":503,\"message\":\"no memory for the answer\","
                               "\"type\":\"unavailable_error\"}}";
    char *text = fr_json_compact(document);
    json_decref(document);
    if (text)
        fr_exchange_give(x, status, "application/json; charset=utf-8", text, strlen(text));
    else
        fr_exchange_reply(x, 503, "application/json", none, sizeof none - 1);
}

// A sentence of ours begins with the path of the field that is wrong.
static json_t *param_of(const char *message) {
    const size_t n = strcspn(message, ": ");
    return n && n < 64 && message[n] == ':' ? fr_json_text(message, n) : json_null();
}

// Anthropic's name for a kind of error.
static const char *anthropics(const char *type) {
    static const char *const names[][2] = {{"exceed_context_size_error", "invalid_request_error"},
                                           {"not_supported_error", "invalid_request_error"},
                                           {"unavailable_error", "overloaded_error"},
                                           {"server_error", "api_error"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i][0], type)) return names[i][1];
    return type;
}

static bool is_anthropics(const fr_exchange *x) {
    return !strncmp(fr_exchange_path(x), "/v1/messages", 12);
}

static json_t *error_json(const fr_exchange *x, int status, const char *type, const char *message) {
    json_t *text = fr_json_string(message);
    if (is_anthropics(x))
        return json_pack("{s:s, s:{s:s, s:o}}", "type", "error", "error", "type", anthropics(type),
                         "message", text);
    return json_pack("{s:{s:i, s:o, s:s, s:o}}", "error", "code", status, "message", text, "type",
                     type, "param", param_of(message));
}

void fr_reply_error(fr_exchange *x, int status, const char *type, const char *message) {
    if (status == 503) fr_exchange_set(x, "Retry-After", "1");
    fr_reply_json(x, status, error_json(x, status, type, message));
}

typedef struct kind {
    int status;
    const char *type;
} kind;

static kind kind_of(const fr_error *err) {
    switch (err->code) {
    case FR_ECONTEXT:
        return (kind){400, "exceed_context_size_error"};
    case FR_EARG:
    case FR_EUNSUP:
        return (kind){400, "invalid_request_error"};
    case FR_ENOMEM:
    case FR_EINTR:
        return (kind){503, "unavailable_error"};
    case FR_OK:
    case FR_EIO:
    case FR_EDATA:
        break;
    }
    return (kind){500, "server_error"};
}

// In Anthropic's words, from which clients recognise that a conversation must become shorter.
static void reply_anthropics_too_long(fr_exchange *x, size_t n_prompt, bool at_least, int n_ctx) {
    const int most = n_prompt > (size_t)n_ctx ? n_ctx : n_ctx - 1; // an answer needs one
    char text[160];
    snprintf(text, sizeof text, "prompt is too long: %s%zu tokens > %d maximum",
             at_least ? "at least " : "", n_prompt, most);
    fr_reply_error(x, 400, "invalid_request_error", text);
}

void fr_reply_too_long(fr_exchange *x, const char *field, size_t n_prompt, bool at_least,
                       int n_ctx) {
    char text[160];
    if (is_anthropics(x)) {
        reply_anthropics_too_long(x, n_prompt, at_least, n_ctx);
        return;
    }
    snprintf(text, sizeof text,
             "%s: it exceeds the available context size: expected less than %d tokens, found %s%zu",
             field, n_ctx, at_least ? "at least " : "", n_prompt);
    fr_reply_json(x, 400,
                  json_pack("{s:{s:i, s:s, s:s, s:s, s:I, s:i}}", "error", "code", 400, "message",
                            text, "type", "exceed_context_size_error", "param", field,
                            "n_prompt_tokens", (json_int_t)n_prompt, "n_ctx", n_ctx));
}

void fr_reply_fault(fr_exchange *x, const fr_error *err) {
    const kind k = kind_of(err);
    const int refused = fr_exchange_refused(x);
    if (err->code == FR_EINTR && !fr_exchange_is_wanted(x))
        fr_reply_json(x, 499, json_object());
    else
        fr_reply_error(x, refused ? refused : k.status, k.type, err->text);
}

const char *fr_error_type(const fr_error *err) {
    return kind_of(err).type;
}

json_t *fr_error_json(const fr_exchange *x, const fr_error *err) {
    const kind k = kind_of(err);
    return error_json(x, k.status, k.type, err->text);
}

// Writes a line, which is shorter than PIPE_BUF, unless that would block. A reader that has stopped
// loses lines but blocks no thread. A pipe that poll finds writable takes PIPE_BUF bytes at once.
static void write_line(const char *line, size_t n) {
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
    flockfile(stderr); // one at a time
    if (poll(&p, 1, 0) > 0 && (p.revents & POLLOUT))
        (void)!write(STDERR_FILENO, line, n < PIPE_BUF ? n : PIPE_BUF);
    funlockfile(stderr);
}

typedef struct shown { // what a line has of what a client sent
    char method[32], path[500];
} shown;

// The beginning of a text. Bytes that are no visible ASCII characters are written as in a URL,
// because a terminal may show the log, and a blank would begin another field.
static void show(char *to, size_t room, const char *text) {
    size_t n = 0;
    for (; *text && n + 3 < room; text++)
        if (*text > ' ' && *text < 0x7f)
            to[n++] = *text;
        else
            n += (size_t)snprintf(to + n, room - n, "%%%02X", (uint8_t)*text);
    to[n] = 0;
}

static char *text_line(const char *at, const fr_exchange *x, const shown *s, double seconds) {
    char *line;
    const int n = asprintf(&line, "%s %s %s %s %d %.3fs\n", at, fr_exchange_peer(x), s->method,
                           s->path, fr_exchange_status(x), seconds);
    return n < 0 ? NULL : line;
}

static char *json_line(const char *at, const fr_exchange *x, const shown *s, double seconds) {
    json_t *line =
        json_pack("{s:s, s:s, s:o, s:o, s:i, s:f}", "time", at, "peer", fr_exchange_peer(x),
                  "method", fr_json_string(s->method), "path", fr_json_string(s->path), "status",
                  fr_exchange_status(x), "seconds", seconds);
    char *text = fr_json_compact(line), *whole = NULL;
    if (text && asprintf(&whole, "%s\n", text) < 0) whole = NULL;
    free(text);
    json_decref(line);
    return whole;
}

static void write_time(char *to, size_t room) {
    const time_t now = time(NULL);
    struct tm utc;
    strftime(to, room, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}

void fr_log_warning(const fr_server *s, const char *sentence) {
    char at[32], *line = NULL;
    if (s->quiet) return;
    write_time(at, sizeof at);
    json_t *json = s->json_log
                       ? json_pack("{s:s, s:o}", "time", at, "warning", fr_json_string(sentence))
                       : NULL;
    char *text = fr_json_compact(json);
    const int n =
        text ? asprintf(&line, "%s\n", text) : asprintf(&line, "%s warning: %s\n", at, sentence);
    if (n > 0) write_line(line, (size_t)n);
    if (n >= 0) free(line);
    free(text);
    json_decref(json);
}

void fr_reply_log(void *user, const fr_exchange *x, double seconds) {
    const fr_server *s = user;
    char at[32];
    shown asked;
    show(asked.method, sizeof asked.method, fr_exchange_method(x));
    show(asked.path, sizeof asked.path, fr_exchange_path(x));
    write_time(at, sizeof at);
    char *line =
        s->json_log ? json_line(at, x, &asked, seconds) : text_line(at, x, &asked, seconds);
    if (line) write_line(line, strlen(line));
    free(line);
}
