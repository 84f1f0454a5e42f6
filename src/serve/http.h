// http.h — HTTP/1.1 with GNU libmicrohttpd. Each connection has a thread, which may wait for an
// answer.
//
// Bodies are read whole, up to a limit. Keys are checked before any part of a body is stored. A
// handler replies once, with a whole body or with a stream whose next piece is polled. It may wait
// while another thread does that work. No code below this file contains HTTP.
#ifndef FR_SERVE_HTTP_H
#define FR_SERVE_HTTP_H
#include "base/buffer.h"
#include "serve/forwarded.h"

typedef struct fr_http fr_http;
typedef struct fr_exchange fr_exchange; // one request and its reply

typedef void fr_http_handler(fr_exchange *x, void *user);

typedef struct fr_http_route {
    // A path that ends with '/' also matches all paths that begin with it. GET serves HEAD too, and
    // gets no body.
    const char *method, *path;
    fr_http_handler *handler;
    bool is_public; // needs no key
} fr_http_route;

enum { FR_HTTP_HOSTS = 8 };
typedef struct fr_http_options {
    // Addresses, names and paths of Unix sockets (listen.h), with commas; "0.0.0.0": everywhere.
    const char *host;
    int port;                    // 0: a free one
    const fr_http_route *routes; // ends with one without a method
    void *user;                  // passed to the handlers
    const char *const *keys;     // NULL-terminated API keys; NULL: no key is required
    const char *proxies;         // their X-Forwarded-For is believed (forwarded.h); NULL: none
    const char *cors;            // origins whose pages may send requests (cors.h); NULL: none
    int connections;         // limit; for a further one, one that the server waits for is closed
    int connections_of_peer; // limit of one address, more are closed at once; 0: no own limit
    size_t body_bytes;       // limit of one body
    size_t memory;           // limit of all bodies and the data made from them; 0: none
    double request_seconds;  // until a request's first line, and for the rest (connections.h)
    int idle_seconds;        // between requests, and until a part of an answer is taken
    // Called after each exchange.
    void (*log)(void *user, const fr_exchange *x, double seconds);
    // Writes the error's body in the style of the path's API. type: as in OpenAI's "type".
    void (*error)(fr_exchange *x, int status, const char *type, const char *message);
    // Comma-separated further host names that requests may have; "*": any (host.h). NULL: none, or
    // any if there are keys.
    const char *allowed_hosts;
} fr_http_options;

// FR_EARG: there are no hosts, too many, or too long ones, or an allowed name is no name. FR_EIO: a
// host cannot be listened on. FR_ENOMEM. Strings are borrowed.
fr_status fr_http_open(fr_http **out, const fr_http_options *options, fr_error *err);
int fr_http_port(const fr_http *h);      // 0: it listens on Unix sockets alone
bool fr_http_is_local(const fr_http *h); // no other machine reaches it
// The limit of connections. It is lower than the option if this process may not open enough files;
// the soft limit of files is raised first.
int fr_http_connections(const fr_http *h);
// Every answer that begins from now on ends its connection. So a client connects anew for its next
// request, to another server if there is one.
void fr_http_retire(fr_http *h);
void fr_http_stop_listening(fr_http *h); // open connections continue
// Waits, at most so many seconds, until every wanted answer was taken. True: that was reached.
bool fr_http_at_rest(fr_http *h, double seconds);
void fr_http_close(fr_http *h); // ends all connections; NULL is fine

// ---- an exchange, for its handler
const char *fr_exchange_method(const fr_exchange *x);
const char *fr_exchange_path(const fr_exchange *x);
// Without white space around it. NULL: absent, or no memory.
const char *fr_exchange_header(fr_exchange *x, const char *name);
const char *fr_exchange_argument(const fr_exchange *x, const char *name); // of the query; the same
// The peer's address, or "unix:" and its user's number on a Unix socket.
const char *fr_exchange_peer(const fr_exchange *x);
// The address of the client: the peer, or as trusted proxies report it (forwarded.h).
void fr_exchange_client(const fr_exchange *x, char name[FR_CLIENT_NAME]);
const char *fr_exchange_key(const fr_exchange *x); // the request's key, if keys are required
const fr_buffer *fr_exchange_body(const fr_exchange *x);
void fr_exchange_drop_body(fr_exchange *x); // after it was parsed
// Takes bytes of the memory for all bodies: `bytes` until the exchange ends, `passing` until it
// settles. `what` names their use in errors. FR_ENOMEM: other requests use the memory. FR_EARG: the
// limit is smaller than that, which is a 413 (fr_exchange_refused).
fr_status fr_exchange_hold(fr_exchange *x, const char *what, size_t bytes, size_t passing,
                           fr_error *err);
int fr_exchange_refused(const fr_exchange *x);    // the status of the refusal; 0: not refused
void fr_exchange_settle(fr_exchange *x);          // frees the passing bytes
bool fr_exchange_is_wanted(const fr_exchange *x); // the client has not hung up
size_t fr_exchange_bytes(const fr_exchange *x);   // of its body, as received
double fr_exchange_waited(const fr_exchange *x);  // seconds since the request had arrived whole
int fr_exchange_status(const fr_exchange *x);     // of the reply; 0: none yet

// Sets a header of the reply; call it before the reply.
void fr_exchange_set(fr_exchange *x, const char *name, const char *value);
// Replies with a whole body, which is copied.
void fr_exchange_reply(fr_exchange *x, int status, const char *type, const void *body,
                       size_t bytes);
// The same; takes `body`, which is freed by free().
void fr_exchange_give(fr_exchange *x, int status, const char *type, char *body, size_t bytes);
// Calls the option `error`.
void fr_exchange_fail(fr_exchange *x, int status, const char *type, const char *message);

// Writes the next piece of a stream to `piece`, which is empty. It may wait, but must poll
// fr_exchange_is_wanted while it does. False: that was the last piece.
typedef bool fr_stream_next_fn(void *stream, fr_exchange *x, fr_buffer *piece);
// Replies with the pieces of `next`. `close` is called once, also if the client hangs up.
void fr_exchange_stream(fr_exchange *x, int status, const char *type, fr_stream_next_fn *next,
                        void (*close)(void *stream), void *stream);

#endif
