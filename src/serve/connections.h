// connections.h — the open connections, and the phase of each.
//
// A peer that waits for the server has no time limit. A peer for which the server waits must send
// its request by a deadline. When there are too many connections, the server closes the one for
// which it has waited longest. So silent, slow and dead connections, however many, cannot keep
// others out. This file contains sockets and phases, no HTTP.
#ifndef FR_SERVE_CONNECTIONS_H
#define FR_SERVE_CONNECTIONS_H
#include "base/status.h"

typedef enum fr_connection_phase {
    FR_CONNECTION_NEW,   // has not sent the first line of a request
    FR_CONNECTION_SENDS, // a request arrives
    FR_CONNECTION_WAITS, // the peer waits for its answer
    FR_CONNECTION_TAKES, // the peer has to take the part of the answer that is ready
    FR_CONNECTION_RESTS, // answered; may send another request
    FR_CONNECTION_PHASES
} fr_connection_phase;

typedef struct fr_connections fr_connections;
typedef struct fr_connection fr_connection;

typedef struct fr_connections_options {
    int most; // connections; for a further one, one that the server waits for is closed
    double request_seconds; // limit for a request's first line, and again for the rest,
    double body_rate;       // ... plus a second for so many received bytes of the first MB
    double more_rate;       // ... and for so many received bytes after the first MB
    double rest_seconds;    // between an answer and the next request's first line
} fr_connections_options;

// Starts a thread that closes late connections. FR_ENOMEM.
fr_status fr_connections_open(fr_connections **out, const fr_connections_options *o, fr_error *err);
void fr_connections_close(fr_connections *c); // after all connections were removed; NULL is fine

// Adds a connection in phase NEW. If there are too many, another one is ended; if none can be
// ended, the new one is. Waits a moment if very many are ending. The socket stays open until it is
// removed. NULL: no memory. All functions accept NULL as a connection without limits.
fr_connection *fr_connections_add(fr_connections *c, int fd);
void fr_connections_remove(fr_connections *c, fr_connection *of);

// Begins a phase. Entering the current phase again restarts its time limit.
void fr_connections_enter(fr_connections *c, fr_connection *of, fr_connection_phase phase);
void fr_connections_received(fr_connections *c, fr_connection *of, size_t bytes);
void fr_connections_end(fr_connections *c, fr_connection *of); // soon, without an answer

// Waits, at most so many seconds, until no peer waits for an answer or takes one. Peers that have
// taken nothing for request_seconds do not count. True: that was reached.
bool fr_connections_at_rest(fr_connections *c, double seconds);

// The invariant in connections.c, for asserts: with its lock held, or while no thread uses it.
bool fr_connections_is_sound(const fr_connections *c);

#endif
