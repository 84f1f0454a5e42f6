// http.c — a request comes in parts: headers are checked when they are there, the body is gathered,
// then its route's handler replies. Streams are asked for pieces by the connection's own thread.
#define _GNU_SOURCE
#include "serve/http.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "serve/connections.h"
#include "serve/framing.h"
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STACK = 256 << 10, HEADERS = 32 << 10, SET = 8, BACKLOG = 4096 };
static const double BODY_RATE = 10e3; // bytes a second that a body comes with at least

struct fr_http {
    fr_http_options options;
    struct MHD_Daemon *daemon[FR_HTTP_HOSTS]; // [n], one for each address
    int n;
    fr_connections *connections;
    int port; // of the first; the others have it too
    atomic_bool retires;
};

// What is kept of a connection. libmicrohttpd does not tell that a request has ended whose line has
// more arguments than fit into its memory: that one is freed with its connection.
typedef struct caller {
    fr_connection *on;
    fr_exchange *asks; // since its first line; NULL: nothing
} caller;

typedef struct stream {
    fr_exchange *x;
    fr_stream_next_fn *next;
    void (*close)(void *stream);
    void *user;
    fr_buffer piece;
    size_t sent; // of the piece
    bool last;
} stream;

struct fr_exchange {
    fr_http *http;
    struct MHD_Connection *connection;
    fr_connection *on; // the same among all
    const char *method, *path, *key;
    char *own_path; // NULL: no memory for it
    char peer[64];
    fr_buffer body;
    const fr_http_route *route;
    bool too_large, is_head;
    int status;
    enum MHD_Result queued;
    struct {
        char name[48], value[512];
    } set[SET];
    int n_set;
    double started;
};

// ---------------------------------------------------------------- what a handler asks

const char *fr_exchange_method(const fr_exchange *x) {
    return x->method;
}

const char *fr_exchange_path(const fr_exchange *x) {
    return x->path;
}

const char *fr_exchange_header(const fr_exchange *x, const char *name) {
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

const char *fr_exchange_peer(const fr_exchange *x) {
    return x->peer;
}

const char *fr_exchange_key(const fr_exchange *x) {
    return x->key;
}

const fr_buffer *fr_exchange_body(const fr_exchange *x) {
    return &x->body;
}

int fr_exchange_status(const fr_exchange *x) {
    return x->status;
}

bool fr_exchange_is_wanted(const fr_exchange *x) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd p = {.fd = info ? info->connect_fd : -1, .events = POLLRDHUP};
    return poll(&p, 1, 0) == 0 || !(p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

// ---------------------------------------------------------------- replies

void fr_exchange_set(fr_exchange *x, const char *name, const char *value) {
    if (x->n_set == SET) return;
    snprintf(x->set[x->n_set].name, sizeof x->set->name, "%s", name);
    snprintf(x->set[x->n_set++].value, sizeof x->set->value, "%s", value);
}

// Whether a page of this machine asks, from whatever port.
static bool is_local(const char *origin) {
    static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
    if (!strncmp(origin, "http://", 7))
        origin += 7;
    else if (!strncmp(origin, "https://", 8))
        origin += 8;
    else
        return false;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        const size_t n = strlen(hosts[i]);
        if (strncmp(origin, hosts[i], n)) continue;
        const char *port = origin + n;
        if (!*port || (*port == ':' && port[1] && !port[1 + strspn(port + 1, "0123456789")]))
            return true;
    }
    return false;
}

// Whether `origin` is one of a list with commas, where "localhost" is any page of this machine.
static bool is_listed(const char *list, const char *origin) {
    const size_t n = strlen(origin);
    for (const char *at = list; *at;) {
        const size_t m = strcspn(at, ",");
        if (m == n && !strncmp(at, origin, n)) return true;
        if (m == 9 && !strncmp(at, "localhost", m) && is_local(origin)) return true;
        at += m;
        at += strspn(at, ", ");
    }
    return false;
}

static void allow_origin(const fr_exchange *x, struct MHD_Response *r) {
    const char *cors = x->http->options.cors, *origin = fr_exchange_header(x, "Origin");
    if (!cors || !origin || (strcmp(cors, "*") != 0 && !is_listed(cors, origin))) return;
    MHD_add_response_header(r, "Access-Control-Allow-Origin", origin);
    MHD_add_response_header(r, "Vary", "Origin");
    MHD_add_response_header(r, "Access-Control-Allow-Credentials", "true");
    if (strcmp(x->method, "OPTIONS") != 0) return;
    MHD_add_response_header(r, "Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS");
    // Clients in pages send headers of their own; those of an allowed origin may.
    const char *asked = fr_exchange_header(x, "Access-Control-Request-Headers");
    MHD_add_response_header(r, "Access-Control-Allow-Headers", asked && *asked ? asked : "*");
    MHD_add_response_header(r, "Access-Control-Max-Age", "600");
}

// Who waits for whom from now on. libmicrohttpd's own limit is for a peer that is silent or takes
// nothing; while the peer waits for us there is none.
static void enter(fr_exchange *x, fr_connection_phase phase) {
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
    enter(x, FR_CONNECTION_TAKES);
    x->status = status;
    x->queued = MHD_queue_response(x->connection, (unsigned)status, r);
    MHD_destroy_response(r);
}

void fr_exchange_reply(fr_exchange *x, int status, const char *type, const void *body,
                       size_t bytes) {
    struct MHD_Response *r =
        MHD_create_response_from_buffer(bytes, (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
    if (r) queue(x, status, type, r); // else the connection is closed
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
        enter(s->x, FR_CONNECTION_WAITS);
        s->last = !s->next(s->user, s->x, &s->piece);
        enter(s->x, FR_CONNECTION_TAKES);
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

// ---------------------------------------------------------------- who may ask

// Takes as long for every key of this length.
static bool is_same_key(const char *key, const char *given) {
    const size_t n = strlen(given), m = strlen(key);
    unsigned differs = n != m;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)given[i] ^ (unsigned char)key[m ? i % m : 0];
    return !differs;
}

static const char *given_key(const fr_exchange *x) {
    const char *given = fr_exchange_header(x, "Authorization");
    if (given && !strncasecmp(given, "Bearer ", 7)) return given + 7 + strspn(given + 7, " ");
    return fr_exchange_header(x, "X-Api-Key");
}

static bool may_ask(fr_exchange *x) {
    const char *given = given_key(x), *const *keys = x->http->options.keys;
    if (!keys || !strcmp(x->method, "OPTIONS") || (x->route && x->route->is_public)) return true;
    for (int i = 0; given && keys[i]; i++)
        if (is_same_key(keys[i], given)) x->key = keys[i];
    return x->key;
}

// ---------------------------------------------------------------- a request

static bool is_method(const fr_http_route *r, const char *method) {
    return !strcmp(r->method, method) || (!strcmp(method, "HEAD") && !strcmp(r->method, "GET"));
}

static bool is_path(const char *route, const char *path) {
    const size_t n = strlen(route);
    return !strcmp(route, path) || (n > 1 && route[n - 1] == '/' && !strncmp(route, path, n));
}

// *path_known: there is a route of another method.
static const fr_http_route *find_route(const fr_http *h, const char *method, const char *path,
                                       bool *path_known) {
    *path_known = false;
    for (const fr_http_route *r = h->options.routes; r->method; r++) {
        if (!is_path(r->path, path)) continue;
        if (is_method(r, method)) return r;
        *path_known = true;
    }
    return NULL;
}

static void name_peer(fr_exchange *x) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *a = info ? info->client_addr : NULL;
    if (a && a->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)a)->sin_addr, x->peer,
                  sizeof x->peer);
    else if (a && a->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, x->peer,
                  sizeof x->peer);
}

static void answer(fr_exchange *x) {
    fr_http *h = x->http;
    bool path_known;
    x->route = find_route(h, x->method, x->path, &path_known);
    if (x->too_large) {
        fr_exchange_fail(x, 413, "invalid_request_error",
                         "the body is larger than this server takes");
    } else if (!may_ask(x)) {
        fr_exchange_set(x, "WWW-Authenticate", "Bearer");
        fr_exchange_fail(x, 401, "authentication_error", "Invalid API Key");
    } else if (!strcmp(x->method, "OPTIONS")) {
        fr_exchange_reply(x, 200, NULL, "", 0);
    } else if (!x->route && path_known) {
        fr_exchange_fail(x, 405, "invalid_request_error", "this path takes another method");
    } else if (!x->route) {
        fr_exchange_fail(x, 404, "not_found_error", "File Not Found");
    } else {
        x->route->handler(x, h->options.user);
    }
}

static void gather(fr_exchange *x, const char *data, size_t n) {
    fr_error never;
    if (x->body.n + n > x->http->options.body_bytes) x->too_large = true;
    if (!x->too_large && fr_buffer_add(&x->body, data, n, &never)) x->too_large = true;
}

// The headers are there, of the body nothing. Where nobody can tell where it ends, nothing more is
// read from this connection.
static enum MHD_Result begin_body(fr_exchange *x, const char *version) {
    int status;
    const char *fault = fr_framing_fault(x->connection, version, &status);
    if (!fault) return MHD_YES;
    x->queued = MHD_NO;
    fr_exchange_set(x, "Connection", "close");
    fr_exchange_fail(x, status, status == 501 ? "not_supported_error" : "invalid_request_error",
                     fault);
    return x->queued;
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *n_data, void **con_cls) {
    fr_exchange *x = *con_cls;
    (void)url;
    if (!x) return MHD_NO; // no memory when it began
    if (!x->connection) {
        x->http = cls;
        x->connection = connection;
        x->method = method;
        name_peer(x);
        return begin_body(x, version);
    }
    if (*n_data) {
        fr_connections_received(x->http->connections, x->on, *n_data);
        gather(x, data, *n_data);
        *n_data = 0;
        return MHD_YES;
    }
    x->queued = MHD_NO;
    enter(x, FR_CONNECTION_WAITS);
    answer(x);
    return x->queued;
}

// What notify_connection left with it; NULL: there was no memory.
static caller *caller_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void free_exchange(fr_exchange *x) {
    if (!x) return;
    fr_buffer_free(&x->body);
    free(x->own_path);
    fr_free(x);
}

// The first that is known of a request: its path as it came.
static void *begin_request(void *cls, const char *uri, struct MHD_Connection *connection) {
    fr_http *h = cls;
    caller *c = caller_of(connection);
    fr_exchange *x = c ? fr_alloc_zero(sizeof *x) : NULL;
    if (c) fr_connections_enter(h->connections, c->on, FR_CONNECTION_SENDS);
    if (!x) return NULL;
    c->asks = x;
    x->on = c->on;
    x->started = fr_seconds();
    x->own_path = strndup(uri, strcspn(uri, "?"));
    x->path = x->own_path ? x->own_path : "";
    return x;
}

static void end_request(void *cls, struct MHD_Connection *connection, void **con_cls,
                        enum MHD_RequestTerminationCode code) {
    const fr_http *h = cls;
    fr_exchange *x = *con_cls;
    caller *c = caller_of(connection);
    (void)code;
    if (c) fr_connections_enter(h->connections, c->on, FR_CONNECTION_RESTS);
    if (!x) return;
    if (x->status && h->options.log) h->options.log(h->options.user, x, fr_seconds() - x->started);
    if (c) c->asks = NULL;
    free_exchange(x);
    *con_cls = NULL;
}

static caller *open_caller(const fr_http *h, struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    caller *c = info ? fr_alloc_zero(sizeof *c) : NULL;
    if (c) c->on = fr_connections_add(h->connections, info->connect_fd);
    return c;
}

static void close_caller(const fr_http *h, caller *c) {
    if (!c) return;
    fr_connections_remove(h->connections, c->on);
    free_exchange(c->asks);
    fr_free(c);
}

static void notify_connection(void *cls, struct MHD_Connection *connection, void **context,
                              enum MHD_ConnectionNotificationCode code) {
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        close_caller(cls, *context);
        *context = NULL;
    } else {
        *context = open_caller(cls, connection);
    }
}

// ---------------------------------------------------------------- open and close

static int listen_on(const struct addrinfo *a) {
    const int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    const int yes = 1;
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, BACKLOG)) return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

// A socket that listens on an address or name. `h->port` becomes its port.
static fr_status open_socket(fr_http *h, const char *host, int *fd, fr_error *err) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found;
    char port[16];
    snprintf(port, sizeof port, "%d", h->port);
    const int rc = getaddrinfo(host, port, &hints, &found);
    if (rc)
        return fr_fail(err, FR_EIO, "host %s: expected an address to listen on, found: %s", host,
                       gai_strerror(rc));
    *fd = -1;
    for (const struct addrinfo *a = found; a && *fd < 0; a = a->ai_next)
        *fd = listen_on(a);
    freeaddrinfo(found);
    if (*fd < 0)
        return fr_fail(err, FR_EIO, "%s:%d: cannot listen: %s", host, h->port, strerror(errno));
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    if (getsockname(*fd, (struct sockaddr *)&at, &n)) return FR_OK;
    h->port =
        ntohs(at.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)(const void *)&at)->sin6_port
                                       : ((const struct sockaddr_in *)(const void *)&at)->sin_port);
    return FR_OK;
}

// libmicrohttpd turns away what is beyond its own limit, so that one leaves room for connections
// that were told to end and are not gone yet.
static struct MHD_Daemon *start(fr_http *h, int listens) {
    const fr_http_options *o = &h->options;
    const unsigned most = (unsigned)o->connections;
    return MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
            MHD_USE_ITC,
        0, NULL, NULL, handle, h, MHD_OPTION_LISTEN_SOCKET, listens, MHD_OPTION_URI_LOG_CALLBACK,
        begin_request, h, MHD_OPTION_NOTIFY_COMPLETED, end_request, h, MHD_OPTION_NOTIFY_CONNECTION,
        notify_connection, h, MHD_OPTION_CONNECTION_LIMIT, 4 * most + 64,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)o->connections_of_peer,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)o->idle_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS, MHD_OPTION_THREAD_STACK_SIZE,
        (size_t)STACK, MHD_OPTION_END);
}

static fr_status open_host(fr_http *h, const char *host, fr_error *err) {
    int fd;
    const fr_status st = open_socket(h, host, &fd, err);
    if (st) return st;
    if ((h->daemon[h->n] = start(h, fd))) {
        h->n++;
        return FR_OK;
    }
    close(fd);
    return fr_fail(err, FR_EIO, "http: cannot start: %s", strerror(errno));
}

static fr_status open_hosts(fr_http *h, fr_error *err) {
    char host[256];
    fr_status st = FR_OK;
    for (const char *at = h->options.host; *at && !st;) {
        const size_t n = strcspn(at, ",");
        if (n >= sizeof host || h->n == FR_HTTP_HOSTS)
            return fr_fail(err, FR_EARG, "host: expected at most %d addresses, found more",
                           FR_HTTP_HOSTS);
        snprintf(host, sizeof host, "%.*s", (int)n, at);
        if (n) st = open_host(h, host, err);
        at += n;
        at += strspn(at, ", ");
    }
    return st || h->n ? st : fr_fail(err, FR_EARG, "host: expected an address, found none");
}

fr_status fr_http_open(fr_http **out, const fr_http_options *options, fr_error *err) {
    *out = NULL;
    fr_http *h = fr_alloc_zero(sizeof *h);
    if (!h) return fr_fail(err, FR_ENOMEM, "http: cannot get %zu bytes", sizeof *h);
    h->options = *options;
    h->port = options->port;
    const fr_connections_options o = {.most = options->connections,
                                      .request_seconds = options->request_seconds,
                                      .body_rate = BODY_RATE,
                                      .rest_seconds = options->idle_seconds};
    fr_status st = fr_connections_open(&h->connections, &o, err);
    if (!st) st = open_hosts(h, err);
    if (st) {
        fr_http_close(h);
        return st;
    }
    *out = h;
    return FR_OK;
}

int fr_http_port(const fr_http *h) {
    return h->port;
}

void fr_http_retire(fr_http *h) {
    atomic_store(&h->retires, true);
}

void fr_http_stop_listening(fr_http *h) {
    for (int i = 0; i < h->n; i++) {
        const MHD_socket fd = MHD_quiesce_daemon(h->daemon[i]);
        if (fd != MHD_INVALID_SOCKET) close(fd);
    }
}

bool fr_http_at_rest(fr_http *h, double seconds) {
    return fr_connections_at_rest(h->connections, seconds);
}

void fr_http_close(fr_http *h) {
    if (!h) return;
    for (int i = 0; i < h->n; i++)
        MHD_stop_daemon(h->daemon[i]);
    fr_connections_close(h->connections);
    fr_free(h);
}
