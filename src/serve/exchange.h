// exchange.h — a request and its reply, between http.c and exchange.c alone.
#ifndef FR_SERVE_EXCHANGE_H
#define FR_SERVE_EXCHANGE_H
#include "serve/body_memory.h"
#include "serve/connections.h"
#include "serve/framing.h"
#include "serve/http.h"
#include "serve/listen.h"
#include <microhttpd.h>
#include <stdatomic.h>

struct fr_http {
    fr_http_options options;
    struct MHD_Daemon *daemon[FR_HTTP_HOSTS]; // [n], one for each address
    fr_listener listener[FR_HTTP_HOSTS];      // [n]
    int n;
    fr_connections *connections;
    fr_body_memory *body_memory; // of all exchanges
    int port;                    // of the first; the others have it too
    atomic_bool retires;
};

enum { FR_EXCHANGE_SET = 8 };
struct fr_exchange {
    fr_http *http;
    struct MHD_Connection *connection;
    fr_connection *on; // the connection's entry in fr_connections
    const char *method, *path, *key;
    char *own_path; // NULL: no memory for it
    char *own_host; // the host of a target that has one; NULL: it is in the headers
    fr_framing framing;
    struct fr_value *values; // headers and arguments that the handler read
    char peer[64];
    bool is_unix; // received on a Unix socket
    fr_buffer body;
    fr_body_share share; // of the memory for bodies: the body, and the data made from it
    size_t passing;      // the part of the share that is free after preparing
    bool was_large;      // its share was large: freed memory is given back to the system
    const fr_http_route *route;
    int refused; // the status with which the request is refused; 0: it is not refused
    int status;
    struct MHD_Response *response; // the handler's reply; NULL: none yet
    struct {
        char name[48], value[512];
    } set[FR_EXCHANGE_SET];
    int n_set;
    double started, whole; // when its first line, and all of it, had arrived
    size_t come;           // bytes of the body received, stored or not
    size_t bytes;          // bytes of the body stored
};

// ---- the body  [body.c]
void fr_body_begin(fr_exchange *x); // before any of it
// Stores a part of the body. Returns the status of the refusal if it is too large, else 0.
int fr_body_gather(fr_exchange *x, const char *data, size_t n);
void fr_body_arrived(fr_exchange *x);
// The answer is ready: frees the body and all of the share besides the answer's `bytes`.
void fr_body_answered(fr_exchange *x, size_t bytes);
void fr_body_end(fr_exchange *x); // frees the whole share

void fr_exchange_forget_values(fr_exchange *x);

// Sets the phase of the connection. libmicrohttpd's own time limit is for a peer that is silent or
// takes nothing; it is off while the peer waits for the server.
void fr_exchange_enter(fr_exchange *x, fr_connection_phase phase);

// Sends the reply, or ends the connection if there is none. Must run on the connection's own
// thread, as libmicrohttpd requires; the handler's work may have been done by another thread.
enum MHD_Result fr_exchange_send(fr_exchange *x);

#endif
