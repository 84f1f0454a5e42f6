// http.c — a request comes in parts: its headers are checked when they are there, its body is
// gathered, then its route's handler replies (exchange.c). Last, opening and closing.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/clock.h"
#include "serve/access.h"
#include "serve/host.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// Of a connection's thread. A chat template may need all of it (jinja.h); frames that are looked
// after by a sanitizer are several times as large.
#ifdef __SANITIZE_ADDRESS__
enum { STACK = 8 << 20 };
#else
enum { STACK = 1 << 20 };
#endif
// Versions with several ways to read a request use the strict one. framing.h checks what other
// versions accept.
#if MHD_VERSION >= 0x01000000
#define STRICT MHD_OPTION_STRICT_FOR_CLIENT, 1
#else
#define STRICT MHD_OPTION_STRICT_FOR_CLIENT, 0
#endif
enum { HEADERS = 32 << 10, READ_ON = 1 << 20 };
// Bytes a second that a body comes with at least: up to a megabyte, and the rest of it.
static const double BODY_RATE = 10e3, MORE_RATE = 100e3;

// The state of a connection. libmicrohttpd does not report the end of a request whose line has more
// arguments than fit into its memory; such a request is freed with its connection.
typedef struct caller {
    fr_connection *on;
    fr_exchange *asks; // since its first line; NULL: nothing
} caller;

// ---------------------------------------------------------------- a request

static bool is_method(const fr_http_route *r, const char *method) {
    return !strcmp(r->method, method) || (!strcmp(method, "HEAD") && !strcmp(r->method, "GET"));
}

static bool is_path(const char *route, const char *path) {
    const size_t n = strlen(route);
    return !strcmp(route, path) || (n > 1 && route[n - 1] == '/' && !strncmp(route, path, n));
}

static const fr_http_route *find_route(const fr_http *h, const char *method, const char *path) {
    for (const fr_http_route *r = h->options.routes; r->method; r++)
        if (is_path(r->path, path) && is_method(r, method)) return r;
    return NULL;
}

// The methods that a path takes, with commas; "": there is no such path.
static void list_methods(const fr_http *h, const char *path, char *list, size_t room) {
    size_t n = 0;
    *list = 0;
    for (const fr_http_route *r = h->options.routes; r->method && n < room; r++)
        if (is_path(r->path, path))
            n += (size_t)snprintf(list + n, room - n, "%s%s%s", n ? ", " : "", r->method,
                                  strcmp(r->method, "GET") ? "" : ", HEAD");
}

// ---- what needs no body to be answered

static uint64_t length_of(fr_exchange *x) {
    const char *length = fr_exchange_header(x, "Content-Length");
    return length ? strtoull(length, NULL, 10) : 0;
}

// Finds the route. The status that the headers alone give; 0: none.
static int look_at(fr_exchange *x) {
    char methods[64];
    x->route = find_route(x->http, x->method, x->path);
    const int status = fr_access_status(x);
    if (status) return status;
    if (length_of(x) > x->http->options.body_bytes) return 413;
    if (x->route || !strcmp(x->method, "OPTIONS")) return 0;
    list_methods(x->http, x->path, methods, sizeof methods);
    return *methods ? 405 : 404;
}

static void refuse(fr_exchange *x) {
    char methods[64];
    switch (x->refused) {
    case 400:
        fr_exchange_fail(x, 400, "invalid_request_error", "Host: expected NAME or NAME:PORT");
        return;
    case 403:
        fr_exchange_fail(x, 403, "permission_error",
                         "Host: this server is asked by its address, localhost or a name that "
                         "--host or --allow-host gives, found another name");
        return;
    case 401:
        fr_exchange_set(x, "WWW-Authenticate", "Bearer");
        fr_exchange_fail(x, 401, "authentication_error", "Invalid API Key");
        return;
    case 404:
        fr_exchange_fail(x, 404, "not_found_error", "File Not Found");
        return;
    case 405:
        list_methods(x->http, x->path, methods, sizeof methods);
        fr_exchange_set(x, "Allow", methods);
        fr_exchange_fail(x, 405, "invalid_request_error", "this path takes another method");
        return;
    case 413:
        fr_exchange_fail(x, 413, "invalid_request_error",
                         "the body is larger than this server takes");
        return;
    }
    fr_exchange_fail(x, 503, "unavailable_error",
                     "no memory for the body: other requests hold it (--body-memory); try again");
}

static void answer(fr_exchange *x) {
    if (x->refused)
        refuse(x);
    else if (x->route)
        x->route->handler(x, x->http->options.user);
    else
        fr_exchange_reply(x, 200, NULL, "", 0); // OPTIONS
}

// ---- the body

// Stores values that a handler may read.
static void gather(fr_exchange *x, const char *data, size_t n) {
    if (x->refused || !x->route || !strcmp(x->route->method, "GET")) return;
    x->refused = fr_body_gather(x, data, n);
}

// Whether more has come than is worth reading for nothing. Only a body in chunks has no length that
// is checked before: its sender finds the answer if the body ends soon after it became too long.
static bool is_endless(const fr_exchange *x) {
    return x->come > 2 * x->http->options.body_bytes + READ_ON;
}

// Whether the body is short enough to be read though it is refused. Then a client that sends it
// whole before reading gets its answer, and the connection continues.
static bool is_soon_over(fr_exchange *x) {
    return !fr_exchange_header(x, "Transfer-Encoding") && length_of(x) <= READ_ON;
}

// The headers are there, of the body nothing. Where its end is not certain, or it is long and not
// wanted, nothing more is read from this connection.
static enum MHD_Result begin_body(fr_exchange *x) {
    int status;
    const char *fault = fr_framing_fault(&x->framing, &status);
    if (!fault) x->refused = look_at(x);
    const bool goes_on = !fault && (!x->refused || is_soon_over(x));
    if (!goes_on || !fr_framing_is_certain(&x->framing)) fr_exchange_set(x, "Connection", "close");
    if (goes_on) return MHD_YES;
    if (fault)
        fr_exchange_fail(x, status, status == 501 ? "not_supported_error" : "invalid_request_error",
                         fault);
    else
        refuse(x);
    return fr_exchange_send(x);
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
        x->framing.connection = connection;
        x->framing.method = method;
        x->framing.version = version;
        fr_access_name_peer(x);
        fr_body_begin(x);
        return begin_body(x);
    }
    if (*n_data) {
        fr_connections_received(x->http->connections, x->on, *n_data);
        x->come += *n_data;
        if (is_endless(x)) return MHD_NO; // which closes the connection
        gather(x, data, *n_data);
        *n_data = 0;
        return MHD_YES;
    }
    fr_body_arrived(x);
    x->whole = fr_seconds();
    x->bytes = x->body.n;
    fr_exchange_enter(x, FR_CONNECTION_WAITS);
    answer(x);
    return fr_exchange_send(x);
}

// What notify_connection left with it; NULL: there was no memory.
static caller *caller_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void free_exchange(fr_exchange *x) {
    if (!x) return;
    fr_body_end(x);
    free(x->own_path);
    free(x->own_host);
    fr_exchange_forget_values(x);
    fr_free(x);
}

// Where the authority of a target begins that has one, as proxies get it (RFC 9112, section 3.2.2).
static const char *authority_of(const char *target) {
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (!strncasecmp(target, schemes[i], strlen(schemes[i])))
            return target + strlen(schemes[i]);
    return NULL;
}

// Keeps both parts of a target.
static void take_target(fr_exchange *x, const char *target) {
    const char *authority = authority_of(target), *path = target;
    fr_framing_target(&x->framing, target);
    if (authority) {
        const size_t n = strcspn(authority, "/?");
        x->own_host = strndup(authority, n);
        if (!x->own_host)
            x->framing.target_is_bad = true; // refused, so that no other host name is used
        path = authority[n] == '/' ? authority + n : "/";
    }
    x->own_path = strndup(path, strcspn(path, "?"));
    if (x->own_path) x->path = x->own_path;
}

// Called first for a request, with its path as received.
static void *begin_request(void *cls, const char *uri, struct MHD_Connection *connection) {
    fr_http *h = cls;
    caller *c = caller_of(connection);
    fr_exchange *x = c ? fr_alloc_zero(sizeof *x) : NULL;
    if (c) fr_connections_enter(h->connections, c->on, FR_CONNECTION_SENDS);
    if (!x) return NULL;
    c->asks = x;
    x->on = c->on;
    x->started = fr_seconds();
    x->path = "";
    if (uri) take_target(x, uri);
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
    free_exchange(c->asks); // before the connection, which a share may end until then
    fr_connections_remove(h->connections, c->on);
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

// libmicrohttpd refuses connections beyond its own limit. So that limit includes connections that
// are ending and not gone yet.
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
        (size_t)STACK, STRICT, MHD_OPTION_END);
}

// The first free port is that of all addresses.
static fr_status open_host(fr_http *h, const char *host, fr_error *err) {
    fr_listener *l = &h->listener[h->n];
    const bool only_6 = strchr(h->options.host, ',') != NULL;
    const fr_status st = fr_listen(l, host, h->port, only_6, err);
    if (st) return st;
    if ((h->daemon[h->n] = start(h, l->fd))) {
        if (l->port) h->port = l->port;
        h->n++;
        return FR_OK;
    }
    const int error = errno;
    close(l->fd);
    fr_listener_forget(l);
    return fr_fail(err, FR_EIO, "http: cannot start: %s", strerror(error));
}

static fr_status open_hosts(fr_http *h, fr_error *err) {
    char host[256];
    fr_status st = FR_OK;
    for (const char *at = h->options.host; *at && !st;) {
        const size_t n = strcspn(at, ",");
        if (n >= sizeof host)
            return fr_fail(err, FR_EARG, "host: expected names below %zu bytes, found one of %zu",
                           sizeof host, n);
        if (h->n == FR_HTTP_HOSTS)
            return fr_fail(err, FR_EARG, "host: expected at most %d addresses, found more",
                           FR_HTTP_HOSTS);
        snprintf(host, sizeof host, "%.*s", (int)n, at);
        if (n) st = open_host(h, host, err);
        at += n;
        at += strspn(at, ", ");
    }
    return st || h->n ? st : fr_fail(err, FR_EARG, "host: expected an address, found none");
}

// How many of the wanted connections are possible with the files that this process may open. Twice
// as many files are reserved, so that ending connections do not block new ones.
static int connections_that_fit(int wanted) {
    enum { OTHERS = 64 };
    const rlim_t need = OTHERS + 2 * (rlim_t)wanted;
    struct rlimit is;
    if (getrlimit(RLIMIT_NOFILE, &is) || is.rlim_cur >= need) return wanted;
    const struct rlimit more = {is.rlim_max < need ? is.rlim_max : need, is.rlim_max};
    if (!setrlimit(RLIMIT_NOFILE, &more)) is = more;
    if (is.rlim_cur >= need) return wanted;
    return is.rlim_cur > OTHERS + 2 ? (int)(is.rlim_cur - OTHERS) / 2 : 1;
}

fr_status fr_http_open(fr_http **out, const fr_http_options *options, fr_error *err) {
    *out = NULL;
    fr_http *h = fr_alloc_zero(sizeof *h);
    if (!h) return fr_fail(err, FR_ENOMEM, "http: cannot get %zu bytes", sizeof *h);
    h->options = *options;
    h->options.connections = connections_that_fit(options->connections);
    h->port = options->port;
    const fr_connections_options o = {.most = h->options.connections,
                                      .request_seconds = options->request_seconds,
                                      .body_rate = BODY_RATE,
                                      .more_rate = MORE_RATE,
                                      .rest_seconds = options->idle_seconds};
    fr_status st = fr_host_check_list(options->allowed_hosts, err);
    if (!st) st = fr_connections_open(&h->connections, &o, err);
    if (!st)
        st =
            fr_body_memory_open(&h->body_memory, options->memory ? options->memory : SIZE_MAX, err);
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

bool fr_http_is_local(const fr_http *h) {
    bool is_local = true;
    for (int i = 0; i < h->n; i++)
        is_local &= h->listener[i].is_local;
    return is_local;
}

int fr_http_connections(const fr_http *h) {
    return h->options.connections;
}

void fr_http_retire(fr_http *h) {
    atomic_store(&h->retires, true);
}

void fr_http_stop_listening(fr_http *h) {
    for (int i = 0; i < h->n; i++) {
        const MHD_socket fd = MHD_quiesce_daemon(h->daemon[i]);
        fr_listener_forget(&h->listener[i]);
        if (fd != MHD_INVALID_SOCKET) close(fd);
    }
}

bool fr_http_at_rest(fr_http *h, double seconds) {
    return fr_connections_at_rest(h->connections, seconds);
}

void fr_http_close(fr_http *h) {
    if (!h) return;
    for (int i = 0; i < h->n; i++) {
        fr_listener_forget(&h->listener[i]);
        MHD_stop_daemon(h->daemon[i]);
    }
    fr_connections_close(h->connections);
    fr_body_memory_close(h->body_memory);
    fr_free(h);
}
