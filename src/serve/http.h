// http.h — HTTP/1.1 by GNU libmicrohttpd: a thread for each connection, which may wait for an
// answer.
//
// Bodies are read whole and bounded; keys are checked before anything of a body is kept. A handler
// replies once, with a whole body or with a stream that is asked for its next piece; it may let
// another thread do that while it waits. Nothing of HTTP is known below this file.
#ifndef FR_SERVE_HTTP_H
#define FR_SERVE_HTTP_H
#include "base/buffer.h"
#include "serve/forwarded.h"

typedef struct fr_http fr_http;
typedef struct fr_exchange fr_exchange; // one request and its reply

typedef void fr_http_handler(fr_exchange *x, void *user);

typedef struct fr_http_route {
    // A path with a '/' at its end is also what begins so. GET serves HEAD too, and gets no body.
    const char *method, *path;
    fr_http_handler *handler;
    bool is_public; // needs no key
} fr_http_route;

enum { FR_HTTP_HOSTS = 8 };
typedef struct fr_http_options {
    // Addresses, names and paths of Unix sockets (listen.h), with commas; "0.0.0.0": everywhere.
    const char *host;
    int port;                    // 0: a free one
    const fr_http_route *routes; // up to one without a method
    void *user;                  // of the handlers
    const char *const *keys;     // NULL-terminated API keys; NULL: none are asked for
    const char *proxies;         // their X-Forwarded-For is believed (forwarded.h); NULL: none
    const char *cors; // origins that browsers may ask from: "*", or a list with commas, where
                      // "localhost" is this machine from any port; NULL: none
    int connections;  // at most; beyond that one that is waited for makes room
    int connections_of_peer; // of one address at most, more are closed at once; 0: as many
    size_t body_bytes;       // of one request, at most
    size_t memory;           // of all bodies, and of what is made of them, together; 0: no limit
    double request_seconds;  // until a request's first line, and for the rest (connections.h)
    int idle_seconds;        // between requests, and until a part of an answer is taken
    // Called after each exchange.
    void (*log)(void *user, const fr_exchange *x, double seconds);
    // Writes the error's body in the style of the path's API. type: as in OpenAI's "type".
    void (*error)(fr_exchange *x, int status, const char *type, const char *message);
    // More names by which the server may be asked, with commas; "*": any (host.h). NULL: none, and
    // with keys any.
    const char *allowed_hosts;
} fr_http_options;

// FR_EARG: the hosts are none, too many or too long, or a name is none. FR_EIO: one cannot be
// listened on. FR_ENOMEM. All strings stay in place.
fr_status fr_http_open(fr_http **out, const fr_http_options *options, fr_error *err);
int fr_http_port(const fr_http *h);      // 0: it listens on Unix sockets alone
bool fr_http_is_local(const fr_http *h); // no other machine reaches it
// How many connections there may be: fewer than were asked for where this process may not open
// files enough. Raises its soft limit for that.
int fr_http_connections(const fr_http *h);
// Every answer that begins from now on ends its connection, so that a client connects anew to ask
// again, and to another server where there is one.
void fr_http_retire(fr_http *h);
void fr_http_stop_listening(fr_http *h); // connections that there are go on
// Waits until every answer that is wanted was taken, at most so many seconds. Whether that is so.
bool fr_http_at_rest(fr_http *h, double seconds);
void fr_http_close(fr_http *h); // ends all connections; NULL is fine

// ---- of an exchange, for its handler
const char *fr_exchange_method(const fr_exchange *x);
const char *fr_exchange_path(const fr_exchange *x);
// Without white space around it. NULL: not there, or no memory.
const char *fr_exchange_header(fr_exchange *x, const char *name);
const char *fr_exchange_argument(const fr_exchange *x, const char *name); // of the query; the same
// The other side's address; "unix:" and its user's number, where it came by a Unix socket.
const char *fr_exchange_peer(const fr_exchange *x);
// The address of the client, of which proxies that are believed know.
void fr_exchange_client(const fr_exchange *x, char name[FR_CLIENT_NAME]);
const char *
fr_exchange_key(const fr_exchange *x); // the key that it came with, if keys are asked for
const fr_buffer *fr_exchange_body(const fr_exchange *x);
void fr_exchange_drop_body(fr_exchange *x); // it was read
// Takes bytes of the memory for all bodies: those that are needed until the exchange ends, and
// those that are needed until it settles. what: they are for. FR_ENOMEM: others leave no room.
// FR_EARG: there never is so much, which is a 413 (fr_exchange_refused).
fr_status fr_exchange_hold(fr_exchange *x, const char *what, size_t bytes, size_t passing,
                           fr_error *err);
int fr_exchange_refused(const fr_exchange *x);    // the status of a refusal; 0: it is not refused
void fr_exchange_settle(fr_exchange *x);          // what was passing is free again
bool fr_exchange_is_wanted(const fr_exchange *x); // the other side has not hung up
size_t fr_exchange_bytes(const fr_exchange *x);   // of its body, as that came
double fr_exchange_waited(const fr_exchange *x);  // seconds since all of the request was there
int fr_exchange_status(const fr_exchange *x);     // of the reply; 0: none yet

// A header of the reply, before it.
void fr_exchange_set(fr_exchange *x, const char *name, const char *value);
// Replies with a whole body, which is copied.
void fr_exchange_reply(fr_exchange *x, int status, const char *type, const void *body,
                       size_t bytes);
// The same with a body that becomes the reply's, which frees it by free().
void fr_exchange_give(fr_exchange *x, int status, const char *type, char *body, size_t bytes);
// Calls the option `error`.
void fr_exchange_fail(fr_exchange *x, int status, const char *type, const char *message);

// Puts the next piece of a stream into `piece`, which is empty; it may wait, though not for long
// without asking fr_exchange_is_wanted. False: that was the last one.
typedef bool fr_stream_next_fn(void *stream, fr_exchange *x, fr_buffer *piece);
// Replies with what `next` gives. `close` is called once, also where the other side hangs up.
void fr_exchange_stream(fr_exchange *x, int status, const char *type, fr_stream_next_fn *next,
                        void (*close)(void *stream), void *stream);

#endif
