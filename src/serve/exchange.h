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
    fr_connection *on; // the same among all
    const char *method, *path, *key;
    char *own_path; // NULL: no memory for it
    char *own_host; // of a target that has one; NULL: that is in the headers
    fr_framing framing;
    struct fr_value *values; // that were asked for
    char peer[64];
    bool is_unix; // it came by a Unix socket
    fr_buffer body;
    fr_body_share share; // of the memory for bodies: the body, and what is made of it
    size_t passing;      // ... of that, until it is prepared
    bool was_large;      // it has held so much that the heap keeps more than others need
    const fr_http_route *route;
    int refused; // the status of a request that is answered whatever it says; 0: it is not
    int status;
    struct MHD_Response *response; // what the handler replied; NULL: nothing yet
    struct {
        char name[48], value[512];
    } set[FR_EXCHANGE_SET];
    int n_set;
    double started, whole; // when its first line and all of it were there
    size_t come;           // bytes of the body, also of one that is not kept
    size_t bytes;          // of the body that was kept
};

// ---- the body  [body.c]
void fr_body_begin(fr_exchange *x); // before any of it
// Keeps a part of it. The status of the refusal where it is too much, else 0.
int fr_body_gather(fr_exchange *x, const char *data, size_t n);
void fr_body_arrived(fr_exchange *x);
// The answer is there: all that is held besides is given back, the body is freed.
void fr_body_answered(fr_exchange *x, size_t bytes);
void fr_body_end(fr_exchange *x); // gives all back

void fr_exchange_forget_values(fr_exchange *x);

// Who waits for whom from now on. libmicrohttpd's own limit is for a peer that is silent or takes
// nothing; while the peer waits for us there is none.
void fr_exchange_enter(fr_exchange *x, fr_connection_phase phase);

// Sends what was replied, or ends the connection where nothing was: on the connection's own thread,
// as libmicrohttpd wants it, whichever thread the handler's work was done by.
enum MHD_Result fr_exchange_send(fr_exchange *x);

#endif
