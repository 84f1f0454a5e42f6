// exchange.c — a request's parts for its handler, and the reply. The connection's own thread
// polls streams for their pieces.
#define _GNU_SOURCE
#include "serve/exchange.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "serve/cors.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct stream {
    fr_exchange *x;
    fr_stream_next_fn *next;
    void (*close)(void *stream);
    void *user;
    fr_buffer piece;
    size_t sent; // of the piece
    bool last;
} stream;

// ---------------------------------------------------------------- for handlers

const char *fr_exchange_method(const fr_exchange *x) {
    return x->method;
}

const char *fr_exchange_path(const fr_exchange *x) {
    return x->path;
}

// White space around a value is not part of it (RFC 9110, section 5.5); libmicrohttpd before 1.0
// leaves that at its end.
struct fr_value {
    struct fr_value *next;
    char text[];
};

static const char *keep_value(fr_exchange *x, const char *text, size_t n) {
    struct fr_value *v = fr_alloc_zero(sizeof *v + n + 1);
    if (!v) return NULL;
    memcpy(v->text, text, n);
    v->next = x->values;
    x->values = v;
    return v->text;
}

const char *fr_exchange_header(fr_exchange *x, const char *name) {
    const char *found = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
    if (!found) return NULL;
    found += strspn(found, " \t");
    size_t n = strlen(found);
    if (!n || (found[n - 1] != ' ' && found[n - 1] != '\t')) return found;
    while (n && (found[n - 1] == ' ' || found[n - 1] == '\t'))
        n--;
    return keep_value(x, found, n);
}

void fr_exchange_forget_values(fr_exchange *x) {
    for (struct fr_value *v = x->values, *next; v; v = next) {
        next = v->next;
        fr_free(v);
    }
    x->values = NULL;
}

const char *fr_exchange_argument(const fr_exchange *x, const char *name) {
    return MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *fr_exchange_peer(const fr_exchange *x) {
    return x->peer;
}

// Values of several lines of the header are one list. None where there is no memory for all: the
// last ones are those that the proxy has added.
static enum MHD_Result join_forwarded(void *list, enum MHD_ValueKind kind, const char *key,
                                      const char *value) {
    fr_error never;
    (void)kind;
    if (!value || strcasecmp(key, "X-Forwarded-For") != 0) return MHD_YES;
    const bool added =
        !fr_buffer_add(list, ",", 1, &never) && !fr_buffer_add(list, value, strlen(value), &never);
    if (!added) fr_buffer_free(list);
    return added ? MHD_YES : MHD_NO;
}

void fr_exchange_client(const fr_exchange *x, char name[FR_CLIENT_NAME]) {
    fr_buffer list = {0};
    if (x->http->options.proxies)
        MHD_get_connection_values(x->connection, MHD_HEADER_KIND, join_forwarded, &list);
    fr_forwarded_client(name, x->http->options.proxies, x->peer, list.n ? list.data + 1 : NULL);
    fr_buffer_free(&list);
}

const char *fr_exchange_key(const fr_exchange *x) {
    return x->key;
}

size_t fr_exchange_bytes(const fr_exchange *x) {
    return x->bytes;
}

double fr_exchange_waited(const fr_exchange *x) {
    return fr_seconds() - x->whole;
}

int fr_exchange_status(const fr_exchange *x) {
    return x->status;
}

int fr_exchange_refused(const fr_exchange *x) {
    return x->refused;
}

bool fr_exchange_is_wanted(const fr_exchange *x) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd p = {.fd = info ? info->connect_fd : -1, .events = POLLRDHUP};
    return poll(&p, 1, 0) == 0 || !(p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

// ---------------------------------------------------------------- replies

void fr_exchange_set(fr_exchange *x, const char *name, const char *value) {
    if (x->n_set == FR_EXCHANGE_SET) return;
    snprintf(x->set[x->n_set].name, sizeof x->set->name, "%s", name);
    snprintf(x->set[x->n_set++].value, sizeof x->set->value, "%s", value);
}

static void allow_origin(fr_exchange *x, struct MHD_Response *r) {
    const char *cors = x->http->options.cors, *origin = fr_exchange_header(x, "Origin");
    if (!cors || !origin || !fr_origin_is_allowed(cors, origin)) return;
    MHD_add_response_header(r, "Access-Control-Allow-Origin", origin);
    MHD_add_response_header(r, "Vary", "Origin");
    MHD_add_response_header(r, "Access-Control-Allow-Credentials", "true");
    if (strcmp(x->method, "OPTIONS") != 0) return;
    MHD_add_response_header(r, "Access-Control-Allow-Methods", "GET, POST, OPTIONS");
    // Clients in pages send headers of their own; those of an allowed origin may.
    const char *asked = fr_exchange_header(x, "Access-Control-Request-Headers");
    MHD_add_response_header(r, "Access-Control-Allow-Headers", asked && *asked ? asked : "*");
    MHD_add_response_header(r, "Access-Control-Max-Age", "600");
}

void fr_exchange_enter(fr_exchange *x, fr_connection_phase phase) {
    const unsigned idle = (unsigned)x->http->options.idle_seconds;
    MHD_set_connection_option(x->connection, MHD_CONNECTION_OPTION_TIMEOUT,
                              phase == FR_CONNECTION_WAITS ? 0U : idle);
    fr_connections_enter(x->http->connections, x->on, phase);
}

static void queue(fr_exchange *x, int status, const char *type, struct MHD_Response *r) {
    if (type) MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "Server", "forerun");
    for (int i = 0; i < x->n_set; i++)
        MHD_add_response_header(r, x->set[i].name, x->set[i].value);
    allow_origin(x, r);
    if (atomic_load(&x->http->retires)) MHD_add_response_header(r, "Connection", "close");
    x->status = status;
    x->response = r;
}

enum MHD_Result fr_exchange_send(fr_exchange *x) {
    struct MHD_Response *r = x->response;
    if (!r) return MHD_NO;
    fr_exchange_enter(x, FR_CONNECTION_TAKES);
    const enum MHD_Result sent = MHD_queue_response(x->connection, (unsigned)x->status, r);
    MHD_destroy_response(r);
    x->response = NULL;
    return sent;
}

void fr_exchange_reply(fr_exchange *x, int status, const char *type, const void *body,
                       size_t bytes) {
    struct MHD_Response *r =
        MHD_create_response_from_buffer(bytes, (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
    if (!r) return; // the connection is closed
    fr_body_answered(x, bytes);
    queue(x, status, type, r);
}

void fr_exchange_give(fr_exchange *x, int status, const char *type, char *body, size_t bytes) {
    struct MHD_Response *r = MHD_create_response_from_buffer(bytes, body, MHD_RESPMEM_MUST_FREE);
    if (!r) {
        free(body);
        return;
    }
    fr_body_answered(x, bytes);
    queue(x, status, type, r);
}

void fr_exchange_fail(fr_exchange *x, int status, const char *type, const char *message) {
    x->http->options.error(x, status, type, message);
}

static ssize_t read_stream(void *cls, uint64_t pos, char *buf, size_t max) {
    stream *s = cls;
    (void)pos;
    while (s->sent == s->piece.n) {
        if (s->last) return MHD_CONTENT_READER_END_OF_STREAM;
        s->piece.n = s->sent = 0;
        fr_exchange_enter(s->x, FR_CONNECTION_WAITS);
        s->last = !s->next(s->user, s->x, &s->piece);
        fr_exchange_enter(s->x, FR_CONNECTION_TAKES);
    }
    const size_t n = s->piece.n - s->sent < max ? s->piece.n - s->sent : max;
    memcpy(buf, s->piece.data + s->sent, n);
    s->sent += n;
    return (ssize_t)n;
}

static void close_stream(void *cls) {
    stream *s = cls;
    s->close(s->user);
    fr_buffer_free(&s->piece);
    fr_free(s);
}

void fr_exchange_stream(fr_exchange *x, int status, const char *type, fr_stream_next_fn *next,
                        void (*close)(void *), void *user) {
    stream *s = fr_alloc_zero(sizeof *s);
    struct MHD_Response *r = NULL;
    if (s) {
        *s = (stream){.x = x, .next = next, .close = close, .user = user};
        r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16 << 10, read_stream, s,
                                              close_stream);
    }
    if (!r) {
        close(user);
        fr_free(s);
        fr_exchange_fail(x, 503, "unavailable_error", "no memory for the answer");
        return;
    }
    fr_exchange_set(x, "Cache-Control", "no-cache");
    fr_exchange_set(x, "X-Accel-Buffering", "no");
    queue(x, status, type, r);
}
